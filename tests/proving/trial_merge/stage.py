"""Repositories with finished items, made the way the implementation workflow finishes
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentos.item import Item, Outcome, State
from agentos.kinds import Kind
from agentos.repository.git.names import branch_of
from agentos.repository.git.opening import open_worktree
from agentos.repository.git.snapshots import take
from agentos.state.home import Home, repository_key
from agentos.state.records import ItemRecord, write_record
from tests.repository.git.ground import finish_item, git, make_repository, write_files

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

    def finish(
        self,
        item: str,
        files: Mapping[str, bytes],
        builds_on: Sequence[str] = (),
        title: str = "work",
    ) -> str:
        """Build an item of these files on top of others, as the workflow does; return
        its commit.
        """
        worktree = open_worktree(
            self.repository,
            self.home.worktree(self.key, item),
            item,
            branch_of(item, title),
            builds_on=builds_on,
        )
        write_files(worktree.path, files)
        commit = finish_item(
            worktree, take(worktree, "done").commit, f"Implement {item}", 1_700_000_000
        )
        self.record(item)
        return commit

    def record(self, id: str, state: State = State.IMPLEMENTED) -> None:
        """Note how an item ended."""
        item = Item(Kind.IMPLEMENTATION, id, f"docs/lld/active/LLD-{id}.md")
        record = ItemRecord.of(
            item, Outcome(state), digest="0" * 64, run="run", attempts=1, seconds=1.0
        )
        self.home.prepare(self.key)
        write_record(
            self.home.item(self.key, item).record,
            record,
            self.home.temporary / f"record-{id}",
        )

    def branch(self, item: str) -> str:
        """Return the branch of an item with the usual title."""
        return branch_of(item, "work")

    def state(self) -> tuple[dict[str, bytes], str, str]:
        """Return everything that a rehearsal must leave alone: bytes of all files,
        git's own too, status, refs.
        """
        files = {
            str(path.relative_to(self.repository)): path.read_bytes()
            if path.is_file()
            else b""
            for path in sorted(self.repository.rglob("*"))
            if not path.is_symlink()
        }
        status = git(
            self.repository, "--no-optional-locks", "status", "--porcelain", "--ignored"
        )
        refs = git(self.repository, "for-each-ref") + git(
            self.repository, "worktree", "list", "--porcelain"
        )
        return files, status, refs

    @property
    def leftovers(self) -> list[str]:
        """Return what is in the place of this repository's rehearsals."""
        place = self.home.root / "rehearsals"
        return sorted(
            str(path.relative_to(place)) for path in place.rglob(f"{self.key}*")
        )


def make_stage(tmp_path: Path, home: Home, files: Mapping[str, bytes] = SHOP) -> Stage:
    """Return a repository in which nothing is finished yet."""
    return Stage(make_repository(tmp_path / "repo", files), home)


def room(name: str) -> dict[str, bytes]:
    """Return the files of an item that adds a room."""
    return {
        f"shop/rooms/{name}.py": f"NAME = '{name}'\n".encode(),
        **probe(f"shop.rooms.{name}", "NAME", repr(name)),
    }


def probe(module: str, name: str, value: str) -> dict[str, bytes]:
    """Return a test file that wants a name of a module to have a value."""
    short = module.replace(".", "_")
    return {
        f"tests/test_{short}.py": (
            f"from {module} import {name}\n\n\ndef test_{short}():\n    assert {value} == {name}\n".encode()
        )
    }
