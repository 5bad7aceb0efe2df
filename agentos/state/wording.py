"""Format times and amounts for people and for file names."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime


def utc_now(resolution: str = "seconds") -> str:
    """Return the current time as `2026-01-31T12:00:00Z`, or with milliseconds."""
    now = datetime.now(UTC)
    return now.isoformat(timespec=resolution).replace("+00:00", "Z")


def file_timestamp() -> str:
    """Return the current time in a form that sorts and is a valid file name."""
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")


def describe_seconds(seconds: float) -> str:
    """Format a duration: `0.8 s`, `42 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def enumerate_words(words: Sequence[str], most: int = 5) -> str:
    """Return words as `a, b and c`; those above `most` are counted."""
    named = list(words[:most])
    more = len(words) - len(named)
    if more:
        named.append(f"{more} more")
    if len(named) < 2:
        return "".join(named)
    return f"{', '.join(named[:-1])} and {named[-1]}"


def count(number: int, thing: str) -> str:
    """Format a number with its noun: `1 item`, `2 items`."""
    if number == 1:
        return f"1 {thing}"
    return f"{number} {thing}s"
