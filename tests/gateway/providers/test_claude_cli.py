"""The `claude -p` command as a provider: against the genuine command where it is, and a
stand-in everywhere.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.documents.verdict import parse_verdict
from agentos.errors import FailureCause, ProviderError, UsageError
from agentos.gateway.providers import (
    Completion,
    Credential,
    Request,
    ask_once,
    create_provider,
    parse_model_spec,
)
from agentos.gateway.providers.classify import CallInfo
from agentos.gateway.providers.claude_cli import ClaudeCliProvider
from agentos.gateway.providers.claude_cli.child import ChildExit
from agentos.gateway.providers.claude_cli.transcript import Transcript
from agentos.state.processes import process_birth
from agentos.usage import NOTHING, UNKNOWN, Consumed, Usage
from tests.support import NO_CLAUDE, find_claudes, wait_until

KEY = "sk-ant-api03-canary-of-the-claude-command"
PROMPT = "Say hello to the canary prompt"
VERDICT = {
    "decision": "APPROVED",
    "summary": "Good.",
    "earlier": [],
    "findings": [],
    "resolved_questions": [],
    "source_errors": [],
    "questions": [],
    "coverage": [],
}


def make_request(schema: str = "", prompt: str = PROMPT, **limits: Any) -> Request:
    made = Request(
        "r",
        "lld",
        "7",
        "N1_draft",
        1,
        1,
        "lld.draft",
        "claude-cli:sonnet",
        ask_once(prompt),
        {},
        schema,
        1234,
    )
    return replace(made, **limits)


# What the genuine command was seen to print, without what nobody reads.

INIT = {
    "type": "system",
    "subtype": "init",
    "tools": [],
    "mcp_servers": [],
    "model": "claude-sonnet-5",
}


def stream_event(**event: Any) -> dict[str, Any]:
    return {"type": "stream_event", "event": event, "parent_tool_use_id": None}


COUNTED = {
    "input_tokens": 11,
    "cache_creation_input_tokens": 3,
    "cache_read_input_tokens": 5,
    "output_tokens": 1,
}
START = stream_event(
    type="message_start",
    message={"model": "claude-sonnet-5", "content": [], "usage": COUNTED},
)
PIECE = stream_event(
    type="content_block_delta", delta={"type": "text_delta", "text": "Hello there"}
)
END = stream_event(
    type="message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 7}
)
STOP = stream_event(type="message_stop")
SAID = {
    "type": "assistant",
    "message": {
        "model": "claude-sonnet-5",
        "content": [{"type": "text", "text": "Hello there"}],
    },
}
ASKED_AGAIN = {
    "type": "user",
    "message": {"role": "user", "content": []},
    "isSynthetic": True,
}


def result(**changes: Any) -> dict[str, Any]:
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "api_error_status": None,
        "num_turns": 1,
        "result": "Hello there",
        "stop_reason": "end_turn",
        "total_cost_usd": 0.00023,
        "usage": {
            "input_tokens": 11,
            "cache_creation_input_tokens": 3,
            "cache_read_input_tokens": 5,
            "output_tokens": 7,
        },
        "modelUsage": {
            "claude-sonnet-5[1m]": {
                "inputTokens": 11,
                "outputTokens": 7,
                "cacheReadInputTokens": 5,
            }
        },
        "permission_denials": [],
        "terminal_reason": "completed",
    } | changes


def refused(status: int | None, name: str, words: str = "no") -> list[dict[str, Any]]:
    said = {
        "type": "assistant",
        "message": {"model": "<synthetic>", "content": []},
        "error": name,
    }
    failed = {
        "is_error": True,
        "api_error_status": status,
        "result": words,
        "stop_reason": "stop_sequence",
    }
    return [INIT, said, result(**failed, usage={}, modelUsage={})]


ANSWER = [INIT, START, SAID, END, STOP, result()]


WHOLE = Usage(19, 7, cached_tokens=5, cache_written_tokens=3)


def spent(**changes: Any) -> dict[str, Any]:
    """Return how the command ends when the first answer has used up the little money
    that it got.
    """
    made = result(subtype="error_max_budget_usd", is_error=True, **changes)
    del made["result"]
    return made


# The stand-in.

BEGINNING = """\
    #!{python}
    import json, os, signal, subprocess, sys, time
    def say(*messages):
        for message in messages:
            print(json.dumps(message), flush=True)
    def describe(path):
        return {{"mode": oct(os.stat(path).st_mode & 0o777), "names": sorted(os.listdir(path))}}
    def record(**more):
        config = os.environ["CLAUDE_CONFIG_DIR"]
        login = os.path.join(config, ".credentials.json")
        seen = dict(argv=sys.argv, environ=dict(os.environ), pid=os.getpid(), group=os.getpgrp(), cwd=os.getcwd())
        seen |= dict(work=describe("."), config=describe(config), home=describe(os.environ["HOME"]), **more)
        if os.path.exists(login):
            seen |= dict(login=open(login).read(), login_mode=oct(os.stat(login).st_mode & 0o777))
        with open({record!r}, "w") as file:
            json.dump(seen, file)
    def hang():
        while True:
            signal.pause()
    ANSWER = json.loads({answer!r})
