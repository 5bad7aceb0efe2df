"""The data of a reviewer's verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from agentos.documents.findings import Basis, Finding, Quote, Tier
from agentos.errors import AgentOSError

MAX_TEXT = 20_000
MAX_ENTRIES = 5_000
_LETTERS = {Tier.BLOCKING: "B", Tier.HIGH: "H", Tier.SUGGESTION: "S"}


class VerdictError(AgentOSError, ValueError):
    """An answer that is not a verdict.

    `line` counts from 1; it is 0 if the error belongs to no line.
    """

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(f"line {line}: {message}" if line else message)
        self.line = line


class Decision(StrEnum):
    """What a reviewer decides."""

    APPROVED = "APPROVED"
    REVISE = "REVISE"
    DISCUSS = "DISCUSS"


class EarlierState(StrEnum):
    """What a reviewer says of a finding of an earlier review."""

    RESOLVED = "resolved"
    OPEN = "open"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class EarlierFinding:
    """The state of a finding of an earlier review, and why."""

    id: str
    state: EarlierState
    reason: str


@dataclass(frozen=True, slots=True)
class ResolvedQuestion:
    """An open question of the document and the reviewer's answer."""

    question: str
    answer: str
    basis: Basis = Basis.TEXT

    @property
    def is_shown(self) -> bool:
        """Whether the answer rests on more than memory."""
        return self.basis is not Basis.MEMORY


@dataclass(frozen=True, slots=True)
class SourceError:
    """A sentence of the source that is wrong about the code."""

    sentence: str
    quote: Quote
    """The line of code that shows it."""
    reading: str
    """How the work goes on meanwhile."""


@dataclass(frozen=True, slots=True)
class CoverageRow:
    """A requirement and the scenarios that test it."""

    requirement: str
    text: str
    scenarios: tuple[str, ...]
    covered: bool


@dataclass(frozen=True, slots=True)
class KeptScenario:
    """What the reviewer of a test plan says of a scenario: whether it is about what
    must not change.
    """

    scenario: str
    kept: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a reviewer decided, and why."""

    decision: Decision
    summary: str
    findings: tuple[Finding, ...] = ()
    resolved_questions: tuple[ResolvedQuestion, ...] = ()
    questions: tuple[str, ...] = ()
    """Questions that only a person can answer."""
    coverage: tuple[CoverageRow, ...] = ()
    earlier: tuple[EarlierFinding, ...] = ()
    source_errors: tuple[SourceError, ...] = ()
    kept: tuple[KeptScenario, ...] = ()
    """Only in the review of a test plan."""

    @property
    def uncovered(self) -> tuple[CoverageRow, ...]:
        """Return the requirements that are not tested."""
        return tuple(row for row in self.coverage if not row.covered)

    @property
    def covered_share(self) -> float:
        """Return the share of requirements that are tested, 1.0 if there are none."""
        if not self.coverage:
            return 1.0
        covered = [row for row in self.coverage if row.covered]
        return len(covered) / len(self.coverage)


def check_sense(verdict: Verdict) -> None:
    """Raise `VerdictError` for a verdict that says nothing or contradicts itself."""
    if not verdict.summary.strip():
        raise VerdictError("the summary is empty")
    ids: set[str] = set()
    for finding in verdict.findings:
        if not finding.id.strip() or finding.id in ids:
            raise VerdictError("every finding needs an id of its own")
        ids.add(finding.id)
    if verdict.decision is Decision.APPROVED:
        _check_approval(verdict)


def _check_approval(verdict: Verdict) -> None:
    contradiction = ""
    for finding in verdict.findings:
        if finding.tier is Tier.BLOCKING:
            contradiction = f"blocking finding {finding.id}"
    for row in verdict.coverage:
        if not row.covered:
            contradiction = f"requirement {row.requirement[:40]}, which is not covered"
    if verdict.questions:
        contradiction = "a question for a person"
    if contradiction:
        raise VerdictError(
            f"the verdict contradicts itself: APPROVED with {contradiction}"
        )


def number_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Give each finding with an empty or repeated id the next free id of its tier."""
    entries = list(findings)
    reserved = {entry.id for entry in entries}
    used: set[str] = set()
    counts = dict.fromkeys(Tier, 0)
    numbered: list[Finding] = []
    for entry in entries:
        id = entry.id
        while not id or id in used:
            counts[entry.tier] += 1
            id = f"{_LETTERS[entry.tier]}{counts[entry.tier]}"
            if id in reserved:
                id = ""
        used.add(id)
        numbered.append(replace(entry, id=id))
    return tuple(numbered)
