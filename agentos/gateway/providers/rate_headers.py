"""Parse the rate limit headers of providers."""

from __future__ import annotations

from itertools import groupby

from agentos.gateway.providers.classify import (
    Headers,
    bound_delay,
    parse_moment,
    parse_number,
    their_time,
)
from agentos.usage import RateHeaders

_SECONDS = {
    "ms": 0.001,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86_400.0,
}


_Triple = tuple[int | None, int | None, float | None]
"""Limit, remaining amount and seconds until the reset."""
_UNTOLD: _Triple = (None, None, None)


def read_rate_headers(headers: Headers, now: float) -> RateHeaders | None:
    """Read the headers of Anthropic, or of OpenAI and compatible servers; None without
    any.
    """
    found = {}
    for name, value in headers.items():
        found[name.lower()] = value
    now = their_time(found, now)
    requests = _anthropic(found, "requests", now)
    if requests is None:
        requests = _openai(found, "requests")
    tokens = _anthropic(found, "tokens", now)
    if tokens is None:
        tokens = _openai(found, "tokens")
    given = _anthropic(found, "input-tokens", now)
    if given is None:
        given = _UNTOLD
    returned = _anthropic(found, "output-tokens", now)
    if returned is None:
        returned = _UNTOLD
    rate_headers = RateHeaders(*requests, *tokens, *given, *returned)
    if rate_headers == RateHeaders():
        return None
    return rate_headers


def _anthropic(headers: Headers, what: str, now: float) -> _Triple | None:
    stem = f"anthropic-ratelimit-{what}"
    limit = headers.get(f"{stem}-limit")
    remaining = headers.get(f"{stem}-remaining")
    if limit is None and remaining is None:
        return None
    reset = headers.get(f"{stem}-reset")
    moment = parse_moment(reset)
    delay = None
    if moment is not None:
        delay = bound_delay(moment - now)
    return _count(limit), _count(remaining), delay


def _openai(headers: Headers, what: str) -> _Triple:
    limit = headers.get(f"x-ratelimit-limit-{what}")
    remaining = headers.get(f"x-ratelimit-remaining-{what}")
    reset = headers.get(f"x-ratelimit-reset-{what}")
    delay = parse_duration(reset)
    return _count(limit), _count(remaining), delay


def parse_duration(text: str | None) -> float | None:
    """Parse `6m0s`, `120ms`, `1h2m3.5s` or plain seconds; None for anything else."""
    if not text or len(text) > 40:
        return None
    parts = []
    groups = groupby(text.strip(), str.isalpha)
    for _, letters in groups:
        part = "".join(letters)
        parts.append(part)
    if len(parts) == 1:
        parts.append("s")
    if len(parts) % 2:
        return None
    total = 0.0
    pairs = iter(parts)
    for number in pairs:
        amount = parse_number(number)
        unit = _SECONDS.get(next(pairs))
        if amount is None or unit is None:
            return None
        total += amount * unit
    return bound_delay(total)


def _count(text: str | None) -> int | None:
    number = parse_number(text)
    if number is None or number < 0:
        return None
    return int(number)
