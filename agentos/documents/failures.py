"""Find the failures that an issue describes."""

from __future__ import annotations

from dataclasses import dataclass

from agentos.documents.issue import Issue, Scenario
from agentos.documents.words import code_spans, keywords, stem

_WORDS = """
fail failed fails failure error invalid exhausted exhaustion missing refuse refused reject rejected
timeout denied corrupt corrupted crash crashes unavailable offline conflict wrong cancel cancelled
interrupt interrupted shutdown abort aborted killed lost full unreachable duplicate expired
malformed unknown locked broken declined
"""
FAILURE_STEMS = frozenset(stem(word) for word in _WORDS.split()) | {"ctrl"}


@dataclass(frozen=True, slots=True)
class FailurePath:
    """A walk through the product that goes wrong at `step`."""

    number: int
    scenario: Scenario
    step: int

    @property
    def cause(self) -> str:
        """Return the step at which it goes wrong."""
        return self.scenario.steps[self.step]

    @property
    def outcome(self) -> tuple[str, ...]:
        """Return what happens from then on."""
        return self.scenario.steps[self.step + 1 :]

    @property
    def literals(self) -> tuple[str, ...]:
        """Return what the outcome quotes word for word."""
        return tuple(span for step in self.outcome for span in code_spans(step))


def failure_paths(issue: Issue) -> tuple[FailurePath, ...]:
    """Return the scenarios of an issue that describe a failure, with the step at which it happens."""
    found = []
    for number, scenario in enumerate(issue.scenarios, 1):
        step = _failing_step(scenario)
        if step is not None:
            found.append(FailurePath(number, scenario, step))
    return tuple(found)


def _failing_step(scenario: Scenario) -> int | None:
    marked = [index for index, step in enumerate(scenario.steps) if _fails(step)]
    if marked:
        last = len(scenario.steps) - 1
        return min(marked[0], max(last - 1, 0))
    if keywords(scenario.title) & FAILURE_STEMS and len(scenario.steps) > 1:
        return len(scenario.steps) // 2 - 1 if len(scenario.steps) > 2 else 0
    return None


def _fails(step: str) -> bool:
    lowered = step.casefold()
    return "times out" in lowered or "timed out" in lowered or bool(keywords(step) & FAILURE_STEMS)
