"""The network providers, with the real SDKs against the real bytes on loopback."""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from agentos.documents.verdict import LOOK_OR_VERDICT_SCHEMA, VERDICT_SCHEMA
from agentos.errors import FailureCause, ProviderError, UsageError
from agentos.gateway.providers import (
    Completion,
    Credential,
    Message,
    Request,
    Speaker,
    ask_once,
    create_provider,
    on_note,
    parse_model_spec,
)
from agentos.gateway.providers.streaming import ANSWER_LIMIT
from agentos.usage import Consumed, RateHeaders, Usage
from tests.gateway.providers.canned import (
    DEADLINE,
    LAST_CHUNK,
    Canned,
    CannedServer,
    Endless,
    Hold,
    Pause,
    chunk,
    respond,
    serving,
    stream,
    stream_head,
)
from tests.gateway.providers.wires import (
    EVENTS,
    KEY,
    MODELS,
    TABLE,
    Row,
    claude_error,
    claude_events,
    event,
    gemini_error,
    gemini_events,
    openai_error,
    openai_events,
)

pytest.importorskip("anthropic")
pytest.importorskip("google.genai")
pytest.importorskip("openai")

PROVIDERS = tuple(MODELS)
BASE_VARIABLES = {
    "anthropic": "ANTHROPIC_BASE_URL",
    "gemini": "GOOGLE_GEMINI_BASE_URL",
    "openai": "OPENAI_BASE_URL",
}
KEY_HEADERS = {
    "anthropic": "authorization",
    "gemini": "x-goog-api-key",
    "openai": "authorization",
}
every_provider = pytest.mark.parametrize("name", PROVIDERS)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(
            ("ANTHROPIC_", "OPENAI_", "GOOGLE_", "GEMINI_", "AGENTOS_")
        ) or name.endswith("_PROXY"):
            monkeypatch.delenv(name)


def make_request(**fields: Any) -> Request:
    given = {
        "schema": "",
        "max_output_tokens": 1000,
        "messages": ask_once("Write a design."),
        **fields,
    }
    return Request(
        "repo",
        "lld",
        "42",
        "N1",
        1,
        1,
        "lld.draft",
        "m",
        given.pop("messages"),
        {},
        **given,
    )


def address(name: str, server: CannedServer) -> str:
    return server.url + ("/v1" if name == "openai" else "")


async def with_provider(name: str, use: Callable[[Any], Awaitable[Any]]) -> Any:
    provider: Any = create_provider(parse_model_spec(f"{name}:{MODELS[name]}"))
    try:
        return await use(provider)
    finally:
        await provider.close()


async def complete(
    name: str,
    server: CannedServer,
    request: Request | None = None,
    credential: Credential | None = None,
) -> Completion:
    credential = credential or Credential(KEY, address(name, server))
    result = await with_provider(
        name, lambda provider: provider.complete(request or make_request(), credential)
    )
    assert isinstance(result, Completion)
    return result


def answer_of(
    name: str, *answers: Canned | bytes, request: Request | None = None
) -> Completion:
    async def run() -> Completion:
        async with serving(*answers) as server:
            return await complete(name, server, request)

    return asyncio.run(run())


def error_of(
    name: str, *answers: Canned | bytes, request: Request | None = None
) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        answer_of(name, *answers, request=request)
    return caught.value


@every_provider
def test_a_streamed_answer_is_returned_whole_with_its_usage_and_model(
    name: str,
) -> None:
    answer = answer_of(name, stream(EVENTS[name]("# Design\n", "of **42**")))
    assert answer.text == "# Design\nof **42**"
    cached = (
        {"cached_tokens": 3, "cache_written_tokens": 5} if name == "anthropic" else {}
    )
    assert answer.usage == Usage(18, 7, **cached)
    assert answer.model.startswith(MODELS[name] + "-")
    assert answer.rate_headers is None


@every_provider
@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_an_answer_is_the_same_however_its_bytes_are_cut(
    name: str, size: int, end: bytes
) -> None:
    data = b"".join(EVENTS[name]("# Größe\n", "x" * 500)).replace(b"\n", end)
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    assert answer_of(name, stream(pieces)).text == "# Größe\n" + "x" * 500


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_every_row_of_the_error_table_is_recognised(row: Row) -> None:
    error = error_of(row.provider, row.answer)
    assert (error.cause, error.delay) == (row.cause, row.delay)
    assert row.provider in str(error)


