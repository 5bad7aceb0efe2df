"""Repositories with finished items, made the way the implementation workflow finishes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentos.home import Home, repository_key
from agentos.records import Record, write_record
from agentos.task import Outcome, State, Task, Workflow
from agentos.worktrees.finish import commit_to_branch
from agentos.worktrees.names import branch_of
from agentos.worktrees.opening import open_worktree
from agentos.worktrees.snapshots import take
from agentos.worktrees.stacking import find_base
from tests.worktrees.ground import git, make_repository, write_files

SHOP: Mapping[str, bytes] = {
    "pyproject.toml": b'[project]\nname = "shop"\nversion = "1.0"\n',
    "shop/__init__.py": b"",
    "shop/price.py": b"UNIT = 10\n\n\ndef price(count):\n    return count * UNIT\n",
    "shop/rooms/hall.py": b"NAME = 'hall'\n",
    "shop/rooms/yard.py": b"NAME = 'yard'\n",
    "tests/test_price.py": b"from shop.price import price\n\n\ndef test_price():\n    assert price(2) == 20\n",
}
"""A small real package whose tests run in a moment."""

ROOMS_ARE_FEW = b"""\
from pathlib import Path


def test_there_are_at_most_three_rooms():
    assert len(list(Path("shop/rooms").glob("*.py"))) <= 3
"""


@dataclass(frozen=True)
class Stage:
    """A repository, a home, and the items that were finished in them."""

    repository: Path
    home: Home

    @property
    def key(self) -> str:
        """Under which name the home keeps the repository."""
        return repository_key(self.repository)

    def finish(self, item: str, files: Mapping[str, bytes], builds_on: Sequence[str] = (), title: str = "work") -> str:
        """Build an item of these files on top of others, as the workflow does; return its commit."""
        base = find_base(self.repository, builds_on)
        worktree = open_worktree(
            self.repository, self.home.worktree(self.key, item), item, branch_of(item, title), base
        )
        write_files(worktree.path, files)
        commit = commit_to_branch(worktree, take(worktree, "done").commit, f"Implement {item}", 1_700_000_000)
        self.record(item)
        return commit

    def record(self, item: str, state: State = State.IMPLEMENTED) -> None:
        """Note how an item ended."""
        task = Task(Workflow.IMPLEMENTATION, item, f"docs/lld/active/LLD-{item}.md")
        record = Record.of(task, Outcome(state), digest="0" * 64, run="run", attempts=1, seconds=1.0)
        self.home.prepare(self.key)
        write_record(self.home.item(self.key, task).record, record, self.home.temporary / f"record-{item}")

    def branch(self, item: str) -> str:
        """Return the branch of an item with the usual title."""
        return branch_of(item, "work")

    def state(self) -> tuple[dict[str, bytes], str, str]:
        """Return everything that a rehearsal must leave alone: bytes of all files, git's own too, status, refs."""
        files = {
            str(path.relative_to(self.repository)): path.read_bytes() if path.is_file() else b""
            for path in sorted(self.repository.rglob("*"))
            if not path.is_symlink()
        }
        status = git(self.repository, "--no-optional-locks", "status", "--porcelain", "--ignored")
        refs = git(self.repository, "for-each-ref") + git(self.repository, "worktree", "list", "--porcelain")
        return files, status, refs

    @property
    def leftovers(self) -> list[str]:
        """Return what is in the place of this repository's rehearsals."""
        place = self.home.root / "rehearsals"
        return sorted(str(path.relative_to(place)) for path in place.rglob(f"{self.key}*"))


def make_stage(tmp_path: Path, home: Home, files: Mapping[str, bytes] = SHOP) -> Stage:
    """Return a repository in which nothing is finished yet."""
    return Stage(make_repository(tmp_path / "repo", files), home)


def room(name: str) -> dict[str, bytes]:
    """Return the files of an item that adds a room."""
    return {f"shop/rooms/{name}.py": f"NAME = '{name}'\n".encode(), **probe(f"shop.rooms.{name}", "NAME", repr(name))}


def probe(module: str, name: str, value: str) -> dict[str, bytes]:
    """Return a test file that wants a name of a module to have a value."""
    short = module.replace(".", "_")
    return {
        f"tests/test_{short}.py": (
            f"from {module} import {name}\n\n\ndef test_{short}():\n    assert {value} == {name}\n".encode()
        )
    }
