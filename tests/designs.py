"""Repositories with approved designs and recorded answers, for tests of what is built
from them.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agentos.documents.verdict import CoverageRow, Decision, Verdict, verdict_json
from tests.support import World

DESIGN = """\
# {number} - Feature: {title}

## 1. Context & Goal
* **Issue:** #{number}
* **Objective:** {title}.
* **Status:** {status}

## 2. Proposed Changes

### 2.1 Files Changed

| File | Change Type | Description |
|---|---|---|
{files}

## 3. Requirements

- R1: {title} as the scenarios say.

## 10. Verification & Testing

### 10.1 Test Scenarios

| ID | Scenario | Type | Input | Expected Output | Pass Criteria | Requirement |
|---|---|---|---|---|---|---|
| 010 | It works | Auto | A number | The result | Equal | R1 |
{more}
"""
TESTS = """\
```python
# File: tests/test_op{number}.py
\"\"\"Tests of operation {number}.\"\"\"

import pytest

from calc.op{number} import apply


def test_010_it_works():
    assert apply(2) == 2 + {number}


def test_010_refuses_text():
    with pytest.raises(TypeError, match="number"):
        apply("2")
```
"""
CODE = """\
```python
# File: calc/op{number}.py
\"\"\"Operation {number}.\"\"\"


def apply(number: int) -> int:
    \"\"\"Return the number and {number} more.\"\"\"
    if not isinstance(number, int):
        raise TypeError("not a number")
    return number + {number}
```
"""
PLAN_APPROVAL = verdict_json(
    Verdict(
        Decision.APPROVED,
        "Every requirement is tested.",
        coverage=(CoverageRow("R1", "It works", ("010",), True),),
    )
)
CODE_APPROVAL = verdict_json(
    Verdict(Decision.APPROVED, "It does what the design says.")
)
BASE = {
    "calc/__init__.py": '"""Arithmetic."""\n',
    "calc/basic.py": '"""Basics."""\n\n\ndef add(a, b):\n    """Return the sum."""\n    return a + b\n',
    "tests/test_basic.py": "from calc.basic import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
    "pyproject.toml": '[project]\nname = "calc"\nversion = "1.0"\n',
}


@dataclass(frozen=True)
class Item:
    """A design and what the recorded model answers when it is built."""

    number: int
    files: Mapping[str, str] = field(default_factory=dict)
    """Declared files and kinds of change; a module and its test when empty."""
    tests: Iterable[str] = ()
    """The answers with tests, one for each attempt."""
    code: Iterable[str] = ()
    """The answers with code, one for each iteration."""
    in_turns: bool = False
    """Whether the answers are those of turns in a loop."""
    status: str = "APPROVED"
    scenarios: str = ""
    """Further rows of the table of scenarios."""
    more: str = ""
    """Further text of the design, such as a dependency."""

    @property
    def design(self) -> str:
        """The text of the design."""
        files = self.files or {
            f"calc/op{self.number}.py": "Add",
            f"tests/test_op{self.number}.py": "Add",
        }
        rows = "\n".join(
            f"| `{path}` | {kind} | Part of it |" for path, kind in files.items()
        )
        text = DESIGN.format(
            number=self.number,
            title=f"Operation {self.number}",
            status=self.status,
            files=rows,
            more=self.scenarios,
        )
        return f"{text}\n{self.more}\n" if self.more else text

    @property
    def answers(self) -> dict[str, str]:
        """The recorded answers by file name."""
        tests = list(self.tests) or [TESTS.format(number=self.number)]
        code = list(self.code) or [CODE.format(number=self.number)]
        form = "{}-1.{:02}.md" if self.in_turns else "{}-{}.md"
        named = {}
        for role, texts in (("tests", tests), ("code", code)):
            for place, text in enumerate(texts, start=1):
                named[form.format(role, place)] = text
        return named | {"review-1.json": PLAN_APPROVAL, "diff-1.json": CODE_APPROVAL}


def fill(world: World, *items: Item, base: Mapping[str, str] = BASE) -> World:
    """Make the world's repository one with a package, designs and recorded answers, all
    committed.
    """
    files = dict(base)
    for item in items:
        files[f"docs/lld/active/LLD-{item.number:03d}.md"] = item.design
        files |= {
            f".agentos/recorded/{item.number}/{name}": text
            for name, text in item.answers.items()
        }
    write_files(world.repo, files)
    git(world.repo, "init", "--quiet", "--initial-branch=main")
    git(world.repo, "add", "--all")
    git(world.repo, "commit", "--quiet", "--message=Base")
    return world


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write files with the folders that they need."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def git(repository: Path, *arguments: str) -> str:
    """Run git as a user would, without any settings of the machine's own."""
    identity = (
        "-c",
        "user.name=Tester",
        "-c",
        "user.email=tester@example.org",
        "-c",
        "commit.gpgsign=false",
    )
    finished = subprocess.run(
        ["git", *identity, "-C", str(repository), *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return finished.stdout


def branches(repository: Path) -> dict[str, str]:
    """Return the trees of the branches that were built, by name."""
    lines = git(
        repository,
        "for-each-ref",
        "--format=%(refname:short) %(tree)",
        "refs/heads/agentos/",
    ).splitlines()
    return dict(line.split(" ") for line in lines)
