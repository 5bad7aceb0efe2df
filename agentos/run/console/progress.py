"""The text of the progress line (pure)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from agentos.state.wording import count

_CELLS = 10
_WARM_UP = 2
"""Completed items needed before there is an estimate."""
_MINUTE = 60.0
_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run."""

    done: int
    total: int
    running: int = 0
    failed: int = 0
    eta: str = "-"
    note: str = ""
    skeletons: int = 0
    undecided: int = 0
    """Items that wait for a person."""

    @property
    def ended(self) -> int:
        """Number of items that have ended in any way."""
        incomplete = self.skeletons + self.undecided
        return self.done + incomplete

    @property
    def is_complete(self) -> bool:
        """Whether all items have ended."""
        return self.ended >= self.total


def bar(progress: Progress) -> str:
    """Return the bar with its counts: `[=====>    ] 5/10 workflows complete`."""
    done = progress.done
    total = progress.total
    cells = "=" * _CELLS
    if not progress.is_complete:
        ended = max(0, progress.ended)
        filled = ended * _CELLS // total
        cells = "=" * filled
        cells += ">"
    cells = cells.ljust(_CELLS)
    counts = f"{done}/{total} workflows complete"
    parts = [f"[{cells}] {counts}"]
    if progress.skeletons:
        skeletons = count(progress.skeletons, "skeleton")
        parts.append(skeletons)
    undecided = progress.undecided
    if undecided:
        waiting = f"{undecided} waiting for a person"
        parts.append(waiting)
    return ", ".join(parts)


def describe(progress: Progress, elapsed: float) -> str:
    """Return the bar, the number of running items, the time and the estimate."""
    parts = [bar(progress)]
    running = f"{progress.running} running"
    parts.append(running)
    if progress.failed:
        failed = f"{progress.failed} failed"
        parts.append(failed)
    clock = duration(elapsed)
    passed = f"{clock} elapsed"
    parts.append(passed)
    estimate = f"ETA {progress.eta}"
    parts.append(estimate)
    note = progress.note
    if note:
        parts.append(note)
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """Return a duration as on a clock: `1:05`, `2:00:09`."""
    whole = max(0, int(seconds))
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02}:{rest:02}"
    return f"{minutes}:{rest:02}"


def fit(text: str, columns: int) -> str:
    """Return as much of `text` as fits into `columns` of a terminal, where some
    characters take two.
    """
    from wcwidth import wcwidth

    room = columns
    for index, character in enumerate(text):
        width = wcwidth(character)
        room -= max(0, width)
        if room < 0:
            return text[:index]
    return text


class Eta:
    """Estimate when a run ends.

    The remaining time is the mean duration times the number of items left, divided by
    the workers, but never less than what one item takes. Each completion moves the
    expected end halfway to the new estimate; between completions the end stays, so that
    the remaining time shrinks. The range is one standard error to either side. Mean and
    variance are updated by Welford's method, which needs no list of durations.
    """

    def __init__(self, workers: int) -> None:
        self.workers = max(1, workers)
        self._count = 0
        self._mean = 0.0
        self._squares = 0.0
        """The sum of squared differences from the mean."""
        self._end = 0.0

    def completed(self, seconds: float, *, left: int, now: float) -> None:
        """Count an item that took `seconds`, with `left` others unfinished."""
        seconds = max(0.0, seconds)
        self._learn(seconds)
        end = now
        if left > 0:
            share = left / self.workers
            rounds = max(1.0, share)
            end += self._mean * rounds
        if self._count > _WARM_UP:
            both = self._end + end
            end = both / 2
        self._end = end

    def _learn(self, seconds: float) -> None:
        """Update the mean and the sum of squared differences from it.

        The sum grows by the difference from the old mean times the difference from the
        new one. That is exact, and differences stay small where squares of durations
        would lose digits.
        """
        self._count += 1
        before = seconds - self._mean
        self._mean += before / self._count
        after = seconds - self._mean
        self._squares += before * after

    def text(self, *, left: int, now: float) -> str:
        """Return a range such as `3-5 min`, or `-` while too little is known."""
        if self._count < _WARM_UP:
            return "-"
        if left <= 0:
            return "-"
        remaining = self._end - now
        middle = max(0.0, remaining)
        freedom = self._count - 1
        variance = self._squares / freedom
        deviation = math.sqrt(variance)
        # The deviation of a sum grows with the root of the number of its parts.
        root = math.sqrt(left)
        spread = root / self.workers
        factor = max(1.0, spread)
        margin = deviation * factor
        lowest = middle - margin
        low = max(0.0, lowest)
        high = middle + margin
        return _describe_range(low, high)


def _describe_range(low: float, high: float) -> str:
    """Return a range of seconds in the unit that suits its upper end."""
    if high < _MINUTE:
        return "<1 min"
    unit = _MINUTE
    name = "min"
    if high >= 2 * _HOUR:
        unit = _HOUR
        name = "h"
    first = int(low // unit)
    last = math.ceil(high / unit)
    if first >= last:
        return f"{last} {name}"
    return f"{first}-{last} {name}"
