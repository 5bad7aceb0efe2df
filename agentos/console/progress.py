"""What the progress line says (pure)."""

from __future__ import annotations

import math
from dataclasses import dataclass

_CELLS = 10
_WARM_UP = 2
_MINUTE = 60.0
_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a batch is."""

    done: int
    total: int
    running: int = 0
    failed: int = 0
    eta: str = "-"
    note: str = ""

    @property
    def is_complete(self) -> bool:
        """Say whether nothing is left to wait for."""
        return self.done >= self.total


def bar(done: int, total: int) -> str:
    """Return the bar with its count: `[=====>    ] 5/10 workflows complete`."""
    filled = _CELLS if done >= total else max(0, done) * _CELLS // total
    cells = "=" * filled + (">" if filled < _CELLS else "")
    return f"[{cells:<{_CELLS}}] {done}/{total} workflows complete"


def describe(progress: Progress, elapsed: float) -> str:
    """Return the bar and all that is known beside it."""
    parts = [bar(progress.done, progress.total), f"{progress.running} running"]
    if progress.failed:
        parts.append(f"{progress.failed} failed")
    parts += [f"{duration(elapsed)} elapsed", f"ETA {progress.eta}"]
    if progress.note:
        parts.append(progress.note)
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """Return a time span as people read it on a clock: `1:05`, `2:00:09`."""
    whole = max(0, int(seconds))
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def fit(text: str, columns: int) -> str:
    """Return as much of `text` as fits into `columns` cells of a terminal, wide characters counted."""
    from wcwidth import wcwidth

    room = columns
    for index, character in enumerate(text):
        room -= max(0, wcwidth(character))
        if room < 0:
            return text[:index]
    return text


class Eta:
    """Estimate when a batch ends.

    The work that is left is the mean duration times the items left over the workers, but never less than what
    one item needs. Each completion moves the expected end half of the way to the new estimate; between
    completions the end stays and the time to it shrinks. The range is one standard error to either side.
    """

    def __init__(self, workers: int) -> None:
        self.workers = max(1, workers)
        self._count = 0
        self._mean = 0.0
        self._squares = 0.0
        self._end: float | None = None

    def completed(self, seconds: float, *, left: int, now: float) -> None:
        """Count an item that took `seconds` and left `left` others unfinished."""
        self._count += 1
        shift = max(0.0, seconds) - self._mean
        self._mean += shift / self._count
        self._squares += shift * (max(0.0, seconds) - self._mean)
        end = now + self._needed(left)
        self._end = end if self._end is None or self._count <= _WARM_UP else (self._end + end) / 2

    def text(self, *, left: int, now: float) -> str:
        """Return a range such as `3-5 min`, or `-` while too little is known."""
        if self._count < _WARM_UP or self._end is None or left <= 0:
            return "-"
        middle = max(0.0, self._end - now)
        margin = self._margin(left)
        return _span(max(0.0, middle - margin), middle + margin)

    def _needed(self, left: int) -> float:
        return 0.0 if left <= 0 else self._mean * max(1.0, left / self.workers)

    def _margin(self, left: int) -> float:
        deviation = math.sqrt(self._squares / (self._count - 1)) if self._count > 1 else 0.0
        return deviation * max(1.0, math.sqrt(left) / self.workers)


def _span(low: float, high: float) -> str:
    """Return a range of seconds in the unit that suits its upper end."""
    if high < _MINUTE:
        return "<1 min"
    size, name = (_MINUTE, "min") if high < 2 * _HOUR else (_HOUR, "h")
    first, last = int(low // size), math.ceil(high / size)
    return f"{last} {name}" if first >= last else f"{first}-{last} {name}"
