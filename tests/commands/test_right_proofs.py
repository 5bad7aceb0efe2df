"""Correct work is implemented at the first try, and what only looks like it is not: tests
of documentation and commands, of what must not change, and in repositories that had
failures before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from agentos.documents.verdict import (
    CoverageRow,
    Decision,
    KeptScenario,
    Verdict,
    verdict_json,
)
from tests.designs import CODE_APPROVAL, DESIGN, fill, git, write_files
from tests.support import World

COMMAND = "implement-workflow"
TILL = {
    "till/__init__.py": '"""A till."""\n',
    "till/total.py": (
        '"""Totals."""\n\n\ndef add(*prices):\n    """Return the sum."""\n'
        "    return sum(prices)\n"
    ),
    "till/cli.py": (
        '"""The command."""\n\nimport sys\n\nfrom till.total import add\n\n\n'
        "def main():\n    print(add(*map(int, sys.argv[1:])))\n"
    ),
    "till/__main__.py": "from till.cli import main\n\nmain()\n",
    "tests/test_cli.py": (
        "import subprocess\nimport sys\n\nimport pytest\n\n\n"
        "@pytest.mark.skipif(sys.platform == 'win32', reason='posix')\n"
        "def test_sum():\n"
        "    done = subprocess.run(['till', '1', '2'], capture_output=True, check=True)\n"
        "    assert done.stdout == b'3\\n'\n\n\n"
        "def test_list():\n"
        "    subprocess.run(['lister-of-tills'], check=True)\n"
    ),
    "README.md": "# Till\n\nIt adds.\n",
    "pyproject.toml": (
        '[project]\nname = "till"\nversion = "1.0"\n'
        '[project.scripts]\ntill = "till.cli:main"\n'
    ),
}
ROWS = """\
| 020 | Sums without the option | Auto | 1 2 | 3 | Equal | R2 |
| 030 | The README names the option | Auto | README.md | --tax | In it | R1 |"""
TESTS = """\
```python
# File: tests/test_tax.py
import subprocess
import sys
from pathlib import Path

import pytest

from till import total

README = Path(__file__).parents[1] / "README.md"


def run(*words):
    return subprocess.run(["till", *words], capture_output=True, text=True)


@pytest.mark.skipif(sys.platform == "win32", reason="posix")
def test_010_the_command_adds_tax():
    assert run("--tax", "10", "100").stdout == "110\\n"


def test_010_the_function_adds_tax():
    assert total.taxed(100, 10) == 110


def test_020_without_tax_it_adds():
    assert run("1", "2").stdout == "3\\n"


def test_030_the_readme_names_it():
    assert "--tax" in README.read_text()
```
"""
CODE = """\
```python
# Edit: till/total.py
<<<<<<< SEARCH
    return sum(prices)
=======
    return sum(prices)


def taxed(price, percent):
    \"\"\"Return a price with its tax.\"\"\"
    return price + price * percent // 100
>>>>>>> REPLACE
```

```python
# File: till/cli.py
\"\"\"The command.\"\"\"

import sys

from till.total import add, taxed


def main():
    words = sys.argv[1:]
    if words[:1] == ["--tax"]:
        percent = int(words[1])
        price = add(*map(int, words[2:]))
        print(taxed(price, percent))
        return
    print(add(*map(int, words)))
```

