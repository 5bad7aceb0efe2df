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
        return self.done + self.skeletons + self.undecided

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
        cells = "=" * filled + ">"
    cells = cells.ljust(_CELLS)
    parts = [f"[{cells}] {done}/{total} workflows complete"]
    if progress.skeletons:
        skeletons = count(progress.skeletons, "skeleton")
        parts.append(skeletons)
    undecided = progress.undecided
    if undecided:
        parts.append(f"{undecided} waiting for a person")
    return ", ".join(parts)


def describe(progress: Progress, elapsed: float) -> str:
    """Return the bar, the number of running items, the time and the estimate."""
    parts = [bar(progress), f"{progress.running} running"]
    if progress.failed:
        parts.append(f"{progress.failed} failed")
    clock = duration(elapsed)
    parts.append(f"{clock} elapsed")
    parts.append(f"ETA {progress.eta}")
    if progress.note:
        parts.append(progress.note)
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
        self._count += 1
        shift = seconds - self._mean
        self._mean += shift / self._count
        self._squares += shift * (seconds - self._mean)
        end = now
        if left > 0:
            rounds = max(1.0, left / self.workers)
            end += self._mean * rounds
        if self._count > _WARM_UP:
            end = (self._end + end) / 2
        self._end = end

    def text(self, *, left: int, now: float) -> str:
        """Return a range such as `3-5 min`, or `-` while too little is known."""
        if self._count < _WARM_UP:
            return "-"
        if left <= 0:
            return "-"
        middle = max(0.0, self._end - now)
        variance = self._squares / (self._count - 1)
        deviation = math.sqrt(variance)
        spread = math.sqrt(left) / self.workers
        margin = deviation * max(1.0, spread)
        low = max(0.0, middle - margin)
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