CONVERSATION = (
    Message(Speaker.SYSTEM, "You review designs."),
    Message(Speaker.USER, "Judge this."),
    Message(Speaker.ASSISTANT, "It is good."),
    Message(Speaker.USER, "Say it as JSON."),
)
SENT: dict[str, dict[str, Any]] = {
    "anthropic": {
        "system": [{"type": "text", "text": "You review designs."}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Judge this."}]},
            {"role": "assistant", "content": [{"type": "text", "text": "It is good."}]},
            {
                "role": "user",
                "content": [
                    {
                        "type": "text",
                        "text": "Say it as JSON.",
                        "cache_control": {"type": "ephemeral"},
                    }
                ],
            },
        ],
    },
    "gemini": {
        "systemInstruction": {
            "parts": [{"text": "You review designs."}],
            "role": "user",
        },
        "contents": [
            {"role": "user", "parts": [{"text": "Judge this."}]},
            {"role": "model", "parts": [{"text": "It is good."}]},
            {"role": "user", "parts": [{"text": "Say it as JSON."}]},
        ],
    },
    "openai": {
        "messages": [
            {"role": "system", "content": "You review designs."},
            {"role": "user", "content": "Judge this."},
            {"role": "assistant", "content": "It is good."},
            {"role": "user", "content": "Say it as JSON."},
        ],
    },
}


@every_provider
def test_a_conversation_is_sent_message_by_message(name: str) -> None:
    async def run() -> Any:
        async with serving(stream(EVENTS[name]("{}"))) as server:
            await complete(name, server, make_request(messages=CONVERSATION))
            return server.requests[0].json

    sent = asyncio.run(run())
    for part, expected in SENT[name].items():
        assert sent[part] == expected


@every_provider
def test_an_error_is_asked_about_once_because_sdk_retries_are_off(name: str) -> None:
    async def run() -> int:
        async with serving(
            respond("500 Internal Server Error", {"error": {"message": "no"}})
        ) as server:
            with pytest.raises(ProviderError):
                await complete(name, server)
            return len(server.requests)

    assert asyncio.run(run()) == 1


@every_provider
def test_a_refused_connection_is_transient(name: str) -> None:
    async def run() -> ProviderError:
        async with serving(b"") as server:
            gone = address(name, server)
        with pytest.raises(ProviderError) as caught:
            await with_provider(
                name,
                lambda provider: provider.complete(
                    make_request(), Credential(KEY, gone)
                ),
            )
        return caught.value

    error = asyncio.run(run())
    assert error.cause is FailureCause.TRANSIENT
    assert "could not be reached" in str(error)


@every_provider
@pytest.mark.parametrize(
    "head", [b"", b"HTTP/1.1 200 OK\r\ncontent-ty"], ids=["silent", "half a head"]
)
def test_a_connection_reset_before_the_answer_is_transient(
    name: str, head: bytes
) -> None:
    assert error_of(name, Canned((head,), keeps=False)).cause is FailureCause.TRANSIENT


@every_provider
@pytest.mark.parametrize("how", ["aborted", "ended"])
def test_a_stream_cut_without_a_finish_reason_is_transient(name: str, how: str) -> None:
    events = EVENTS[name]("Half an ans", finish=None)
    whole = stream(events)
    error = error_of(
        name,
        whole
        if how == "ended"
        else Canned((whole.removesuffix(LAST_CHUNK),), keeps=False),
    )
    assert error.cause is FailureCause.TRANSIENT
    assert "cut off" in str(error)


@every_provider
def test_a_stream_cut_in_the_middle_of_an_event_is_transient(name: str) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    events = b"".join(EVENTS[name]("Half an ans"))
    error = error_of(
        name, Canned((head + events[: events.rindex(b"data: {") - 40],), keeps=False)
    )
    assert error.cause is FailureCause.TRANSIENT


@every_provider
@pytest.mark.parametrize(
    "begun", [False, True], ids=["before the answer", "in mid-answer"]
)
def test_silence_is_a_transient_error(name: str, begun: bool) -> None:
    patience = {"first_byte_timeout": 0.4, "idle_timeout": 60.0}
    if begun:
        patience = {"first_byte_timeout": 60.0, "idle_timeout": 0.4}
    sent = (
        stream_head() + b"".join(map(chunk, EVENTS[name]("Half", finish=None)))
        if begun
        else b""
    )
    error = error_of(name, Canned((sent, Hold())), request=make_request(**patience))
    assert error.cause is FailureCause.TRANSIENT
    setting = "idle_timeout" if begun else "first_byte_timeout"
    assert f"sent nothing for 0.4 s and was given up; raise {setting}" in str(error)


@pytest.mark.slow
@every_provider
def test_a_slow_answer_with_signs_of_life_is_no_idle_one(name: str) -> None:
    events = [
        stream_head(),
        *map(chunk, EVENTS[name]("slow", " but", " alive")),
        LAST_CHUNK,
    ]
    steps = [step for piece in events for step in (piece, Pause(0.3))]
    request = make_request(first_byte_timeout=2.0, idle_timeout=2.0)
    assert (
        answer_of(name, Canned(tuple(steps)), request=request).text == "slow but alive"
    )


