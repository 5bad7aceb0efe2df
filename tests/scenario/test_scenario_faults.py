"""Every fault that a script can have, as the official SDKs see it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.scenario import serve
from tests.scenario.answers import PLAIN_ANSWER
from tests.scenario.clients import FORMATS, Outcome, ask
from tests.scenario.playing import HUGE
from tests.support import wait_until

RPC = "type.googleapis.com/google.rpc."
ANTHROPIC = {
    "rate-limit": (429, "rate_limit_error", None),
    "daily-quota": (429, "rate_limit_error", None),
    "spend-limit": (429, "rate_limit_error", "enforced_spend_limit_reached"),
    "billing": (402, "billing_error", None),
    "credit": (400, "invalid_request_error", None),
    "overloaded": (529, "overloaded_error", None),
    "capacity": (529, "overloaded_error", None),
    "auth": (401, "authentication_error", None),
    "server-error": (500, "api_error", None),
    "not-found": (404, "not_found_error", None),
    "bad-request": (400, "invalid_request_error", None),
}
OPENAI = {
    "rate-limit": (429, "requests", "rate_limit_exceeded"),
    "daily-quota": (429, "requests", "rate_limit_exceeded"),
    "spend-limit": (429, "insufficient_quota", "insufficient_quota"),
    "billing": (429, "billing_not_active", "billing_not_active"),
    "credit": (429, "insufficient_quota", "insufficient_quota"),
    "overloaded": (503, "server_error", None),
    "capacity": (503, "service_unavailable_error", "server_is_overloaded"),
    "auth": (401, "invalid_request_error", "invalid_api_key"),
    "server-error": (500, "server_error", None),
    "not-found": (404, "invalid_request_error", "model_not_found"),
    "bad-request": (400, "invalid_request_error", None),
}
GEMINI = {
    "rate-limit": (
        429,
        "RESOURCE_EXHAUSTED",
        "GenerateRequestsPerMinutePerProjectPerModel-FreeTier",
    ),
    "daily-quota": (
        429,
        "RESOURCE_EXHAUSTED",
        "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
    ),
    "spend-limit": (429, "RESOURCE_EXHAUSTED", None),
    "billing": (403, "PERMISSION_DENIED", "BILLING_DISABLED"),
    "credit": (429, "RESOURCE_EXHAUSTED", None),
    "overloaded": (503, "UNAVAILABLE", None),
    "capacity": (429, "RESOURCE_EXHAUSTED", "MODEL_CAPACITY_EXHAUSTED"),
    "auth": (400, "INVALID_ARGUMENT", "API_KEY_INVALID"),
    "server-error": (500, "INTERNAL", None),
    "not-found": (404, "NOT_FOUND", None),
    "bad-request": (400, "INVALID_ARGUMENT", None),
}
EXPECTED = {"anthropic": ANTHROPIC, "gemini": GEMINI, "openai": OPENAI}
REFUSALS = [(format, kind) for format in FORMATS for kind in EXPECTED[format]]


def read_error(format: str, body: Any) -> tuple[str, str | None]:
    """Return the type of an error and its further code, from the provider's own
    structure.
    """
    if format == "openai":
        return body["type"], body["code"]
    error = body["error"]
    if format == "anthropic":
        return error["type"], error.get("details", {}).get("error_code")
    return error["status"], next(
        (code for code in map(_detail, error.get("details", ())) if code), None
    )


def _detail(detail: dict[str, Any]) -> str | None:
    if detail["@type"] == RPC + "QuotaFailure":
        return str(detail["violations"][0]["quotaId"])
    return str(detail["reason"]) if detail["@type"] == RPC + "ErrorInfo" else None


def ask_with(
    fault: dict[str, Any], format: str, prompt: str = "hello " * 50, **more: Any
) -> Outcome:
    """Ask once of a server with one fault, then once more without it, which must
    work.
    """
    with serve({"fault": [fault]}) as server:
        outcome = ask(format, server.url, prompt, **more)
        server.change(fault=[])
        assert ask(format, server.url, "and now?").text == PLAIN_ANSWER
        return outcome


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(("format", "kind"), REFUSALS)
def test_a_refusal_has_the_providers_status_and_body(
    format: str, kind: str, stream: bool
) -> None:
    status, error_type, code = EXPECTED[format][kind]
    outcome = ask_with({"kind": kind, "delay": 7.0}, format, stream=stream)
    assert outcome.status == status
    assert read_error(format, outcome.body) == (error_type, code)


@pytest.mark.parametrize(("format", "kind"), REFUSALS)
def test_a_refusal_costs_nothing_and_is_not_admitted(format: str, kind: str) -> None:
    with serve({"price_input": 1.0, "fault": [{"kind": kind}]}) as server:
        status = ask(format, server.url).status
        (entry,) = server.ledger.calls()
        assert (entry.is_admitted, entry.status, entry.cost, entry.reason) == (
            False,
            status,
            0.0,
            kind,
        )


@pytest.mark.parametrize("kind", ["overloaded", "rate-limit", "server-error"])
@pytest.mark.parametrize("format", FORMATS)
def test_an_error_can_come_inside_a_stream_with_status_200(
    format: str, kind: str
) -> None:
    with serve(
        {"price_output": 1.0, "fault": [{"kind": kind, "in_stream": True}]}
    ) as server:
        outcome = ask(format, server.url)
        assert outcome.error is not None
        assert read_error(format, outcome.body)[0] == EXPECTED[format][kind][1]
        (entry,) = server.ledger.calls()
        assert (entry.is_admitted, entry.status, entry.output_tokens > 0) == (
            True,
            200,
            True,
        )


def test_a_delay_is_told_in_the_providers_own_place() -> None:
    fault = {"kind": "rate-limit", "delay": 6.2}
    told = ask_with(fault, "anthropic").headers
    assert told is not None
    assert told["retry-after"] == "7"
    told = ask_with(fault, "openai").headers
    assert told is not None
    assert (told["retry-after"], told["retry-after-ms"]) == ("7", "6200")
    details = ask_with(fault, "gemini").body["error"]["details"]
    assert [d["retryDelay"] for d in details if d["@type"] == RPC + "RetryInfo"] == [
        "6.200s"
    ]


def test_an_anthropic_error_is_in_the_documented_bytes() -> None:
    outcome = ask_with({"kind": "overloaded"}, "anthropic")
    assert outcome.headers is not None
    assert json.dumps(outcome.body) == json.dumps(
        {
            "type": "error",
            "error": {"type": "overloaded_error", "message": "Overloaded"},
            "request_id": outcome.headers["request-id"],
        }
    )


def test_a_status_and_words_of_the_scripts_own_replace_the_kinds() -> None:
    outcome = ask_with(
        {"kind": "capacity", "status": 503, "message": "so busy"}, "gemini"
    )
    assert outcome.status == 503
    assert (outcome.body["error"]["status"], outcome.body["error"]["message"]) == (
        "UNAVAILABLE",
        "so busy",
    )


@pytest.mark.parametrize("format", FORMATS)
def test_unknown_revoked_and_unpaid_keys_are_told_apart(format: str) -> None:
    keys = [
        {"secret": "good"},
        {"secret": "gone", "state": "revoked"},
        {"secret": "poor", "state": "no-billing"},
    ]
    with serve({"key": keys}) as server:
        seen = {
            key: ask(format, server.url, key=key).status
            for key in ("good", "nobody-knows-me", "gone", "poor")
        }
    expected = {
        "anthropic": (401, 401, 402),
        "openai": (401, 401, 429),
        "gemini": (400, 403, 403),
    }[format]
    assert tuple(seen.values()) == (200, *expected)


def test_a_key_that_openai_refuses_is_masked_in_its_words() -> None:
    with serve({"key": [{"secret": "good"}]}) as server:
        words = ask("openai", server.url, key="sk-proj-0123456789abcdef").body[
            "message"
        ]
    assert "sk-proj-************cdef" in words


@pytest.mark.parametrize("format", FORMATS)
def test_a_model_that_the_script_does_not_have_is_not_found(format: str) -> None:
    with serve({"models": ["real"]}) as server:
        assert ask(format, server.url, model="real").text == PLAIN_ANSWER
        assert ask(format, server.url, model="unreal").status == 404


@pytest.mark.parametrize("in_stream", [True, False])
@pytest.mark.parametrize("format", FORMATS)
def test_a_reset_is_a_lost_connection(format: str, in_stream: bool) -> None:
    with serve(
        {"fault": [{"kind": "reset", "in_stream": in_stream, "times": 1}]}
    ) as server:
        outcome = ask(format, server.url)
        assert outcome.error is not None
        assert outcome.status is None
        assert [entry.is_admitted for entry in server.ledger.calls()] == [in_stream]


@pytest.mark.parametrize("format", FORMATS)
def test_a_cut_stream_ends_without_a_reason_and_without_an_error(format: str) -> None:
    outcome = ask_with({"kind": "cut-stream"}, format)
    assert outcome.error is None
    assert outcome.finish is None
    assert PLAIN_ANSWER.startswith(outcome.text)
    assert 0 < len(outcome.text) < len(PLAIN_ANSWER)


@pytest.mark.parametrize("format", FORMATS)
def test_a_whole_answer_that_is_cut_is_an_error(format: str) -> None:
    assert ask_with({"kind": "cut-stream"}, format, stream=False).error is not None


@pytest.mark.parametrize(
    ("in_stream", "stream"), [(True, True), (False, True), (False, False)]
)
@pytest.mark.parametrize("format", FORMATS)
def test_silence_lasts_until_the_caller_leaves(
    format: str, in_stream: bool, stream: bool
) -> None:
    with serve({"fault": [{"kind": "silence", "in_stream": in_stream}]}) as server:
        assert ask(format, server.url, stream=stream, timeout=0.3).error is not None
        wait_until(
            lambda: server.ledger.calls()[0].has_left,
            "the server notes that the caller left",
        )


@pytest.mark.parametrize("format", FORMATS)
def test_silence_with_a_delay_and_slowness_still_come_to_an_end(format: str) -> None:
    for fault in ({"kind": "silence", "delay": 0.05}, {"kind": "slow", "delay": 0.02}):
        assert ask_with(fault, format).text == PLAIN_ANSWER


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("format", FORMATS)
def test_a_page_an_empty_a_huge_and_a_broken_answer_arrive_as_such(
    format: str, stream: bool
) -> None:
    assert ask_with({"kind": "html"}, format, stream=stream).text == ""
    assert (
        ask_with({"kind": "html", "status": 502}, format, stream=stream).status == 502
    )
    empty = ask_with({"kind": "empty"}, format, stream=stream)
    assert (empty.text, empty.error, empty.usage[1]) == ("", None, 0)
    assert len(ask_with({"kind": "huge"}, format, stream=stream).text) >= HUGE
    broken = ask_with({"kind": "bad-json"}, format, stream=stream)
    assert broken.error is None
    with pytest.raises(ValueError, match=r"."):
        json.loads(broken.text)
    assert (
        ask_with({"kind": "bad-json", "in_stream": True}, format, stream=stream).error
        is not None
    )


def strikes(fault: dict[str, Any], calls: int = 8) -> list[int]:
    """Return the numbers of the calls that a fault strikes."""
    with serve({"fault": [{"kind": "server-error", **fault}]}) as server:
        for _ in range(calls):
            ask("openai", server.url)
        return [
            number
            for number, entry in enumerate(server.ledger.calls(), 1)
            if not entry.is_admitted
        ]


def test_a_fault_strikes_when_the_script_says() -> None:
    assert strikes({}) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert strikes({"after": 5}) == [6, 7, 8]
    assert strikes({"after": 2, "times": 3}) == [3, 4, 5]
    assert strikes({"at": [2, 7]}) == [2, 7]
    assert strikes({"lasts": 3600.0, "after": 6}) == [7, 8]
    by_chance = strikes({"rate": 0.5, "seed": 3})
    assert 0 < len(by_chance) < 8
    assert strikes({"rate": 0.5, "seed": 3}) == by_chance


def test_a_fault_counts_only_the_calls_that_it_is_about() -> None:
    keys = [{"secret": "k1", "group": "a"}, {"secret": "k2", "group": "b"}]
    for only in ({"key": "k2"}, {"group": "b"}, {"format": "gemini"}, {"model": "m2"}):
        with serve(
            {"key": keys, "fault": [{"kind": "overloaded", "after": 1, **only}]}
        ) as server:
            for _ in range(2):
                assert ask("openai", server.url, key="k1", model="m1").status == 200
            statuses = [
                ask("gemini", server.url, key="k2", model="m2").status for _ in range(3)
            ]
            assert statuses == [200, 503, 503]


def test_a_fault_that_lasts_tells_what_is_left_of_it() -> None:
    with serve({"fault": [{"kind": "rate-limit", "lasts": 100.0}]}) as server:
        ask("openai", server.url)
        ask("openai", server.url)
        first, second = (entry.delay for entry in server.ledger.calls())
        assert first == 100.0
        assert second is not None
        assert 0 < second < 100
