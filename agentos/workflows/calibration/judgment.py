"""Count the outcomes of a reviewer and judge in one sentence what it is worth (pure)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from agentos.workflows.calibration.case_files import CLEAN
from agentos.workflows.calibration.scoring import CaseOutcome

UNUSABLE_SHARE = 1 / 3
"""Above this share of unreadable answers, a reviewer is unusable."""
ALARM_SHARE = 0.5
"""From this share of clean designs that are not approved, a reviewer cannot tell good
from bad.
"""
STAMP_SHARE = 0.8
"""From this share of defective designs that are approved, a reviewer is a rubber
stamp.
"""
USEFUL_CATCHES = 0.7
USEFUL_ALARMS = 0.2
Outcomes = Counter[CaseOutcome]
_Z = 1.959964
"""The 97.5th percentile of the normal distribution, for an interval of 95%."""


class Worth(StrEnum):
    """The value of a reviewer."""

    UNKNOWN = "unknown"
    UNUSABLE = "unusable"
    CANNOT_TELL = "cannot-tell"
    RUBBER_STAMP = "rubber-stamp"
    USEFUL = "useful"
    OF_SOME_USE = "of-some-use"


@dataclass(frozen=True, slots=True)
class Share:
    """A count out of a total."""

    part: int
    whole: int

    def __str__(self) -> str:
        return f"{self.part} of {self.whole}"

    @property
    def value(self) -> float:
        """The share as a fraction; 0 if there is nothing to count."""
        if not self.whole:
            return 0.0
        return self.part / self.whole

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% confidence interval of the true share.

        Wilson's score interval stays within 0 and 1 and holds for a handful of answers,
        which the usual normal approximation does not.
        """
        n = self.whole
        if not n:
            return 0.0, 1.0
        share = self.value
        z_squared = _Z * _Z
        scale = 1 + z_squared / n
        middle = (share + z_squared / (2 * n)) / scale
        variance = share * (1 - share) / n
        correction = z_squared / (4 * n * n)
        deviation = math.sqrt(variance + correction)
        reach = _Z / scale * deviation
        low = max(0.0, middle - reach)
        high = min(1.0, middle + reach)
        # The formula is exact at the ends; floating point is not.
        if self.part == 0:
            low = 0.0
        if self.part == n:
            high = 1.0
        return low, high

    def describe(self) -> str:
        """Return the share with its interval: `9 of 10 (60-98%)`."""
        low, high = self.interval
        interval = f"{low * 100:.0f}-{high * 100:.0f}%"
        return f"{self} ({interval})"


@dataclass(frozen=True, slots=True)
class Tally:
    """The outcomes of one reviewer by class."""

    outcomes: dict[str, Outcomes] = field(default_factory=dict)

    def caught(self, kind: str) -> Share:
        """Return the share of caught defects of a class."""
        found = self.outcomes.get(kind, Counter())
        caught = found[CaseOutcome.CAUGHT]
        return Share(caught, found.total())

    @property
    def defects(self) -> Outcomes:
        """The outcomes of all defective designs."""
        defects = Outcomes()
        for kind, counts in self.outcomes.items():
            if kind == CLEAN:
                continue
            defects += counts
        return defects

    @property
    def controls(self) -> Outcomes:
        """The outcomes of all clean designs."""
        return self.outcomes.get(CLEAN, Counter())

    @property
    def answered(self) -> int:
        """The number of all outcomes."""
        return self.defects.total() + self.controls.total()

    @property
    def catches(self) -> Share:
        """The share of all defects that were caught."""
        defects = self.defects
        caught = defects[CaseOutcome.CAUGHT]
        return Share(caught, defects.total())

    @property
    def false_alarms(self) -> Share:
        """The share of clean designs that were not approved."""
        controls = self.controls
        sent_back = controls[CaseOutcome.FALSE_ALARM]
        discussed = controls[CaseOutcome.DISCUSSED]
        return Share(sent_back + discussed, controls.total())

    @property
    def stamped(self) -> Share:
        """The share of defective designs that were approved."""
        defects = self.defects
        missed = defects[CaseOutcome.MISSED]
        named = defects[CaseOutcome.NAMED]
        return Share(missed + named, defects.total())

    def count(self, outcome: CaseOutcome) -> int:
        """Return the number of designs with an outcome."""
        in_defects = self.defects[outcome]
        in_controls = self.controls[outcome]
        return in_defects + in_controls


def tally(results: Iterable[tuple[str, CaseOutcome]]) -> Tally:
    """Count outcomes by class."""
    outcomes: dict[str, Outcomes] = {}
    for kind, outcome in results:
        counts = outcomes.setdefault(kind, Counter())
        counts[outcome] += 1
    return Tally(outcomes)


def judge(counts: Tally) -> Worth:
    """Return the value of a reviewer; the first matching rule decides."""
    if not counts.catches.whole:
        return Worth.UNKNOWN
    if not counts.false_alarms.whole:
        return Worth.UNKNOWN
    catches = counts.catches.value
    false_alarms = counts.false_alarms.value
    stamped = counts.stamped.value
    unusable = _unusable(counts).value
    if unusable > UNUSABLE_SHARE:
        return Worth.UNUSABLE
    if false_alarms >= ALARM_SHARE:
        return Worth.CANNOT_TELL
    if stamped >= STAMP_SHARE:
        return Worth.RUBBER_STAMP
    if catches < USEFUL_CATCHES:
        return Worth.OF_SOME_USE
    if false_alarms > USEFUL_ALARMS:
        return Worth.OF_SOME_USE
    return Worth.USEFUL


def _unusable(counts: Tally) -> Share:
    unusable = counts.count(CaseOutcome.UNUSABLE)
    return Share(unusable, counts.answered)


def say(counts: Tally) -> str:
    """Describe the value of a reviewer in one sentence with its numbers."""
    worth = judge(counts)
    if worth is Worth.UNKNOWN:
        return "unknown: too little was answered to say anything"
    catches = counts.catches
    alarms = counts.false_alarms
    text = _opinion(worth, counts)
    text += f"; catches {catches.describe()}"
    text += f", false alarms {alarms.describe()}"
    if worth not in (Worth.USEFUL, Worth.OF_SOME_USE):
        return text
    least_catches, _ = catches.interval
    _, most_alarms = alarms.interval
    if least_catches <= most_alarms:
        text += "; the intervals overlap, so this may be luck: use --repeat"
    return text


def _opinion(worth: Worth, counts: Tally) -> str:
    approved = counts.controls[CaseOutcome.APPROVED]
    approved += counts.stamped.part
    match worth:
        case Worth.UNUSABLE:
            unusable = _unusable(counts)
            return f"unusable: no verdict could be read in {unusable} cases"
        case Worth.CANNOT_TELL:
            text = "approves nothing"
            if approved:
                text = f"holds up {counts.false_alarms} clean designs"
            return f"cannot tell good from bad: {text}"
        case Worth.RUBBER_STAMP:
            text = "everything"
            if approved != counts.answered:
                text = f"{counts.stamped} defective designs"
            return f"rubber stamp: approves {text}"
        case Worth.USEFUL:
            return "useful"
    kinds = [kind for kind in counts.outcomes if kind != CLEAN]
    weakest = min(kinds, key=lambda kind: counts.caught(kind).value)
    return f"of some use: weakest at {weakest}"