@every_provider
@pytest.mark.parametrize("kind", ["text/html", "text/html; charset=utf-8", "image/png"])
def test_a_page_with_status_200_is_not_the_api(name: str, kind: str) -> None:
    error = error_of(
        name, respond("200 OK", b"<!doctype html><title>Welcome</title>", kind)
    )
    assert error.cause is FailureCause.BAD_REQUEST
    assert f"not the API ({kind.partition(';')[0]}): check the base URL" in str(error)


@every_provider
def test_json_that_is_no_stream_is_not_the_api(name: str) -> None:
    error = error_of(name, respond("200 OK", {"hello": "world"}))
    assert error.cause is FailureCause.BAD_REQUEST
    assert "check the base URL" in str(error)


@every_provider
def test_a_compressed_answer_is_refused_unread(name: str) -> None:
    error = error_of(name, stream(EVENTS[name]("x"), content_encoding="gzip"))
    assert error.cause is FailureCause.BAD_REQUEST


@every_provider
def test_a_redirect_is_not_followed_with_the_key(name: str) -> None:
    async def run() -> tuple[ProviderError, int]:
        async with serving(stream(EVENTS[name]("stolen"))) as thief:
            with pytest.raises(ProviderError) as caught:
                async with serving(
                    respond("307 Temporary Redirect", location=f"{thief.url}/x")
                ) as server:
                    await complete(name, server)
            return caught.value, len(thief.requests)

    error, asked = asyncio.run(run())
    assert asked == 0
    assert error.cause is FailureCause.BAD_REQUEST
    assert "redirects" in str(error)


@every_provider
@pytest.mark.parametrize(
    "texts", [(), ("",), (" \n", "\t")], ids=["none", "empty", "blank"]
)
def test_an_empty_answer_cannot_be_used(name: str, texts: tuple[str, ...]) -> None:
    error = error_of(name, stream(EVENTS[name](*texts)))
    assert error.cause is FailureCause.BAD_ANSWER
    assert "empty" in str(error)


@pytest.mark.parametrize(
    ("name", "finish"),
    [("anthropic", "max_tokens"), ("gemini", "MAX_TOKENS"), ("openai", "length")],
)
def test_an_answer_cut_by_its_token_limit_cannot_be_used(
    name: str, finish: str
) -> None:
    error = error_of(name, stream(EVENTS[name]("Half", finish=finish)))
    assert error.cause is FailureCause.BAD_ANSWER
    assert "cut after 7 of 1,000 tokens" in str(error)
    assert error.consumed == Consumed(
        answer_of(name, stream(EVENTS[name]("Half"))).usage, is_final=True
    )


_DETAILS = {
    "type": "refusal",
    "category": "cyber",
    "explanation": "This could do harm.",
}
_BLOCKED = event(
    {
        "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
        "modelVersion": "gemini-3-pro-001",
    }
)


@pytest.mark.parametrize(
    ("name", "events", "words"),
    [
        (
            "anthropic",
            claude_events(finish="refusal", stop_details=_DETAILS),
            "This could do harm.",
        ),
        ("anthropic", claude_events("I", finish="refusal"), "no reason was given"),
        ("gemini", gemini_events("I", finish="SAFETY"), "SAFETY"),
        ("gemini", [_BLOCKED], "PROHIBITED_CONTENT"),
        (
            "openai",
            openai_events(finish="stop", refusal="I cannot help."),
            "I cannot help.",
        ),
        ("openai", openai_events("I", finish="content_filter"), "content filter"),
    ],
)
def test_a_refusal_is_told_in_the_providers_words(
    name: str, events: list[bytes], words: str
) -> None:
    error = error_of(name, stream(events))
    assert error.cause is FailureCause.BAD_ANSWER
    assert words in str(error)


@every_provider
def test_an_answer_without_end_is_no_longer_read(name: str) -> None:
    start = EVENTS[name]("x", finish=None)
    piece = EVENTS[name]("x" * 100_000, finish=None)[-1]

    async def run() -> ProviderError:
        async with serving(
            Canned((stream_head() + b"".join(map(chunk, start)), Endless(chunk(piece))))
        ) as server:
            with pytest.raises(ProviderError) as caught:
                await complete(name, server)
            await asyncio.wait_for(server.left.wait(), DEADLINE)
            return caught.value

    error = asyncio.run(run())
    assert error.cause is FailureCause.BAD_ANSWER
    assert str(ANSWER_LIMIT) in str(error)


