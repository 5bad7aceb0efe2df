"""What a refusal is a sign of, and what rate headers say."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import formatdate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.errors import ProviderError, Sign
from agentos.providers import Allowance
from agentos.providers.allowance import parse_duration, read_allowance
from agentos.providers.classify import Asked, classify, clean_words
from tests.providers.wires import error_info, gemini_error, quota_failure, retry_info

NOW = 1_800_000_000.0
KEY = "sk-canary-0123456789"

names = st.sampled_from(
    ["error", "type", "code", "status", "message", "details", "violations", "quotaId", "reason", "@type", "retryDelay"]
)
words = st.sampled_from(
    ["overloaded_error", "insufficient_quota", "API_KEY_INVALID", "PerDay", "37s", "nan", "-1s", "1e999s", "429"]
    + [f"type.googleapis.com/google.rpc.{name}" for name in ("ErrorInfo", "QuotaFailure", "RetryInfo")]
)
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | words
bodies = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names | st.text(max_size=5), inner, max_size=5)
)
headers = st.dictionaries(
    st.sampled_from(["retry-after", "Retry-After", "retry-after-ms", "x-ratelimit-reset-tokens"]),
    st.text(max_size=40) | words | st.floats().map(str) | st.integers().map(str),
)


@given(st.integers(-10, 700) | st.just(429), bodies, headers, st.floats(allow_nan=False, allow_infinity=False))
def test_any_answer_is_a_provider_error_with_a_bounded_delay(
    status: int, body: Any, headers: dict[str, str], now: float
) -> None:
    error = classify(status, body, headers, now, Asked("p", "m", KEY))
    assert type(error) is ProviderError
    assert error.delay is None or 0 <= error.delay <= 86_400
    assert len(str(error)) < 600


@given(bodies, headers)
def test_a_429_is_never_transient_and_never_the_requests_fault(body: Any, headers: dict[str, str]) -> None:
    assert classify(429, body, headers, NOW).sign not in (Sign.TRANSIENT, Sign.BAD_REQUEST, Sign.AUTH)


@given(st.text(max_size=400), st.text(max_size=400))
def test_words_lose_the_key_and_every_control_character(before: str, after: str) -> None:
    cleaned = clean_words(f"{before}{KEY}{after}", KEY)
    assert KEY not in cleaned
    assert cleaned.isprintable()
    assert len(cleaned) <= 300


@pytest.mark.parametrize("padding", ["\x00" * 19_990, "a" * 295, "\x1b" * 30_000])
def test_no_part_of_a_key_is_left_where_words_are_cut(padding: str) -> None:
    assert KEY[:8] not in clean_words(padding + KEY + " and more" * 5000, KEY)


def test_a_key_hidden_between_control_characters_is_found() -> None:
    assert clean_words("\x1b".join(KEY), KEY) == "[REDACTED]"


@pytest.mark.parametrize(
    ("given_headers", "delay"),
    [
        ({"retry-after": "12"}, 12.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Fri, 15 Jan 2027 08:01:00 GMT"}, 60.0),
        ({"retry-after": "Fri, 15 Jan 1999 08:00:00 GMT"}, 0.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "999999999"}, 86_400.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e3"}, None),
        ({"retry-after": "1_000"}, None),
        ({"retry-after": "٣"}, None),
        ({"retry-after": "9" * 10_000}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_the_delay_is_the_servers_own(given_headers: dict[str, str], delay: float | None) -> None:
    assert classify(429, None, given_headers, NOW).delay == delay


@pytest.mark.parametrize("wrong_by", [-3600.0, 3600.0])
def test_a_moment_is_meant_by_the_servers_clock_when_ours_is_wrong(wrong_by: float) -> None:
    told = {"date": formatdate(NOW, usegmt=True), "retry-after": formatdate(NOW + 40, usegmt=True)}
    assert classify(429, None, told, NOW + wrong_by).delay == pytest.approx(40, abs=1)
    reset = datetime.fromtimestamp(NOW + 40, UTC).isoformat()
    told |= {"anthropic-ratelimit-requests-limit": "50", "anthropic-ratelimit-requests-reset": reset}
    allowance = read_allowance(told, NOW + wrong_by)
    assert allowance is not None
    assert allowance.requests_reset == pytest.approx(40, abs=1)


@pytest.mark.parametrize("delay", ["37s", "86400s", "0s"])
def test_a_daily_quota_is_no_short_rest_whatever_the_retry_info_says(delay: str) -> None:
    body = gemini_error(429, "RESOURCE_EXHAUSTED", "x", retry_info(delay), quota_failure("RequestsPerDayPerProject"))
    error = classify(429, body, {}, NOW)
    assert (error.sign, error.delay) == (Sign.QUOTA, None)


@pytest.mark.parametrize(
    ("quota", "value", "limits"),
    [
        ("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "50", (50, 0)),
        ("GenerateContentInputTokensPerModelPerMinute-FreeTier", "250000", (0, 250_000)),
        ("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "0", (0, 0)),
        ("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "9" * 5000, (0, 0)),
        ("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "-3", (0, 0)),
        ("SomethingElse", "50", (0, 0)),
    ],
)
def test_the_limit_that_a_refusal_names_is_read(quota: str, value: str, limits: tuple[int, int]) -> None:
    body = gemini_error(429, "RESOURCE_EXHAUSTED", "x", retry_info("3s"), quota_failure(quota, value))
    error = classify(429, body, {}, NOW)
    assert (error.requests_limit, error.tokens_limit) == limits


def test_a_header_beside_a_daily_quota_is_kept() -> None:
    body = gemini_error(429, "RESOURCE_EXHAUSTED", "x", quota_failure("RequestsPerDayPerProject"))
    assert classify(429, body, {"retry-after": "3600"}, NOW).delay == 3600


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (500, "timed out after 429 seconds"),
        (500, "insufficient_quota"),
        (400, "overloaded_error PerDay API_KEY_INVALID"),
    ],
)
def test_words_in_a_message_decide_nothing(status: int, message: str) -> None:
    expected = Sign.TRANSIENT if status == 500 else Sign.BAD_REQUEST
    assert classify(status, {"error": {"message": message}}, {}, NOW).sign is expected


def test_a_reason_counts_only_in_a_detail_of_its_type() -> None:
    detail = {"@type": "type.googleapis.com/google.rpc.Help", "reason": "API_KEY_INVALID"}
    assert classify(400, gemini_error(400, "INVALID_ARGUMENT", "x", detail), {}, NOW).sign is Sign.BAD_REQUEST
    detail = error_info("API_KEY_INVALID")
    assert classify(400, gemini_error(400, "INVALID_ARGUMENT", "x", detail), {}, NOW).sign is Sign.AUTH


@pytest.mark.parametrize(
    ("body", "sign"),
    [
        ({"error": {"code": "billing_not_active"}}, Sign.BILLING),
        ({"error": {"type": "insufficient_quota"}}, Sign.BILLING),
        ([gemini_error(429, "RESOURCE_EXHAUSTED", "x")], Sign.RATE_LIMIT),
        ({"error": "model 'x' not found"}, Sign.RATE_LIMIT),
        ({"object": "error", "message": "x", "type": "overloaded_error"}, Sign.OVERLOADED),
        (None, Sign.RATE_LIMIT),
        ("text", Sign.RATE_LIMIT),
    ],
)
def test_a_body_is_understood_however_it_is_nested(body: Any, sign: Sign) -> None:
    assert classify(429, body, {}, NOW).sign is sign


@pytest.mark.parametrize(
    ("error", "sign"),
    [
        ({"type": "rate_limit_error"}, Sign.RATE_LIMIT),
        ({"type": "authentication_error"}, Sign.AUTH),
        ({"type": "invalid_request_error"}, Sign.BAD_REQUEST),
        ({"status": "RESOURCE_EXHAUSTED"}, Sign.RATE_LIMIT),
        ({"code": "503"}, Sign.OVERLOADED),
        ({"code": True}, Sign.TRANSIENT),
        ({"code": 7}, Sign.TRANSIENT),
        ({"message": "something"}, Sign.TRANSIENT),
    ],
)
def test_an_error_inside_a_stream_tells_its_status_itself(error: dict[str, Any], sign: Sign) -> None:
    assert classify(200, {"error": error}, {}, NOW).sign is sign


def test_a_body_nested_beyond_reason_is_read_without_recursion() -> None:
    body: Any = {}
    for _ in range(100_000):
        body = {"error": body, "details": [body]}
    assert classify(500, body, {}, NOW).sign is Sign.TRANSIENT


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("6m0s", 360.0),
        ("120ms", 0.12),
        ("1s", 1.0),
        ("7.5s", 7.5),
        ("1h2m3s", 3723.0),
        ("30", 30.0),
        ("99d", 86_400.0),
        ("", None),
        ("m", None),
        ("5x", None),
        ("1s2", None),
        ("nan", None),
        (None, None),
    ],
)
def test_a_duration_is_read_in_gos_notation(text: str | None, seconds: float | None) -> None:
    assert parse_duration(text) == (None if seconds is None else pytest.approx(seconds))


@given(st.dictionaries(st.text(max_size=40), st.text(max_size=60)), st.text(max_size=60))
def test_any_headers_are_read_or_left(headers: dict[str, str], value: str) -> None:
    fields = ("limit", "remaining", "reset")
    given_headers = headers | {f"anthropic-ratelimit-tokens-{field}": value for field in fields}
    given_headers |= {f"x-ratelimit-{field}-requests": value for field in fields}
    allowance = read_allowance(given_headers, NOW)
    assert allowance is None or allowance.requests_reset is None or 0 <= allowance.requests_reset <= 86_400


def test_no_headers_are_no_allowance() -> None:
    assert read_allowance({"content-type": "text/html"}, NOW) is None


def test_the_tokens_of_anthropic_come_before_its_input_tokens() -> None:
    found = {
        "Anthropic-Ratelimit-Tokens-Limit": "10",
        "anthropic-ratelimit-tokens-remaining": "9",
        "anthropic-ratelimit-tokens-reset": "2027-01-15T08:00:30Z",
        "anthropic-ratelimit-input-tokens-limit": "5",
    }
    assert read_allowance(found, NOW) == Allowance(tokens_limit=10, tokens_left=9, tokens_reset=30.0)
