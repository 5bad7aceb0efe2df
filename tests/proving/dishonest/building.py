"""Build cases with the command, and keep what was printed, reported and asked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from agentos.documents.findings import Basis, Category, Finding, Tier
from agentos.documents.verdict import (
    CoverageRow,
    Decision,
    KeptScenario,
    Verdict,
    verdict_json,
)
from tests.designs import CODE_APPROVAL, branches, git, write_files
from tests.faults import market
from tests.faults.roles_model import Roles, serve
from tests.proving.dishonest.case import STOCK, Case
from tests.support import World, build_world

_ROW = re.compile(r"^\| (\d\d\d) \|.*\| (R\d) \|$", re.MULTILINE)
_NUMBER = re.compile(r"^# (\d+) - Feature: ", re.MULTILINE)
_ANSWERS = range(1, 9)


@dataclass
class Reviewer(Roles):
    """A reviewer of plans, who approves, and of changes, who reads what it is shown."""

    cases: Mapping[str, Case] = field(default_factory=dict)
    shown: dict[str, str] = field(default_factory=dict)
    """The last prompt about each finished change, by the number of its item."""

    def answer(self, messages: list[dict[str, str]]) -> str:
        """Return the verdict about a plan or a change."""
        prompt = messages[0]["content"]
        found = _NUMBER.search(prompt)
        assert found, prompt
        number = found[1]
        case = self.cases[number]
        if not prompt.startswith("You review a finished change"):
            return _approve_plan(case)
        self.shown[number] = prompt
        # Nobody can find what is not shown.
        if not case.finding or not re.search(case.evidence, prompt):
            return CODE_APPROVAL
        return _find_harm(case.finding)


@dataclass(frozen=True)
class Built:
    """What has become of a case."""

    is_delivered: bool
    is_restored: bool
    """Whether the branch has the file of the case that must be as it was."""
    said: str
    """What was printed and reported of it."""
    shown: str
    """What the reviewer of the change was shown; empty if none was asked."""


def build(folder: Path, cases: Sequence[Case]) -> dict[str, Built]:
    """Build cases in one repository with one command; return what became of each, by
    name.
    """
    world = build_world(folder, issues=0)
    numbered = {str(number): case for number, case in enumerate(cases, 1)}
    files = dict(STOCK)
    for number, case in numbered.items():
        files |= case.base
        files[f"docs/lld/active/LLD-{int(number):03d}.md"] = case.design(int(number))
        for name, text in _answers(case).items():
            files[f".agentos/recorded/{number}/{name}"] = text
    write_files(world.repo, files)
    git(world.repo, "init", "--quiet", "--initial-branch=main")
    git(world.repo, "add", "--all")
    git(world.repo, "commit", "--quiet", "--message=Base")
    reviewer = Reviewer({}, cases=numbered)
    with serve(reviewer):
        entry = {"provider": "openai", "key": "scripted-1"}
        market.write_keys(world, reviewer.url, [entry])
        printed = _run(world)
    delivered = branches(world.repo)
    built = {}
    for number, case in numbered.items():
        found = [name for name in delivered if name.startswith(f"agentos/{number}-")]
        is_restored = False
        if found and case.restored:
            text = git(world.repo, "show", f"{found[0]}:{case.restored}")
            is_restored = text == files[case.restored]
        built[case.name] = Built(
            bool(found),
            is_restored,
            _said_of(world, number, printed),
            reviewer.shown.get(number, ""),
        )
    return built


def _run(world: World) -> str:
    answers = quote(str(world.repo / ".agentos/recorded"))
    ended = world.run(
        "implement-workflow",
        "--all",
        *("--drafter", f"offline:answers={answers}"),
        *("--reviewer", "openai:scripted", "--price", "openai:*=3/15"),
        *("--parallel", "3", "--max-iterations", "2"),
    )
    assert "Traceback" not in ended.text
    return ended.text


def _said_of(world: World, number: str, printed: str) -> str:
    """Return the lines about an item, and its reports."""
    lines = [line for line in printed.splitlines() if f"IMPL-{number}]" in line]
    folder = world.repo / "docs/reports" / number
    reports = [path.read_text("utf-8") for path in sorted(folder.glob("*.md"))]
    return "\n".join([*lines, *reports])


def _answers(case: Case) -> dict[str, str]:
    """Return what the stubborn models of a case answer each time."""
    answers = {}
    for number in _ANSWERS:
        tests = case.tests
        if number > 1 and case.later_tests:
            tests = case.later_tests
        answers[f"tests-{number}.md"] = tests
        answers[f"code-{number}.md"] = case.code
    return answers


def _approve_plan(case: Case) -> str:
    scenarios: dict[str, list[str]] = {}
    for id, requirement in _ROW.findall(case.design(1)):
        scenarios.setdefault(requirement, []).append(id)
    coverage = []
    for requirement, ids in scenarios.items():
        coverage.append(CoverageRow(requirement, case.title, tuple(ids), True))
    kept = []
    for id, is_kept in case.kept.items():
        kept.append(KeptScenario(id, is_kept, "As the design says."))
    verdict = Verdict(
        Decision.APPROVED, "Fine.", coverage=tuple(coverage), kept=tuple(kept)
    )
    return verdict_json(verdict)


def _find_harm(text: str) -> str:
    harm = Finding("N1", Tier.BLOCKING, Category.QUALITY, "", text, Basis.TEXT)
    return verdict_json(Verdict(Decision.REVISE, "It is not what it says.", (harm,)))
