"""Read from a design what its implementation needs (pure)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from agentos.documents.changes import is_test
from agentos.documents.lld import (
    LldScenario,
    check_plan,
    coverage,
    parse_lld,
    status_of,
)
from agentos.documents.provenance import APPROVED_STATUS, RECORDED_STATUS
from agentos.documents.repository_paths import plain_path
from agentos.errors import BadInput
from agentos.proving.inspection import plain_id
from agentos.workflows.implementation.kept import PlannedAsKept, read_kept

_BUILT = frozenset({APPROVED_STATUS, RECORDED_STATUS.upper()})
"""Statuses of a design that can be built; the inbox decides whether a recorded approval
counts.
"""
_DOCUMENT = re.compile(
    r"\b(?:(?:README|CHANGELOG|CHANGES|CONTRIBUTING|LICENSE|AUTHORS)(?:\.\w{1,4})?"
    r"|pyproject\.toml|setup\.cfg|setup\.py|MANIFEST\.in)\b"
)
"""Files that a scenario may name without meaning some file of a test's own."""
_PROSE = frozenset({"", ".md", ".rst", ".adoc", ".txt"})


class Change(StrEnum):
    """How a design changes a declared file."""

    ADD = "add"
    MODIFY = "modify"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Blueprint:
    """The parts of a design that are built and tested."""

    title: str
    declared: Mapping[str, Change]
    """The files of section 2.1, each with its change."""
    scenarios: tuple[str, ...]
    """Ids of the scenarios that need a test, without those that need a person or a live
    service.
    """
    kept: PlannedAsKept
    """What the design says about what must not change."""
    requirements: Mapping[str, str]
    covered_by: Mapping[str, tuple[str, ...]]
    """The scenarios that test each requirement."""
    subjects: frozenset[str] = frozenset()
    """Names of documentation and packaging files that the design is about."""
    doubts: tuple[str, ...] = ()
    """Problems in the tables of the design, one line each."""

    @property
    def tests(self) -> tuple[str, ...]:
        """The declared test files."""
        return tuple(path for path in self.declared if is_test(path))

    @property
    def sources(self) -> tuple[str, ...]:
        """The declared files that are not tests."""
        return tuple(path for path in self.declared if not is_test(path))

    @property
    def python_sources(self) -> tuple[str, ...]:
        """The declared Python modules that the item adds or changes."""
        return tuple(path for path in self._kept_sources if path.endswith(".py"))

    def measured(self, touched: Iterable[str]) -> tuple[str, ...]:
        """Return the modules whose coverage counts: the declared ones and the others
        that were changed.
        """
        found = list(self.python_sources)
        for path in touched:
            if path in found or self.declared.get(path) is Change.DELETE:
                continue
            if path.endswith(".py") and not is_test(path):
                found.append(path)
        return tuple(found)

    @property
    def removed_tests(self) -> tuple[str, ...]:
        """The declared tests that the design deletes."""
        return tuple(
            path for path in self.tests if self.declared[path] is Change.DELETE
        )

    @property
    def provable(self) -> tuple[str, ...]:
        """The declared files whose change some test should notice: all but prose and
        deleted files.
        """
        found = []
        for path in self._kept_sources:
            suffix = PurePosixPath(path).suffix
            if suffix.casefold() not in _PROSE:
                found.append(path)
        return tuple(found)

    @property
    def prose(self) -> tuple[str, ...]:
        """The declared files of prose; tests may be about them."""
        provable = self.provable
        return tuple(path for path in self._kept_sources if path not in provable)

    @property
    def _kept_sources(self) -> list[str]:
        return [
            path for path in self.sources if self.declared[path] is not Change.DELETE
        ]


def read_blueprint(text: str, item: str, *, is_draft: bool = False) -> Blueprint:
    """Read an approved design, or raise `BadInput` that says what is missing.

    A draft that is yet to be approved may have any status.
    """
    lld = parse_lld(text)
    status = status_of(lld) or "nothing"
    if not is_draft and status.upper() not in _BUILT:
        raise BadInput(
            f"its status is {status}, only approved designs are built; run lld-workflow"
            f" --ids {item} first"
        )
    declared = {}
    for file in lld.files:
        declared[plain_path(file.path)] = _read_change(file.change)
    if all(map(is_test, declared)):
        raise BadInput(
            "section 2.1 declares no file to build; add the table of changed files and"
            " have it reviewed"
        )
    tested = []
    for scenario in lld.scenarios:
        kind = scenario.type.casefold()
        if "manual" in kind or "live" in kind:
            continue
        tested.append(scenario)
    if not tested:
        raise BadInput(
            "section 10.1 has no scenario that a test could run; add some and have the"
            " design reviewed"
        )
    if not any(map(is_test, declared)):
        name = item.lower().replace("-", "_")
        default = f"tests/test_issue_{name}.py"
        declared[default] = Change.ADD
    requirements = {}
    for requirement in lld.requirements:
        requirements[requirement.id] = requirement.text
    covered_by = {}
    for row in coverage(lld):
        covered_by[row.requirement] = tuple(map(plain_id, row.scenarios))
    return Blueprint(
        title=lld.title,
        declared=declared,
        scenarios=tuple(dict.fromkeys(plain_id(scenario.id) for scenario in tested)),
        kept=read_kept(lld.requirements, tested),
        subjects=_read_subjects(declared, lld.scenarios),
        requirements=requirements,
        covered_by=covered_by,
        doubts=tuple(finding.text for finding in check_plan(lld)),
    )


def _read_subjects(
    declared: Iterable[str], scenarios: Iterable[LldScenario]
) -> frozenset[str]:
    """Return the files other than code that a design declares or its scenarios are
    about, by the name that tests use for them.
    """
    found = set()
    for path in declared:
        if not path.endswith(".py") and not is_test(path):
            found.add(PurePosixPath(path).name)
    for scenario in scenarios:
        words = f"{scenario.name} {scenario.input} {scenario.expected}"
        found.update(_DOCUMENT.findall(words))
    return frozenset(found)


def _read_change(text: str) -> Change:
    word = text.strip().casefold()
    if word.startswith(("delet", "remov")):
        return Change.DELETE
    if word.startswith(("add", "new", "creat")):
        return Change.ADD
    return Change.MODIFY


def find_plan_problems(blueprint: Blueprint) -> list[str]:
    """Return the requirements that no scenario tests, before a review is paid for."""
    problems = []
    for requirement, scenarios in blueprint.covered_by.items():
        if not set(scenarios).isdisjoint(blueprint.scenarios):
            continue
        text = blueprint.requirements[requirement]
        problems.append(
            f"{requirement}: no scenario of section 10.1 that can be run covers it:"
            f" {text}"
        )
    return problems
