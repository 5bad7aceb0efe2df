"""Interpret responses of GitHub by status and headers; their words are only quoted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

PASSING = frozenset({408, 500, 502, 503, 504})
USUAL_PAUSE = 60.0
"""Seconds to wait if GitHub asks for a pause without a time."""
WORDS_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Done:
    """GitHub did what was asked."""

    data: Any
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RetryLater:
    """GitHub did not do it and wants to be asked again in `delay` seconds."""

    delay: float
    why: str


@dataclass(frozen=True, slots=True)
class TemporaryFailure:
    """A temporary failure; it is unknown whether GitHub did what was asked."""

    why: str


@dataclass(frozen=True, slots=True)
class Refused:
    """GitHub did not do it and will not."""

    status: int
    words: str


Answer = Done | RetryLater | TemporaryFailure | Refused


def read_answer(
    status: int, headers: Mapping[str, str], body: str, now: float
) -> Answer:
    """Interpret a response; header names are in lower case, `now` is for servers without a
    date.
    """
    if 200 <= status < 300:
        data = _parse(body)
        if data is None:
            return Refused(0, "the answer is not JSON")
        return Done(data, headers)
    if status in (403, 429):
        moment = server_time(headers) or now
        later = _read_delay(status, headers, body, moment)
        if later is not None:
            return later
    if status in PASSING:
        return TemporaryFailure(f"status {status}")
    return Refused(status, _words(_parse(body)))


def server_time(headers: Mapping[str, str]) -> float | None:
    """Return the time of the response, by the server's clock."""
    try:
        moment = parsedate_to_datetime(headers["date"])
    except (KeyError, ValueError, TypeError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()


def api_time(moment: float) -> str:
    """Format a time as the API does."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_time(text: str) -> float:
    """Read a time as the API gives it; 0 if it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()


def next_page(headers: Mapping[str, str]) -> str | None:
    """Return the address of the next page from a `Link` header."""
    for link in headers.get("link", "").split(","):
        address, *attributes = link.split(";")
        relations = set(map(str.strip, attributes))
        if relations.isdisjoint(('rel="next"', "rel=next")):
            continue
        address = address.strip().removeprefix("<").removesuffix(">")
        # The library joins anything but a full address to its own host, which could
        # form another host's name.
        if not address.startswith(("https://", "http://")):
            return None
        if address.count("/") <= 2:
            return None
        return address
    return None


def _read_delay(
    status: int, headers: Mapping[str, str], body: str, now: float
) -> RetryLater | None:
    """Return the pause that GitHub asks for, None if it refuses for another reason."""
    after = _number(headers.get("retry-after"))
    if after is not None:
        return RetryLater(after, "GitHub asks for a pause")
    if headers.get("x-ratelimit-remaining") == "0":
        reset = _number(headers.get("x-ratelimit-reset"))
        delay = USUAL_PAUSE
        if reset is not None:
            delay = max(0.0, reset - now) + 1
        return RetryLater(delay, "GitHub's rate limit is reached")
    # Only the words tell this limit from a lack of rights, says GitHub's documentation.
    words = _words(_parse(body)).lower()
    if status == 429 or "secondary rate limit" in words:
        return RetryLater(USUAL_PAUSE, "GitHub asks for a pause")
    return None


def _number(text: str | None) -> float | None:
    text = (text or "").strip()
    if len(text) >= 16:
        return None
    if not text.isascii():
        return None
    if not text.isdigit():
        return None
    return float(text)


def _parse(body: str) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _words(data: Any) -> str:
    """Return the message of a refusal, with the details of a request that is not
    valid.
    """
    if not isinstance(data, dict):
        return ""
    words = [str(data.get("message", ""))]
    errors = data.get("errors")
    if not isinstance(errors, list):
        errors = []
    for error in errors[:3]:
        if not isinstance(error, dict):
            continue
        detail = error.get("message")
        if not detail:
            detail = f"{error.get('field')}: {error.get('code')}"
        words.append(str(detail))
    joined = "; ".join(filter(None, words))
    said = " ".join(joined.split())
    if len(said) > WORDS_LIMIT:
        said = said[: WORDS_LIMIT - 3] + "..."
    return said
