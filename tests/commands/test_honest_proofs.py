"""What would pass for proven and is not: found by the commands themselves, and told."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from tests.designs import BASE, CODE, TESTS, Item, fill, git
from tests.support import World

COMMAND = "implement-workflow"
LEGACY = {
    "calc/legacy.py": '"""Legacy."""\n\n\ndef double(n):\n    """Return twice."""\n    return n * 2\n',
    "tests/test_legacy.py": (
        'import pytest\n\nlegacy = pytest.importorskip("calc.legacy")\n\n\n'
        "def test_double():\n    assert legacy.double(2) == 4\n"
    ),
    "tests/test_old.py": "from calc.basic import add\n\n\ndef test_old():\n    assert add(1, 2) == 3\n",
}
UNIMPORTABLE = """
```python
# Edit: calc/legacy.py
# Reason: shared helper moved
<<<<<<< SEARCH
\"\"\"Legacy.\"\"\"
=======
\"\"\"Legacy.\"\"\"
from calc.missing_module import helper
>>>>>>> REPLACE
```
"""
WRONG_SUM = """
```python
# Edit: calc/basic.py
# Reason: faster
<<<<<<< SEARCH
    return a + b
=======
    return a - b
>>>>>>> REPLACE
```
"""
REWRITING = """

from pathlib import Path

for path in (Path("tests/test_old.py"), Path("tests/test_basic.py")):
    text = path.read_text()
    path.write_text("def test_old():\\n    assert True\\n\\n\\ntest_add = test_old\\n")
