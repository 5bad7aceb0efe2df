"""Sum up what a reviewer's answers came to, and say in one sentence what it is worth (pure)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from agentos.calibration.case_files import CLEAN
from agentos.calibration.scoring import Outcome

UNUSABLE_SHARE = 1 / 3
"""Beyond this share of answers that are no verdict, nothing else about a reviewer matters."""
ALARM_SHARE = 0.5
"""From this share of clean designs that are held up, a reviewer cannot tell good from bad."""
STAMP_SHARE = 0.8
"""From this share of defective designs that are approved, a reviewer is a rubber stamp."""
USEFUL_CATCHES = 0.7
USEFUL_ALARMS = 0.2
_Z = 1.959964


class Worth(StrEnum):
    """What a reviewer is worth."""

    UNKNOWN = "unknown"
    UNUSABLE = "unusable"
    CANNOT_TELL = "cannot-tell"
    RUBBER_STAMP = "rubber-stamp"
    USEFUL = "useful"
    OF_SOME_USE = "of-some-use"


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many."""

    part: int
    whole: int

    def __str__(self) -> str:
        return f"{self.part} of {self.whole}"

    @property
    def value(self) -> float:
        """Return the share, 0 of nothing."""
        return self.part / self.whole if self.whole else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Return Wilson's 95% interval: where the true share lies, as far as so few answers can tell."""
        if not self.whole:
            return 0.0, 1.0
        n, p = self.whole, self.value
        middle = (p + _Z * _Z / (2 * n)) / (1 + _Z * _Z / n)
        reach = _Z / (1 + _Z * _Z / n) * math.sqrt(p * (1 - p) / n + _Z * _Z / (4 * n * n))
        # The formula is exact at the ends; floating point is not.
        low = 0.0 if self.part == 0 else max(0.0, middle - reach)
        high = 1.0 if self.part == n else min(1.0, middle + reach)
        return low, high

    def describe(self) -> str:
        """Say the share with its interval: `9 of 10 (60-98%)`."""
        low, high = self.interval
        return f"{self} ({low * 100:.0f}-{high * 100:.0f}%)"


@dataclass(frozen=True, slots=True)
class Tally:
    """What all answers of one reviewer came to, by class."""

    outcomes: dict[str, Counter[Outcome]] = field(default_factory=dict)

    def caught(self, kind: str) -> Share:
        """Return how many defects of a class were caught."""
        found = self.outcomes.get(kind, Counter())
        return Share(found[Outcome.CAUGHT], found.total())

    @property
    def defects(self) -> Counter[Outcome]:
        """Return the outcomes of all defective designs."""
        return sum((counts for kind, counts in self.outcomes.items() if kind != CLEAN), Counter[Outcome]())

    @property
    def controls(self) -> Counter[Outcome]:
        """Return the outcomes of all clean designs."""
        return self.outcomes.get(CLEAN, Counter())

    @property
    def catches(self) -> Share:
        """Return how many defects were caught in all."""
        return Share(self.defects[Outcome.CAUGHT], self.defects.total())

    @property
    def false_alarms(self) -> Share:
        """Return how many clean designs were not approved: sent back, or put before a person."""
        controls = self.controls
        return Share(controls[Outcome.FALSE_ALARM] + controls[Outcome.DISCUSSED], controls.total())

    @property
    def stamped(self) -> Share:
        """Return how many defective designs were approved."""
        defects = self.defects
        return Share(defects[Outcome.MISSED] + defects[Outcome.NAMED], defects.total())

    def count(self, outcome: Outcome) -> int:
        """Return how many designs of any class ended so."""
        return self.defects[outcome] + self.controls[outcome]


def tally(results: Iterable[tuple[str, Outcome]]) -> Tally:
    """Sum up outcomes by class."""
    outcomes: dict[str, Counter[Outcome]] = {}
    for kind, outcome in results:
        outcomes.setdefault(kind, Counter())[outcome] += 1
    return Tally(outcomes)


def judge(counts: Tally) -> Worth:
    """Return what a reviewer is worth; the first rule that holds decides."""
    answered = counts.catches.whole + counts.false_alarms.whole
    if not counts.catches.whole or not counts.false_alarms.whole:
        return Worth.UNKNOWN
    if counts.count(Outcome.UNUSABLE) / answered > UNUSABLE_SHARE:
        return Worth.UNUSABLE
    if counts.false_alarms.value >= ALARM_SHARE:
        return Worth.CANNOT_TELL
    if counts.stamped.value >= STAMP_SHARE:
        return Worth.RUBBER_STAMP
    if counts.catches.value >= USEFUL_CATCHES and counts.false_alarms.value <= USEFUL_ALARMS:
        return Worth.USEFUL
    return Worth.OF_SOME_USE


def say(counts: Tally) -> str:
    """Say in one sentence what a reviewer is worth, with the numbers behind it."""
    worth = judge(counts)
    if worth is Worth.UNKNOWN:
        return "unknown: too little was answered to say anything"
    numbers = f"catches {counts.catches.describe()}, false alarms {counts.false_alarms.describe()}"
    return f"{_opinion(worth, counts)}; {numbers}{_caution(worth, counts)}"


def _opinion(worth: Worth, counts: Tally) -> str:
    approved = counts.stamped.part + counts.controls[Outcome.APPROVED]
    answered = counts.catches.whole + counts.false_alarms.whole
    match worth:
        case Worth.UNUSABLE:
            return f"unusable: no verdict could be read in {counts.count(Outcome.UNUSABLE)} of {answered} cases"
        case Worth.CANNOT_TELL:
            whole = "approves nothing" if not approved else f"holds up {counts.false_alarms} clean designs"
            return f"cannot tell good from bad: {whole}"
        case Worth.RUBBER_STAMP:
            whole = "everything" if approved == answered else f"{counts.stamped} defective designs"
            return f"rubber stamp: approves {whole}"
        case Worth.USEFUL:
            return "useful"
        case _:
            return "of some use: " + _weakest(counts)


def _weakest(counts: Tally) -> str:
    kinds: Sequence[str] = [kind for kind in counts.outcomes if kind != CLEAN]
    least = min(kinds, key=lambda kind: counts.caught(kind).value)
    return f"weakest at {least}"


def _caution(worth: Worth, counts: Tally) -> str:
    is_clear = counts.catches.interval[0] > counts.false_alarms.interval[1]
    if worth not in (Worth.USEFUL, Worth.OF_SOME_USE) or is_clear:
        return ""
    return "; the intervals overlap, so this may be luck: use --repeat"
