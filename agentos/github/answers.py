"""What an answer of GitHub means: decided by status and headers, words are only quoted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

PASSING = frozenset({408, 500, 502, 503, 504})
USUAL_PAUSE = 60.0
"""What GitHub asks for when it says "later" and not how much later."""
WORDS_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Done:
    """GitHub did it."""

    data: Any
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Later:
    """GitHub has not done it and wants to be asked again in `delay` seconds."""

    delay: float
    why: str


@dataclass(frozen=True, slots=True)
class Faulty:
    """Something on the way is broken for a moment; nobody knows whether it was done."""

    why: str


@dataclass(frozen=True, slots=True)
class Refused:
    """GitHub has not done it and will not."""

    status: int
    words: str


Answer = Done | Later | Faulty | Refused


def read_answer(status: int, headers: Mapping[str, str], body: str, now: float) -> Answer:
    """Tell what an answer means; header names are in small letters, `now` is for servers that do not say."""
    if 200 <= status < 300:
        data = _parse(body)
        return Refused(0, "the answer is no JSON") if data is None else Done(data, headers)
    if status in (403, 429):
        told = _told_delay(status, headers, body, server_time(headers) or now)
        if told is not None:
            return told
    if status in PASSING:
        return Faulty(f"status {status}")
    return Refused(status, _words(_parse(body)))


def server_time(headers: Mapping[str, str]) -> float | None:
    """Return the moment at which the server answered, by its own clock."""
    try:
        moment = parsedate_to_datetime(headers["date"])
    except (KeyError, ValueError, TypeError):
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def api_time(moment: float) -> str:
    """Write a moment as the API does."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def next_page(headers: Mapping[str, str]) -> str | None:
    """Return the address of the next page from a `Link` header."""
    for link in headers.get("link", "").split(","):
        address, *attributes = link.split(";")
        if any(attribute.strip() in ('rel="next"', "rel=next") for attribute in attributes):
            address = address.strip().removeprefix("<").removesuffix(">")
            # Anything but a whole address could be put together with the host to another host's name.
            return address if address.startswith(("https://", "http://")) and address.count("/") > 2 else None
    return None


def _told_delay(status: int, headers: Mapping[str, str], body: str, now: float) -> Later | None:
    """Return how long GitHub wants to be left alone; None when it refuses for another reason."""
    after = _number(headers.get("retry-after"))
    if after is not None:
        return Later(after, "GitHub asks for a pause")
    if headers.get("x-ratelimit-remaining") == "0":
        reset = _number(headers.get("x-ratelimit-reset"))
        delay = USUAL_PAUSE if reset is None else max(0.0, reset - now) + 1
        return Later(delay, "GitHub's rate limit is reached")
    # Its documentation tells this limit from a lack of rights by nothing but the words.
    if status == 429 or "secondary rate limit" in _words(_parse(body)).lower():
        return Later(USUAL_PAUSE, "GitHub asks for a pause")
    return None


def _number(text: str | None) -> float | None:
    text = (text or "").strip()
    return float(text) if text.isascii() and text.isdigit() and len(text) < 16 else None


def _parse(body: str) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _words(data: Any) -> str:
    """Return what the body of a refusal says, with the details of a request that is not valid."""
    if not isinstance(data, dict):
        return ""
    words = [str(data.get("message", ""))]
    errors = data.get("errors")
    words += [
        str(error.get("message") or f"{error.get('field')}: {error.get('code')}")
        for error in (errors[:3] if isinstance(errors, list) else ())
        if isinstance(error, dict)
    ]
    said = " ".join("; ".join(word for word in words if word).split())
    return said if len(said) <= WORDS_LIMIT else said[: WORDS_LIMIT - 3] + "..."
