"""Items that build on others, or on their own first version, after the user has merged
those.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.designs import TESTS, Item, fill, git
from tests.support import World

FIRST = "agentos/1-feature-operation-1"
MORE = '''\
```python
# Edit: calc/op1.py
<<<<<<< SEARCH
"""Operation 1."""
=======
"""Operation 1."""


def more(number: int) -> int:
    """Return the number and {number} more."""
    if not isinstance(number, int):
        raise TypeError("not a number")
    return number + {number}
>>>>>>> REPLACE
```
'''
REVISED = """\
```python
# Edit: calc/op1.py
<<<<<<< SEARCH
        raise TypeError("not a number")
    return number + 1
=======
        raise TypeError("not a whole number")
    return number + 2
>>>>>>> REPLACE
```
"""
USING = """\
```python
# File: tests/test_op4.py
\"\"\"Tests of operation 4.\"\"\"

from calc.op4 import apply


def test_010_it_works():
    assert apply(2) == 6
```
"""
USED = """\
```python
# File: calc/op4.py
\"\"\"Operation 4.\"\"\"

from calc.op1 import apply as first


def apply(number: int) -> int:
    \"\"\"Return twice what operation 1 returns.\"\"\"
    return 2 * first(number)
```
"""


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """Return a repository whose first item is built, and in whose file two others want
    to put something.
    """
    made = fill(make_world(issues=0), Item(1), _more(2), _more(3))
    _implement(made, "1")
    return made


def test_after_a_squash_and_an_edit_the_next_builds_on_the_head(world: World) -> None:
    git(world.repo, "merge", "--quiet", "--squash", FIRST)
    git(world.repo, "commit", "--quiet", "--message=Operation 1 (#1)")
    _edit(world, "calc/op1.py", "not a number", "no number: a number is needed")
    head = git(world.repo, "rev-parse", "HEAD")
    said = _implement(world, "2")
    assert (
        "[IMPL-2] item 1 is in the head already and was changed there; this one builds on it as it is"
        in said
    )
    assert git(world.repo, "rev-parse", "agentos/2-feature-operation-2^") == head


def test_who_has_a_base_goes_on_and_who_has_none_is_told_of_the_conflict(
    world: World,
) -> None:
    _implement(world, "2", "--scaffold-only")
    base = git(_worktree(world, "2"), "rev-parse", "HEAD")
    assert base == git(world.repo, "rev-parse", FIRST)
    (world.repo / "calc/op1.py").write_text(
        "UNIT = 10\n\n\ndef cost():\n    return UNIT\n", "utf-8"
    )
    git(world.repo, "add", "calc/op1.py")
    git(world.repo, "commit", "--quiet", "--message=Mine")
    assert "1 resumed" in _implement(world, "2")
    assert git(world.repo, "rev-parse", "agentos/2-feature-operation-2^") == base
    ended = world.run("implement-workflow", "--ids", "3")
    assert ended.code == 1, ended.text
    assert "failed: conflict" in ended.stdout
    assert (
        "conflicts with the head in calc/op1.py; merge it by hand (git merge "
        in ended.stdout
    )
    assert "Traceback" not in ended.text


def test_a_revised_design_is_built_on_the_merge_of_the_first(world: World) -> None:
    first = git(world.repo, "rev-parse", FIRST)
    git(world.repo, "merge", "--quiet", FIRST)
    _revise(world)
    head = git(world.repo, "rev-parse", "HEAD")
    assert "1 restarted after an edit" in _implement(world, "1")
    assert git(world.repo, "rev-parse", f"{FIRST}^") == head
    assert git(world.repo, "diff", "--name-only", "main", FIRST).split() == [
        "calc/op1.py",
        "tests/test_op1.py",
    ]
    assert git(world.repo, "rev-parse", "refs/agentos/1/committed-1") == first
    assert git(world.repo, "rev-parse", "refs/agentos/1/committed-2") == git(
        world.repo, "rev-parse", FIRST
    )


def test_what_it_depends_on_and_was_built_in_an_earlier_run_is_built_upon(
    make_world: Callable[..., World],
) -> None:
    depending = Item(4, tests=[USING], code=[USED], more="Depends on: #1")
    world = fill(make_world(issues=0), Item(1), Item(2), depending)
    _implement(world, "1", "2")
    _implement(world, "4")
    built = git(world.repo, "rev-parse", FIRST)
    assert built == git(
        world.repo, "merge-base", FIRST, "agentos/4-feature-operation-4"
    )
    assert "calc/op2.py" not in git(
        world.repo, "ls-tree", "-r", "--name-only", "agentos/4-feature-operation-4"
    )


def test_commits_of_others_are_in_the_way_until_they_are_merged(world: World) -> None:
    _commit_by_hand(world)
    design = world.repo / "docs/lld/active/LLD-001.md"
    design.write_text(design.read_text("utf-8") + "\nMore words.\n", "utf-8")
    git(world.repo, "commit", "--quiet", "--all", "--message=Design")
    refused = world.run("implement-workflow", "--ids", "1").text
    assert (
        "has commits that AgentOS did not make; merge it, or keep them by git branch NEW-NAME"
        in refused
    )
    way_back = refused.partition("go back by git ")[2].partition(", and start again")[0]
    kept = git(world.repo, "rev-parse", FIRST)
    git(world.repo, "branch", "mine", FIRST)
    git(world.repo, *way_back.split())
    assert git(world.repo, "rev-parse", "mine") == kept
    assert "IMPLEMENTED" in world.run("implement-workflow", "--ids", "1").text


def test_a_branch_that_was_merged_with_commits_of_others_begins_anew(
    world: World,
) -> None:
    _commit_by_hand(world)
    git(world.repo, "merge", "--quiet", "--no-edit", FIRST)
    _revise(world)
    assert "IMPLEMENTED" in world.run("implement-workflow", "--ids", "1").text
    assert git(world.repo, "merge-base", "HEAD", FIRST) == git(
        world.repo, "rev-parse", "HEAD"
    )


def _more(number: int) -> Item:
    """Return an item that adds a function to the file of the first."""
    tests = TESTS.format(number=number).replace(
        f"from calc.op{number} import apply", "from calc.op1 import more as apply"
    )
    files = {"calc/op1.py": "Modify", f"tests/test_op{number}.py": "Add"}
    return Item(number, files=files, tests=[tests], code=[MORE.format(number=number)])


def _implement(world: World, *items: str) -> str:
    ended = world.run("implement-workflow", "--ids", *items)
    assert ended.code == 0, ended.text
    return ended.text


def _revise(world: World) -> None:
    """Have the first item want something else of its module, which is there already."""
    _edit(
        world,
        "docs/lld/active/LLD-001.md",
        "| `calc/op1.py` | Add |",
        "| `calc/op1.py` | Modify |",
    )
    _edit(world, ".agentos/recorded/1/tests-1.md", "2 + 1", "2 + 2")
    _edit(
        world,
        ".agentos/recorded/1/tests-1.md",
        'match="number"',
        'match="whole number"',
    )
    (world.repo / ".agentos/recorded/1/code-1.md").write_text(REVISED, "utf-8")
    git(world.repo, "commit", "--quiet", "--all", "--message=Revise")


def _commit_by_hand(world: World) -> None:
    """Commit on the branch of the first item as its user."""
    git(world.repo, "checkout", "--quiet", FIRST)
    (world.repo / "NOTES.md").write_text("by hand\n", "utf-8")
    git(world.repo, "add", "NOTES.md")
    git(world.repo, "commit", "--quiet", "--message=By hand")
    git(world.repo, "checkout", "--quiet", "main")


def _worktree(world: World, item: str) -> Path:
    return next(world.home.glob(f"worktrees/*/{item}"))


def _edit(world: World, path: str, old: str, new: str) -> None:
    file = world.repo / path
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")
    git(world.repo, "commit", "--quiet", "--all", f"--message=Edit {path}")
