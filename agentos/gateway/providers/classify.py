"""Classify the error responses of providers by their cause.

The status and the structured body decide. Words decide only where a provider gives no
other information: for used-up credit (Anthropic, with the status of a bad request),
and for what a 403 is about.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from agentos.errors import FailureCause, ProviderError
from agentos.gateway.providers.complaints import Complaint, ErrorObject, read_complaint
from agentos.state.redaction import REDACTED
from agentos.usage import NOTHING

Headers = Mapping[str, str]
LONGEST_DELAY = 86_400.0
MOST_WORDS = 300
TELLING = 8
"""Length of a piece of a key that must not be shown."""

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
_OVERLOADED_NAMES = frozenset({"MODEL_CAPACITY_EXHAUSTED", "overloaded_error"})
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
    r"credit balance is too low|(?:insufficient|not enough|out of)"
    r" (?:credits?|balance|funds)|"
    r"credits? (?:are|is|has been|have been) (?:depleted|exhausted|used up)|all"
    r" available credits|have any credits|"
    r"key limit exceeded",
    re.IGNORECASE,
)
_SPEND_LIMIT = re.compile(
    r"reached your specified API usage limits.*?regain access on (\d{4}-\d\d-\d\d)",
    re.DOTALL,
)
_BAD_KEY = re.compile(
    r"(?:api[ _-]?key|access token|credential)s?\b.{0,60}?\b"
    r"(?:invalid|not"
    r" valid|incorrect|leaked|revoked|expired|disabled|deactivated|suspended|deleted|not"
    r" found)",
    re.IGNORECASE | re.DOTALL,
)
_OVERSIZED = re.compile(r"^Request too large for\b")
_MODERATED = re.compile(r"moderation|flagged|content policy|safety", re.IGNORECASE)

# An error inside a stream with status 200 gives its status by name only.
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

# More entries than any provider sends; the rest comes from a hostile server.
_MOST_ENTRIES = 50
_MOST_CONSIDERED = 20_000
_MOST_DIGITS = 12
_CONTROL_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_SAME_CLOCK = 10.0
"""Seconds by which clocks may differ through latency and rounding alone."""

_WITHOUT_DELAY = frozenset(
    {
        FailureCause.BILLING,
        FailureCause.AUTH,
        FailureCause.NO_ACCESS,
        FailureCause.BAD_REQUEST,
    }
)


@dataclass(frozen=True, slots=True)
class CallInfo:
    """Provider, model and key of a call, for error messages."""

    provider: str = "the provider"
    model: str = ""
    secret: str = ""


def classify(
    status: int,
    body: object,
    headers: Headers,
    now: float,
    asked: CallInfo | None = None,
) -> ProviderError:
    """Return the error for a response; `body` is its parsed JSON, None without any.

    Status 200 stands for an error that came inside a stream.
    """
    asked = asked or CallInfo()
    error = _error_of(body)
    told = _told_status(status, error)
    words = _words_of(error)
    cause = _find_cause(told, error, words, asked.model, is_page=_is_page(headers))
    requests = tokens = given = 0
    if cause is FailureCause.RATE_LIMIT:
        requests, tokens, given = _told_limits(error)
    return ProviderError(
        _message(status, told, cause, error, asked),
        cause=cause,
        delay=_delay(cause, error, words, headers, now),
        requests_limit=requests,
        tokens_limit=tokens,
        input_limit=given,
        # A refusal before any content is not billed; the cost of an error inside a
        # stream is visible in the stream.
        consumed=NOTHING if status >= 300 else None,
    )


def read_refusal(body: object) -> Complaint:
    """Return what the body of a refusal says is wrong with the request."""
    error = _error_of(body)
    return read_complaint(error, _words_of(error)[:_MOST_CONSIDERED])


def clean_words(words: str, secret: str = "", limit: int = MOST_WORDS) -> str:
    """Return foreign text on one line, without control characters and without the
    key.
    """
    # Cleaned before the key is searched for and cut after that, so that no part of an
    # echoed key remains.
    considered = words[:_MOST_CONSIDERED]
    letters = []
    for letter in considered:
        if letter.isspace():
            # A line break inside an echoed key would hide the key from the search.
            letters.append(" ")
        elif not _is_control(letter):
            letters.append(letter)
    kept = "".join(letters)
    if secret:
        kept = kept.replace(secret, REDACTED)
        if len(words) > len(considered):
            kept = kept[: -len(secret)]
    pieces = _pieces_of(secret)
    shown = []
    for word in kept.split():
        is_telling = _masks(word, secret) or not pieces.isdisjoint(_pieces_of(word))
        shown.append(REDACTED if is_telling else word)
    line = " ".join(shown)
    if len(line) > limit:
        return line[: limit - 1] + "…"
    return line


def _pieces_of(text: str) -> set[str]:
    """Return all pieces of a text that are long enough to give a key away."""
    starts = range(len(text) - TELLING + 1)
    return {text[start : start + TELLING] for start in starts}


def _masks(word: str, secret: str) -> bool:
    """Return whether a word is the key with stars in its middle, as some providers
    quote it.
    """
    word = word.strip("\"'`.,;:()")
    head, stars, _ = word.partition("**")
    _, _, tail = word.rpartition("**")
    if not stars or not secret:
        return False
    has_head = bool(head) and secret.startswith(head)
    has_tail = bool(tail) and secret.endswith(tail)
    return has_head or has_tail


def parse_number(text: object) -> float | None:
    """Parse a plain decimal number; None for anything else, also for infinity."""
    if not isinstance(text, str) or len(text) > 24:
        return None
    number = text.strip()
    whole, _, part = number.removeprefix("-").partition(".")
    digits = whole + part
    if digits.isascii() and digits.isdigit():
        return float(number)
    return None


def bound_delay(seconds: float) -> float:
    """Return a delay bounded to a day."""
    return min(max(seconds, 0.0), LONGEST_DELAY)


def _error_of(body: object) -> ErrorObject:
    """Return the error object of a body, which may be nested, in a list, flat or only
    text.
    """
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


def _told_status(status: int, error: ErrorObject) -> int:
    """Return the status, for an error inside a stream the one given by its body."""
    if status >= 300:
        return status
    code = error.get("code")
    number = parse_number(str(code))
    if number is not None and 400 <= number < 600:
        return int(number)
    for field in ("type", "code", "status"):
        name = _text(error, field)
        if name in _STATUS_OF_NAME:
            return _STATUS_OF_NAME[name]
    return 500


def _find_cause(
    status: int, error: ErrorObject, words: str, model: str, *, is_page: bool
) -> FailureCause:
    # The order matters: used-up credit and daily quotas also arrive as 429, so they are
    # ruled out before a 429 counts as a rate limit, which a short wait cures.
    names = set(_names(error))
    if _is_billing(status, names, words):
        return FailureCause.BILLING
    if names & _OVERLOADED_NAMES or status in _OVERLOADED:
        return FailureCause.OVERLOADED
    is_daily = any("PerDay" in quota for quota, _ in _quotas(error))
    if is_daily or _SPEND_LIMIT.search(words):
        return FailureCause.QUOTA
    if status == 429:
        # A request that is larger than the limit itself never succeeds, however long
        # it waits.
        if _OVERSIZED.search(words):
            return FailureCause.BAD_REQUEST
        return FailureCause.RATE_LIMIT
    # Before AUTH, which retires the key for all models.
    if status == 401 and _names_the_model(error, names):
        return FailureCause.NO_ACCESS
    if _is_of_the_key(status, names, words, is_page=is_page):
        return FailureCause.AUTH
    if status in (403, 404) and _is_of_the_model(error, names, words, model):
        return FailureCause.NO_ACCESS
    if status in (408, 409) or status >= 500:
        return FailureCause.TRANSIENT
    return FailureCause.BAD_REQUEST


def _is_billing(status: int, names: set[str], words: str) -> bool:
    if status == 402 or names & _BILLING:
        return True
    may_be_credit = status in (400, 403, 429)
    return may_be_credit and bool(_OUT_OF_CREDIT.search(words))


def _is_of_the_key(status: int, names: set[str], words: str, *, is_page: bool) -> bool:
    """Return whether the key is refused; an HTML page comes from a proxy."""
    if is_page:
        return False
    if status == 401 or names & _OF_THE_KEY:
        return True
    if any(name.startswith("API_KEY_") for name in names):
        return True
    return status == 403 and bool(_BAD_KEY.search(words))


def _is_of_the_model(
    error: ErrorObject, names: set[str], words: str, model: str
) -> bool:
    """Return whether this key may not use this model; a moderated prompt fails with any
    key.
    """
    if _MODERATED.search(words):
        return False
    is_named = bool(model) and model in words
    return is_named or bool(names & _OF_THE_MODEL) or _names_the_model(error, names)


def _names_the_model(error: ErrorObject, names: set[str]) -> bool:
    if error.get("param") == "model":
        return True
    return any(name.endswith("model_access_denied") for name in names)


def _is_page(headers: Headers) -> bool:
    for name, value in headers.items():
        if name.lower() == "content-type" and "html" in value.lower():
            return True
    return False


def _names(error: ErrorObject) -> Iterator[str]:
    """Yield the machine-readable names in an error: type, code, status and those in its
    details.
    """
    for field in ("type", "code", "status"):
        yield _text(error, field)
    for detail in _details(error):
        yield _text(detail, "error_code")
        yield _text(detail, "type")
        if _is_of_type(detail, "ErrorInfo"):
            yield _text(detail, "reason")


def _details(error: ErrorObject) -> list[ErrorObject]:
    details = error.get("details")
    if isinstance(details, dict):
        return [details]
    return _mappings(details)


def _mappings(entries: object) -> list[ErrorObject]:
    """Return the objects in a JSON list; empty when it is not a list."""
    if not isinstance(entries, list):
        return []
    return [entry for entry in entries[:_MOST_ENTRIES] if isinstance(entry, dict)]


def _quotas(error: ErrorObject) -> Iterator[tuple[str, str]]:
    """Yield the name and the limit of every quota that Google reports as exceeded."""
    for detail in _details(error):
        if not _is_of_type(detail, "QuotaFailure"):
            continue
        for entry in _mappings(detail.get("violations")):
            name = _text(entry, "quotaId")
            limit = _text(entry, "quotaValue")
            yield name, limit


def _told_limits(error: ErrorObject) -> tuple[int, int, int]:
    """Return the limits of requests, tokens and input tokens per minute, 0 for none."""
    limits = {"requests": 0, "tokens": 0, "input": 0}
    for quota, value in _quotas(error):
        # A number with more digits comes from a hostile server.
        is_number = value.isdecimal() and len(value) <= _MOST_DIGITS
        if not is_number or "PerMinute" not in quota:
            continue
        kind = "requests"
        if "Token" in quota:
            kind = "input" if "Input" in quota else "tokens"
        limit = int(value)
        if limit:
            limits[kind] = min(limits[kind] or limit, limit)
    return limits["requests"], limits["tokens"], limits["input"]


def _is_of_type(detail: ErrorObject, name: str) -> bool:
    return _text(detail, "@type").endswith(f"google.rpc.{name}")


def _retry_info(error: ErrorObject) -> float | None:
    for detail in _details(error):
        if _is_of_type(detail, "RetryInfo"):
            delay = _text(detail, "retryDelay")
            seconds = parse_number(delay.removesuffix("s"))
            return _seconds_until(seconds, 0.0)
    return None


def _delay(
    cause: FailureCause,
    error: ErrorObject,
    words: str,
    headers: Headers,
    now: float,
) -> float | None:
    """Return how many seconds the provider asks to wait."""
    if cause in _WITHOUT_DELAY:
        return None
    told = _header_delay(headers, now)
    if told is not None:
        return told
    if cause is not FailureCause.QUOTA:
        return _retry_info(error)
    # A daily quota comes with a RetryInfo of some seconds, which is not the time of
    # its renewal.
    day = _SPEND_LIMIT.search(words)
    if day is None:
        return None
    return _seconds_until(parse_moment(day[1]), now)


def _seconds_until(moment: float | None, now: float) -> float | None:
    if moment is None:
        return None
    return bound_delay(moment - now)


def _header_delay(headers: Headers, now: float) -> float | None:
    lowered = {name.lower(): value for name, value in headers.items()}
    milliseconds = parse_number(lowered.get("retry-after-ms"))
    if milliseconds is not None:
        return bound_delay(milliseconds / 1000)
    told = lowered.get("retry-after", "")
    seconds = parse_number(told)
    if seconds is not None:
        return bound_delay(seconds)
    moment = _parse_http_date(told)
    return _seconds_until(moment, their_time(lowered, now))


def their_time(lowered: Headers, now: float) -> float:
    """Return the server's time if it differs from ours: the times it names are by its
    own clock.
    """
    told = _parse_http_date(lowered.get("date", ""))
    if told is None or abs(told - now) < _SAME_CLOCK:
        return now
    return told


def _parse_http_date(text: str) -> float | None:
    if not 8 <= len(text) <= 64:
        return None
    try:
        moment = parsedate_to_datetime(text)
        return _timestamp(moment)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def parse_moment(text: object) -> float | None:
    """Parse an RFC 3339 time into seconds since 1970; None for anything else."""
    if not isinstance(text, str) or not 10 <= len(text) <= 40:
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
        return _timestamp(moment)
    except (ValueError, OverflowError):
        return None


def _timestamp(moment: datetime) -> float:
    """Return seconds since 1970; a time without a zone is UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()