@every_provider
@pytest.mark.parametrize(
    "piece", [b"x" * 100_000, b"data: x\n" * 10_000], ids=["one line", "one event"]
)
def test_an_event_without_end_is_no_longer_read(name: str, piece: bytes) -> None:
    error = error_of(
        name, Canned((stream_head() + chunk(b"data: "), Endless(chunk(piece))))
    )
    assert error.cause is FailureCause.BAD_ANSWER
    assert "plausible length" in str(error)


@every_provider
def test_an_error_body_without_end_is_no_longer_read(name: str) -> None:
    head = b"HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    assert (
        error_of(name, Canned((head, Endless(chunk(b" " * 100_000))))).cause
        is FailureCause.RATE_LIMIT
    )


@every_provider
@pytest.mark.parametrize(
    "data",
    [
        b"data: {nonsense\n\n",
        b"data: \xff\xfe\n\n",
        b"data: " + b"[" * 100_000 + b"\n\n",
        b"data: 7\n\n",
    ],
)
def test_a_stream_of_nonsense_is_an_error_of_ours(name: str, data: bytes) -> None:
    named = b"event: message_start\n" + data if name == "anthropic" else data
    assert error_of(name, stream([named])).cause in (
        FailureCause.BAD_REQUEST,
        FailureCause.TRANSIENT,
    )


@every_provider
def test_halved_characters_never_reach_the_caller(name: str) -> None:
    events = [
        part.replace(b"HIGH", b"\\ud83d").replace(b"LOW", b"\\ude00")
        for part in EVENTS[name]("a HIGH", "LOW b HIGH")
    ]
    assert answer_of(name, stream(events)).text == "a \U0001f600 b �"


@every_provider
@pytest.mark.parametrize(
    "begun", [False, True], ids=["before the answer", "in mid-answer"]
)
def test_cancellation_closes_the_connection_and_leaves_no_task(
    name: str, begun: bool
) -> None:
    sent = (
        stream_head() + b"".join(map(chunk, EVENTS[name]("Half", finish=None)))
        if begun
        else b""
    )

    async def run() -> None:
        async with serving(Canned((sent, Hold()))) as server:
            provider: Any = create_provider(parse_model_spec(f"{name}:{MODELS[name]}"))
            before = asyncio.all_tasks()
            call = asyncio.create_task(
                provider.complete(
                    make_request(), Credential(KEY, address(name, server))
                )
            )
            await asyncio.wait_for(server.holding.wait(), DEADLINE)
            serving_tasks = asyncio.all_tasks() - before - {call}
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert asyncio.all_tasks() - before - serving_tasks == set()
            await asyncio.wait_for(server.left.wait(), DEADLINE)

    asyncio.run(run())


@every_provider
def test_calls_share_a_client_and_its_connection(name: str) -> None:
    async def run() -> tuple[int, int]:
        async with serving(stream(EVENTS[name]("x"))) as server:

            async def twice(provider: Any) -> None:
                for _ in range(2):
                    await provider.complete(
                        make_request(), Credential(KEY, address(name, server))
                    )

            await with_provider(name, twice)
            return len(server.requests), server.connections

    assert asyncio.run(run()) == (2, 1)


@every_provider
def test_a_hundred_calls_are_in_flight_at_once(name: str) -> None:
    async def run() -> int:
        async with serving(Canned((b"", Hold()))) as server:

            async def many(provider: Any) -> int:
                credential = Credential(KEY, address(name, server))
                calls = [
                    asyncio.create_task(provider.complete(make_request(), credential))
                    for _ in range(100)
                ]
                while len(server.requests) < 100:
                    server.arrived.clear()
                    await asyncio.wait_for(server.arrived.wait(), DEADLINE)
                for call in calls:
                    call.cancel()
                await asyncio.gather(*calls, return_exceptions=True)
                return server.connections

            connections = await with_provider(name, many)
            assert isinstance(connections, int)
            return connections

    assert asyncio.run(run()) == 100


