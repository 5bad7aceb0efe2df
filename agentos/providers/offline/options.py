"""Read the options of the offline provider: `latency=0.2,approve_after=2,fault=error@42x2+hang`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from agentos.errors import UsageError


class FaultKind(StrEnum):
    """What can be made to go wrong."""

    ERROR = "error"
    HANG = "hang"
    MALFORMED = "malformed"
    RATE_LIMIT = "rate-limit"
    REVISE = "revise"
    DISCUSS = "discuss"


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault, for one item or all, for its first calls or all."""

    kind: FaultKind
    item: str | None = None
    times: int | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """How the offline provider behaves."""

    latency: float = 0.0
    approve_after: int = 0
    faults: tuple[Fault, ...] = ()


def parse_options(text: str) -> Options:
    """Read comma-separated options, or raise `UsageError` with one clear line."""
    latency, approve_after = 0.0, 0
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
            case _:
                raise UsageError(
                    f"offline: unknown option {name[:40]!r}: use latency=SECONDS, approve_after=N, "
                    "fault=KIND[@ITEM][xN]"
                )
    return Options(latency, approve_after, tuple(faults))


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= 3600:
        raise UsageError(f"offline: latency={value[:40]!r} is not a number of seconds from 0 to 3600")
    return seconds


def _whole(value: str, name: str, most: int) -> int:
    if not (value.isascii() and value.isdecimal() and len(value) < 6 and 1 <= int(value) <= most):
        raise UsageError(f"offline: {name}={value[:40]!r} is not a whole number from 1 to {most}")
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
        raise UsageError(f"offline: fault={text[:60]!r} is not KIND[@ITEM][xN] with KIND one of {kinds}")
    return Fault(FaultKind(kind), item or None, times)
