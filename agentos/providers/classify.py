"""What a provider's refusal is a sign of.

Its status and its structured body decide. Words decide only where a provider says something in no other way: that the
money is used up (Anthropic, with the status of a bad request), and what a 403 is about.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from agentos.errors import ProviderError, Sign
from agentos.providers import NOTHING
from agentos.providers.complaints import Complaint, read_complaint

LONGEST_DELAY = 86_400.0
MOST_WORDS = 300
REDACTED = "[REDACTED]"
TELLING = 8
"""So many characters in a row of a key tell too much of it."""

_BILLING = frozenset(
    {
        "BILLING_DISABLED",
        "billing_error",
        "billing_hard_limit_reached",
        "billing_not_active",
        "budget_exceeded",
        "enforced_spend_limit_reached",
        "insufficient_quota",
    }
)
_CAPACITY = "MODEL_CAPACITY_EXHAUSTED"
_OF_THE_KEY = frozenset(
    {
        "CONSUMER_INVALID",
        "CONSUMER_SUSPENDED",
        "UNAUTHENTICATED",
        "account_deactivated",
        "authentication_error",
        "invalid_api_key",
    }
)
_OF_THE_MODEL = frozenset({"model_not_found", "permission_error", "PERMISSION_DENIED"})
_OVERLOADED = (503, 529)

_OUT_OF_CREDIT = re.compile(
    r"credit balance is too low|(?:insufficient|not enough|out of) (?:credits?|balance|funds)|"
    r"credits? (?:are|is|has been|have been) (?:depleted|exhausted|used up)|all available credits|have any credits|"
    r"key limit exceeded",
    re.IGNORECASE,
)
_SPEND_LIMIT = re.compile(r"reached your specified API usage limits.*?regain access on (\d{4}-\d\d-\d\d)", re.DOTALL)
_BAD_KEY = re.compile(
    r"(?:api[ _-]?key|access token|credential)s?\b.{0,60}?\b"
    r"(?:invalid|not valid|incorrect|leaked|revoked|expired|disabled|deactivated|suspended|deleted|not found)",
    re.IGNORECASE | re.DOTALL,
)
_OVERSIZED = re.compile(r"^Request too large for\b")
_MODERATED = re.compile(r"moderation|flagged|content policy|safety", re.IGNORECASE)

# An error inside a stream that began with status 200 tells its status by name only.
_STATUS_OF_NAME = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "RESOURCE_EXHAUSTED": 429,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}

# More entries than any provider sends: what comes after is a hostile server's.
_MOST_ENTRIES = 50
_MOST_CONSIDERED = 20_000
_MOST_DIGITS = 12
_SAME_CLOCK = 10.0
"""Seconds; less is the way of the answer, and that the header knows no fractions."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Who was asked for what, for the message of an error."""

    provider: str = "the provider"
    model: str = ""
    secret: str = ""


def classify(
    status: int, body: object, headers: Mapping[str, str], now: float, asked: Asked | None = None
) -> ProviderError:
    """Return the error that an answer is: `body` is its parsed JSON, or None when it is none.

    Status 200 stands for an error that came inside a stream.
    """
    asked = asked or Asked()
    error = _error_of(body)
    told = _told_status(status, error)
    words = _words_of(error)
    sign = _sign(told, error, words, asked.model, is_page=_is_page(headers))
    delay = _delay(sign, error, words, headers, now)
    requests, tokens, given = _told_limits(error) if sign is Sign.RATE_LIMIT else (0, 0, 0)
    return ProviderError(
        _message(status, told, sign, error, asked),
        sign=sign,
        delay=delay,
        requests_limit=requests,
        tokens_limit=tokens,
        input_limit=given,
        # What is refused before any content is not billed; what an error inside a stream cost, the stream shows.
        consumed=NOTHING if status >= 300 else None,
    )


def read_refusal(body: object) -> Complaint:
    """Return what the body of a refusal finds wrong with the request."""
    error = _error_of(body)
    return read_complaint(error, _words_of(error)[:_MOST_CONSIDERED])


def clean_words(words: str, secret: str = "", limit: int = MOST_WORDS) -> str:
    """Return a stranger's words on one line, without control characters and without the key."""
    # Cleaned before the key is looked for and cut after it, so that no part of an echoed key is left over.
    considered = words[:_MOST_CONSIDERED]
    kept = "".join(" " if letter.isspace() else letter for letter in considered if not _is_control(letter))
    if secret:
        kept = kept.replace(secret, REDACTED)
        if len(words) > len(considered):
            kept = kept[: -len(secret)]
    pieces = {secret[start : start + TELLING] for start in range(len(secret) - TELLING + 1)}
    kept = " ".join(REDACTED if _masks(word, secret) or _tells(word, pieces) else word for word in kept.split())
    return kept if len(kept) <= limit else kept[: limit - 1] + "…"


def _tells(word: str, pieces: set[str]) -> bool:
    """Tell whether a word has a piece of the key in it."""
    return any(word[start : start + TELLING] in pieces for start in range(len(word) - TELLING + 1))


