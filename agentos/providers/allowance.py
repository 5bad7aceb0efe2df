"""What a provider's rate headers say about the quota group of a key."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from agentos.providers import Allowance
from agentos.providers.classify import bound_delay, parse_moment, parse_number, their_time

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def read_allowance(headers: Mapping[str, str], now: float) -> Allowance | None:
    """Read the headers of Anthropic or of OpenAI and its kin; None when there are none."""
    found = {name.lower(): value for name, value in headers.items()}
    now = their_time(found, now)
    allowance = Allowance(
        *_anthropic(found, "requests", now) or _openai(found, "requests"),
        *_anthropic(found, "tokens", now) or _openai(found, "tokens"),
        *_anthropic(found, "input-tokens", now) or _UNTOLD,
        *_anthropic(found, "output-tokens", now) or _UNTOLD,
    )
    return None if allowance == Allowance() else allowance


_Triple = tuple[int | None, int | None, float | None]
_UNTOLD: _Triple = (None, None, None)


def _anthropic(headers: Mapping[str, str], what: str, now: float) -> _Triple | None:
    stem = f"anthropic-ratelimit-{what}-"
    if f"{stem}limit" not in headers and f"{stem}remaining" not in headers:
        return None
    moment = parse_moment(headers.get(f"{stem}reset"))
    reset = None if moment is None else bound_delay(moment - now)
    return _count(headers.get(f"{stem}limit")), _count(headers.get(f"{stem}remaining")), reset


def _openai(headers: Mapping[str, str], what: str) -> _Triple:
    return (
        _count(headers.get(f"x-ratelimit-limit-{what}")),
        _count(headers.get(f"x-ratelimit-remaining-{what}")),
        parse_duration(headers.get(f"x-ratelimit-reset-{what}")),
    )


def parse_duration(text: str | None) -> float | None:
    """Read `6m0s`, `120ms`, `1h2m3.5s` or plain seconds, or None."""
    if not text or len(text) > 40:
        return None
    parts = ["".join(letters) for _, letters in groupby(text.strip(), str.isalpha)]
    if len(parts) == 1:
        parts.append("s")
    numbers = [parse_number(part) for part in parts[::2]]
    units = [_SECONDS.get(part) for part in parts[1::2]]
    if len(numbers) != len(units):
        return None
    total = 0.0
    for number, unit in zip(numbers, units, strict=True):
        if number is None or unit is None:
            return None
        total += number * unit
    return bound_delay(total)


def _count(text: str | None) -> int | None:
    number = parse_number(text)
    return None if number is None or number < 0 else int(number)
