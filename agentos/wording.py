"""Times and amounts in the words that people and files see."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now(resolution: str = "seconds") -> str:
    """Return the present moment as `2026-01-31T12:00:00Z`, or with milliseconds."""
    return datetime.now(UTC).isoformat(timespec=resolution).replace("+00:00", "Z")


def file_stamp() -> str:
    """Return the present moment in a form that sorts and that every file system takes."""
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")


def describe_seconds(seconds: float) -> str:
    """Say a duration as a person would: `0.8 s`, `42 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def count(number: int, thing: str) -> str:
    """Say how many things there are: `1 item`, `2 items`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