@every_provider
def test_the_key_is_in_the_auth_header_and_nowhere_else(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = "another-key-of-the-environment"
    for variable in (
        "GOOGLE_API_KEY",
        "GEMINI_API_KEY",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "OPENAI_API_KEY",
    ):
        monkeypatch.setenv(variable, foreign)
    for variable in ("ANTHROPIC_CUSTOM_HEADERS", "OPENAI_CUSTOM_HEADERS"):
        monkeypatch.setenv(
            variable, f"Authorization: Bearer {foreign}\nx-api-key: {foreign}"
        )
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    monkeypatch.setenv("GOOGLE_GENAI_CLIENT_MODE", "replay")

    async def run() -> Any:
        async with serving(stream(EVENTS[name]("x"))) as server:
            await complete(name, server)
            return server.requests[0]

    asked = asyncio.run(run())
    assert [header for header, value in asked.headers.items() if KEY in value] == [
        KEY_HEADERS[name]
    ]
    assert KEY not in asked.path
    assert KEY.encode() not in asked.body
    assert foreign not in str(asked.headers) + asked.path


@every_provider
def test_the_base_url_of_the_credential_wins_over_the_environment(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> tuple[int, int]:
        async with (
            serving(stream(EVENTS[name]("x"))) as one,
            serving(stream(EVENTS[name]("y"))) as other,
        ):
            monkeypatch.setenv(BASE_VARIABLES[name], address(name, one))
            assert (await complete(name, one, credential=Credential(KEY))).text == "x"
            assert (await complete(name, other)).text == "y"
            return len(one.requests), len(other.requests)

    assert asyncio.run(run()) == (1, 1)


@every_provider
@pytest.mark.parametrize(
    "base_url",
    [
        "ftp://127.0.0.1/x",
        "nonsense",
        "http://[::1",
        "http://",
        "http://a:x/",
        "http://a b/",
    ],
)
def test_an_unusable_base_url_is_a_bad_request(name: str, base_url: str) -> None:
    with pytest.raises(ProviderError) as caught:
        asyncio.run(
            with_provider(
                name,
                lambda provider: provider.complete(
                    make_request(), Credential(KEY, base_url)
                ),
            )
        )
    assert caught.value.cause is FailureCause.BAD_REQUEST
    assert "base URL" in str(caught.value)


@every_provider
@pytest.mark.parametrize("secret", ["", "  ", "ключ", "a\nb"])
def test_a_key_that_can_be_none_is_refused_before_anything_is_sent(
    name: str, secret: str
) -> None:
    with pytest.raises(ProviderError) as caught:
        asyncio.run(
            with_provider(
                name,
                lambda provider: provider.complete(make_request(), Credential(secret)),
            )
        )
    assert caught.value.cause is FailureCause.AUTH
    assert not secret.strip() or secret not in str(caught.value)


def test_a_compatible_server_needs_no_key() -> None:
    async def run() -> str:
        async with serving(stream(openai_events("x"))) as server:
            await complete(
                "openai", server, credential=Credential("", f"{server.url}/v1")
            )
            return server.requests[0].headers["authorization"]

    assert asyncio.run(run()) == "Bearer none"


def _schema_of(name: str, body: Any) -> Any:
    match name:
        case "anthropic":
            assert body["output_config"]["format"]["type"] == "json_schema"
            return body["output_config"]["format"]["schema"]
        case "gemini":
            assert body["generationConfig"]["responseMimeType"] == "application/json"
            return body["generationConfig"]["responseJsonSchema"]
        case _:
            form = body["response_format"]["json_schema"]
            assert form["name"] in ("verdict", "look_or_verdict")
            assert (body["response_format"]["type"], form["strict"]) == (
                "json_schema",
                True,
            )
            return form["schema"]


@every_provider
def test_a_verdict_is_asked_for_by_its_schema(name: str) -> None:
    async def run() -> Any:
        async with serving(stream(EVENTS[name]("{}"))) as server:
            await complete(name, server, make_request(schema="verdict"))
            await complete(name, server)
            return [asked.json for asked in server.requests]

    with_schema, without = asyncio.run(run())
    assert _schema_of(name, with_schema) == VERDICT_SCHEMA
    assert not {"output_config", "response_format"} & without.keys()
    assert "responseJsonSchema" not in without.get("generationConfig", {})


@every_provider
def test_a_schema_with_nullable_branches_is_sent_as_it_is(name: str) -> None:
    async def run() -> Any:
        async with serving(stream(EVENTS[name]("{}"))) as server:
            await complete(name, server, make_request(schema="look_or_verdict"))
            return server.requests[0].json

    assert _schema_of(name, asyncio.run(run())) == LOOK_OR_VERDICT_SCHEMA


@pytest.mark.parametrize("schema", [VERDICT_SCHEMA, LOOK_OR_VERDICT_SCHEMA])
def test_schemas_keep_to_what_every_strict_mode_accepts(schema: dict[str, Any]) -> None:
    """Objects with every property required and no other, lists, choices, null."""
    known = {"type", "properties", "required", "additionalProperties", "items"}
    assert schema["type"] == "object"
    waiting = [(schema, 1)]
    while waiting:
        part, depth = waiting.pop()
        assert depth <= 7
        assert part.keys() <= known | {"enum", "anyOf"}
        if part.get("type") == "object":
            assert part["additionalProperties"] is False
            assert part["required"] == list(part["properties"])
        inner = [*part.get("properties", {}).values(), *part.get("anyOf", ())]
        if "items" in part:
            inner.append(part["items"])
        waiting += [(each, depth + ("anyOf" not in part)) for each in inner]


def test_an_unknown_schema_is_a_bad_request() -> None:
    with pytest.raises(ProviderError) as caught:
        answer_of("openai", b"", request=make_request(schema="poem"))
    assert caught.value.cause is FailureCause.BAD_REQUEST


def _asked_limits(
    *answers: bytes, request: Request | None = None
) -> list[dict[str, Any]]:
    async def run() -> list[dict[str, Any]]:
        async with serving(*answers) as server:

            async def twice(provider: Any) -> None:
                for _ in range(2):
                    await provider.complete(
                        request or make_request(),
                        Credential(KEY, address("openai", server)),
                    )

            await with_provider("openai", twice)
            return [asked.json for asked in server.requests]

    return asyncio.run(run())


def _refuse(parameter: str) -> bytes:
    body = openai_error(
        "invalid_request_error",
        "Unsupported parameter",
        "unsupported_parameter",
        parameter,
    )
    return respond("400 Bad Request", body)


def test_a_server_that_refuses_a_schema_is_asked_without_and_never_with_it_again() -> (
    None
):
    bodies = _asked_limits(
        _refuse("response_format"),
        stream(openai_events("x")),
        request=make_request(schema="verdict"),
    )
    assert ["response_format" in body for body in bodies] == [True, False, False]


def test_a_server_that_refuses_the_name_of_the_limit_is_asked_with_the_other() -> None:
    bodies = _asked_limits(_refuse("max_tokens"), stream(openai_events("x")))
    assert [body.get("max_tokens") for body in bodies] == [1000, None, None]
    assert [body.get("max_completion_tokens") for body in bodies] == [None, 1000, 1000]


def test_a_parameter_is_left_out_once_only() -> None:
    async def run() -> int:
        async with serving(_refuse("max_tokens")) as server:
            with pytest.raises(ProviderError) as caught:
                await complete("openai", server)
            assert caught.value.cause is FailureCause.BAD_REQUEST
            return len(server.requests)

    assert asyncio.run(run()) == 2


@pytest.mark.parametrize(
    ("base_url", "expected"),
    [
        ("", "max_completion_tokens"),
        ("https://eu.api.openai.com/v1", "max_completion_tokens"),
        ("https://openai.com.example.net/v1", "max_tokens"),
        ("http://127.0.0.1:11434/v1", "max_tokens"),
        ("http://[::1", "max_tokens"),
    ],
)
def test_the_name_of_the_limit_is_guessed_by_the_host(
    base_url: str, expected: str
) -> None:
    provider: Any = create_provider(parse_model_spec("openai:m"))
    assert provider._first_terms(base_url).limit_name == expected


def test_anthropic_rate_headers_are_read() -> None:
    headers = {
        "anthropic_ratelimit_requests_limit": "50",
        "anthropic_ratelimit_requests_remaining": "49",
        "anthropic_ratelimit_requests_reset": "2020-01-01T00:00:00Z",
        "anthropic_ratelimit_input_tokens_limit": "30000",
        "anthropic_ratelimit_input_tokens_remaining": "0",
        "anthropic_ratelimit_input_tokens_reset": "2999-01-01T00:00:00Z",
    }
    answer = answer_of("anthropic", stream(claude_events("x"), **headers))
    assert answer.rate_headers == RateHeaders(
        50, 49, 0.0, input_limit=30000, input_left=0, input_reset=86400.0
    )


def test_openai_rate_headers_are_read() -> None:
    headers = {
        "x_ratelimit_limit_requests": "60",
        "x_ratelimit_remaining_requests": "59",
        "x_ratelimit_reset_requests": "120ms",
        "x_ratelimit_limit_tokens": "150000",
        "x_ratelimit_remaining_tokens": "149984",
        "x_ratelimit_reset_tokens": "6m0s",
    }
    answer = answer_of("openai", stream(openai_events("x"), **headers))
    assert answer.rate_headers == RateHeaders(60, 59, 0.12, 150000, 149984, 360.0)


NO_MODEL = {
    "anthropic": claude_error("not_found_error", "model: claude-opus-4-8"),
    "gemini": gemini_error(
        404, "NOT_FOUND", "models/gemini-3-pro is not found for API version v1"
    ),
    "openai": openai_error(
        "invalid_request_error", "The model does not exist", "model_not_found"
    ),
}


@every_provider
def test_an_unknown_model_is_named(name: str) -> None:
    error = error_of(name, respond("404 Not Found", NO_MODEL[name]))
    assert error.cause is FailureCause.NO_ACCESS
    assert repr(MODELS[name]) in str(error)


def _reachable(start: object) -> Iterator[object]:
    """Yield all that hangs on an exception, frames of its traceback left out."""
    seen: set[int] = set()
    waiting = [start]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, type | ModuleType):
            continue
        seen.add(id(thing))
        yield thing
        if isinstance(thing, BaseException):
            waiting += [thing.__cause__, thing.__context__, thing.args]
        if isinstance(thing, dict):
            waiting += [*thing.keys(), *thing.values()]
        if isinstance(thing, list | tuple | set):
            waiting += thing
        waiting.append(getattr(thing, "__dict__", None))


@every_provider
@pytest.mark.parametrize("how", ["status", "inside a stream", "cut", "no server"])
def test_nothing_of_the_sdk_hangs_on_an_error(name: str, how: str) -> None:
    echo = {
        "error": {
            "message": f"wrong key \x1b[31m{KEY}\x07 " + "blah " * 500,
            "type": "api_error",
            "code": 500,
        }
    }
    half = EVENTS[name]("Half", finish=None)
    answers: dict[str, Canned | bytes] = {
        "status": respond("401 Unauthorized", echo),
        "inside a stream": stream(
            [*half, event(echo, "error" if name == "anthropic" else "")]
        ),
        "cut": Canned((stream_head() + chunk(half[0]),), keeps=False),
        "no server": Canned((b"",), keeps=False),
    }
    error = error_of(name, answers[how])
    assert error.__cause__ is None
    assert error.__context__ is None
    for thing in _reachable(error):
        assert not type(thing).__module__.startswith(
            ("anthropic", "openai", "google", "httpx", "httpcore")
        )
        assert not isinstance(thing, str | bytes) or KEY not in str(thing)
    assert KEY.encode() not in pickle.dumps(error)
    assert len(str(error)) < 400
    assert str(error).isprintable()
    if how in ("status", "inside a stream"):
        assert "[REDACTED]" in str(error)


LISTS = {
    "anthropic": {
        "data": [{"type": "model", "id": "claude-x", "display_name": "X"}],
        "has_more": True,
    },
    "gemini": {"models": [{"name": "models/gemini-x"}], "nextPageToken": "abc"},
    "openai": {
        "object": "list",
        "data": [
            {"id": "gpt-x", "object": "model"},
            {"id": "gpt-y", "object": "model"},
        ],
    },
}
SAID = {
    "anthropic": "1+ models, first claude-x",
    "gemini": "1+ models, first models/gemini-x",
    "openai": "2 models, first gpt-x",
}


def _check(name: str, answer: bytes) -> tuple[str, Any]:
    async def run() -> tuple[str, Any]:
        async with serving(answer) as server:
            credential = Credential(KEY, address(name, server))
            said = await with_provider(
                name, lambda provider: provider.check(credential)
            )
            return said, server.requests[0]

    return asyncio.run(run())


@every_provider
def test_a_check_asks_for_a_list_of_models(name: str) -> None:
    said, asked = _check(name, respond("200 OK", LISTS[name]))
    assert said == SAID[name]
    assert asked.method == "GET"
    assert "/models" in asked.path


@every_provider
@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (respond("401 Unauthorized", {"error": {"message": "no"}}), FailureCause.AUTH),
        (
            respond("429 Too Many Requests", {"error": {"message": "slow"}}),
            FailureCause.RATE_LIMIT,
        ),
        (respond("200 OK", b"<html>", "text/html"), FailureCause.BAD_REQUEST),
        (respond("200 OK", b"{nonsense"), FailureCause.BAD_REQUEST),
        (respond("200 OK", b"[1, 2]"), FailureCause.BAD_REQUEST),
    ],
    ids=["401", "429", "HTML", "nonsense", "a list"],
)
def test_a_failed_check_is_classified_like_a_call(
    name: str, answer: bytes, cause: FailureCause
) -> None:
    with pytest.raises(ProviderError) as caught:
        _check(name, answer)
    assert caught.value.cause is cause


