"""The report of a calibration, as text and as JSON (pure)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from textwrap import wrap
from typing import Any

from agentos.money import NO_COST, Cost
from agentos.state.wording import count, describe_seconds
from agentos.workflows.calibration.asking import CaseResult
from agentos.workflows.calibration.case_files import CLEAN, DefectClass
from agentos.workflows.calibration.judgment import Share, Tally, judge, say, tally
from agentos.workflows.calibration.scoring import CaseOutcome

Json = dict[str, Any]
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
class CalibrationCost:
    """The calls to one reviewer and their cost, including reruns of an unfinished
    calibration.
    """

    calls: int = 0
    cost: Cost = NO_COST


@dataclass(frozen=True, slots=True)
class CalibrationReport:
    """The results of a calibration."""

    models: tuple[str, ...]
    classes: tuple[DefectClass, ...]
    planned: int
    repeat: int
    prompt: str
    """The calibrated prompt: `built-in`, or a file of the repository."""
    results: tuple[CaseResult, ...]
    spending: dict[str, CalibrationCost]
    from_journal: int = 0
    seconds: float = 0.0

    @property
    def answered(self) -> tuple[CaseResult, ...]:
        """The results with an outcome."""
        return tuple(result for result in self.results if result.outcome is not None)

    @property
    def failed(self) -> tuple[CaseResult, ...]:
        """The results that failed for another reason than a budget."""
        failed = []
        for result in self.results:
            is_unanswered = result.outcome is None
            if is_unanswered and not result.is_for_lack_of_money:
                failed.append(result)
        return tuple(failed)

    @property
    def is_complete(self) -> bool:
        """Whether every question was answered."""
        return len(self.answered) == self.planned

    def tally(self, model: str) -> Tally:
        """Count the outcomes of a reviewer."""
        outcomes = []
        for result in self.results:
            question = result.question
            if question.model == model and result.outcome:
                outcomes.append((question.case.kind, result.outcome))
        return tally(outcomes)

    def median_seconds(self, model: str) -> float:
        """Return the median time that a reviewer took for one case."""
        seconds = [
            result.seconds for result in self.answered if result.question.model == model
        ]
        return median(seconds or [0.0])

    def to_json(self) -> Json:
        """Return the report as JSON data."""
        models = [self._model_json(model) for model in self.models]
        cases = [_case_json(result) for result in self.results]
        return {
            "schema": SCHEMA,
            "complete": self.is_complete,
            "planned": self.planned,
            "answered": len(self.answered),
            "repeat": self.repeat,
            "prompt": self.prompt,
            "seconds": round(self.seconds, 3),
            "models": models,
            "cases": cases,
        }

    def _model_json(self, model: str) -> Json:
        counts = self.tally(model)
        spending = self._spending_of(model)
        failed = [result for result in self.failed if result.question.model == model]
        classes = {}
        for kind in self.classes:
            caught = counts.caught(kind)
            classes[kind] = _share_json(caught)
        return {
            "model": model,
            "worth": judge(counts),
            "judgement": say(counts),
            "caught": _share_json(counts.catches),
            "false_alarms": _share_json(counts.false_alarms),
            "classes": classes,
            "outcomes": {outcome: counts.count(outcome) for outcome in CaseOutcome},
            "failed": len(failed),
            "calls": spending.calls,
            **spending.cost.to_json(),
            "median_seconds": round(self.median_seconds(model), 3),
        }

    def _spending_of(self, model: str) -> CalibrationCost:
        return self.spending.get(model, CalibrationCost())

    def render(self) -> str:
        """Return the report as tables and sentences for 80 columns."""
        lines = [self._headline(), ""]
        numbered = list(enumerate(self.models, 1))
        for start in range(0, len(numbered), SIDE_BY_SIDE):
            end = start + SIDE_BY_SIDE
            lines += self._table(numbered[start:end])
            lines.append("")
        for number, model in numbered:
            lines.append(f"[{number}] {model}")
            judgment = say(self.tally(model))
            lines += _indented(judgment)
        lines += self._remarks()
        return "\n".join(lines) + "\n"

    def _headline(self) -> str:
        clean = set()
        defective = set()
        for result in self.results:
            case = result.question.case
            if case.kind == CLEAN:
                clean.add(case.name)
            else:
                defective.add(case.name)
        defects = count(len(defective), "seeded defect")
        controls = count(len(clean), "clean design")
        line = f"{defects} and {controls}"
        if self.repeat > 1:
            line += f", {self.repeat} times each"
        return f"{line}; prompt: {self.prompt}"

    def _table(self, numbered: Sequence[tuple[int, str]]) -> list[str]:
        columns = [self._column(number, model) for number, model in numbered]
        lines = []
        for label in columns[0]:
            line = label.ljust(_LABEL)
            for column in columns:
                line += column[label].rjust(_CELL)
            lines.append(line.rstrip())
        return lines

    def _column(self, number: int, model: str) -> dict[str, str]:
        """Return the cells of one reviewer by their row labels."""
        counts = self.tally(model)
        spending = self._spending_of(model)
        seconds = self.median_seconds(model)
        classes = {
            f"  {TITLES[kind]}": str(counts.caught(kind)) for kind in self.classes
        }
        return {
            "caught": f"[{number}]",
            **classes,
            "  all defects": str(counts.catches),
            "false alarms": str(counts.false_alarms),
            "revised for something else": str(counts.count(CaseOutcome.ELSEWHERE)),
            "approved although named": str(counts.count(CaseOutcome.NAMED)),
            "put before a person": str(counts.count(CaseOutcome.DISCUSSED)),
            "no usable verdict": str(counts.count(CaseOutcome.UNUSABLE)),
            "calls": str(spending.calls),
            "cost": spending.cost.describe(),
            "median time for a case": describe_seconds(seconds),
        }

    def _remarks(self) -> list[str]:
        remarks = []
        if self.from_journal:
            answers = count(self.from_journal, "answer")
            remarks.append(f"{answers} came from the journal and cost nothing again.")
        left = self.planned - len(self.answered)
        if left:
            remarks.append(
                f"{left} of {self.planned} questions were not answered; run the same"
                " command to go on."
            )
        failures = Counter(result.failure for result in self.failed)
        for failure, times in failures.most_common(5):
            questions = count(times, "question")
            remarks.append(f"{questions} failed: {failure}")
        lines = []
        for remark in remarks:
            lines += wrap(remark, WIDTH)
        if lines:
            lines.insert(0, "")
        return lines


def _indented(text: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent="    ", subsequent_indent="    ")


def _share_json(share: Share) -> Json:
    low, high = share.interval
    return {
        "count": share.part,
        "of": share.whole,
        "low": round(low, 4),
        "high": round(high, 4),
    }


def _case_json(result: CaseResult) -> Json:
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