def _masks(word: str, secret: str) -> bool:
    """Tell whether a word is the key with stars in its middle, as some providers quote it."""
    word = word.strip("\"'`.,;:()")
    head, tail = word.partition("**")[0], word.rpartition("**")[2]
    return "**" in word and bool(secret and ((head and secret.startswith(head)) or (tail and secret.endswith(tail))))


def parse_number(text: object) -> float | None:
    """Read a plain decimal number, or None; nothing that is not finite gets through."""
    if not isinstance(text, str) or len(text) > 24:
        return None
    number = text.strip()
    whole, _, part = number.removeprefix("-").partition(".")
    digits = whole + part
    return float(number) if digits.isascii() and digits.isdigit() else None


def bound_delay(seconds: float) -> float:
    """Keep a delay between now and a day."""
    return min(max(seconds, 0.0), LONGEST_DELAY)


def _error_of(body: object) -> Mapping[str, Any]:
    """Return the error object of a body: providers nest it, list it, flatten it or write only words."""
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict):
        return {}
    error = body.get("error")
    if isinstance(error, dict):
        return error
    if isinstance(error, str):
        return {"message": error}
    return body


def _told_status(status: int, error: Mapping[str, Any]) -> int:
    """Return the status, or for an error inside a stream the one that its body tells."""
    if status >= 300:
        return status
    code = error.get("code")
    number = parse_number(code) if isinstance(code, str) else code
    if isinstance(number, int | float) and not isinstance(number, bool) and 400 <= number < 600:
        return int(number)
    names = (_text(error.get(field)) for field in ("type", "code", "status"))
    return next((_STATUS_OF_NAME[name] for name in names if name in _STATUS_OF_NAME), 500)


def _sign(status: int, error: Mapping[str, Any], words: str, model: str, *, is_page: bool) -> Sign:
    names = set(_names(error))
    if names & _BILLING or status == 402 or (status in (400, 403, 429) and _OUT_OF_CREDIT.search(words)):
        return Sign.BILLING
    if _CAPACITY in names or status in _OVERLOADED or "overloaded_error" in names:
        return Sign.OVERLOADED
    if any("PerDay" in quota for quota, _ in _quotas(error)) or _SPEND_LIMIT.search(words):
        return Sign.QUOTA
    if status == 429:
        # What is larger than the limit itself never goes through, however long it waits.
        return Sign.BAD_REQUEST if _OVERSIZED.search(words) else Sign.RATE_LIMIT
    if status == 401 and _names_the_model(error, names):
        return Sign.NO_ACCESS
    if _is_of_the_key(status, names, words, is_page=is_page):
        return Sign.AUTH
    if status in (403, 404) and _is_of_the_model(error, names, words, model):
        return Sign.NO_ACCESS
    if status in (408, 409) or status >= 500:
        return Sign.TRANSIENT
    return Sign.BAD_REQUEST


def _is_of_the_key(status: int, names: set[str], words: str, *, is_page: bool) -> bool:
    """Tell whether it is the key that is refused; a proxy's page knows nothing of keys."""
    if is_page:
        return False
    if names & _OF_THE_KEY or any(name.startswith("API_KEY_") for name in names):
        return True
    return status == 401 or (status == 403 and bool(_BAD_KEY.search(words)))


def _is_of_the_model(error: Mapping[str, Any], names: set[str], words: str, model: str) -> bool:
    """Tell whether this key may not use this model; a prompt that is refused would be so with any key."""
    if _MODERATED.search(words):
        return False
    is_named = bool(model) and model in words
    return is_named or bool(names & _OF_THE_MODEL) or _names_the_model(error, names)


def _names_the_model(error: Mapping[str, Any], names: set[str]) -> bool:
    return error.get("param") == "model" or any(name.endswith("model_access_denied") for name in names)


def _is_page(headers: Mapping[str, str]) -> bool:
    kinds = [value for name, value in headers.items() if name.lower() == "content-type"]
    return any("html" in kind.lower() for kind in kinds)


def _names(error: Mapping[str, Any]) -> Iterator[str]:
    """Yield the machine-readable names in an error: its type and code, and those in its details."""
    for field in ("type", "code", "status"):
        yield _text(error.get(field))
    for detail in _details(error):
        yield _text(detail.get("error_code"))
        yield _text(detail.get("type"))
        if _is_of_type(detail, "ErrorInfo"):
            yield _text(detail.get("reason"))


def _details(error: Mapping[str, Any]) -> list[dict[str, Any]]:
    details = error.get("details")
    entries = details[:_MOST_ENTRIES] if isinstance(details, list) else [details]
    return [entry for entry in entries if isinstance(entry, dict)]


