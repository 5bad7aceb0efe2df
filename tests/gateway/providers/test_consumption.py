"""What a call that fails has consumed, on what terms servers are asked, and which way a
request takes.
"""

from __future__ import annotations

import asyncio
import json
import socket
from dataclasses import replace
from typing import Any

import pytest

from agentos.errors import FailureCause, ProviderError
from agentos.gateway.providers import (
    Completion,
    Credential,
    ask_once,
    create_provider,
    parse_model_spec,
)
from agentos.usage import NOTHING, UNKNOWN, Usage
from tests.gateway.providers.canned import (
    LAST_CHUNK,
    CallInfo,
    Canned,
    chunk,
    respond,
    serving,
    stream,
    stream_head,
)
from tests.gateway.providers.test_network_providers import (
    address,
    answer_of,
    clean_environment,
    complete,
    error_of,
    every_provider,
    make_request,
    with_provider,
)
from tests.gateway.providers.wires import EVENTS, KEY, MODELS, openai_events

__all__ = ["clean_environment"]

LONG = "word " * 60


@every_provider
def test_without_a_connection_nothing_is_consumed(name: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"

    async def ask(provider: Any) -> None:
        await provider.complete(make_request(), Credential(KEY, url))

    with pytest.raises(ProviderError, match="could not be reached") as caught:
        asyncio.run(with_provider(name, ask))
    assert caught.value.consumed == NOTHING


@every_provider
@pytest.mark.parametrize(
    "status",
    ["400 Bad Request", "429 Too Many", "500 Oops", "503 Busy", "529 Overloaded"],
)
def test_a_refusal_consumes_nothing(name: str, status: str) -> None:
    assert (
        error_of(name, respond(status, {"error": {"message": "no"}})).consumed
        == NOTHING
    )


@every_provider
def test_a_request_that_is_never_answered_may_have_consumed_anything(name: str) -> None:
    error = error_of(name, Canned((), keeps=False))
    assert error.cause is FailureCause.TRANSIENT
    assert error.consumed == UNKNOWN


@every_provider
def test_of_a_stream_that_is_cut_what_was_counted_and_seen_is_known(name: str) -> None:
    sent = stream_head() + b"".join(map(chunk, EVENTS[name](LONG, finish=None)))
    error = error_of(name, Canned((sent,), keeps=False))
    assert error.consumed is not None
    assert not error.consumed.is_final
    assert 0 < error.consumed.usage.output_tokens <= len(LONG) / 4
    # OpenAI counts only at the end.
    assert error.consumed.usage.input_tokens == (0 if name == "openai" else 18)


@every_provider
@pytest.mark.parametrize(
    "finish", [{"anthropic": "refusal", "gemini": "SAFETY", "openai": "content_filter"}]
)
def test_of_an_answer_that_cannot_be_used_the_whole_count_is_known(
    name: str, finish: dict[str, str]
) -> None:
    error = error_of(name, stream(EVENTS[name]("I", finish=finish[name])))
    assert error.cause is FailureCause.BAD_ANSWER
    assert error.consumed is not None
    assert error.consumed.is_final
    assert (error.consumed.usage.input_tokens, error.consumed.usage.output_tokens) == (
        18,
        7,
    )


def _usage_event(**usage: object) -> bytes:
    told = {
        "id": "x",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [],
        "usage": usage,
    }
    return b"data: " + json.dumps(told).encode() + b"\n\n"


def _with_usage(**usage: object) -> bytes:
    events = [
        event
        for event in openai_events("x")
        if b'"usage": {' not in event and b"[DONE]" not in event
    ]
    return stream([*events, _usage_event(**usage), b"data: [DONE]\n\n"])


def test_what_a_server_says_that_it_charges_is_taken() -> None:
    usage = answer_of(
        "openai",
        _with_usage(
            prompt_tokens=10, completion_tokens=2, total_tokens=12, cost=0.0012345
        ),
    ).usage
    assert usage == Usage(10, 2, cost=1235)


@pytest.mark.parametrize("cost", [-1, "0.1", True, 1e30, None])
def test_what_cannot_be_a_cost_is_none(cost: object) -> None:
    usage = answer_of(
        "openai",
        _with_usage(prompt_tokens=10, completion_tokens=2, total_tokens=12, cost=cost),
    ).usage
    assert usage.cost is None


def test_cached_tokens_and_thinking_that_only_the_total_counts_are_counted() -> None:
    told = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 145}
    usage = answer_of(
        "openai", _with_usage(**told, prompt_tokens_details={"cached_tokens": 80})
    ).usage
    assert usage == Usage(100, 45, cached_tokens=80)


def _asked(
    name: str, *answers: bytes, times: int = 2, schema: str = "verdict"
) -> list[dict[str, Any]]:
    """Ask twice and return the bodies of all requests."""

    async def run() -> list[dict[str, Any]]:
        async with serving(*answers) as server:
            credential = Credential(KEY, address(name, server))

            async def ask(provider: Any) -> None:
                for _ in range(times):
                    await provider.complete(
                        make_request(schema=schema, max_output_tokens=32_000),
                        credential,
                    )

            await with_provider(name, ask)
            return [json.loads(asked.body) for asked in server.requests]

    return asyncio.run(run())


REFUSALS = {
    "422 that names the place": {
        "detail": [{"loc": ["body", "response_format"], "msg": "Extra inputs"}]
    },
    "422 in words": {"detail": "response_format is not supported"},
    "400 with a null parameter": {
        "error": {
            "message": "json_schema is not supported",
            "param": None,
            "code": None,
        }
    },
    "400 without a word": {"error": {"message": "Bad Request"}},
}


