"""What an implementation takes from its design. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from agentos.documents.changes import is_test
from agentos.documents.lld import Lld, check_plan, coverage, parse_lld
from agentos.documents.repository_paths import plain_path
from agentos.errors import BadInput
from agentos.inspection import plain_id

APPROVED = "APPROVED"
_STANDING = ("regression", "unchanged", "as before")
"""Words of a scenario about behaviour that is there already; few, for whatever they exempt need not be proven red."""
_PROSE = frozenset({"", ".md", ".rst", ".adoc", ".txt"})


class Change(StrEnum):
    """What is done to a declared file."""

    ADD = "add"
    MODIFY = "modify"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Blueprint:
    """The parts of a design that are built and proven."""

    title: str
    declared: Mapping[str, Change]
    """Every file of section 2.1 and what is done to it."""
    scenarios: tuple[str, ...]
    """Ids of the scenarios that a test must have; those that need a person or a live service are left out."""
    standing: frozenset[str]
    """Ids of the scenarios about behaviour that is there already, whose tests may pass before the code."""
    requirements: Mapping[str, str]
    covered_by: Mapping[str, tuple[str, ...]]
    """For each requirement the scenarios that test it."""
    doubts: tuple[str, ...] = ()
    """What is wrong with the tables that all this was read from, one line each."""

    @property
    def tests(self) -> tuple[str, ...]:
        """The declared test files."""
        return tuple(path for path in self.declared if is_test(path))

    @property
    def sources(self) -> tuple[str, ...]:
        """The declared files that are no tests."""
        return tuple(path for path in self.declared if not is_test(path))

    @property
    def python_sources(self) -> tuple[str, ...]:
        """The declared modules that will be there when the item is done."""
        return tuple(p for p in self.sources if p.endswith(".py") and self.declared[p] is not Change.DELETE)

    def measured(self, touched: Iterable[str]) -> tuple[str, ...]:
        """Return the modules whose lines count: the declared ones, and whatever else was changed beside them."""
        gone = {path for path, change in self.declared.items() if change is Change.DELETE}
        more = (p for p in touched if p.endswith(".py") and not is_test(p) and p not in gone)
        return tuple(dict.fromkeys((*self.python_sources, *more)))

    @property
    def removed_tests(self) -> tuple[str, ...]:
        """The declared tests that are deleted on purpose."""
        return tuple(path for path in self.tests if self.declared[path] is Change.DELETE)

    @property
    def provable(self) -> tuple[str, ...]:
        """The declared files that some test should notice when they are put back: all but prose and what is deleted."""
        return tuple(p for p in self.sources if self.declared[p] is not Change.DELETE and not _is_prose(p))


def read_blueprint(text: str, item: str) -> Blueprint:
    """Take from an approved design what is needed to build it, or raise `BadInput` saying what is missing."""
    lld = parse_lld(text)
    if lld.status.upper() != APPROVED:
        status = lld.status or "nothing"
        raise BadInput(f"its status is {status}, only approved designs are built; run lld-workflow --ids {item} first")
    declared = {plain_path(change.path): _kind(change.change) for change in lld.files}
    if not any(not is_test(path) for path in declared):
        raise BadInput("section 2.1 declares no file to build; add the table of changed files and have it reviewed")
    automatic = [scenario for scenario in lld.scenarios if not _needs_more_than_a_test(scenario.type)]
    if not automatic:
        raise BadInput("section 10.1 has no scenario that a test could run; add some and have the design reviewed")
    if not any(is_test(path) for path in declared):
        declared[f"tests/test_issue_{item.lower().replace('-', '_')}.py"] = Change.ADD
    return Blueprint(
        title=lld.title,
        declared=declared,
        scenarios=tuple(dict.fromkeys(plain_id(scenario.id) for scenario in automatic)),
        standing=frozenset(plain_id(s.id) for s in automatic if _is_standing(f"{s.name} {s.type}")),
        requirements={requirement.id: requirement.text for requirement in lld.requirements},
        covered_by=_covered_by(lld),
        doubts=tuple(finding.text for finding in check_plan(lld)),
    )


def _is_prose(path: str) -> bool:
    return PurePosixPath(path).suffix.casefold() in _PROSE


def _covered_by(lld: Lld) -> dict[str, tuple[str, ...]]:
    return {row.requirement: tuple(map(plain_id, row.scenarios)) for row in coverage(lld)}


def _kind(change: str) -> Change:
    word = change.strip().casefold()
    if word.startswith(("delet", "remov")):
        return Change.DELETE
    return Change.ADD if word.startswith(("add", "new", "creat")) else Change.MODIFY


def _needs_more_than_a_test(kind: str) -> bool:
    return "manual" in kind.casefold() or "live" in kind.casefold()


def _is_standing(words: str) -> bool:
    return any(word in words.casefold() for word in _STANDING)


def find_plan_problems(blueprint: Blueprint) -> list[str]:
    """Tell which requirements no scenario tests, before anybody is paid to say so."""
    automatic = set(blueprint.scenarios)
    return [
        f"{requirement}: no scenario of section 10.1 that can be run covers it: {blueprint.requirements[requirement]}"
        for requirement, scenarios in blueprint.covered_by.items()
        if not automatic & set(scenarios)
    ]