```markdown
<!-- Edit: README.md -->
<<<<<<< SEARCH
It adds.
=======
It adds, and with `--tax` it adds tax.
>>>>>>> REPLACE
```
"""
FILES = {
    "till/total.py": "Modify",
    "till/cli.py": "Modify",
    "README.md": "Modify",
    "tests/test_tax.py": "Add",
}
CONFIRMED = (KeptScenario("020", True, "It holds already."),)
DENIED = (KeptScenario("020", False, "It is new."),)


def design(second: str) -> str:
    """Return the design of the tax, with this text as its second requirement."""
    text = DESIGN.format(
        number=1,
        title="Tax",
        status="APPROVED",
        files="\n".join(
            f"| `{path}` | {kind} | Part |" for path, kind in FILES.items()
        ),
        more=ROWS,
    )
    first = "- R1: Tax as the scenarios say.\n"
    assert first in text
    return text.replace(first, f"{first}- R2: {second}\n")


def approval(kept: tuple[KeptScenario, ...] = ()) -> str:
    """Return the review of the plan."""
    rows = (
        CoverageRow("R1", "Tax", ("010", "030"), True),
        CoverageRow("R2", "Sums", ("020",), True),
    )
    return verdict_json(Verdict(Decision.APPROVED, "Fine.", coverage=rows, kept=kept))


@pytest.fixture
def build(make_world: Callable[..., World]) -> Callable[..., World]:
    """Return a maker of a repository with a command, in which the tax was built."""

    def make(
        *,
        second: str = "Sums without the option are unchanged.",
        kept: tuple[KeptScenario, ...] = CONFIRMED,
        tests: str = TESTS,
        code: str = CODE,
        base: Mapping[str, str] | None = None,
    ) -> World:
        world = fill(make_world(issues=0), base={**TILL, **(base or {})})
        answers = {
            "review-1.json": approval(kept),
            "code-1.md": code,
            "diff-1.json": CODE_APPROVAL,
        }
        answers |= {f"tests-{number}.md": tests for number in (1, 2, 3)}
        files = {"docs/lld/active/LLD-001.md": design(second)}
        for name, text in answers.items():
            files[f".agentos/recorded/1/{name}"] = text
        write_files(world.repo, files)
        git(world.repo, "add", "--all")
        git(world.repo, "commit", "--quiet", "--message=Design")
        ended = world.run(COMMAND, "--all", "--max-iterations", "1")
        (world.repo / "said.txt").write_text(ended.text, "utf-8")
        return world

    return make


def said(world: World) -> str:
    """Return what the command printed."""
    return (world.repo / "said.txt").read_text("utf-8")


def report(world: World, name: str) -> str:
    """Return a report of the item."""
    path = Path(world.repo, f"docs/reports/1/{name}-report.md")
    return path.read_text("utf-8")


def test_correct_work_on_a_package_with_a_command_passes_at_the_first_try(
    build: Callable[..., World],
) -> None:
    world = build()
    assert "green in 1 iteration" in said(world), said(world)
    assert "before: 1 passed, 1 fails already: tests/test_cli.py::test_list" in said(
        world
    )
    told = report(world, "implementation")
    assert "| R1 | Tax as the scenarios say. | 010, 030 | yes |" in told
    assert "| R2 | Sums without the option are unchanged. | 020 | kept |" in told
    told = report(world, "test")
    row = "| `tests/test_tax.py::{}` | {} | {} | passed | {} |"
    for name, *cells in (
        ("test_010_the_command_adds_tax", "010", "failed", "proven"),
        ("test_020_without_tax_it_adds", "020", "passed", "kept"),
        ("test_030_the_readme_names_it", "030", "failed", "proven"),
    ):
        assert row.format(name, *cells) in told, told
    assert "020: the reviewer of the test plan says so" in told
    assert (
        "These failed before the change and still do:\n\n- `tests/test_cli.py" in told
    )
    assert "Not noticed by any test" not in told, told


def test_lines_that_only_the_command_runs_are_covered_and_others_are_not(
    build: Callable[..., World],
) -> None:
    never = CODE.replace(
        "    percent = int(words[1])",
        "    if words[1] == 'none':\n"
        + "".join(f"            print({number})\n" for number in range(5))
        + "        percent = int(words[1])",
    )
    world = build(code=never)
    assert "IMPLEMENTED" not in said(world)
    told = report(world, "implementation")
    assert "% of the declared files' lines ran, 95% are asked for" in told
    assert "| `till/cli.py` |" in report(world, "test")
    assert "| 12-16 |" in report(world, "test"), report(world, "test")


@pytest.mark.parametrize("kept", [(), CONFIRMED, DENIED], ids=["", "yes", "no"])
def test_the_reviewer_of_the_plan_decides_what_is_kept(
    build: Callable[..., World], kept: tuple[KeptScenario, ...]
) -> None:
    second = "Without the option, prices are summed up."
    if kept == DENIED:
        second = "Sums without the option are unchanged."
    world = build(second=second, kept=kept)
    if kept == CONFIRMED:
        assert "green in 1 iteration" in said(world), said(world)
        assert "020: the reviewer of the test plan says so" in report(world, "test")
    else:
        assert "passes before anything is built" in said(world), said(world)


def test_words_of_the_design_excuse_no_requirement(
    build: Callable[..., World],
) -> None:
    world = build(second="Unchanged prices are summed up.", kept=())
    told = said(world)
    assert "no usable tests in 3 attempts: R2: none of its tests fails" in told, told
    assert "neither the reviewer of the test plan nor the Type of its" in told


def test_a_test_that_fails_for_an_old_cause_is_not_red(
    build: Callable[..., World],
) -> None:
    tests = TESTS.replace('["till", *words]', '["lister-of-tills", *words]')
    world = build(tests=tests)
    assert "no usable tests in 3 attempts" in said(world), said(world)
    assert (
        "tests/test_cli.py::test_list failed for the same cause before anything was"
        " built" in said(world)
    )


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('sys.platform == "win32"', 'sys.platform != "win32"', "is skipped"),
        ('sys.platform == "win32"', "True", "keeps a test from counting"),
        (
            "total.taxed(100, 10) == 110",
            "total.taxed(1, 1) == total.taxed(1, 1)",
            "itself",
        ),
        ('"--tax" in README.read_text()', "len(README.read_text()) >= 0", "below 0"),
        (
            '"--tax" in README.read_text()',
            '"It adds" in README.read_text()',
            "passes before",
        ),
    ],
)
def test_what_only_looks_like_a_proof_is_still_refused(
    build: Callable[..., World], old: str, new: str, reason: str
) -> None:
    world = build(tests=TESTS.replace(old, new))
    assert "no usable tests in 3 attempts" in said(world), said(world)
    assert reason in said(world)