@every_provider
@pytest.mark.parametrize("model", ["", "  "])
def test_a_spec_without_a_model_is_refused_with_an_example(
    name: str, model: str
) -> None:
    with pytest.raises(UsageError, match=f"{name}:{MODELS[name]}"):
        create_provider(parse_model_spec(f"{name}:{model}"))


@every_provider
def test_making_a_provider_imports_no_sdk(name: str) -> None:
    code = (
        "import sys\n"
        "from agentos.gateway.providers import create_provider, parse_model_spec\n"
        f"create_provider(parse_model_spec('{name}:m'))\n"
        "loaded = {'anthropic', 'openai', 'google.genai', 'httpx2', 'pydantic'} & set(sys.modules)\n"
        "sys.exit(str(loaded) if loaded else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


@every_provider
def test_a_missing_sdk_names_the_extra(name: str) -> None:
    module = {"anthropic": "anthropic", "gemini": "google.genai", "openai": "openai"}[
        name
    ]
    code = (
        "import asyncio, sys\n"
        f"sys.modules[{module!r}] = None\n"
        "from agentos.errors import ProviderError\n"
        "from agentos.gateway.providers import Credential, create_provider, parse_model_spec\n"
        f"provider = create_provider(parse_model_spec('{name}:m'))\n"
        "try:\n"
        "    asyncio.run(provider.check(Credential('k')))\n"
        "except ProviderError as error:\n"
        "    print(error.cause, error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.startswith("bad-request "), done.stderr
    assert f"pip install 'agentos[{name}]'" in done.stdout
    assert done.stdout.count("\n") == 1


OPTIONS: dict[str, dict[str, Any]] = {
    "anthropic": {
        "output_config": {"effort": "high"},
        "thinking": {"type": "enabled", "budget_tokens": 2048},
        "temperature": 0.5,
    },
    "gemini": {
        "generationConfig": {
            "maxOutputTokens": 8000,
            "temperature": 0.5,
            "thinkingConfig": {"thinking_level": "HIGH", "thinking_budget": 2048},
        }
    },
    "openai": {"reasoning_effort": "high", "temperature": 0.5},
}
CHOSEN = {
    "effort": "high",
    "thinking": 2048,
    "temperature": 0.5,
    "max_output_tokens": 8000,
}


@every_provider
def test_effort_thinking_and_temperature_arrive_on_the_wire(name: str) -> None:
    async def run() -> Any:
        async with serving(stream(EVENTS[name]("{}"))) as server:
            await complete(name, server, make_request(**CHOSEN))
            return server.requests[0].json

    sent = asyncio.run(run())
    for part, expected in OPTIONS[name].items():
        assert sent[part] == expected


@every_provider
def test_nothing_of_that_is_sent_unless_it_was_chosen(name: str) -> None:
    async def run() -> Any:
        async with serving(stream(EVENTS[name]("{}"))) as server:
            await complete(name, server)
            return server.requests[0].json

    sent = str(asyncio.run(run()))
    for word in ("effort", "thinking", "temperature", "cache_control"):
        assert word not in sent


REFUSED_OPTIONS = [
    ("anthropic", "temperature", "`temperature` is deprecated for this model."),
    ("anthropic", "thinking budget", "thinking.type: enabled is not supported"),
    ("anthropic", "effort", "output_config.effort: Extra inputs are not permitted"),
    ("gemini", "thinking budget", "Thinking budget is not supported: thinking_budget"),
    ("gemini", "effort", "Thinking level is not supported: thinking_level"),
    ("openai", "temperature", "Unsupported value: 'temperature' does not support 0.5"),
    ("openai", "effort", "Unrecognized request argument supplied: reasoning_effort"),
]


@pytest.mark.parametrize(("name", "option", "words"), REFUSED_OPTIONS)
def test_a_model_that_refuses_an_option_is_asked_without_it_once_and_it_is_said(
    name: str, option: str, words: str
) -> None:
    refusals = {
        "anthropic": claude_error("invalid_request_error", words),
        "gemini": gemini_error(400, "INVALID_ARGUMENT", words),
        "openai": openai_error("invalid_request_error", words),
    }
    said: list[str] = []
    on_note.set(said.append)
    answer = stream(EVENTS[name]("{}"))

    async def run() -> list[Any]:
        refusal = respond("400 Bad Request", refusals[name])
        async with serving(refusal, answer, answer) as server:

            async def ask_twice(provider: Any) -> None:
                credential = Credential(KEY, address(name, server))
                for _ in range(2):
                    await provider.complete(make_request(**CHOSEN), credential)

            await with_provider(name, ask_twice)
            return [request.json for request in server.requests]

    first, *others = asyncio.run(run())
    word = {"effort": ("effort", "thinking_level"), "temperature": ("temperature",)}
    looked_for = word.get(option, ("budget_tokens", "thinking_budget"))
    assert any(each in str(first) for each in looked_for)
    assert len(others) == 2
    for sent in others:
        assert not any(each in str(sent) for each in looked_for)
    assert said == [f"{MODELS[name]} does not take a {option}; asked without it"]


@every_provider
def test_headers_body_and_api_version_of_a_key_arrive_on_the_wire(name: str) -> None:
    async def run() -> Any:
        async with serving(stream(EVENTS[name]("{}"))) as server:
            credential = Credential(
                KEY,
                address(name, server),
                headers=(("x-team", "search"),),
                body='{"top_k": 20}',
                api_version="2025-04-01",
            )
            await complete(name, server, credential=credential)
            return server.requests[0]

    sent = asyncio.run(run())
    assert sent.headers["x-team"] == "search"
    assert sent.json["top_k"] == 20
    version = {
        "anthropic": sent.headers.get("anthropic-version", ""),
        "gemini": sent.path,
        "openai": sent.path,
    }
    assert "2025-04-01" in version[name]