@pytest.mark.parametrize("body", REFUSALS.values(), ids=REFUSALS.keys())
@pytest.mark.parametrize("status", ["400 Bad Request", "422 Unprocessable Entity"])
def test_a_schema_that_is_refused_is_left_out_once_and_for_all(
    status: str, body: dict[str, Any]
) -> None:
    bodies = _asked("openai", respond(status, body), stream(openai_events("x")))
    assert ["response_format" in body for body in bodies] == [True, False, False]


def test_stream_options_that_are_refused_are_left_out() -> None:
    refusal = respond(
        "400 Bad Request",
        {"error": {"message": "Unrecognized request argument: stream_options"}},
    )
    bodies = _asked("openai", refusal, stream(openai_events("x")))
    assert ["stream_options" in body for body in bodies] == [True, False, False]


@pytest.mark.parametrize(
    ("name", "words", "place"),
    [
        (
            "openai",
            "max_tokens is too large: 32000. This model supports at most 8192 completion tokens",
            "max_tokens",
        ),
        (
            "anthropic",
            "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens",
            "max_tokens",
        ),
    ],
)
def test_an_answer_that_is_asked_for_too_long_is_asked_for_shorter(
    name: str, words: str, place: str
) -> None:
    refusal = respond(
        "400 Bad Request",
        {"error": {"type": "invalid_request_error", "message": words}},
    )
    bodies = _asked(name, refusal, stream(EVENTS[name]("x")), schema="")
    assert [body[place] for body in bodies] == [32_000, 8_192, 8_192]


def test_a_prompt_that_cannot_fit_is_said_with_both_numbers() -> None:
    words = "This model's maximum context length is 4096 tokens and your request has 4000 input tokens"
    refusal = respond("400 Bad Request", {"error": {"message": words}})
    error = error_of("openai", refusal, request=make_request(max_output_tokens=32_000))
    assert error.cause is FailureCause.BAD_REQUEST
    assert "4,096" in str(error)


def test_what_becomes_of_the_second_try_is_what_is_told() -> None:
    refusal = respond(
        "400 Bad Request",
        {
            "error": {
                "message": "Unsupported parameter: 'max_tokens'",
                "param": "max_tokens",
            }
        },
    )
    cut_off = error_of("openai", refusal, Canned((), keeps=False))
    assert (cut_off.cause, cut_off.consumed) == (FailureCause.TRANSIENT, UNKNOWN)
    limited = respond(
        "429 Too Many", {"error": {"message": "slow down"}}, retry_after="7"
    )
    later = error_of("openai", refusal, limited)
    assert (later.cause, later.delay) == (FailureCause.RATE_LIMIT, 7.0)


def test_a_whole_answer_of_a_server_that_does_not_stream_may_have_been_billed() -> None:
    whole = {
        "choices": [{"message": {"content": "x"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1},
    }
    assert error_of("openai", respond("200 OK", whole)).consumed == UNKNOWN


@pytest.mark.parametrize("prompt", ["An English sentence, " * 1200, "\u8a2d" * 4500])
def test_a_prompt_is_judged_by_what_the_server_counts(prompt: str) -> None:
    """The context is known from an earlier refusal; the estimate is too long for one
    and too short for the other.
    """
    words = "This model's maximum context length is 8192 tokens and your request has 4500 input tokens"
    refusal = respond("400 Bad Request", {"error": {"message": words}})
    answer = stream(openai_events("x"))

    async def run() -> list[int]:
        async with serving(refusal, answer, refusal, answer) as server:
            credential = Credential(KEY, address("openai", server))

            async def ask(provider: Any) -> None:
                for text in ("short", prompt):
                    request = replace(
                        make_request(max_output_tokens=32_000), messages=ask_once(text)
                    )
                    await provider.complete(request, credential)

            await with_provider("openai", ask)
            return [json.loads(asked.body)["max_tokens"] for asked in server.requests]

    assert asyncio.run(run())[-1] == 8192 - 4500


def test_a_server_that_refuses_everything_is_told_once_for_each_term() -> None:
    async def run() -> int:
        async with serving(
            respond("400 Bad Request", {"error": {"message": "no"}})
        ) as server:
            with pytest.raises(ProviderError, match="answered 400"):
                await complete("openai", server, make_request(schema="verdict"))
            return len(server.requests)

    assert asyncio.run(run()) == 4


@every_provider
def test_a_server_on_this_machine_is_not_asked_through_a_proxy(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    assert answer_of(name, stream(EVENTS[name]("direct"))).text == "direct"


def test_gemini_is_asked_at_the_version_that_has_every_model() -> None:
    async def run() -> list[CallInfo]:
        async with serving(stream(EVENTS["gemini"]("x"))) as server:
            await complete("gemini", server)
            return server.requests

    assert asyncio.run(run())[0].path.startswith("/v1beta/models/")


@every_provider
def test_an_answer_that_came_while_the_process_was_suspended_is_read(name: str) -> None:
    """A blocked event loop is as a suspended process: time passes and nothing is
    read.
    """

    async def run() -> Completion:
        async with serving(Canned((stream_head(),), keeps=True)) as server:
            answer = b"".join(map(chunk, EVENTS[name]("late"))) + LAST_CHUNK
            server.answers[0] = Canned((stream_head() + answer,))
            request = make_request(first_byte_timeout=0.5, idle_timeout=0.5)
            provider: Any = create_provider(parse_model_spec(f"{name}:{MODELS[name]}"))
            await provider.prepare([Credential(KEY, address(name, server))])
            asking = asyncio.create_task(
                provider.complete(request, Credential(KEY, address(name, server)))
            )
            await server.arrived.wait()
            import time

            time.sleep(1.0)  # noqa: ASYNC251
            try:
                result = await asking
            finally:
                await provider.close()
            assert isinstance(result, Completion)
            return result

    assert asyncio.run(run()).text == "late"