def _message(
    status: int, told: int, cause: FailureCause, error: ErrorObject, asked: CallInfo
) -> str:
    who = asked.provider
    words = clean_words(_words_of(error), asked.secret)
    names = [_text(error, field) for field in ("type", "status", "code")]
    name = next(filter(None, names), "")
    label = clean_words(f"{told} {name}", asked.secret, 80)
    model = clean_words(asked.model, asked.secret, 100)
    if 300 <= status < 400:
        said = f"{who} redirects to another address ({label}): check the base URL"
    elif status < 300:
        said = f"{who} broke off with an error ({label})"
    elif cause is FailureCause.AUTH:
        said = f"{who} refused the key ({label})"
    elif cause is FailureCause.NO_ACCESS and told == 403:
        used = model or "the model"
        said = f"{who} does not let this key use {used} ({label})"
    elif told == 404 and model:
        said = f"{who} has no model {model!r} at this address ({label})"
    else:
        said = f"{who} answered {label}"
    if words:
        return f"{said}: {words}"
    return said


def _words_of(error: ErrorObject) -> str:
    """Return the text of an error; FastAPI gives it as a text or a list in `detail`."""
    message = _text(error, "message") or _text(error, "detail")
    if message:
        return message
    said = []
    for entry in _mappings(error.get("detail")):
        parts = []
        place = entry.get("loc")
        if isinstance(place, list):
            path = ".".join(map(str, place))
            parts.append(path)
        parts.append(_text(entry, "msg"))
        said.append(": ".join(filter(None, parts)))
    return "; ".join(said)


def _is_control(letter: str) -> bool:
    if letter.isspace():
        return False
    return unicodedata.category(letter) in _CONTROL_CATEGORIES


def _text(error: ErrorObject, name: str) -> str:
    value = error.get(name)
    return value if isinstance(value, str) else ""