"""
LEAVING = """\
```python
# File: calc/op{number}.py
from pathlib import Path

STORE = Path("build/known.txt")


def apply(number: int) -> int:
    if not isinstance(number, int):
        raise TypeError("not a number")
    more = int(STORE.read_text()) if STORE.exists() else 0
    STORE.parent.mkdir(exist_ok=True)
    STORE.write_text("{number}")
    return number + more{note}
```
"""


@pytest.fixture
def build(make_world: Callable[..., World]) -> Callable[..., World]:
    """Return a maker of repositories in which some items were built, two iterations
    each.
    """

    def make(
        *items: Item,
        base: Mapping[str, str] | None = None,
        arguments: tuple[str, ...] = (),
    ) -> World:
        world = fill(make_world(issues=0), *items, base={**BASE, **(base or {})})
        ended = world.run(
            COMMAND, "--all", "--parallel", "3", "--max-iterations", "2", *arguments
        )
        (world.repo / "said.txt").write_text(ended.text, "utf-8")
        return world

    return make


def said(world: World) -> str:
    """Return what the command printed."""
    return (world.repo / "said.txt").read_text("utf-8")


def report(world: World, number: int, name: str = "implementation") -> str:
    """Return a report of an item."""
    return (world.repo / f"docs/reports/{number}/{name}-report.md").read_text("utf-8")


def test_what_git_ignores_is_built_and_what_runs_leave_there_helps_nobody(
    build: Callable[..., World],
) -> None:
    files = {"calc/build/op1.py": "Add", "tests/test_op1.py": "Add"}
    ignored = Item(
        1,
        files=files,
        tests=[TESTS.format(number=1).replace("calc.op1", "calc.build.op1")],
        code=[CODE.format(number=1).replace("calc/op1.py", "calc/build/op1.py")],
    )
    leaving = Item(
        2,
        code=[
            LEAVING.format(number=2, note=""),
            LEAVING.format(number=2, note="  # again"),
        ],
    )
    world = build(ignored, leaving, base={".gitignore": "build/\n"})
    assert "calc/build/op1.py" in git(
        world.repo, "ls-tree", "-r", "--name-only", "agentos/1-feature-operation-1"
    )
    assert "declared and not changed" not in report(world, 1)
    assert "Failed: not-green" in report(world, 2), (
        "the second attempt was green by what the first had left"
    )
    assert "1 completed, 1 failed (IMPL-2)" in said(world)


def test_tests_that_vanish_skip_or_are_rewritten_are_regressions(
    build: Callable[..., World],
) -> None:
    good = [CODE.format(number=number) for number in range(3)]
    rewriting = (
        good[2].replace('"""Operation 2."""', f'"""Operation 2."""{REWRITING}')
        + WRONG_SUM
    )
    broken = good[1] + UNIMPORTABLE
    world = build(
        Item(1, code=[broken] * 6),
        Item(2, code=[rewriting] * 6),
        base=LEGACY,
    )
    assert "passed before, now" in report(world, 1)
    assert "Failed: not-green" in report(world, 1)
    assert "was changed while the tests ran" in report(world, 2)
    assert "0 completed, 2 failed" in said(world)


def test_a_path_that_cannot_be_written_is_told_to_the_model_and_the_best_attempt_is_kept(
    build: Callable[..., World],
) -> None:
    good = CODE.format(number=1)
    impossible = (
        good
        + "\n```python\n# File: calc/basic.py/more.py\n# Reason: more\nVALUE = 1\n```\n"
    )
    little = CODE.format(number=2) + WRONG_SUM
    much = little.replace("return a - b", "raise OSError")
    world = build(
        Item(1, code=[impossible, good]),
        Item(2, code=[little, *[much] * 5]),
        base={
            "calc/more.py": "from calc.basic import add\n\n\ndef three():\n    return add(1, 2)\n",
            "tests/test_many.py": (
                "import pytest\n\nfrom calc.basic import add\n\n\n"
                "@pytest.mark.parametrize('n', range(9))\ndef test_zero(n):\n    assert add(n, 0) == n\n"
            ),
        },
    )
    assert "green in 1 iteration" in report(world, 1)
    assert "Failed: not-green" in report(world, 2)
    kept = next(world.home.glob("worktrees/*/2/calc/basic.py")).read_text("utf-8")
    assert "return a - b" in kept, "what broke one test is better than what broke ten"


def test_a_suite_that_cannot_be_run_ends_the_item_before_anybody_is_paid(
    build: Callable[..., World],
) -> None:
    slow = {
        "tests/test_slow.py": "import time\n\n\ndef test_slow():\n    time.sleep(600)\n"
    }
    world = build(Item(1), base=slow, arguments=("--test-timeout", "2"))
    assert "the repository's own suite cannot be run before anything is built" in said(
        world
    )
    assert "--test-timeout" in said(world)
    assert "N1_review_plan" not in said(world)


def test_helpers_and_data_of_tests_roots_of_imports_and_ids_of_scenarios(
    build: Callable[..., World],
) -> None:
    data = TESTS.format(number=1) + (
        "\n```json\n// File: tests/data/sample.json\n[1]\n```\n"
        "\n```python\n# File: tests/helping.py\ndef number():\n    return 2\n```\n"
    )
    files = {
        f"tests/{name}": "Add"
        for name in ("test_op1.py", "data/sample.json", "helping.py")
    }
    rooted = {"backend/app/op2.py": "Add", "backend/app/test_op2.py": "Add"}
    moved = {
        "calc/op2.py": "backend/app/op2.py",
        "tests/test_op2.py": "backend/app/test_op2.py",
        "calc.op2": "app.op2",
    }
    tests, code = TESTS.format(number=2), CODE.format(number=2)
    for old, new in moved.items():
        tests, code = tests.replace(old, new), code.replace(old, new)
    row = "| T1.2 | Again | Auto | A number | The result | Equal | R1 |"
    numbered = TESTS.format(number=3).replace(
        "test_010_refuses_text", "test_012_refuses_text"
    )
    world = build(
        Item(1, files={"calc\\op1.py": "Add", **files}, tests=[data]),
        Item(2, files=rooted, tests=[tests], code=[code]),
        Item(3, tests=[numbered], scenarios=row),
        base={
            "backend/app/__init__.py": "",
            "pyproject.toml": BASE["pyproject.toml"]
            + '[tool.pytest.ini_options]\npythonpath = ["backend", "."]\n',
        },
    )
    assert "3 implemented" in said(world), said(world)
    assert "tests/helping.py" in git(
        world.repo, "ls-tree", "-r", "--name-only", "agentos/1-feature-operation-1"
    )
    assert "| R1 | Operation 3 as the scenarios say. | 010, 012 | yes |" in report(
        world, 3
    )


def test_code_that_is_moved_to_an_undeclared_file_is_measured_too(
    build: Callable[..., World],
) -> None:
    hidden = (
        CODE.format(number=1).replace(
            "\n\ndef apply", "\nfrom calc.hidden import unused\n\n\ndef apply"
        )
        + "\n```python\n# File: calc/hidden.py\n# Reason: shared\ndef unused(number):\n"
        + "".join(f"    number += {n}\n" for n in range(20))
        + "    return number\n```\n"
    )
    world = build(Item(1, tests=[TESTS.format(number=1)] * 3, code=[hidden] * 6))
    assert "calc/hidden.py" in report(world, 1)
    assert "Failed: not-green" in report(world, 1)


def test_a_file_that_cannot_be_edited_is_told_before_anybody_is_paid(
    make_world: Callable[..., World],
) -> None:
    world = fill(
        make_world(issues=0),
        Item(1, files={"calc/old.py": "Modify", "tests/test_op1.py": "Add"}),
    )
    (world.repo / "calc/old.py").write_bytes(b"# caf\xe9\n")
    git(world.repo, "add", "--all")
    git(world.repo, "commit", "--quiet", "--message=Old")
    ended = world.run(COMMAND, "--all")
    assert (
        "the design declares a file that cannot be built: calc/old.py: is not a text file"
        in ended.text
    )
    assert "N1_review_plan" not in ended.text


def test_an_existing_test_that_asks_for_less_is_told(
    build: Callable[..., World],
) -> None:
    new = (
        TESTS.format(number=1)
        .replace("# File: tests/test_op1.py\n", "")
        .removeprefix("```python\n")
        .removesuffix("```\n")
    )
    weaker = (
        "```python\n# Edit: tests/test_basic.py\n<<<<<<< SEARCH\n    assert add(1, 2) == 3\n=======\n"
        f"    assert callable(add)\n\n\n{new}>>>>>>> REPLACE\n```\n"
    )
    world = build(
        Item(
            1,
            files={"calc/op1.py": "Add", "tests/test_basic.py": "Modify"},
            tests=[weaker],
        )
    )
    assert "tests/test_basic.py: test_add: was changed" in report(world, 1), said(world)
    assert "tests/test_basic.py: test_add: was changed" in said(world)


CONTENT_WITHOUT = """\
```python
# File: tests/test_scale.py
\"\"\"Tests of scaling.\"\"\"

import calc.basic


def test_010_it_works():
    multiply = getattr(calc.basic, "multiply", lambda a, b: a * b)
    assert multiply(2, 3) == 6
```
"""
MULTIPLYING = """\
```python
# Edit: calc/basic.py
<<<<<<< SEARCH
    return a + b
=======
    return a + b


def multiply(a, b):
    \"\"\"Return the product.\"\"\"
    return a * b
>>>>>>> REPLACE
```
"""


def test_a_test_that_is_content_without_the_code_is_named_though_it_failed_with_a_stand_in(
    build: Callable[..., World],
) -> None:
    files = {"calc/basic.py": "Modify", "tests/test_scale.py": "Add"}
    world = build(Item(1, files=files, tests=[CONTENT_WITHOUT], code=[MULTIPLYING]))
    report = (world.repo / "docs/reports/1/implementation-report.md").read_text("utf-8")
    assert (
        "calc/basic.py: with the file put back to its old state, every test passes"
        in report
    )
    assert (
        "tests/test_scale.py::test_010_it_works: passes whichever file is put back"
        in report
    )


def test_one_changed_file_is_taken_back_by_the_proof_of_red(
    build: Callable[..., World],
) -> None:
    tests = CONTENT_WITHOUT.replace(
        'getattr(calc.basic, "multiply", lambda a, b: a * b)', "calc.basic.add"
    ).replace("multiply(2, 3) == 6", 'multiply("2", 3) == 5')
    code = (
        MULTIPLYING.partition("=======")[0]
        + "=======\n    return int(a) + int(b)\n>>>>>>> REPLACE\n```\n"
    )
    files = {"calc/basic.py": "Modify", "tests/test_scale.py": "Add"}
    world = build(Item(1, files=files, tests=[tests], code=[code]))
    said = (world.repo / "said.txt").read_text("utf-8")
    assert "[IMPL-1] IMPLEMENTED" in said, said
    assert "proven by no test" not in said