"""


@dataclass(frozen=True)
class StandIn:
    """A real executable that does what a test wants of the command."""

    folder: Path

    @property
    def record(self) -> Path:
        return self.folder / "record"

    @property
    def temporary(self) -> Path:
        return self.folder / "temporary"

    def write(self, body: str) -> Path:
        fields = {
            "python": sys.executable,
            "record": str(self.record),
            "answer": json.dumps(ANSWER),
        }
        program = self.folder / "claude-stand-in"
        program.write_text(
            textwrap.dedent(BEGINNING).format(**fields) + textwrap.dedent(body), "utf-8"
        )
        program.chmod(0o755)
        return program

    def provider(
        self, body: str, model: str = "sonnet", **environ: str
    ) -> ClaudeCliProvider:
        return ClaudeCliProvider(model, self.environ(body) | environ)

    def environ(self, body: str) -> dict[str, str]:
        home = str(self.folder / "home")
        return {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "AGENTOS_CLAUDE_COMMAND": str(self.write(body)),
        }

    def saying(self, *messages: Mapping[str, Any], code: int = 0) -> ClaudeCliProvider:
        return self.provider(
            f"say(*json.loads({json.dumps(messages)!r}))\nsys.exit({code})"
        )

    def seen(self) -> dict[str, Any]:
        seen: dict[str, Any] = json.loads(self.record.read_text("utf-8"))
        return seen


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    made = StandIn(tmp_path)
    made.temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(made.temporary))
    return made


def complete(
    provider: ClaudeCliProvider, credential: Credential | None = None, **request: Any
) -> Completion:
    return asyncio.run(provider.complete(make_request(**request), credential))


def fail(
    provider: ClaudeCliProvider, credential: Credential | None = None, **request: Any
) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        complete(provider, credential, **request)
    return caught.value


def wait_until_gone(pid: int) -> None:
    with suppress(ProcessLookupError):
        descriptor = os.pidfd_open(pid)
        try:
            assert select.select([descriptor], [], [], 30)[0], f"process {pid} lives on"
        finally:
            os.close(descriptor)
    assert process_birth(pid) == ""


def test_an_answer_comes_with_its_model_and_usage(stand_in: StandIn) -> None:
    answer = complete(stand_in.saying(*ANSWER))
    assert (answer.text, answer.model, answer.usage) == (
        "Hello there",
        "claude-sonnet-5",
        WHOLE,
    )


def test_an_answer_that_used_up_the_money_is_whole(stand_in: StandIn) -> None:
    answer = complete(stand_in.saying(INIT, START, SAID, SAID, END, spent(), code=1))
    assert (answer.text, answer.model, answer.usage) == (
        "Hello thereHello there",
        "claude-sonnet-5",
        WHOLE,
    )


def test_a_structured_answer_is_what_the_tool_was_given(stand_in: StandIn) -> None:
    block = {"type": "tool_use", "name": "StructuredOutput", "input": VERDICT}
    said = {
        "type": "assistant",
        "message": {"model": "claude-sonnet-5", "content": [block]},
    }
    used = stream_event(type="message_delta", delta={"stop_reason": "tool_use"})
    provider = stand_in.saying(
        INIT, START, SAID, said, used, spent(stop_reason="tool_use"), code=1
    )
    assert json.loads(complete(provider, schema="verdict").text) == VERDICT
    assert fail(provider).cause is FailureCause.BAD_ANSWER
    assert (
        fail(
            stand_in.saying(INIT, START, SAID, END, spent(), code=1), schema="verdict"
        ).cause
        is FailureCause.BAD_ANSWER
    )


def tool_said(*inputs: object) -> dict[str, Any]:
    blocks = [
        {"type": "tool_use", "name": "StructuredOutput", "input": each}
        for each in inputs
    ]
    return {
        "type": "assistant",
        "message": {"model": "claude-sonnet-5", "content": blocks},
    }


# How the newer version closes an answer by itself when it has run out of money before
# the last events came through.
CLOSED = (
    stream_event(
        type="message_delta",
        delta={"stop_reason": None},
        usage={"input_tokens": 11, "output_tokens": 1},
    ),
    {
        **stream_event(type="message_stop"),
        "abandoned_blocks": {"api_message_id": "msg_1", "from_block_index": 1},
    },
)
LOST = {
    "type": "assistant",
    "message": {
        "model": "<synthetic>",
        "content": [{"type": "text", "text": "API Error: Connection closed"}],
    },
    "error": "server_error",
}
UNCOUNTED = {"input_tokens": 0, "output_tokens": 0}
BY_MODEL = {
    "claude-sonnet-5": {"inputTokens": 11, "outputTokens": 7, "cacheReadInputTokens": 5}
}
OPENING_BY_MODEL = {
    "claude-sonnet-5": {"inputTokens": 11, "outputTokens": 1, "cacheReadInputTokens": 5}
}
JSON_PIECE = stream_event(
    type="content_block_delta",
    delta={"type": "input_json_delta", "partial_json": "x" * 90},
)


def test_a_whole_block_is_a_whole_answer_though_its_end_is_not_told(
    stand_in: StandIn,
) -> None:
    ended = spent(stop_reason=None, usage=UNCOUNTED, modelUsage=BY_MODEL)
    answer = complete(
        stand_in.saying(
            INIT, START, JSON_PIECE, tool_said(VERDICT), *CLOSED, ended, code=1
        ),
        schema="verdict",
    )
    assert json.loads(answer.text) == VERDICT
    assert (answer.model, answer.usage) == ("claude-sonnet-5", WHOLE)


@pytest.mark.parametrize(
    "ending",
    [
        [
            *CLOSED,
            spent(stop_reason=None, usage=UNCOUNTED, modelUsage=OPENING_BY_MODEL),
        ],
        [
            LOST,
            result(
                is_error=True,
                result="API Error: Connection closed",
                usage=UNCOUNTED,
                modelUsage={},
            ),
        ],
        [result(stop_reason=None, usage=UNCOUNTED, modelUsage={})],
        [],
    ],
    ids=["closed", "lost", "success", "nothing"],
)
def test_a_whole_block_of_a_stream_that_was_cut_is_kept_and_its_count_estimated(
    stand_in: StandIn, ending: list[Any]
) -> None:
    answer = complete(
        stand_in.saying(INIT, START, JSON_PIECE, tool_said(VERDICT), *ending, code=1),
        schema="verdict",
    )
    assert json.loads(answer.text) == VERDICT
    assert answer.usage == replace(WHOLE, output_tokens=15)


@pytest.mark.parametrize(
    ("messages", "cause", "consumed"),
    [
        ([], FailureCause.TRANSIENT, NOTHING),
        ([INIT], FailureCause.TRANSIENT, UNKNOWN),
        (
            [INIT, LOST, result(is_error=True, usage={}, modelUsage={})],
            FailureCause.TRANSIENT,
            UNKNOWN,
        ),
        (
            [INIT, START, PIECE],
            FailureCause.TRANSIENT,
            Consumed(replace(WHOLE, output_tokens=1)),
        ),
        (
            [INIT, START, PIECE, *CLOSED],
            FailureCause.TRANSIENT,
            Consumed(replace(WHOLE, output_tokens=1)),
        ),
        (
            [INIT, START, PIECE, END, STOP, result(result="")],
            FailureCause.BAD_ANSWER,
            Consumed(WHOLE, is_final=True),
        ),
        (
            [
                INIT,
                START,
                stream_event(
                    type="message_delta",
                    delta={"stop_reason": "max_tokens"},
                    usage=COUNTED,
                ),
            ],
            FailureCause.BAD_ANSWER,
            Consumed(replace(WHOLE, output_tokens=1), is_final=True),
        ),
        (
            [
                INIT,
                START,
                tool_said({}),
                *CLOSED,
                spent(stop_reason=None, usage=UNCOUNTED, modelUsage=BY_MODEL),
            ],
            FailureCause.BAD_ANSWER,
            Consumed(WHOLE, is_final=True),
        ),
        (
            [
                INIT,
                START,
                tool_said({}),
                *CLOSED,
                spent(stop_reason=None, usage={}, modelUsage=OPENING_BY_MODEL),
            ],
            FailureCause.TRANSIENT,
            Consumed(replace(WHOLE, output_tokens=1)),
        ),
        (
            [
                INIT,
                START,
                {"type": "system", "subtype": "model_refusal_no_fallback"},
                *CLOSED,
                spent(stop_reason=None),
            ],
            FailureCause.BAD_ANSWER,
            Consumed(WHOLE, is_final=True),
        ),
        (
            [
                INIT,
                START,
                {**LOST, "api_error_status": 529},
                *CLOSED,
                spent(usage={}, modelUsage={}),
            ],
            FailureCause.OVERLOADED,
            NOTHING,
        ),
        (
            [
                INIT,
                START,
                PIECE,
                {**LOST, "api_error_status": 529},
                *CLOSED,
                spent(usage={}, modelUsage={}),
            ],
            FailureCause.OVERLOADED,
            Consumed(replace(WHOLE, output_tokens=1)),
        ),
        (
            [INIT, START, PIECE, END, SAID, result(is_error="x")],
            FailureCause.TRANSIENT,
            Consumed(WHOLE, is_final=True),
        ),
    ],
)
def test_a_failed_call_says_what_it_consumed(
    stand_in: StandIn, messages: list[Any], cause: FailureCause, consumed: Consumed
) -> None:
    error = fail(stand_in.saying(*messages, code=1), schema="verdict")
    assert (error.cause, error.consumed) == (cause, consumed)


@pytest.mark.parametrize(
    "code", ["ConnectionRefused", "ECONNREFUSED", "FailedToOpenSocket", "ENOTFOUND"]
)
def test_a_connection_that_did_not_come_about_costs_nothing(
    stand_in: StandIn, code: str
) -> None:
    words = f"API Error: Unable to connect to API ({code})"
    error = fail(stand_in.saying(*refused(None, "server_error", words), code=1))
    assert (error.cause, error.consumed) == (FailureCause.TRANSIENT, NOTHING)
    assert f"cannot be reached ({code})" in str(error)


def test_all_parts_of_an_answer_count_also_where_nothing_was_spent(
    stand_in: StandIn,
) -> None:
    first = {
        "type": "assistant",
        "message": {"content": [{"type": "text", "text": "First. "}]},
    }
    answer = complete(
        stand_in.saying(
            INIT, START, first, SAID, END, STOP, result(result="Hello there")
        )
    )
    assert answer.text == "First. Hello there"


def test_a_structured_answer_has_all_that_was_asked_for(stand_in: StandIn) -> None:
    def give(*inputs: object) -> ClaudeCliProvider:
        used = stream_event(type="message_delta", delta={"stop_reason": "tool_use"})
        return stand_in.saying(
            INIT, START, tool_said(*inputs), used, spent(stop_reason="tool_use"), code=1
        )

    for bad in ({}, "text", None, {"decision": "APPROVED"}):
        assert fail(give(bad), schema="verdict").cause is FailureCause.BAD_ANSWER
    halved = {**VERDICT, "summary": "Good \ud83d."}
    assert json.loads(complete(give(VERDICT, {}), schema="verdict").text) == VERDICT
    assert (
        "Good \N{REPLACEMENT CHARACTER}."
        in complete(give(halved), schema="verdict").text
    )


def test_a_long_answer_that_is_left_behind_arrives(stand_in: StandIn) -> None:
    text = "x" * 800_000
    body = f"""
    sys.stdin.read()
    said = {{"type": "assistant", "message": {{"content": [{{"type": "text", "text": {text[:1]!r} * 800_000}}]}}}}
    for message in [*ANSWER[:2], said, ANSWER[3], {spent()!r}]:
        os.set_blocking(1, False)
        os.write(1, json.dumps(message).encode() + b"\\n")
    """
    assert complete(stand_in.provider(textwrap.dedent(body))).text == text


def test_it_is_made_by_its_name_without_looking_for_the_command() -> None:
    assert not create_provider(parse_model_spec("claude-cli")).needs_key
    with pytest.raises(UsageError, match="claude-cli:MODEL"):
        create_provider(parse_model_spec("claude-cli:a\x00b"))


def test_a_structured_answer_is_asked_for_by_its_schema(stand_in: StandIn) -> None:
    answer = json.dumps(VERDICT)
    body = f"record(); say(*ANSWER[:-1], {result(result=answer, stop_reason='tool_use', num_turns=2)!r})"
    answered = complete(
        stand_in.provider(body.replace("null", "None")), schema="verdict"
    )
    assert parse_verdict(answered.text).summary == "Good."
    argv = stand_in.seen()["argv"]
    assert "decision" in json.loads(argv[argv.index("--json-schema") + 1])["properties"]


def test_a_tool_use_is_no_end_of_a_plain_answer(stand_in: StandIn) -> None:
    error = fail(stand_in.saying(*ANSWER[:-1], result(stop_reason="tool_use")))
    assert error.cause is FailureCause.BAD_ANSWER


@pytest.mark.parametrize(
    ("status", "name", "cause"),
    [
        (401, "authentication_failed", FailureCause.AUTH),
        (403, "authentication_failed", FailureCause.AUTH),
        (None, "oauth_org_not_allowed", FailureCause.NO_ACCESS),
        (400, "billing_error", FailureCause.BILLING),
        (402, "unknown", FailureCause.BILLING),
        (429, "rate_limit", FailureCause.RATE_LIMIT),
        (None, "rate_limit", FailureCause.RATE_LIMIT),
        (529, "server_error", FailureCause.OVERLOADED),
        (503, "server_error", FailureCause.OVERLOADED),
        (None, "overloaded", FailureCause.OVERLOADED),
        (500, "server_error", FailureCause.TRANSIENT),
        (None, "server_error", FailureCause.TRANSIENT),
        (None, "unknown", FailureCause.TRANSIENT),
        (None, "a name of tomorrow", FailureCause.TRANSIENT),
        (400, "unknown", FailureCause.BAD_REQUEST),
        (413, "invalid_request", FailureCause.BAD_REQUEST),
        (404, "model_not_found", FailureCause.BAD_REQUEST),
        (None, "max_output_tokens", FailureCause.BAD_ANSWER),
    ],
)
def test_a_refusal_is_told_by_its_status_and_name(
    stand_in: StandIn, status: int | None, name: str, cause: FailureCause
) -> None:
    # Words that would mislead whoever read them.
    words = "API Error: 429 overloaded, credit balance, Invalid API key"
    error = fail(
        stand_in.saying(*refused(status, name, words), code=1), Credential(KEY)
    )
    assert error.cause is cause
    is_told = status is not None or cause in (
        FailureCause.AUTH,
        FailureCause.NO_ACCESS,
        FailureCause.RATE_LIMIT,
        FailureCause.OVERLOADED,
    )
    assert error.consumed == (NOTHING if is_told else UNKNOWN)


def test_a_login_that_is_missing_is_said_with_what_to_do(stand_in: StandIn) -> None:
    error = fail(
        stand_in.saying(
            *refused(None, "authentication_failed", "Not logged in"), code=1
        )
    )
    assert error.cause is FailureCause.AUTH
    assert "run `claude` and log in" in str(error)


def test_a_used_up_subscription_is_a_quota_with_its_reset(stand_in: StandIn) -> None:
    info = {
        "status": "rejected",
        "resetsAt": int(time.time()) + 3600,
        "rateLimitType": "five_hour",
    }
    limit = {"type": "rate_limit_event", "rate_limit_info": info}
    error = fail(stand_in.saying(limit, *refused(429, "rate_limit"), code=1))
    assert error.cause is FailureCause.QUOTA
    assert error.delay is not None
    assert 0 < error.delay <= 3600


@pytest.mark.parametrize(
    ("messages", "cause"),
    [
        (
            [*ANSWER[:-1], result(permission_denials=[{"tool_name": "Bash"}])],
            FailureCause.BAD_ANSWER,
        ),
        (
            [
                *ANSWER[:-1],
                {k: v for k, v in result().items() if k != "permission_denials"},
            ],
            FailureCause.BAD_ANSWER,
        ),
        ([*ANSWER[:-1], result(result="")], FailureCause.BAD_ANSWER),
        ([*ANSWER[:-1], result(result=" \n")], FailureCause.BAD_ANSWER),
        ([*ANSWER[:-1], result(result=None)], FailureCause.BAD_ANSWER),
        ([*ANSWER[:-1], result(result="x" * 4_000_001)], FailureCause.BAD_ANSWER),
        ([INIT, result(stop_reason="refusal", is_error=True)], FailureCause.BAD_ANSWER),
        (
            [INIT, result(subtype="error_max_turns", is_error=True)],
            FailureCause.BAD_ANSWER,
        ),
        (
            [INIT, result(subtype="error_during_execution", is_error=True)],
            FailureCause.TRANSIENT,
        ),
        ([INIT, result(is_error="false")], FailureCause.TRANSIENT),
        (
            [INIT, START, SAID, result(stop_reason=None, usage={}, modelUsage={})],
            FailureCause.TRANSIENT,
        ),
        ([INIT, START, SAID, END, STOP], FailureCause.TRANSIENT),
        ([INIT, START, END, spent()], FailureCause.BAD_ANSWER),
        ([INIT, START, SAID, spent(stop_reason=None)], FailureCause.TRANSIENT),
        (
            [
                INIT,
                START,
                SAID,
                {"type": "system", "subtype": "model_refusal_x"},
                spent(stop_reason=None),
            ],
            FailureCause.BAD_ANSWER,
        ),
        ([], FailureCause.TRANSIENT),
    ],
)
def test_what_only_looks_like_a_success_is_none(
    stand_in: StandIn, messages: list[Any], cause: FailureCause
) -> None:
    assert fail(stand_in.saying(*messages)).cause is cause


@pytest.mark.parametrize(
    ("messages", "cause"),
    [
        (
            [
                INIT,
                START,
                stream_event(type="message_delta", delta={"stop_reason": "max_tokens"}),
            ],
            FailureCause.BAD_ANSWER,
        ),
        ([INIT, START, END, STOP, ASKED_AGAIN], FailureCause.BAD_ANSWER),
        ([INIT, START, STOP], FailureCause.TRANSIENT),
        ([INIT, START, START], FailureCause.TRANSIENT),
    ],
)
def test_a_command_that_is_about_to_ask_again_is_ended(
    stand_in: StandIn, messages: list[Any], cause: FailureCause
) -> None:
    body = f"record(); say(*json.loads({json.dumps(messages)!r})); hang()"
    assert fail(stand_in.provider(body)).cause is cause
    wait_until_gone(stand_in.seen()["pid"])


def test_an_exit_code_spoils_an_answer_and_is_told_with_the_complaint(
    stand_in: StandIn,
) -> None:
    error = fail(
        stand_in.provider(
            "say(*ANSWER); print('out of\\x1b[31m disk', file=sys.stderr); sys.exit(3)"
        )
    )
    assert error.cause is FailureCause.TRANSIENT
    assert "exit code 3: out of[31m disk" in str(error)


def test_a_key_that_the_command_echoes_is_in_no_message(stand_in: StandIn) -> None:
    error = fail(
        stand_in.provider("print(os.environ['ANTHROPIC_API_KEY'], file=sys.stderr)"),
        Credential(KEY),
    )
    assert "without a result" in str(error)
    assert KEY not in str(error)


def test_garbage_between_the_messages_is_ignored(stand_in: StandIn) -> None:
    body = r"""
        os.write(1, b'\xff\xfe warning\n\n[1, 2]\n"x"\n{"type": ["result"]}\n' + b'[' * 100_000 + b'\n')
        say(*ANSWER)
    """
    assert complete(stand_in.provider(body)).text == "Hello there"


def test_garbage_alone_is_no_answer(stand_in: StandIn) -> None:
    assert (
        fail(stand_in.provider("os.write(1, b'Hello there')")).cause
        is FailureCause.TRANSIENT
    )


@pytest.mark.parametrize(
    "piece", ["b'x' * 65536", "b'x' * 1000 + b'\\n'"], ids=["one line", "many lines"]
)
def test_a_flood_is_ended(stand_in: StandIn, piece: str) -> None:
    error = fail(stand_in.provider(f"record()\nwhile True: os.write(1, {piece})"))
    assert error.cause is FailureCause.BAD_ANSWER
    wait_until_gone(stand_in.seen()["pid"])


def test_a_flood_of_complaints_is_drained(stand_in: StandIn) -> None:
    body = "for _ in range(100): os.write(2, b'x' * 65536)\nsay(*ANSWER)"
    assert complete(stand_in.provider(body)).text == "Hello there"


@pytest.mark.parametrize(
    ("messages", "setting", "consumed"),
    [
        ([INIT], "first_byte_timeout", UNKNOWN),
        (
            [INIT, START],
            "first_byte_timeout",
            Consumed(replace(WHOLE, output_tokens=1)),
        ),
        (
            [INIT, START, PIECE],
            "idle_timeout",
            Consumed(replace(WHOLE, output_tokens=1)),
        ),
    ],
)
def test_silence_ends_the_call_and_names_the_limit(
    stand_in: StandIn, messages: list[Any], setting: str, consumed: Consumed
) -> None:
    provider = stand_in.provider(
        f"record(); say(*json.loads({json.dumps(messages)!r})); hang()"
    )
    other = {
        "first_byte_timeout": "idle_timeout",
        "idle_timeout": "first_byte_timeout",
    }[setting]
    error = fail(provider, None, **{setting: 0.4, other: 250.0})
    assert error.cause is FailureCause.TRANSIENT
    assert error.consumed == consumed
    assert "sent nothing for 0.4 s and was given up" in str(error)
    assert f"{setting} (AGENTOS_{setting.upper()})" in str(error)
    wait_until_gone(stand_in.seen()["pid"])
    assert list(stand_in.temporary.iterdir()) == []


@pytest.mark.slow
def test_what_arrives_while_the_process_is_suspended_is_read(stand_in: StandIn) -> None:
    ready, go, said = (stand_in.folder / name for name in ("ready", "go", "said"))
    for pipe in (ready, go, said):
        os.mkfifo(pipe)
    body = f"""
        say(*ANSWER[:2], {PIECE!r})
        open({str(ready)!r}, "w").close()
        open({str(go)!r}).read()
        time.sleep(4)
        say(*ANSWER[2:])
        open({str(said)!r}, "w").close()
    """
    environ = stand_in.environ(body)
    coordinator = f"""
        import asyncio
        from agentos.gateway.providers.claude_cli import ClaudeCliProvider
        from tests.gateway.providers.test_claude_cli import make_request
        provider = ClaudeCliProvider("", {environ!r})
        print(asyncio.run(provider.complete(make_request(idle_timeout=3.0), None)).text)
    """
    with run_coordinator(stand_in, coordinator) as process:
        ready.read_text()
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        go.write_text("")
        said.read_text()
        process.send_signal(signal.SIGCONT)
        printed, _ = process.communicate(timeout=60)
    assert printed == "Hello there\n"


def run_coordinator(stand_in: StandIn, program: str) -> subprocess.Popen[str]:
    own = {
        "PATH": os.environ["PATH"],
        "TMPDIR": str(stand_in.temporary),
        "HOME": str(stand_in.folder / "home"),
        "PYTHONPATH": str(Path(__file__).parents[3]),
    }
    command = [sys.executable, "-c", textwrap.dedent(program)]
    return subprocess.Popen(
        command, env=own, cwd=stand_in.folder, stdout=subprocess.PIPE, text=True
    )


def test_a_prompt_that_is_not_read_does_not_hold_the_answer_up(
    stand_in: StandIn,
) -> None:
    assert (
        complete(stand_in.saying(*ANSWER), prompt="x" * 5_000_000).text == "Hello there"
    )


def test_the_prompt_arrives_whole_and_on_standard_input_only(stand_in: StandIn) -> None:
    prompt = "--help \x00 ü \ud800 " * 100_000
    provider = stand_in.provider(
        "record(words=sys.stdin.buffer.read().decode()); say(*ANSWER)"
    )
    complete(provider, prompt=prompt)
    assert stand_in.seen()["words"] == prompt.replace("\ud800", "?")
    assert "--help" not in " ".join(stand_in.seen()["argv"])


def test_a_key_is_in_the_environment_of_the_child_alone(stand_in: StandIn) -> None:
    provider = stand_in.provider(
        "record(); say(*ANSWER)", CANARY="x", AWS_SECRET_ACCESS_KEY="x", LANG="C.UTF-8"
    )
    complete(provider, Credential(KEY, "http://127.0.0.1:9"))
    seen = stand_in.seen()
    assert seen["environ"]["ANTHROPIC_API_KEY"] == KEY
    assert seen["environ"]["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:9"
    assert seen["environ"]["CLAUDE_CODE_MAX_RETRIES"] == "0"
    assert seen["environ"]["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] == "1234"
    assert seen["environ"]["LANG"] == "C.UTF-8"
    assert not {"CANARY", "AWS_SECRET_ACCESS_KEY"} & set(seen["environ"])
    assert KEY not in " ".join(seen["argv"])
    assert KEY not in " ".join(os.environ.values())
    assert "--model=sonnet" in seen["argv"]


def test_without_a_key_a_paid_one_of_the_environment_is_withheld(
    stand_in: StandIn,
) -> None:
    complete(
        stand_in.provider("record(); say(*ANSWER)", model="", ANTHROPIC_API_KEY=KEY)
    )
    seen = stand_in.seen()
    assert "ANTHROPIC_API_KEY" not in seen["environ"]
    assert not any(argument.startswith("--model") for argument in seen["argv"])


def test_a_token_and_an_address_of_the_users_own_reach_the_child(
    stand_in: StandIn,
) -> None:
    own = {
        "ANTHROPIC_AUTH_TOKEN": "own-token",
        "ANTHROPIC_BASE_URL": "https://gateway.example",
    }
    others = {"CLAUDE_CODE_OAUTH_TOKEN": "login", "ANTHROPIC_API_KEY": KEY}
    complete(stand_in.provider("record(); say(*ANSWER)", **own, **others))
    seen = stand_in.seen()["environ"]
    assert {name: seen.get(name) for name in own} == own
    assert not {*others, "NO_PROXY"} & set(seen)


def test_a_key_wins_over_what_is_in_the_environment(stand_in: StandIn) -> None:
    own = {
        "ANTHROPIC_AUTH_TOKEN": "own-token",
        "ANTHROPIC_BASE_URL": "https://gateway.example",
    }
    provider = stand_in.provider("record(); say(*ANSWER)", **own)
    complete(provider, Credential(KEY, "https://elsewhere.example"))
    seen = stand_in.seen()["environ"]
    assert (seen["ANTHROPIC_API_KEY"], seen["ANTHROPIC_BASE_URL"]) == (
        KEY,
        "https://elsewhere.example",
    )
    assert "ANTHROPIC_AUTH_TOKEN" not in seen
    complete(provider, Credential(KEY))
    assert stand_in.seen()["environ"]["ANTHROPIC_BASE_URL"] == "https://gateway.example"


@pytest.mark.parametrize(
    ("address", "ours", "avoided"),
    [
        ("http://127.0.0.1:9/v1", {}, "127.0.0.1"),
        (
            "http://localhost:9",
            {"NO_PROXY": "a.example,b.example"},
            "a.example,b.example,localhost",
        ),
        ("http://127.8.8.8", {"no_proxy": "c.example"}, "c.example,127.8.8.8"),
        ("http://[::1]:9", {}, "::1,[::1]"),
        ("https://gateway.example", {"NO_PROXY": "a.example"}, "a.example"),
    ],
)
def test_an_address_on_this_machine_is_not_asked_through_a_proxy(
    stand_in: StandIn, address: str, ours: dict[str, str], avoided: str
) -> None:
    provider = stand_in.provider(
        "record(); say(*ANSWER)", HTTP_PROXY="http://proxy.example", **ours
    )
    complete(provider, Credential(KEY, address))
    seen = stand_in.seen()["environ"]
    assert seen["NO_PROXY"] == avoided
    assert seen["HTTP_PROXY"] == "http://proxy.example"


@pytest.mark.parametrize(
    "address",
    ["nonsense", "ftp://127.0.0.1", "http://ümlaut.example", "http://two words"],
)
def test_an_address_that_cannot_be_one_is_refused(
    stand_in: StandIn, address: str
) -> None:
    error = fail(stand_in.saying(*ANSWER), Credential(KEY, address))
    assert error.cause is FailureCause.BAD_REQUEST
    assert error.consumed == NOTHING
    assert "check the base URL" in str(error)


def test_the_command_gives_up_later_than_we_do(stand_in: StandIn) -> None:
    complete(stand_in.provider("record(); say(*ANSWER)"))
    seen = stand_in.seen()["environ"]
    assert int(seen["API_TIMEOUT_MS"]) > 86_400_000
    for name in (
        "API_FORCE_IDLE_TIMEOUT",
        "CLAUDE_ENABLE_BYTE_WATCHDOG",
        "CLAUDE_ENABLE_STREAM_WATCHDOG",
    ):
        assert seen[name] == "0"


@pytest.mark.parametrize("secret", ["", "two\nlines", "nul\x00", "ümlaut"])
def test_a_key_that_cannot_be_one_is_refused(stand_in: StandIn, secret: str) -> None:
    error = fail(stand_in.saying(*ANSWER), Credential(secret))
    assert (error.cause, error.consumed) == (FailureCause.AUTH, NOTHING)
    assert list(stand_in.temporary.iterdir()) == []


def test_the_folders_are_private_and_removed(stand_in: StandIn) -> None:
    complete(
        stand_in.provider(
            "record(); say(*ANSWER); open('left', 'w'); os.mkdir('behind')"
        )
    )
    seen = stand_in.seen()
    assert seen["work"] == {"mode": "0o700", "names": []}
    assert seen["config"] == {"mode": "0o700", "names": []}
    assert seen["home"] == {"mode": "0o700", "names": ["config", "work"]}
    assert Path(seen["cwd"]).parent.parent == stand_in.temporary
    assert list(stand_in.temporary.iterdir()) == []


def test_the_login_is_lent_without_what_could_renew_it(stand_in: StandIn) -> None:
    home = stand_in.folder / "home" / ".claude"
    home.mkdir(parents=True)
    login = {
        "accessToken": "access",
        "refreshToken": "refresh-canary",
        "expiresAt": 1,
        "subscriptionType": "max",
    }
    whole = json.dumps({"claudeAiOauth": login, "mcpOAuth": {"other": "mcp-canary"}})
    (home / ".credentials.json").write_text(whole)
    (home / "CLAUDE.md").write_text("not for the child")
    complete(stand_in.provider("record(); say(*ANSWER)"))
    seen = stand_in.seen()
    assert json.loads(seen["login"]) == {"claudeAiOauth": login | {"refreshToken": ""}}
    assert seen["login_mode"] == "0o600"
    assert seen["config"]["names"] == [".credentials.json"]
    assert (home / ".credentials.json").read_text() == whole
    complete(stand_in.provider("record(); say(*ANSWER)"), Credential(KEY))
    assert "login" not in stand_in.seen()


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"claudeAiOauth": 3}', "\xff", "[" * 50_000]
)
def test_a_login_that_cannot_be_read_is_none(stand_in: StandIn, content: str) -> None:
    config = stand_in.folder / "elsewhere"
    config.mkdir()
    (config / ".credentials.json").write_text(content, "latin-1")
    complete(stand_in.provider("record(); say(*ANSWER)", CLAUDE_CONFIG_DIR=str(config)))
    assert stand_in.seen()["config"]["names"] == []


def test_a_login_token_of_the_environment_is_lent(stand_in: StandIn) -> None:
    complete(
        stand_in.provider("record(); say(*ANSWER)", CLAUDE_CODE_OAUTH_TOKEN="token")
    )
    assert stand_in.seen()["environ"]["CLAUDE_CODE_OAUTH_TOKEN"] == "token"
    complete(
        stand_in.provider("record(); say(*ANSWER)", CLAUDE_CODE_OAUTH_TOKEN="token"),
        Credential(KEY),
    )
    assert "CLAUDE_CODE_OAUTH_TOKEN" not in stand_in.seen()["environ"]


CHILD = "child = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])\n"
STUBBORN = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"


@pytest.mark.slow
def test_a_child_that_the_command_left_behind_is_ended(stand_in: StandIn) -> None:
    assert (
        complete(
            stand_in.provider(CHILD + "record(child=child.pid); say(*ANSWER)")
        ).text
        == "Hello there"
    )
    wait_until_gone(stand_in.seen()["child"])


@pytest.mark.parametrize("manner", ["", STUBBORN], ids=["docile", "stubborn"])
def test_cancellation_leaves_no_process_and_no_folder(
    stand_in: StandIn, manner: str
) -> None:
    os.mkfifo(stand_in.record)
    provider = stand_in.provider(
        manner + CHILD + "record(child=child.pid); say(*ANSWER[:2]); hang()"
    )

    async def cancel() -> dict[str, Any]:
        call = asyncio.create_task(provider.complete(make_request(), Credential(KEY)))
        seen: dict[str, Any] = json.loads(
            await asyncio.to_thread(stand_in.record.read_text)
        )
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return seen

    seen = asyncio.run(cancel())
    assert seen["group"] not in (os.getpgrp(), seen["pid"])
    for pid in (seen["pid"], seen["child"], seen["group"]):
        wait_until_gone(pid)
    assert list(stand_in.temporary.iterdir()) == []


def test_nothing_outlives_a_killed_coordinator(stand_in: StandIn) -> None:
    os.mkfifo(stand_in.record)
    environ = stand_in.environ(STUBBORN + CHILD + "record(child=child.pid); hang()")
    coordinator = f"""
        import asyncio
        from agentos.gateway.providers.claude_cli import ClaudeCliProvider
        from tests.gateway.providers.test_claude_cli import make_request
        asyncio.run(ClaudeCliProvider("", {environ!r}).complete(make_request(), None))
    """
    with run_coordinator(stand_in, coordinator) as process:
        seen = json.loads(stand_in.record.read_text())
        process.send_signal(signal.SIGKILL)
    for pid in (seen["pid"], seen["child"], seen["group"]):
        wait_until_gone(pid)
    wait_until(lambda: not any(stand_in.temporary.iterdir()), "the folder is removed")


def test_a_command_that_writes_until_it_is_killed_leaves_no_folder(
    stand_in: StandIn,
) -> None:
    os.mkfifo(stand_in.record)
    environ = stand_in.environ(
        """
        record()
        while True:
            folder = os.path.join(os.environ["TMPDIR"], "kept")
            os.makedirs(folder, exist_ok=True)
            open(os.path.join(folder, "file"), "w").close()
        """
    )
    coordinator = f"""
        import asyncio
        from agentos.gateway.providers.claude_cli import ClaudeCliProvider
        from tests.gateway.providers.test_claude_cli import make_request
        asyncio.run(ClaudeCliProvider("", {environ!r}).complete(make_request(), None))
    """
    with run_coordinator(stand_in, coordinator) as process:
        seen = json.loads(stand_in.record.read_text())
        process.send_signal(signal.SIGKILL)
    wait_until_gone(seen["pid"])
    wait_until(lambda: not any(stand_in.temporary.iterdir()), "the folder is removed")


def test_a_missing_command_is_said_with_how_to_get_it(tmp_path: Path) -> None:
    for environ in (
        {"PATH": str(tmp_path)},
        {"PATH": str(tmp_path), "AGENTOS_CLAUDE_COMMAND": "no-such-claude"},
    ):
        error = fail(ClaudeCliProvider("", environ))
        assert (error.cause, error.consumed) == (FailureCause.BAD_REQUEST, NOTHING)
        assert "npm install -g @anthropic-ai/claude-code" in str(error)
        assert "\n" not in str(error)


def test_a_command_that_is_no_program_is_said(stand_in: StandIn) -> None:
    provider = stand_in.provider("")
    (stand_in.folder / "claude-stand-in").write_text("#!/no/such/interpreter\n")
    error = fail(provider)
    assert (error.cause, error.consumed) == (FailureCause.BAD_REQUEST, NOTHING)
    assert "cannot be started" in str(error)
    assert list(stand_in.temporary.iterdir()) == []


def test_the_check_tells_the_version_and_asks_nothing(stand_in: StandIn) -> None:
    provider = stand_in.provider("record(); print('2.1.197 (Claude Code)')")
    assert asyncio.run(provider.check(None)) == "2.1.197 (Claude Code)"
    assert stand_in.seen()["argv"][1:] == ["--version"]
    with pytest.raises(ProviderError, match="does not tell a version: broken"):
        asyncio.run(
            stand_in.provider("print('broken', file=sys.stderr); sys.exit(1)").check(
                Credential(KEY)
            )
        )


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
fields = (
    *result(),
    "message",
    "event",
    "rate_limit_info",
    "error",
    "isSynthetic",
    "delta",
    "status",
    "resetsAt",
)
kinds = st.sampled_from(
    [
        "result",
        "assistant",
        "user",
        "stream_event",
        "rate_limit_event",
        "message_start",
        "x",
    ]
)
messages = st.dictionaries(st.sampled_from(fields), json_values, max_size=6).flatmap(
    lambda changes: kinds.map(
        lambda kind: result() | {"type": kind, "event": changes} | changes
    )
)


@pytest.mark.slow
@given(st.lists(messages | json_values, max_size=4), st.sampled_from([0, 1, None]))
def test_no_message_gets_more_than_an_answer_or_a_provider_error(
    said: list[Any], code: int | None
) -> None:
    transcript = Transcript(CallInfo("claude-cli", "", KEY), 100)
    try:
        for message in said:
            if transcript.take(json.dumps(message).encode()):
                break
        answer = transcript.complete(ChildExit(code))
    except ProviderError:
        return
    assert code == 0
    assert answer.text.strip()
    answer.text.encode()


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reading(line: bytes) -> None:
    assert not Transcript(CallInfo("claude-cli"), 100).take(line)


# The genuine command, in each version that there is, against a server of ours.


@pytest.fixture(
    params=[
        pytest.param(path, marks=pytest.mark.slow) for path in find_claudes() or [""]
    ],
    ids=lambda path: path and f"claude-{find_claudes().index(path) + 1}",
)
def claude(request: pytest.FixtureRequest) -> str:
    if not request.param:
        pytest.skip(NO_CLAUDE)
    return str(request.param)


def sse(*events: dict[str, Any]) -> bytes:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    return head + sse_events(*events)


def sse_events(*events: dict[str, Any]) -> bytes:
    return b"".join(
        f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
        for event in events
    )


def deny(status: int, name: str, message: str = "no", *headers: str) -> bytes:
    body = json.dumps(
        {
            "type": "error",
            "error": {"type": name, "message": message},
            "request_id": "req_1",
        }
    ).encode()
    lines = (
        f"HTTP/1.1 {status} X",
        "content-type: application/json",
        f"content-length: {len(body)}",
        *headers,
    )
    return "\r\n".join((*lines, "connection: close", "", "")).encode() + body


MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-5",
    "content": [],
}
OPENED = {"type": "message_start", "message": MESSAGE | {"usage": COUNTED}}


def block(kind: dict[str, Any], delta: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": 0, "content_block": kind},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
    ]


def text_block(text: str) -> list[dict[str, Any]]:
    return block({"type": "text", "text": ""}, {"type": "text_delta", "text": text})


def tool_block(name: str, **given: Any) -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": "toolu_1", "name": name, "input": {}}
    return block(use, {"type": "input_json_delta", "partial_json": json.dumps(given)})


def closed(reason: str) -> list[dict[str, Any]]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ]


GREETING = sse(OPENED, *text_block("Hello there"), *closed("end_turn"))
HTML = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\nconnection: close\r\n\r\n<html>"


@dataclass
class Server:
    """Answers every message request with the same bytes; with a pause before those of
    `rest`.
    """

    answer: bytes
    holds: bool = False
    rest: bytes = b""
    url: str = ""
    requests: list[tuple[dict[str, str], Any]] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {
                name.lower(): value
                for name, _, value in (line.partition(": ") for line in head[1:])
            }
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            if head[0].startswith("POST /v1/messages"):
                self.requests.append((headers, json.loads(body)))
                writer.write(self.answer)
                await writer.drain()
                self.arrived.set()
                if self.rest:
                    await asyncio.sleep(0.3)
                    writer.write(self.rest)
                while self.holds and await reader.read(1):
                    pass
        writer.close()


@asynccontextmanager
async def serving(
    answer: bytes, *, holds: bool = False, rest: bytes = b""
) -> AsyncIterator[Server]:
    made = Server(answer, holds, rest)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0, limit=1 << 24)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield made
    finally:
        server.close()


def make_genuine(
    claude: str, model: str = "sonnet", **environ: str
) -> ClaudeCliProvider:
    own = {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "AGENTOS_CLAUDE_COMMAND": claude,
    }
    return ClaudeCliProvider(model, own | environ)


def ask_genuine(
    claude: str, answer: bytes, rest: bytes = b"", **request: Any
) -> tuple[Completion | ProviderError, Server]:
    async def ask() -> tuple[Completion | ProviderError, Server]:
        async with serving(answer, rest=rest) as server:
            try:
                return await make_genuine(claude).complete(
                    make_request(**request), Credential(KEY, server.url)
                ), server
            except ProviderError as error:
                return error, server

    return asyncio.run(ask())


def find_question(body: Any) -> Any:
    """Return the one message of the user; the newer version adds one of the system
    about date and folder.
    """
    question, *others = body["messages"]
    assert [other["role"] for other in others] in ([], ["system"])
    return question


def test_the_genuine_command_is_a_plain_completion(
    stand_in: StandIn, claude: str
) -> None:
    (stand_in.temporary / "CLAUDE.md").write_text("a canary from a folder above")
    (stand_in.temporary / ".mcp.json").write_text(
        '{"mcpServers": {"x": {"command": "canary"}}}'
    )
    answer, server = ask_genuine(claude, GREETING, prompt=PROMPT)
    assert isinstance(answer, Completion)
    assert (answer.text, answer.usage) == ("Hello there", WHOLE)
    assert "sonnet" in answer.model
    [(headers, body)] = server.requests
    assert headers["x-api-key"] == KEY
    assert body["tools"] == []
    assert body["max_tokens"] == 1234
    assert PROMPT in json.dumps(find_question(body))
    assert "a canary from" not in json.dumps(body)
    assert sorted(path.name for path in stand_in.temporary.iterdir()) == [
        ".mcp.json",
        "CLAUDE.md",
    ]


def test_effort_and_thinking_reach_the_model_through_the_genuine_command(
    stand_in: StandIn, claude: str
) -> None:
    answer, server = ask_genuine(
        claude, GREETING, prompt=PROMPT, effort="low", thinking=2048
    )
    assert isinstance(answer, Completion)
    [(_, body)] = server.requests
    told = json.dumps([body.get("output_config"), body.get("thinking")])
    assert '"low"' in told
    assert "2048" in told or "adaptive" in told


@pytest.mark.parametrize(
    "start",
    [
        "see @{} ",
        'see @"{}" ',
        "@{}/.. ",
        "/help ",
        "/clear @{} ",
        "!cat {} ",
        "# ",
        "-p ",
    ],
)
def test_no_prompt_makes_the_genuine_command_do_more_than_ask(
    stand_in: StandIn, claude: str, start: str
) -> None:
    secret = stand_in.folder / "secret-file"
    secret.write_text("the canary in a file")
    prompt = start.format(secret) + PROMPT
    answer, server = ask_genuine(claude, GREETING, prompt=prompt)
    assert isinstance(answer, Completion)
    [(_, body)] = server.requests
    assert find_question(body)["content"][-1]["text"].strip() == prompt
    assert "the canary in" not in json.dumps(body)
    assert "claude-stand-in" not in json.dumps(body)


THOUGHT = [
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "thinking", "thinking": "", "signature": ""},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "thinking_delta", "thinking": "Let me think."},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "signature_delta", "signature": "EqQBCg=="},
    },
    {"type": "content_block_stop", "index": 0},
]
GIVEN = tool_block("StructuredOutput", **VERDICT)


def second(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event | {"index": 1} for event in events]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("events", "rest"),
    [
        pytest.param([*GIVEN, *closed("tool_use")], [], id="at once"),
        pytest.param(GIVEN, closed("tool_use"), id="in two parts"),
        pytest.param(
            [*THOUGHT, *second(GIVEN), *closed("tool_use")], [], id="after thinking"
        ),
        pytest.param(
            [*text_block("So be it."), *second(GIVEN), *closed("tool_use")],
            [],
            id="after words",
        ),
        pytest.param(
            [*GIVEN, *second(text_block("So be it.")), *closed("end_turn")],
            [],
            id="before words",
        ),
    ],
)
def test_the_genuine_command_gives_a_verdict(
    stand_in: StandIn,
    claude: str,
    events: list[dict[str, Any]],
    rest: list[dict[str, Any]],
) -> None:
    answer, server = ask_genuine(
        claude, sse(OPENED, *events), sse_events(*rest), schema="verdict"
    )
    assert isinstance(answer, Completion), answer
    assert parse_verdict(answer.text).summary == "Good."
    assert answer.usage == WHOLE
    [(_, body)] = server.requests
    assert [tool["name"] for tool in body["tools"]] == ["StructuredOutput"]


def test_the_genuine_command_gives_a_verdict_of_which_only_the_end_was_cut(
    stand_in: StandIn, claude: str
) -> None:
    answer, server = ask_genuine(claude, sse(OPENED, *GIVEN), schema="verdict")
    assert isinstance(answer, Completion), answer
    assert parse_verdict(answer.text).summary == "Good."
    assert answer.usage == replace(WHOLE, output_tokens=len(json.dumps(VERDICT)) // 6)
    assert len(server.requests) == 1


SEEN = Consumed(replace(WHOLE, output_tokens=1))
ALL = Consumed(WHOLE, is_final=True)
HALF = block(
    {"type": "tool_use", "id": "toolu_1", "name": "StructuredOutput", "input": {}},
    {"type": "input_json_delta"},
)
HALF[1]["delta"]["partial_json"] = json.dumps(VERDICT)[:-5]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bytes_", "cause", "consumed"),
    [
        pytest.param(
            deny(401, "authentication_error", "invalid x-api-key"),
            FailureCause.AUTH,
            NOTHING,
            id="401",
        ),
        pytest.param(
            deny(403, "permission_error"), FailureCause.AUTH, NOTHING, id="403"
        ),
        pytest.param(
            deny(429, "rate_limit_error", "slow", "retry-after: 7"),
            FailureCause.RATE_LIMIT,
            NOTHING,
            id="429",
        ),
        pytest.param(
            deny(529, "overloaded_error", "Overloaded"),
            FailureCause.OVERLOADED,
            NOTHING,
            id="529",
        ),
        pytest.param(
            deny(503, "api_error"), FailureCause.OVERLOADED, NOTHING, id="503"
        ),
        pytest.param(deny(500, "api_error"), FailureCause.TRANSIENT, NOTHING, id="500"),
        pytest.param(
            deny(400, "invalid_request_error", "odd"),
            FailureCause.BAD_REQUEST,
            NOTHING,
            id="400",
        ),
        pytest.param(
            deny(
                400,
                "invalid_request_error",
                "prompt is too long: 250000 tokens > 200000 maximum",
            ),
            FailureCause.BAD_REQUEST,
            NOTHING,
            id="prompt too long",
        ),
        pytest.param(
            deny(
                400,
                "invalid_request_error",
                "Your credit balance is too low to access the Anthropic API.",
            ),
            FailureCause.BILLING,
            NOTHING,
            id="credit",
        ),
        pytest.param(
            deny(402, "billing_error"), FailureCause.BILLING, NOTHING, id="402"
        ),
        pytest.param(
            deny(413, "request_too_large"), FailureCause.BAD_REQUEST, NOTHING, id="413"
        ),
        pytest.param(HTML, FailureCause.TRANSIENT, UNKNOWN, id="html"),
        pytest.param(b"", FailureCause.TRANSIENT, UNKNOWN, id="dropped"),
        pytest.param(
            sse(OPENED, *text_block("Hello")), FailureCause.TRANSIENT, SEEN, id="cut"
        ),
        pytest.param(
            sse(OPENED, *text_block("Hello")[:2]),
            FailureCause.TRANSIENT,
            SEEN,
            id="cut in a block",
        ),
        pytest.param(
            sse(OPENED, *text_block("Hello"), *closed("max_tokens")),
            FailureCause.BAD_ANSWER,
            ALL,
            id="too long",
        ),
        pytest.param(
            sse(OPENED, *text_block("Hello"), *closed("refusal")),
            FailureCause.BAD_ANSWER,
            ALL,
            id="refusal",
        ),
        pytest.param(
            sse(OPENED, *text_block("Hello"), *closed("pause_turn")),
            FailureCause.BAD_ANSWER,
            ALL,
            id="pause",
        ),
        pytest.param(
            sse(OPENED, *tool_block("Bash", command="ls"), *closed("tool_use")),
            FailureCause.BAD_ANSWER,
            ALL,
            id="tool",
        ),
        pytest.param(
            sse(OPENED, *closed("end_turn")), FailureCause.BAD_ANSWER, ALL, id="empty"
        ),
        pytest.param(
            sse(OPENED, *THOUGHT, *closed("end_turn")),
            FailureCause.BAD_ANSWER,
            ALL,
            id="thinking alone",
        ),
    ],
)
def test_the_genuine_command_fails_with_the_right_sign_after_one_request(
    stand_in: StandIn,
    claude: str,
    bytes_: bytes,
    cause: FailureCause,
    consumed: Consumed,
) -> None:
    error, server = ask_genuine(claude, bytes_)
    assert isinstance(error, ProviderError)
    assert (error.cause, error.consumed) == (cause, consumed)
    assert len(server.requests) == 1
    assert KEY not in str(error)
    assert list(stand_in.temporary.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("events", "cause", "consumed"),
    [
        pytest.param(
            [*HALF, *closed("tool_use")], FailureCause.BAD_ANSWER, ALL, id="half"
        ),
        pytest.param(
            [*HALF, *closed("max_tokens")],
            FailureCause.BAD_ANSWER,
            ALL,
            id="half, too long",
        ),
        pytest.param(
            [*text_block("Hello"), *closed("end_turn")],
            FailureCause.BAD_ANSWER,
            ALL,
            id="words",
        ),
        pytest.param(
            [*tool_block("StructuredOutput", decision="APPROVED"), *closed("tool_use")],
            FailureCause.BAD_ANSWER,
            ALL,
            id="less",
        ),
        pytest.param(
            [*HALF, *closed("refusal")], FailureCause.BAD_ANSWER, ALL, id="refusal"
        ),
        pytest.param(
            HALF[:2],
            FailureCause.TRANSIENT,
            Consumed(replace(WHOLE, output_tokens=len(json.dumps(VERDICT)[:-5]) // 6)),
            id="cut",
        ),
    ],
)
def test_half_a_verdict_of_the_genuine_command_is_none(
    stand_in: StandIn,
    claude: str,
    events: list[dict[str, Any]],
    cause: FailureCause,
    consumed: Consumed,
) -> None:
    error, server = ask_genuine(claude, sse(OPENED, *events), schema="verdict")
    assert isinstance(error, ProviderError)
    assert (error.cause, error.consumed) == (cause, consumed)
    assert len(server.requests) == 1


def test_an_error_in_the_stream_of_the_genuine_command_is_no_answer(
    stand_in: StandIn, claude: str
) -> None:
    broken = {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "Overloaded"},
    }
    error, server = ask_genuine(claude, sse(OPENED, *text_block("Hello")[:2], broken))
    assert isinstance(error, ProviderError)
    # The older version does not tell which error it was.
    assert error.cause in (FailureCause.TRANSIENT, FailureCause.OVERLOADED)
    assert error.consumed == SEEN
    assert len(server.requests) == 1


def test_the_genuine_command_that_reaches_nobody_consumes_nothing(
    stand_in: StandIn, claude: str
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        error = fail(make_genuine(claude), Credential(KEY, address))
    assert (error.cause, error.consumed) == (FailureCause.TRANSIENT, NOTHING)
    assert "cannot be reached" in str(error)


def test_the_genuine_command_asks_this_machine_without_a_proxy(
    stand_in: StandIn, claude: str
) -> None:
    async def ask() -> None:
        async with serving(GREETING) as server, serving(GREETING) as proxy:
            proxies = dict.fromkeys(
                ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"), proxy.url
            )
            provider = make_genuine(claude, **proxies)
            assert (
                await provider.complete(make_request(), Credential(KEY, server.url))
            ).text == "Hello there"
            assert len(server.requests) == 1
            assert proxy.requests == []

    asyncio.run(ask())


def test_the_genuine_command_uses_a_token_and_an_address_of_the_users_own(
    stand_in: StandIn, claude: str
) -> None:
    async def ask() -> None:
        async with serving(GREETING) as server:
            own = {
                "ANTHROPIC_AUTH_TOKEN": "own-token",
                "ANTHROPIC_BASE_URL": server.url,
                "ANTHROPIC_API_KEY": KEY,
            }
            assert (
                await make_genuine(claude, **own).complete(make_request(), None)
            ).text == "Hello there"
            [(headers, _)] = server.requests
            assert headers["authorization"] == "Bearer own-token"
            assert "x-api-key" not in headers

    asyncio.run(ask())


class Deaf(Transcript):
    """Hears of the result alone, as one does who comes too late to stop a second
    request.
    """

    def take(self, line: bytes) -> bool:
        return b'"type":"result"' in line and super().take(line)


@pytest.mark.parametrize(
    "bytes_",
    [
        pytest.param(
            sse(OPENED, *text_block("Hello"), *closed("max_tokens")), id="too long"
        ),
        pytest.param(sse(OPENED, *closed("end_turn")), id="empty"),
        pytest.param(sse(OPENED, *text_block(""), *closed("end_turn")), id="blank"),
        pytest.param(
            sse(OPENED, *tool_block("Bash", command="ls"), *closed("tool_use")),
            id="tool",
        ),
    ],
)
@pytest.mark.parametrize("schema", ["", "verdict"])
def test_the_genuine_command_asks_once_even_if_nobody_stops_it(
    stand_in: StandIn,
    claude: str,
    monkeypatch: pytest.MonkeyPatch,
    bytes_: bytes,
    schema: str,
) -> None:
    monkeypatch.setattr("agentos.gateway.providers.claude_cli.Transcript", Deaf)
    error, server = ask_genuine(claude, bytes_, schema=schema)
    assert isinstance(error, ProviderError)
    assert len(server.requests) == 1


def test_the_genuine_command_is_ended_by_cancellation(
    stand_in: StandIn, claude: str
) -> None:
    others = set(_pids_below(os.getpid()))

    async def cancel() -> None:
        async with serving(sse(OPENED), holds=True) as server:
            call = asyncio.create_task(
                make_genuine(claude).complete(
                    make_request(), Credential(KEY, server.url)
                )
            )
            await server.arrived.wait()
            # Another test of this process may have left a server running.
            mine = set(_pids_below(os.getpid())) - others
            assert mine
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            for pid in mine:
                wait_until_gone(pid)

    asyncio.run(cancel())
    assert list(stand_in.temporary.iterdir()) == []


def test_the_genuine_command_without_a_login_says_so(
    stand_in: StandIn, claude: str
) -> None:
    error = fail(make_genuine(claude, ANTHROPIC_API_KEY=KEY))
    assert error.cause is FailureCause.AUTH


def test_the_genuine_command_tells_its_version(stand_in: StandIn, claude: str) -> None:
    assert "Claude Code" in asyncio.run(make_genuine(claude).check(None))


def _pids_below(parent: int) -> list[int]:
    tasks = Path(f"/proc/{parent}/task").iterdir()
    return [
        int(pid) for task in tasks for pid in (task / "children").read_text().split()
    ]
