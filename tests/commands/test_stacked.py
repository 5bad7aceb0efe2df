"""Items that build on others, or on their own first version, after the user has merged those."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support import World
from tests.workshop import TESTS, Item, fill, git

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


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """Return a repository whose first item is built, and in whose file two others want to put something."""
    made = fill(make_world(issues=0), Item(1), _more(2), _more(3))
    _implement(made, "1")
    return made


def test_after_a_squash_and_an_edit_the_next_builds_on_the_head(world: World) -> None:
    git(world.repo, "merge", "--quiet", "--squash", FIRST)
    git(world.repo, "commit", "--quiet", "--message=Operation 1 (#1)")
    _edit(world, "calc/op1.py", "not a number", "no number: a number is needed")
    head = git(world.repo, "rev-parse", "HEAD")
    said = _implement(world, "2")
    assert "[IMPL-2] item 1 is in the head already and was changed there; this one builds on it as it is" in said
    assert git(world.repo, "rev-parse", "agentos/2-feature-operation-2^") == head


def test_who_has_a_base_goes_on_and_who_has_none_is_told_of_the_conflict(world: World) -> None:
    _implement(world, "2", "--scaffold-only")
    base = git(world.repo, "rev-parse", "agentos/2-feature-operation-2")
    assert base == git(world.repo, "rev-parse", FIRST)
    (world.repo / "calc/op1.py").write_text("UNIT = 10\n\n\ndef cost():\n    return UNIT\n", "utf-8")
    git(world.repo, "add", "calc/op1.py")
    git(world.repo, "commit", "--quiet", "--message=Mine")
    assert "1 resumed" in _implement(world, "2")
    assert git(world.repo, "rev-parse", "agentos/2-feature-operation-2^") == base
    ended = world.run("implement-workflow", "--ids", "3")
    assert ended.code == 1, ended.text
    assert "failed: conflict" in ended.stdout
    assert "conflicts with the head in calc/op1.py; merge it by hand (git merge " in ended.stdout
    assert "Traceback" not in ended.text


def test_a_revised_design_is_built_on_the_merge_of_the_first(world: World) -> None:
    first = git(world.repo, "rev-parse", FIRST)
    git(world.repo, "merge", "--quiet", FIRST)
    _edit(world, "docs/lld/active/LLD-001.md", "| `calc/op1.py` | Add |", "| `calc/op1.py` | Modify |")
    _edit(world, ".agentos/recorded/1/tests-1.md", "2 + 1", "2 + 2")
    _edit(world, ".agentos/recorded/1/tests-1.md", 'match="number"', 'match="whole number"')
    (world.repo / ".agentos/recorded/1/code-1.md").write_text(REVISED, "utf-8")
    git(world.repo, "commit", "--quiet", "--all", "--message=Revise")
    head = git(world.repo, "rev-parse", "HEAD")
    assert "1 restarted after an edit" in _implement(world, "1")
    assert git(world.repo, "rev-parse", f"{FIRST}^") == head
    assert git(world.repo, "diff", "--name-only", "main", FIRST).split() == ["calc/op1.py", "tests/test_op1.py"]
    assert git(world.repo, "rev-parse", "refs/agentos/1/committed-1") == first
    assert git(world.repo, "rev-parse", "refs/agentos/1/committed-2") == git(world.repo, "rev-parse", FIRST)


def _more(number: int) -> Item:
    """Return an item that adds a function to the file of the first."""
    tests = TESTS.format(number=number).replace(
        f"from calc.op{number} import apply", "from calc.op1 import more as apply"
    )
    files = {"calc/op1.py": "Modify", f"tests/test_op{number}.py": "Add"}
    return Item(number, files=files, tests=[tests], code=[MORE.format(number=number)])


def _implement(world: World, item: str, *options: str) -> str:
    ended = world.run("implement-workflow", "--ids", item, *options)
    assert ended.code == 0, ended.text
    return ended.text


def _edit(world: World, path: str, old: str, new: str) -> None:
    file = world.repo / path
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")
    git(world.repo, "commit", "--quiet", "--all", f"--message=Edit {path}")
