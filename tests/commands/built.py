"""An item as an implementation leaves it: branch, refs, worktree, record and reports,
made by the product itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agentos.item import Item, Outcome, State
from agentos.kinds import Kind
from agentos.repository.git.names import branch_of
from agentos.repository.git.opening import open_worktree
from agentos.repository.git.snapshots import take
from agentos.repository.git.worktree import Worktree
from agentos.state.home import Home, repository_key
from agentos.state.records import ItemRecord, write_record
from tests.repository.git.ground import finish_item, git, write_files
from tests.support import World

REPORT = """\
# 42 - Implementation report

* **Design:** Export the shelf
* **End:** Implemented

## Requirements

| Requirement | Text | Scenarios | Proven |
|---|---|---|---|
| R1 | All books are exported | T1 | yes |

## Deviations from the design

None.

<!-- agentos: input=sha256:0 -->
"""
TESTS = """\
# 42 - Test report

* **Tests:** 1

## Red and green

| Test | Scenario | Without the code | With the code |
|---|---|---|---|
| `test_export` | T1 | failed | passed |
"""


def make_clone(world: World) -> None:
    """Make the world's repository one of git, with everything committed."""
    write_files(world.repo, {"README.md": b"# Shelf\n", "shelf/book.py": b"x = 1\n"})
    git(world.repo, "init", "-q", "-b", "main", ".")
    git(world.repo, "add", "-A")
    git(world.repo, "commit", "-q", "-m", "First")


def build_item(
    world: World,
    item: str = "42",
    *,
    title: str = "Export the shelf",
    report: str = REPORT,
    tests: str = TESTS,
    files: Mapping[str, bytes] | None = None,
) -> Worktree:
    """Implement an item in the world's clone; `files` are more that it changes."""
    worktree = open_item(world, item, title)
    write_files(worktree.path, files or {})
    write_files(
        worktree.path, {f"shelf/export_{item}.py": b"def export():\r\n    return 1\n"}
    )
    take(worktree, "iteration-1")
    write_files(
        worktree.path, {f"shelf/export_{item}.py": b"def export():\n    return 2\n"}
    )
    snapshot = take(worktree, "iteration-2")
    finish_item(worktree, snapshot.commit, f"{title} ({item})", 1_700_000_000)
    record_end(
        world,
        Kind.IMPLEMENTATION,
        item,
        State.IMPLEMENTED,
        f"docs/lld/active/LLD-0{item}.md",
    )
    folder = world.repo / "docs/reports" / item
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "implementation-report.md").write_text(report, "utf-8")
    (folder / "test-report.md").write_text(tests, "utf-8")
    return worktree


def open_item(world: World, item: str, title: str) -> Worktree:
    """Open the worktree of an item where a run has it."""
    home = Home(world.home)
    key = repository_key(world.repo)
    home.prepare(key)
    return open_worktree(
        world.repo, home.worktree(key, item), item, branch_of(item, title)
    )


def record_end(
    world: World, workflow: Kind, id: str, state: State, source: str
) -> None:
    """Write down how an item ended."""
    home = Home(world.home)
    key = repository_key(world.repo)
    item = Item(workflow, id, source)
    record = ItemRecord.of(
        item, Outcome(state), digest="0", run="r", attempts=1, seconds=1.0
    )
    write_record(home.item(key, item).record, record, home.temporary / "record.tmp")


def worktree_folder(world: World, item: str) -> Path:
    """Return where the worktree of an item is."""
    return Home(world.home).worktree(repository_key(world.repo), item)