def _quotas(error: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the name and the limit of every quota that Google says was exceeded."""
    for detail in _details(error):
        violations = detail.get("violations")
        if _is_of_type(detail, "QuotaFailure") and isinstance(violations, list):
            entries = (entry for entry in violations[:_MOST_ENTRIES] if isinstance(entry, dict))
            yield from ((_text(entry.get("quotaId")), _text(entry.get("quotaValue"))) for entry in entries)


def _told_limits(error: Mapping[str, Any]) -> tuple[int, int, int]:
    """Return how many requests, tokens, and tokens of input a minute may have, 0 for what is not said."""
    limits = {"requests": 0, "tokens": 0, "input": 0}
    for quota, value in _quotas(error):
        # More digits than any limit has are a hostile server's.
        limit = int(value) if "PerMinute" in quota and value.isdecimal() and len(value) <= _MOST_DIGITS else 0
        kind = "requests"
        if "Token" in quota:
            kind = "input" if "Input" in quota else "tokens"
        if limit:
            limits[kind] = min(limits[kind] or limit, limit)
    return limits["requests"], limits["tokens"], limits["input"]


def _is_of_type(detail: Mapping[str, Any], name: str) -> bool:
    return _text(detail.get("@type")).endswith(f"google.rpc.{name}")


def _retry_info(error: Mapping[str, Any]) -> float | None:
    for detail in _details(error):
        if _is_of_type(detail, "RetryInfo"):
            seconds = parse_number(_text(detail.get("retryDelay")).removesuffix("s"))
            return None if seconds is None else bound_delay(seconds)
    return None


def _delay(sign: Sign, error: Mapping[str, Any], words: str, headers: Mapping[str, str], now: float) -> float | None:
    """Return how many seconds the provider asks to wait."""
    if sign in (Sign.BILLING, Sign.AUTH, Sign.NO_ACCESS, Sign.BAD_REQUEST):
        return None
    told = _header_delay(headers, now)
    if told is not None:
        return told
    if sign is not Sign.QUOTA:
        return _retry_info(error)
    # A daily quota comes with a RetryInfo of some seconds, which is not when the quota is renewed.
    day = _SPEND_LIMIT.search(words)
    moment = parse_moment(day[1]) if day else None
    return None if moment is None else bound_delay(moment - now)


def _header_delay(headers: Mapping[str, str], now: float) -> float | None:
    lowered = {name.lower(): value for name, value in headers.items()}
    milliseconds = parse_number(lowered.get("retry-after-ms"))
    if milliseconds is not None:
        return bound_delay(milliseconds / 1000)
    told = lowered.get("retry-after", "")
    seconds = parse_number(told)
    if seconds is None:
        moment = _parse_http_date(told)
        seconds = None if moment is None else moment - their_time(lowered, now)
    return None if seconds is None else bound_delay(seconds)


def their_time(lowered: Mapping[str, str], now: float) -> float:
    """Return the time of the server's clock where it tells and ours is wrong: moments that it names are by its own."""
    told = _parse_http_date(lowered.get("date", ""))
    return now if told is None or abs(told - now) < _SAME_CLOCK else told


def _parse_http_date(text: str) -> float | None:
    if not 8 <= len(text) <= 64:
        return None
    try:
        moment = parsedate_to_datetime(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def parse_moment(text: object) -> float | None:
    """Read an RFC 3339 time as seconds since 1970, or None."""
    if not isinstance(text, str) or not 10 <= len(text) <= 40:
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _message(status: int, told: int, sign: Sign, error: Mapping[str, Any], asked: Asked) -> str:
    words = clean_words(_words_of(error), asked.secret)
    name = _text(error.get("type")) or _text(error.get("status")) or _text(error.get("code"))
    label = clean_words(f"{told} {name}", asked.secret, 80)
    model = clean_words(asked.model, asked.secret, 100)
    if 300 <= status < 400:
        said = f"{asked.provider} redirects to another address ({label}): check the base URL"
    elif status < 300:
        said = f"{asked.provider} broke off with an error ({label})"
    elif sign is Sign.AUTH:
        said = f"{asked.provider} refused the key ({label})"
    elif sign is Sign.NO_ACCESS and told == 403:
        said = f"{asked.provider} does not let this key use {model or 'the model'} ({label})"
    elif told == 404 and model:
        said = f"{asked.provider} has no model {model!r} at this address ({label})"
    else:
        said = f"{asked.provider} answered {label}"
    return f"{said}: {words}" if words else said


def _words_of(error: Mapping[str, Any]) -> str:
    """Return what an error says for people; FastAPI's servers say it as a text or a list under `detail`."""
    if message := _text(error.get("message")) or _text(error.get("detail")):
        return message
    detail = error.get("detail")
    entries = [entry for entry in detail[:_MOST_ENTRIES] if isinstance(entry, dict)] if isinstance(detail, list) else []
    said = []
    for entry in entries:
        place = entry.get("loc")
        parts = [str(part) for part in place] if isinstance(place, list) else []
        said.append(": ".join(filter(None, (".".join(parts), _text(entry.get("msg"))))))
    return "; ".join(said)


def _is_control(letter: str) -> bool:
    return not letter.isspace() and unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Co", "Cn")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
