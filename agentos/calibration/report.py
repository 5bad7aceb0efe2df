"""What a calibration has found, for people and for programs (pure)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from textwrap import wrap
from typing import Any

from agentos.calibration.asking import Result
from agentos.calibration.case_files import CLEAN, DefectClass
from agentos.calibration.judgement import Share, Tally, judge, say, tally
from agentos.calibration.scoring import Outcome
from agentos.money import NO_COST, Cost
from agentos.wording import count, describe_seconds

SCHEMA = 1
WIDTH = 80
_LABEL = 27
_CELL = 10
SIDE_BY_SIDE = (WIDTH - _LABEL) // _CELL

TITLES = {
    DefectClass.MISSING_ERROR_PATH: "missing error path",
    DefectClass.UNTESTED_CRITERION: "criterion nothing tests",
    DefectClass.CONTRADICTS_ISSUE: "contradicts its issue",
    DefectClass.IMPOSSIBLE_API: "impossible API",
    DefectClass.LEAKED_SECRET: "leaked secret",
}


@dataclass(frozen=True, slots=True)
class Spending:
    """What the calls to one reviewer came to, reruns of an unfinished calibration included."""

    calls: int = 0
    cost: Cost = NO_COST


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that a calibration has found."""

    models: tuple[str, ...]
    classes: tuple[DefectClass, ...]
    planned: int
    repeat: int
    prompt: str
    """Which prompt was calibrated: `built-in`, or the file of the repository."""
    results: tuple[Result, ...]
    spending: dict[str, Spending]
    from_journal: int = 0
    seconds: float = 0.0

    @property
    def answered(self) -> tuple[Result, ...]:
        """Return the results with an outcome."""
        return tuple(result for result in self.results if result.outcome is not None)

    @property
    def failed(self) -> tuple[Result, ...]:
        """Return what could not be had for another reason than a cap."""
        return tuple(result for result in self.results if result.outcome is None and not result.is_for_lack_of_money)

    @property
    def is_complete(self) -> bool:
        """Whether every question was answered."""
        return len(self.answered) == self.planned

    def tally(self, model: str) -> Tally:
        """Return what the answers of a reviewer came to."""
        mine = (result for result in self.answered if result.question.model == model)
        return tally((result.question.case.kind, result.outcome) for result in mine if result.outcome)

    def median_seconds(self, model: str) -> float:
        """Return how long a reviewer took for one case, the middle one of all."""
        return median([result.seconds for result in self.answered if result.question.model == model] or [0.0])

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return {
            "schema": SCHEMA,
            "complete": self.is_complete,
            "planned": self.planned,
            "answered": len(self.answered),
            "repeat": self.repeat,
            "prompt": self.prompt,
            "seconds": round(self.seconds, 3),
            "models": [self._model_json(model) for model in self.models],
            "cases": [_case_json(result) for result in self.results],
        }

    def _model_json(self, model: str) -> dict[str, Any]:
        counts, spending = self.tally(model), self.spending.get(model, Spending())
        return {
            "model": model,
            "worth": judge(counts),
            "judgement": say(counts),
            "caught": _share_json(counts.catches),
            "false_alarms": _share_json(counts.false_alarms),
            "classes": {kind: _share_json(counts.caught(kind)) for kind in self.classes},
            "outcomes": {outcome: counts.count(outcome) for outcome in Outcome},
            "failed": Counter(result.question.model for result in self.failed)[model],
            "calls": spending.calls,
            **spending.cost.to_json(),
            "median_seconds": round(self.median_seconds(model), 3),
        }

    def render(self) -> str:
        """Return the report as tables and sentences for 80 columns."""
        lines = [self._headline(), ""]
        numbered = list(enumerate(self.models, 1))
        for start in range(0, len(numbered), SIDE_BY_SIDE):
            lines += [*self._table(numbered[start : start + SIDE_BY_SIDE]), ""]
        for number, model in numbered:
            lines += [f"[{number}] {model}", *_indented(say(self.tally(model)))]
        lines += self._remarks()
        return "\n".join(lines) + "\n"

    def _headline(self) -> str:
        controls = len({r.question.case.name for r in self.results if r.question.case.kind == CLEAN})
        defects = len({r.question.case.name for r in self.results}) - controls
        times = f", {self.repeat} times each" if self.repeat > 1 else ""
        return f"{count(defects, 'seeded defect')} and {count(controls, 'clean design')}{times}; prompt: {self.prompt}"

    def _table(self, columns: Sequence[tuple[int, str]]) -> list[str]:
        models = [model for _, model in columns]
        tallies = [self.tally(model) for model in models]
        spending = [self.spending.get(model, Spending()) for model in models]
        seconds = [describe_seconds(self.median_seconds(model)) for model in models]

        def counted(outcome: Outcome) -> list[str]:
            return [str(counts.count(outcome)) for counts in tallies]

        rows = [
            ("caught", [f"[{number}]" for number, _ in columns]),
            *((f"  {TITLES[kind]}", [str(t.caught(kind)) for t in tallies]) for kind in self.classes),
            ("  all defects", [str(t.catches) for t in tallies]),
            ("false alarms", [str(t.false_alarms) for t in tallies]),
            ("revised for something else", counted(Outcome.ELSEWHERE)),
            ("approved although named", counted(Outcome.NAMED)),
            ("put before a person", counted(Outcome.DISCUSSED)),
            ("no usable verdict", counted(Outcome.UNUSABLE)),
            ("calls", [str(spent.calls) for spent in spending]),
            ("cost", [spent.cost.describe() for spent in spending]),
            ("median time for a case", seconds),
        ]
        return [_row(label, cells) for label, cells in rows]

    def _remarks(self) -> list[str]:
        remarks = []
        if self.from_journal:
            remarks.append(f"{count(self.from_journal, 'answer')} came from the journal and cost nothing again.")
        if left := self.planned - len(self.answered):
            remarks.append(f"{left} of {self.planned} questions were not answered; run the same command to go on.")
        for failure, times in Counter(result.failure for result in self.failed).most_common(5):
            remarks.append(f"{count(times, 'question')} failed: {failure}")
        return ["", *(line for remark in remarks for line in wrap(remark, WIDTH))] if remarks else []


def _row(label: str, cells: Iterable[str]) -> str:
    return (label.ljust(_LABEL) + "".join(cell.rjust(_CELL) for cell in cells)).rstrip()


def _indented(text: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent="    ", subsequent_indent="    ")


def _share_json(share: Share) -> dict[str, Any]:
    low, high = share.interval
    return {"count": share.part, "of": share.whole, "low": round(low, 4), "high": round(high, 4)}


def _case_json(result: Result) -> dict[str, Any]:
    question = result.question
    return {
        "case": question.case.name,
        "class": question.case.kind,
        "model": question.model,
        "repetition": question.repetition,
        "outcome": result.outcome,
        "decision": result.decision or None,
        "findings": list(result.findings),
        "seconds": round(result.seconds, 3),
        "failure": result.failure or None,
    }
