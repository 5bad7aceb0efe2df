"""The cause of a refusal, and what rate headers say."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import formatdate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.errors import FailureCause, ProviderError
from agentos.gateway.providers.classify import CallInfo, classify, clean_words
from agentos.gateway.providers.complaints import Option, Terms, read_complaint
from agentos.gateway.providers.rate_headers import parse_duration, read_rate_headers
from agentos.usage import RateHeaders
from tests.gateway.providers.wires import (
    error_info,
    gemini_error,
    quota_failure,
    retry_info,
)

NOW = 1_800_000_000.0
KEY = "sk-canary-0123456789"

names = st.sampled_from(
    [
        "error",
        "type",
        "code",
        "status",
        "message",
        "details",
        "violations",
        "quotaId",
        "reason",
        "@type",
        "retryDelay",
    ]
)
words = st.sampled_from(
    [
        "overloaded_error",
        "insufficient_quota",
        "API_KEY_INVALID",
        "PerDay",
        "37s",
        "nan",
        "-1s",
        "1e999s",
        "429",
    ]
    + [
        f"type.googleapis.com/google.rpc.{name}"
        for name in ("ErrorInfo", "QuotaFailure", "RetryInfo")
    ]
)
leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | words
)
bodies = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(names | st.text(max_size=5), inner, max_size=5)
    ),
)
headers = st.dictionaries(
    st.sampled_from(
        ["retry-after", "Retry-After", "retry-after-ms", "x-ratelimit-reset-tokens"]
    ),
    st.text(max_size=40) | words | st.floats().map(str) | st.integers().map(str),
)


@given(
    st.integers(-10, 700) | st.just(429),
    bodies,
    headers,
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_any_answer_is_a_provider_error_with_a_bounded_delay(
    status: int, body: Any, headers: dict[str, str], now: float
) -> None:
    error = classify(status, body, headers, now, CallInfo("p", "m", KEY))
    assert type(error) is ProviderError
    assert error.delay is None or 0 <= error.delay <= 86_400
    assert len(str(error)) < 600


@given(bodies, headers)
def test_a_429_is_never_transient_and_never_the_requests_fault(
    body: Any, headers: dict[str, str]
) -> None:
    assert classify(429, body, headers, NOW).cause not in (
        FailureCause.TRANSIENT,
        FailureCause.BAD_REQUEST,
        FailureCause.AUTH,
    )


@given(st.text(max_size=400), st.text(max_size=400))
def test_words_lose_the_key_and_every_control_character(
    before: str, after: str
) -> None:
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
def test_the_delay_is_the_servers_own(
    given_headers: dict[str, str], delay: float | None
) -> None:
    assert classify(429, None, given_headers, NOW).delay == delay


@pytest.mark.parametrize("wrong_by", [-3600.0, 3600.0])
def test_a_moment_is_meant_by_the_servers_clock_when_ours_is_wrong(
    wrong_by: float,
) -> None:
    told = {
        "date": formatdate(NOW, usegmt=True),
        "retry-after": formatdate(NOW + 40, usegmt=True),
    }
    assert classify(429, None, told, NOW + wrong_by).delay == pytest.approx(40, abs=1)
    reset = datetime.fromtimestamp(NOW + 40, UTC).isoformat()
    told |= {
        "anthropic-ratelimit-requests-limit": "50",
        "anthropic-ratelimit-requests-reset": reset,
    }
    rate_headers = read_rate_headers(told, NOW + wrong_by)
    assert rate_headers is not None
    assert rate_headers.requests_reset == pytest.approx(40, abs=1)


@pytest.mark.parametrize("delay", ["37s", "86400s", "0s"])
def test_a_daily_quota_is_no_short_rest_whatever_the_retry_info_says(
    delay: str,
) -> None:
    body = gemini_error(
        429,
        "RESOURCE_EXHAUSTED",
        "x",
        retry_info(delay),
        quota_failure("RequestsPerDayPerProject"),
    )
    error = classify(429, body, {}, NOW)
    assert (error.cause, error.delay) == (FailureCause.QUOTA, None)


@pytest.mark.parametrize(
    ("quota", "value", "limits"),
    [
        ("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "50", (50, 0, 0)),
        (
            "GenerateContentInputTokensPerModelPerMinute-FreeTier",
            "250000",
            (0, 0, 250_000),
        ),
        ("GenerateContentTokensPerMinutePerProject", "1000", (0, 1000, 0)),
        ("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "0", (0, 0, 0)),
        ("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "9" * 5000, (0, 0, 0)),
        ("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "-3", (0, 0, 0)),
        ("SomethingElse", "50", (0, 0, 0)),
    ],
)
def test_the_limit_that_a_refusal_names_is_read(
    quota: str, value: str, limits: tuple[int, int, int]
) -> None:
    body = gemini_error(
        429, "RESOURCE_EXHAUSTED", "x", retry_info("3s"), quota_failure(quota, value)
    )
    error = classify(429, body, {}, NOW)
    assert (error.requests_limit, error.tokens_limit, error.input_limit) == limits


def test_a_header_beside_a_daily_quota_is_kept() -> None:
    body = gemini_error(
        429, "RESOURCE_EXHAUSTED", "x", quota_failure("RequestsPerDayPerProject")
    )
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
    expected = FailureCause.TRANSIENT if status == 500 else FailureCause.BAD_REQUEST
    assert classify(status, {"error": {"message": message}}, {}, NOW).cause is expected


def test_a_reason_counts_only_in_a_detail_of_its_type() -> None:
    detail = {
        "@type": "type.googleapis.com/google.rpc.Help",
        "reason": "API_KEY_INVALID",
    }
    assert (
        classify(400, gemini_error(400, "INVALID_ARGUMENT", "x", detail), {}, NOW).cause
        is FailureCause.BAD_REQUEST
    )
    detail = error_info("API_KEY_INVALID")
    assert (
        classify(400, gemini_error(400, "INVALID_ARGUMENT", "x", detail), {}, NOW).cause
        is FailureCause.AUTH
    )


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        ({"error": {"code": "billing_not_active"}}, FailureCause.BILLING),
        ({"error": {"type": "insufficient_quota"}}, FailureCause.BILLING),
        ([gemini_error(429, "RESOURCE_EXHAUSTED", "x")], FailureCause.RATE_LIMIT),
        ({"error": "model 'x' not found"}, FailureCause.RATE_LIMIT),
        (
            {"object": "error", "message": "x", "type": "overloaded_error"},
            FailureCause.OVERLOADED,
        ),
        (None, FailureCause.RATE_LIMIT),
        ("text", FailureCause.RATE_LIMIT),
    ],
)
def test_a_body_is_understood_however_it_is_nested(
    body: Any, cause: FailureCause
) -> None:
    assert classify(429, body, {}, NOW).cause is cause


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ({"type": "rate_limit_error"}, FailureCause.RATE_LIMIT),
        ({"type": "authentication_error"}, FailureCause.AUTH),
        ({"type": "invalid_request_error"}, FailureCause.BAD_REQUEST),
        ({"status": "RESOURCE_EXHAUSTED"}, FailureCause.RATE_LIMIT),
        ({"code": "503"}, FailureCause.OVERLOADED),
        ({"code": True}, FailureCause.TRANSIENT),
        ({"code": 7}, FailureCause.TRANSIENT),
        ({"message": "something"}, FailureCause.TRANSIENT),
    ],
)
def test_an_error_inside_a_stream_tells_its_status_itself(
    error: dict[str, Any], cause: FailureCause
) -> None:
    assert classify(200, {"error": error}, {}, NOW).cause is cause


def test_a_body_nested_beyond_reason_is_read_without_recursion() -> None:
    body: Any = {}
    for _ in range(100_000):
        body = {"error": body, "details": [body]}
    assert classify(500, body, {}, NOW).cause is FailureCause.TRANSIENT


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
def test_a_duration_is_read_in_gos_notation(
    text: str | None, seconds: float | None
) -> None:
    assert parse_duration(text) == (None if seconds is None else pytest.approx(seconds))


@given(
    st.dictionaries(st.text(max_size=40), st.text(max_size=60)), st.text(max_size=60)
)
def test_any_headers_are_read_or_left(headers: dict[str, str], value: str) -> None:
    fields = ("limit", "remaining", "reset")
    given_headers = headers | {
        f"anthropic-ratelimit-tokens-{field}": value for field in fields
    }
    given_headers |= {f"x-ratelimit-{field}-requests": value for field in fields}
    rate_headers = read_rate_headers(given_headers, NOW)
    assert (
        rate_headers is None
        or rate_headers.requests_reset is None
        or 0 <= rate_headers.requests_reset <= 86_400
    )


def test_other_headers_are_no_rate_headers() -> None:
    assert read_rate_headers({"content-type": "text/html"}, NOW) is None


def test_tokens_of_input_are_counted_apart() -> None:
    found = {
        "Anthropic-Ratelimit-Tokens-Limit": "10",
        "anthropic-ratelimit-tokens-remaining": "9",
        "anthropic-ratelimit-tokens-reset": "2027-01-15T08:00:30Z",
        "anthropic-ratelimit-input-tokens-limit": "5",
    }
    assert read_rate_headers(found, NOW) == RateHeaders(
        tokens_limit=10, tokens_left=9, tokens_reset=30.0, input_limit=5
    )


SPENT_CLAUDE = (
    "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase "
    "credits."
)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (
            400,
            {
                "type": "error",
                "error": {"type": "invalid_request_error", "message": SPENT_CLAUDE},
            },
        ),
        (402, {"error": {"code": 402, "message": "Insufficient credits"}}),
        (402, {"error": {"message": "Insufficient Balance", "type": "unknown_error"}}),
        (
            429,
            {
                "error": {
                    "code": 429,
                    "status": "RESOURCE_EXHAUSTED",
                    "message": "Your credits are depleted.",
                }
            },
        ),
        (403, {"error": "Your newly created team doesn't have any credits yet."}),
        (
            429,
            {
                "error": {
                    "type": "insufficient_quota",
                    "code": "insufficient_quota",
                    "message": "x",
                }
            },
        ),
    ],
)
def test_money_that_is_used_up_is_known_in_each_providers_words(
    status: int, body: object
) -> None:
    assert classify(status, body, {}, NOW).cause is FailureCause.BILLING


def test_a_spend_limit_of_the_month_rests_until_it_is_renewed() -> None:
    day = datetime.fromtimestamp(NOW + 3600 * 20, UTC)
    words = f"You have reached your specified API usage limits. You will regain access on {day:%Y-%m-%d} at 00:00 UTC."
    error = classify(
        400, {"error": {"type": "invalid_request_error", "message": words}}, {}, NOW
    )
    assert error.cause is FailureCause.QUOTA
    assert error.delay is not None
    assert error.delay <= 3600 * 20


@pytest.mark.parametrize(
    ("body", "headers", "cause"),
    [
        (None, {"content-type": "text/html"}, FailureCause.BAD_REQUEST),
        (
            {"error": {"code": "unsupported_country_region_territory", "message": "x"}},
            {},
            FailureCause.BAD_REQUEST,
        ),
        (
            {
                "error": {
                    "code": 403,
                    "message": "m-1 requires moderation; your input was flagged",
                }
            },
            {},
            FailureCause.BAD_REQUEST,
        ),
        (
            {"error": {"code": "model_not_found", "message": "no access to model m-1"}},
            {},
            FailureCause.NO_ACCESS,
        ),
        (
            {"error": {"type": "permission_error", "message": "Not this resource"}},
            {},
            FailureCause.NO_ACCESS,
        ),
        (
            {
                "error": {
                    "status": "PERMISSION_DENIED",
                    "message": "Your API key was reported as leaked.",
                }
            },
            {},
            FailureCause.AUTH,
        ),
        ({"error": {"code": "invalid_api_key", "message": "x"}}, {}, FailureCause.AUTH),
    ],
)
def test_a_403_is_about_what_it_names(
    body: object, headers: dict[str, str], cause: FailureCause
) -> None:
    assert (
        classify(403, body, headers, NOW, CallInfo("openai", "m-1", "")).cause is cause
    )


def test_a_proxy_that_wants_a_login_says_nothing_of_the_key() -> None:
    assert (
        classify(401, None, {"Content-Type": "text/html"}, NOW).cause
        is FailureCause.BAD_REQUEST
    )
    assert classify(401, None, {}, NOW).cause is FailureCause.AUTH


def test_a_gateway_that_keeps_a_model_from_a_key_does_not_refuse_the_key() -> None:
    denied = {
        "type": "key_model_access_denied",
        "param": "model",
        "message": "key not allowed to access model",
    }
    assert classify(401, {"error": denied}, {}, NOW).cause is FailureCause.NO_ACCESS
    spent = {"error": {"code": 403, "message": "Key limit exceeded (total limit)."}}
    assert classify(403, spent, {}, NOW).cause is FailureCause.BILLING
    assert (
        classify(
            400, {"error": {"type": "budget_exceeded", "message": "x"}}, {}, NOW
        ).cause
        is FailureCause.BILLING
    )


def test_the_words_of_a_422_are_told() -> None:
    body = {
        "detail": [
            {
                "loc": ["body", "stream_options"],
                "msg": "Extra inputs are not permitted",
                "type": "extra",
            }
        ]
    }
    error = classify(422, body, {}, NOW, CallInfo("openai", "m", ""))
    assert "body.stream_options: Extra inputs are not permitted" in str(error)
    assert (
        classify(422, {"detail": "bad format"}, {}, NOW).args[0].endswith("bad format")
    )


TOO_LARGE = [
    "max_tokens is too large: 32000. This model supports at most 16384 completion tokens, whereas you provided 32000.",
    "max_tokens: 32000 > 16384, which is the maximum allowed number of output tokens for claude-x",
    "`max_tokens` must be less than or equal to `16384`, the maximum value for `max_tokens`",
    "Invalid max_tokens value, the valid range of max_tokens is [1, 16384]",
    "a maxOutputTokens value of 32000 but the supported range is from 1 (inclusive) to 16385 (exclusive).",
]


@pytest.mark.parametrize("words", TOO_LARGE)
def test_a_limit_that_is_too_large_is_no_wrong_parameter(words: str) -> None:
    terms = Terms(limit_name="max_tokens").after(
        read_complaint({}, words), 32_000, set(Option)
    )
    assert terms == Terms(limit_name="max_tokens", most_output=16_384)


UNKNOWN_NAMES = [
    "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens'. Model Group=gpt-5.4-mini",
    "Unsupported value: 'max_tokens' is not supported with o4-mini-2025-04-16; use 'max_completion_tokens' instead.",
]


@pytest.mark.parametrize("words", UNKNOWN_NAMES)
def test_the_digits_of_a_models_name_are_no_limit(words: str) -> None:
    terms = Terms(limit_name="max_tokens").after(
        read_complaint({"param": "max_tokens"}, words), 32_000, ()
    )
    assert terms == Terms(limit_name="max_completion_tokens")


def test_a_request_that_is_larger_than_a_minute_is_asked_for_shorter() -> None:
    words = "Request too large for gpt-4.1 on tokens per min (TPM): Limit 30000, Requested 37313. Must be reduced."
    assert (
        classify(
            429, {"error": {"message": words, "code": "rate_limit_exceeded"}}, {}, NOW
        ).cause
        is FailureCause.BAD_REQUEST
    )
    complaint = read_complaint({}, words)
    assert complaint.is_about_length
    assert Terms().after(complaint, 32_000, set(Option)).most_output == 32_000 - 7_313


def test_an_answer_that_there_is_money_for_is_asked_for() -> None:
    words = "This request requires more credits, or fewer max_tokens. You requested up to 32000, but can only afford 9000"
    assert (
        Terms().after(read_complaint({}, words), 32_000, set(Option)).most_output
        == 9_000
    )


CONTEXTS = [
    "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 8192 tokens "
    "and your request has 3000 input tokens (32000 > 8192 - 3000).",
    "This model's maximum context length is 8192 tokens. However, you requested 35000 tokens (3000 in the messages, "
    "32000 in the completion). Please reduce the length of the messages or completion.",
    "input length and `max_tokens` exceed context limit: 3000 + 32000 > 8192, decrease input length or `max_tokens`",
]


@pytest.mark.parametrize("words", CONTEXTS)
def test_a_context_that_is_full_leaves_what_is_left_for_the_answer(words: str) -> None:
    complaint = read_complaint({}, words)
    terms = Terms(limit_name="max_tokens").after(complaint, 32_000, set(Option))
    assert terms == Terms(limit_name="max_tokens", context=8192)
    assert terms.output_limit(32_000, complaint.prompt) == 5192


@pytest.mark.parametrize(
    ("error", "words", "changed"),
    [
        (
            {"param": "max_tokens"},
            "Unsupported parameter: use 'max_completion_tokens' instead.",
            "limit_name",
        ),
        (
            {},
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            "limit_name",
        ),
        ({"param": "response_format"}, "not supported", Option.SCHEMA),
        (
            {
                "detail": [
                    {"loc": ["body", "response_format", "json_schema"], "msg": "no"}
                ]
            },
            "no",
            Option.SCHEMA,
        ),
        (
            {"detail": [{"loc": ["body", "stream_options"], "msg": "no"}]},
            "no",
            Option.STREAM_OPTIONS,
        ),
        (
            {},
            "Unrecognized request argument supplied: stream_options",
            Option.STREAM_OPTIONS,
        ),
    ],
)
def test_a_parameter_that_is_not_known_is_asked_for_otherwise(
    error: dict[str, object], words: str, changed: str
) -> None:
    before = Terms(limit_name="max_tokens")
    after = before.after(read_complaint(error, words), 32_000, set(Option))
    changes: list[str] = [*after.refused]
    if after.limit_name != before.limit_name:
        changes.append("limit_name")
    assert changes == [changed]


def test_a_prompt_that_does_not_fit_is_not_asked_for_otherwise() -> None:
    words = "prompt is too long: 250000 tokens > 200000 maximum"
    terms = Terms(limit_name="max_tokens")
    assert terms.after(read_complaint({}, words), 32_000, set(Option)) == terms
