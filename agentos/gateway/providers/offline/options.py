"""Parse the options of the offline provider:
`latency=0.2,approve_after=2,fault=error@42x2+hang,answers=FOLDER`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import unquote

from agentos.errors import UsageError


class FaultKind(StrEnum):
    """Faults that can be simulated."""

    ERROR = "error"
    HANG = "hang"
    MALFORMED = "malformed"
    RATE_LIMIT = "rate-limit"
    REVISE = "revise"
    DISCUSS = "discuss"


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of one item or of all, in its first calls or in all."""

    kind: FaultKind
    item: str | None = None
    times: int | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """Behavior of the offline provider."""

    latency: float = 0.0
    approve_after: int = 0
    faults: tuple[Fault, ...] = ()
    answers: Path | None = None
    """Folder with recorded answers, for what no rule can write."""


def parse_options(text: str) -> Options:
    """Parse comma-separated options, or raise `UsageError`."""
    latency, approve_after, answers = 0.0, 0, None
    faults: list[Fault] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = part.partition("=")
        match name:
            case "latency":
                latency = _seconds(value)
            case "approve_after":
                approve_after = _whole(value, "approve_after", 50)
            case "fault":
                faults.extend(_fault(one) for one in value.split("+"))
            case "answers":
                answers = _folder(value)
            case _:
                raise UsageError(
                    f"offline: unknown option {name[:40]!r}: use latency=SECONDS,"
                    " approve_after=N, fault=KIND[@ITEM][xN], answers=FOLDER"
                )
    return Options(latency, approve_after, tuple(faults), answers)


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= 3600:
        raise UsageError(
            f"offline: latency={value[:40]!r} is not a number of seconds from 0 to 3600"
        )
    return seconds


def _folder(value: str) -> Path:
    """Parse a folder; commas in its name are written as `%2C`."""
    folder = Path(unquote(value)).expanduser().absolute()
    if not value or not folder.is_dir():
        raise UsageError(
            f"offline: answers={value[:200]!r} is not a folder; name the one with the"
            " recorded answers"
        )
    return folder


def _whole(value: str, name: str, most: int) -> int:
    if not (
        value.isascii()
        and value.isdecimal()
        and len(value) < 6
        and 1 <= int(value) <= most
    ):
        raise UsageError(
            f"offline: {name}={value[:40]!r} is not a whole number from 1 to {most}"
        )
    return int(value)


def _fault(text: str) -> Fault:
    target = text
    times = None
    head, found, count = text.rpartition("x")
    if found and count.isascii() and count.isdecimal():
        target, times = head, _whole(count, "fault", 9999)
    kind, marked, item = target.partition("@")
    if kind not in list(FaultKind) or (marked and not item):
        kinds = ", ".join(FaultKind)
        raise UsageError(
            f"offline: fault={text[:60]!r} is not KIND[@ITEM][xN] with KIND one of"
            f" {kinds}"
        )
    return Fault(FaultKind(kind), item or None, times)
