"""What a verdict is made of."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from agentos.documents.findings import Finding, Tier

MAX_TEXT = 20_000
MAX_ENTRIES = 5_000


class VerdictError(ValueError):
    """An answer that is no verdict; `line` counts from 1 and is 0 when no line is to blame."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(f"line {line}: {message}" if line else message)
        self.line = line


class Decision(StrEnum):
    """What a reviewer decides."""

    APPROVED = "APPROVED"
    REVISE = "REVISE"
    DISCUSS = "DISCUSS"


@dataclass(frozen=True, slots=True)
class ResolvedQuestion:
    """An open question of the document and the answer the reviewer gave."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class CoverageRow:
    """A requirement and the scenarios that test it."""

    requirement: str
    text: str
    scenarios: tuple[str, ...]
    covered: bool


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

    @property
    def covered_share(self) -> float:
        """Return the share of requirements that are tested, 1.0 when there are none."""
        if not self.coverage:
            return 1.0
        return sum(row.covered for row in self.coverage) / len(self.coverage)


def check_sense(verdict: Verdict, line: int = 0) -> None:
    """Raise `VerdictError` for a verdict that says nothing or contradicts itself."""
    if not verdict.summary.strip():
        raise VerdictError("summary is empty", line)
    ids = [finding.id for finding in verdict.findings]
    if len(set(ids)) != len(ids) or not all(id.strip() for id in ids):
        raise VerdictError("every finding needs an id of its own", line)
    blocking = [finding.id for finding in verdict.findings if finding.tier is Tier.BLOCKING]
    if verdict.decision is Decision.APPROVED and blocking:
        raise VerdictError(f"the verdict contradicts itself: APPROVED with blocking finding {blocking[0]}", line)
    if verdict.decision is Decision.APPROVED and verdict.questions:
        raise VerdictError("the verdict contradicts itself: APPROVED with a question for a person", line)
    if verdict.decision is Decision.APPROVED and not all(row.covered for row in verdict.coverage):
        raise VerdictError("the verdict contradicts itself: APPROVED with a requirement that is not covered", line)
