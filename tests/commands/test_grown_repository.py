"""A repository as it has grown: a version that only a build writes, code that no test
reaches, a full test file.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentos.workflows.implementation.accepting import (
    inspect_written_tests,
    read_tests,
)
from agentos.workflows.implementation.blueprint import read_blueprint
from tests.designs import Item, fill, git
from tests.support import World

UNREACHED = "".join(
    f"\n\ndef unused_{number}(a):\n    return a + {number}\n" for number in range(20)
)
BASICS = f'"""Basics."""\n\n\ndef add(a, b):\n    """Return the sum."""\n    return a + b\n{UNREACHED}'
PRESENT = """\
import pytest

from calc.basic import add


def test_add():
    assert add(1, 2) == 3


@pytest.mark.parametrize("a", [1, 2])
def test_010_from_another_design(a):
    assert add(a, 0) == a


@pytest.mark.skip(reason="needs a printer")
def test_print():
    assert add(1, 1) == 2
"""
GROWN = {
    "calc/__init__.py": '"""Arithmetic."""\n\nfrom calc._version import __version__\n\n__all__ = ["__version__"]\n',
    "calc/basic.py": BASICS,
    "tests/test_basic.py": PRESENT,
    "pyproject.toml": '[project]\nname = "calc"\ndynamic = ["version"]\n'
    '[tool.hatch.build.hooks.vcs]\nversion-file = "calc/_version.py"\n',
    ".gitignore": "_version.py\n",
}
TESTS = """\
```python
# Edit: tests/test_basic.py
<<<<<<< SEARCH
from calc.basic import add
=======
from calc.basic import add, double
>>>>>>> REPLACE
<<<<<<< SEARCH
@pytest.mark.parametrize("a", [1, 2])
=======
@pytest.mark.parametrize("a", [1, 2, 3])
>>>>>>> REPLACE
<<<<<<< SEARCH
def test_add():
    assert add(1, 2) == 3
=======
def test_add():
    assert add(1, 2) == 3


def test_010_double():
    assert double(2) == 4
>>>>>>> REPLACE
```
"""
CODE = """\
```python
# Edit: calc/basic.py
<<<<<<< SEARCH
    return a + b
=======
    return a + b


def double(a):
    return 2 * a
>>>>>>> REPLACE
```
"""
DOUBLE = Item(
    1,
    files={"calc/basic.py": "Modify", "tests/test_basic.py": "Modify"},
    tests=[TESTS],
    code=[CODE],
)


class Present:
    """Reads the repository as it is before the item."""

    def read(self, path: str) -> str | None:
        return GROWN.get(path)

    def read_base(self, path: str) -> str | None:
        return GROWN.get(path)


def test_what_was_there_before_is_not_held_against_an_item(
    make_world: Callable[..., World],
) -> None:
    world = fill(make_world(issues=0), DOUBLE, base=GROWN)
    ended = world.run("implement-workflow", "--all", "--trial-merge")
    assert (
        ended.code,
        "1 item merged into HEAD, the suite is green" in ended.stdout,
    ) == (0, True), ended.text
    report = (world.repo / "docs/reports/1/test-report.md").read_text("utf-8")
    assert (
        "| `tests/test_basic.py::test_010_double` | 010 | failed | passed |" in report
    )
    assert (
        "| `tests/test_basic.py::test_010_from_another_design` | 010 | passed | passed |"
        in report
    )
    assert "test_add" not in report
    assert "5 of 6 tests passed, 1 skipped." in report
    assert "Not noticed by any test" not in report
    changed = git(
        world.repo, "diff", "--name-only", "main", "agentos/1-feature-operation-1"
    ).split()
    assert changed == ["calc/basic.py", "tests/test_basic.py"]


def test_a_repository_that_cannot_be_imported_is_not_blamed_on_the_tests(
    make_world: Callable[..., World],
) -> None:
    broken = {
        "calc/__init__.py": "import not_declared\n",
        "pyproject.toml": '[project]\nname = "calc"\n',
    }
    world = fill(make_world(issues=0), DOUBLE, base=GROWN | broken)
    ended = world.run("implement-workflow", "--all")
    said = (
        "none of the repository's tests can be collected: ModuleNotFoundError: No module named 'not_declared' "
        "(calc/__init__.py:1); declare its test dependencies"
    )
    assert (ended.code, said in ended.stdout) == (1, True), ended.text


def test_a_test_that_was_there_is_not_taken_out() -> None:
    blueprint = read_blueprint(DOUBLE.design, "1")
    rewritten = PRESENT.replace("test_add", "test_010_double")
    taken = inspect_written_tests(
        {"tests/test_basic.py": rewritten}, blueprint, Present()
    )
    assert taken.problems == [
        "tests/test_basic.py: test_add was there and is gone; leave it in"
    ]


def test_a_scenario_needs_a_test_that_the_item_brings() -> None:
    blueprint = read_blueprint(DOUBLE.design, "1")
    named = TESTS.replace("test_010_double", "test_double").replace(
        "[1, 2, 3]", "[1, 2]"
    )
    read = read_tests(named, blueprint, Present())
    taken = inspect_written_tests(read.files, blueprint, Present())
    known = "test_010_from_another_design was there before and does not count"
    assert taken.problems == [
        f"no test for the scenarios 010; {known}; name one test_010_..."
    ]


@pytest.mark.parametrize(
    "lines", ["    return 2 * a\n", "    if a:\n        return 2 * a\n    return 0\n"]
)
def test_new_code_that_no_test_reaches_is_still_named(
    make_world: Callable[..., World], lines: str
) -> None:
    unproven = CODE.replace(
        "    return 2 * a\n", f"    return 2 * a\n\n\ndef halve(a):\n{lines}"
    )
    world = fill(
        make_world(issues=0),
        Item(1, files=DOUBLE.files, tests=[TESTS], code=[unproven]),
        base=GROWN | {"calc/basic.py": BASICS.replace(UNREACHED, "")},
    )
    ended = world.run("implement-workflow", "--all", "--max-iterations", "1")
    assert (
        ended.code,
        "of the declared files' lines ran, 95% are asked for" in ended.text,
    ) == (1, True), ended.text
