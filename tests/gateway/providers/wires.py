"""Answers and errors in the wire formats of Anthropic, Gemini and OpenAI."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agentos.errors import FailureCause
from tests.gateway.providers.canned import respond, stream

MODELS = {"anthropic": "claude-opus-4-8", "gemini": "gemini-3-pro", "openai": "gpt-5.5"}
KEY = "sk-canary-0123456789abcdef"


def event(data: Any, name: str = "") -> bytes:
    """Return one server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


def _claude(kind: str, **fields: Any) -> bytes:
    return event({"type": kind, **fields}, kind)


def claude_events(
    *texts: str, finish: str | None = "end_turn", **delta: Any
) -> list[bytes]:
    """Return a stream of Anthropic's Messages API."""
    usage = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 5,
        "cache_read_input_tokens": 3,
        "output_tokens": 1,
    }
    message: dict[str, Any] = {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "content": [],
        "stop_reason": None,
    }
    message |= {"model": "claude-opus-4-8-20260401", "usage": usage}
    events = [
        _claude("message_start", message=message),
        _claude(
            "content_block_start",
            index=0,
            content_block={"type": "thinking", "thinking": "", "signature": ""},
        ),
        _claude(
            "content_block_delta",
            index=0,
            delta={"type": "thinking_delta", "thinking": "Hidden thoughts."},
        ),
        _claude("content_block_stop", index=0),
        _claude(
            "content_block_start", index=1, content_block={"type": "text", "text": ""}
        ),
        _claude("ping"),
        *(
            _claude(
                "content_block_delta",
                index=1,
                delta={"type": "text_delta", "text": text},
            )
            for text in texts
        ),
    ]
    if finish:
        end = {"stop_reason": finish, "stop_sequence": None, **delta}
        events += [
            _claude("content_block_stop", index=1),
            _claude("message_delta", delta=end, usage={"output_tokens": 7}),
            _claude("message_stop"),
        ]
    return events


def gemini_events(
    *texts: str, finish: str | None = "STOP", **candidate: Any
) -> list[bytes]:
    """Return a stream of Gemini's streamGenerateContent with alt=sse."""

    def chunk(
        parts: list[dict[str, Any]], usage: dict[str, int], **fields: Any
    ) -> bytes:
        content = {"parts": parts, "role": "model"}
        answer = {
            "candidates": [{"content": content, "index": 0, **fields}],
            "modelVersion": "gemini-3-pro-001",
        }
        return event({**answer, "usageMetadata": usage, "responseId": "r1"})

    events = [
        chunk(
            [{"text": "Hidden thoughts.", "thought": True}],
            {"promptTokenCount": 18, "totalTokenCount": 18},
        )
    ]
    events += [
        chunk([{"text": text}], {"promptTokenCount": 18, "candidatesTokenCount": 2})
        for text in texts
    ]
    if finish:
        counts = {
            "promptTokenCount": 18,
            "candidatesTokenCount": 3,
            "thoughtsTokenCount": 4,
            "totalTokenCount": 25,
        }
        events.append(chunk([{"text": ""}], counts, finishReason=finish, **candidate))
    return events


def openai_events(
    *texts: str, finish: str | None = "stop", **delta: Any
) -> list[bytes]:
    """Return a stream of OpenAI's chat completions."""

    def chunk(
        choices: list[dict[str, Any]], usage: dict[str, int] | None = None
    ) -> bytes:
        frame = {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "gpt-5.5-2026-04-01",
        }
        return event(
            {**frame, "system_fingerprint": "fp", "choices": choices, "usage": usage}
        )

    def choice(
        delta: dict[str, Any], finish: str | None = None
    ) -> list[dict[str, Any]]:
        return [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]

    events = [chunk(choice({"role": "assistant", "content": "", "refusal": None}))]
    events += [chunk(choice({"content": text})) for text in texts]
    if finish:
        usage = {"prompt_tokens": 18, "completion_tokens": 7, "total_tokens": 25}
        events += [chunk(choice(delta, finish)), chunk([], usage), event("[DONE]")]
    return events


EVENTS: Mapping[str, Callable[..., list[bytes]]] = {
    "anthropic": claude_events,
    "gemini": gemini_events,
    "openai": openai_events,
}


def claude_error(kind: str, message: str, **details: Any) -> dict[str, Any]:
    """Return an error body of Anthropic."""
    error: dict[str, Any] = {"type": kind, "message": message}
    if details:
        error["details"] = details
    return {
        "type": "error",
        "error": error,
        "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy",
    }


def gemini_error(
    code: int, status: str, message: str, *details: dict[str, Any]
) -> dict[str, Any]:
    """Return an error body of Gemini."""
    return {
        "error": {
            "code": code,
            "message": message,
            "status": status,
            "details": list(details),
        }
    }


def openai_error(
    kind: str, message: str, code: str | None = None, param: str | None = None
) -> dict[str, Any]:
    """Return an error body of OpenAI."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


RPC = "type.googleapis.com/google.rpc."


def error_info(reason: str) -> dict[str, Any]:
    """Return a detail that names an error's reason."""
    return {"@type": f"{RPC}ErrorInfo", "reason": reason, "domain": "googleapis.com"}


def quota_failure(quota: str, value: str = "50") -> dict[str, Any]:
    """Return a detail that names the quota that was used up."""
    violation = {
        "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
        "quotaId": quota,
        "quotaDimensions": {"location": "global", "model": "gemini-3-pro"},
        "quotaValue": value,
    }
    return {"@type": f"{RPC}QuotaFailure", "violations": [violation]}


def retry_info(delay: str) -> dict[str, Any]:
    """Return a detail that tells how long to wait."""
    return {"@type": f"{RPC}RetryInfo", "retryDelay": delay}


@dataclass(frozen=True, slots=True)
class Row:
    """An answer of a provider and the cause it is classified as."""

    provider: str
    what: str
    answer: bytes
    cause: FailureCause
    delay: float | None = None

    def __str__(self) -> str:
        return f"{self.provider}: {self.what}"


_PER_DAY = "GenerateRequestsPerDayPerProjectPerModel-FreeTier"
_PER_MINUTE = "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"
_EXHAUSTED = (
    "You exceeded your current quota, please check your plan and billing details."
)
_NO_KEY = "API key not valid. Please pass a valid API key."


def _claude_row(
    what: str,
    status: str,
    body: object,
    cause: FailureCause,
    delay: float | None = None,
    **headers: str,
) -> Row:
    return Row("anthropic", what, respond(status, body, **headers), cause, delay)


def _gemini_row(
    what: str,
    status: str,
    body: object,
    cause: FailureCause,
    delay: float | None = None,
) -> Row:
    answer = respond(
        status,
        body,
        "application/json; charset=UTF-8",
        server="scaffolding on HTTPServer2",
    )
    return Row("gemini", what, answer, cause, delay)


def _openai_row(
    what: str,
    status: str,
    body: object,
    cause: FailureCause,
    delay: float | None = None,
    **headers: str,
) -> Row:
    return Row("openai", what, respond(status, body, **headers), cause, delay)


_SPEND = claude_error(
    "rate_limit_error",
    "Spend limit reached.",
    error_code="enforced_spend_limit_reached",
)
_RATE = claude_error("rate_limit_error", "This request would exceed your rate limit.")
_OPENAI_RATE = openai_error(
    "tokens", "Rate limit reached for gpt-5.5", "rate_limit_exceeded"
)
_OPENAI_QUOTA = openai_error("insufficient_quota", _EXHAUSTED, "insufficient_quota")
_OPENAI_KEY = openai_error(
    "invalid_request_error", "Incorrect API key provided.", "invalid_api_key"
)
_HARD_LIMIT = openai_error(
    "invalid_request_error",
    "Billing hard limit has been reached",
    "billing_hard_limit_reached",
)

TABLE = [
    _claude_row(
        "429 with seconds",
        "429 Too Many Requests",
        _RATE,
        FailureCause.RATE_LIMIT,
        17.0,
        retry_after="17",
    ),
    _claude_row(
        "429 with milliseconds",
        "429 Too Many Requests",
        _RATE,
        FailureCause.RATE_LIMIT,
        0.25,
        retry_after_ms="250",
    ),
    _claude_row(
        "429 with no delay", "429 Too Many Requests", _RATE, FailureCause.RATE_LIMIT
    ),
    _claude_row(
        "429 spend limit",
        "429 Too Many Requests",
        _SPEND,
        FailureCause.BILLING,
        retry_after="3",
    ),
    _claude_row(
        "402 billing",
        "402 Payment Required",
        claude_error("billing_error", "Pay first."),
        FailureCause.BILLING,
    ),
    _claude_row(
        "529",
        "529 Overloaded",
        claude_error("overloaded_error", "Overloaded"),
        FailureCause.OVERLOADED,
    ),
    _claude_row(
        "503",
        "503 Service Unavailable",
        b"upstream gone",
        FailureCause.OVERLOADED,
        5.0,
        retry_after="5",
    ),
    _claude_row(
        "401",
        "401 Unauthorized",
        claude_error("authentication_error", "invalid x-api-key"),
        FailureCause.AUTH,
    ),
    _claude_row(
        "403",
        "403 Forbidden",
        claude_error("permission_error", "Not allowed."),
        FailureCause.NO_ACCESS,
    ),
    _claude_row(
        "500",
        "500 Internal Server Error",
        claude_error("api_error", "Internal error"),
        FailureCause.TRANSIENT,
    ),
    _claude_row(
        "408",
        "408 Request Timeout",
        claude_error("timeout_error", "Too slow"),
        FailureCause.TRANSIENT,
    ),
    _claude_row(
        "409",
        "409 Conflict",
        claude_error("conflict_error", "Conflict"),
        FailureCause.TRANSIENT,
    ),
    _claude_row(
        "400",
        "400 Bad Request",
        claude_error("invalid_request_error", "bad"),
        FailureCause.BAD_REQUEST,
    ),
    _claude_row(
        "413",
        "413 Payload Too Large",
        claude_error("request_too_large", "big"),
        FailureCause.BAD_REQUEST,
    ),
    _gemini_row(
        "429 with RetryInfo",
        "429 Too Many Requests",
        gemini_error(
            429,
            "RESOURCE_EXHAUSTED",
            _EXHAUSTED,
            quota_failure(_PER_MINUTE),
            retry_info("37s"),
        ),
        FailureCause.RATE_LIMIT,
        37.0,
    ),
    _gemini_row(
        "429 with a fraction",
        "429 Too Many Requests",
        gemini_error(429, "RESOURCE_EXHAUSTED", _EXHAUSTED, retry_info("0.5s")),
        FailureCause.RATE_LIMIT,
        0.5,
    ),
    _gemini_row(
        "429 per day",
        "429 Too Many Requests",
        gemini_error(
            429,
            "RESOURCE_EXHAUSTED",
            _EXHAUSTED,
            quota_failure(_PER_DAY),
            retry_info("37s"),
        ),
        FailureCause.QUOTA,
    ),
    _gemini_row(
        "429 no capacity",
        "429 Too Many Requests",
        gemini_error(
            429,
            "RESOURCE_EXHAUSTED",
            "No capacity.",
            error_info("MODEL_CAPACITY_EXHAUSTED"),
        ),
        FailureCause.OVERLOADED,
    ),
    _gemini_row(
        "503 no capacity",
        "503 Service Unavailable",
        gemini_error(
            503,
            "UNAVAILABLE",
            "No capacity.",
            error_info("MODEL_CAPACITY_EXHAUSTED"),
            retry_info("9s"),
        ),
        FailureCause.OVERLOADED,
        9.0,
    ),
    _gemini_row(
        "503",
        "503 Service Unavailable",
        gemini_error(503, "UNAVAILABLE", "Overloaded."),
        FailureCause.OVERLOADED,
    ),
    _gemini_row(
        "400 wrong key",
        "400 Bad Request",
        gemini_error(400, "INVALID_ARGUMENT", _NO_KEY, error_info("API_KEY_INVALID")),
        FailureCause.AUTH,
    ),
    _gemini_row(
        "401",
        "401 Unauthorized",
        gemini_error(401, "UNAUTHENTICATED", "Who are you?"),
        FailureCause.AUTH,
    ),
    _gemini_row(
        "403",
        "403 Forbidden",
        gemini_error(403, "PERMISSION_DENIED", "Blocked."),
        FailureCause.NO_ACCESS,
    ),
    _gemini_row(
        "500",
        "500 Internal Server Error",
        gemini_error(500, "INTERNAL", "Oops."),
        FailureCause.TRANSIENT,
    ),
    _gemini_row(
        "504",
        "504 Gateway Timeout",
        gemini_error(504, "DEADLINE_EXCEEDED", "Late."),
        FailureCause.TRANSIENT,
    ),
    _gemini_row(
        "400",
        "400 Bad Request",
        gemini_error(400, "INVALID_ARGUMENT", "bad"),
        FailureCause.BAD_REQUEST,
    ),
    _openai_row(
        "429 with seconds",
        "429 Too Many Requests",
        _OPENAI_RATE,
        FailureCause.RATE_LIMIT,
        2.0,
        retry_after="2",
    ),
    _openai_row(
        "429 with no delay",
        "429 Too Many Requests",
        _OPENAI_RATE,
        FailureCause.RATE_LIMIT,
    ),
    _openai_row(
        "429 no quota",
        "429 Too Many Requests",
        _OPENAI_QUOTA,
        FailureCause.BILLING,
        retry_after="1",
    ),
    _openai_row("400 hard limit", "400 Bad Request", _HARD_LIMIT, FailureCause.BILLING),
    _openai_row(
        "503",
        "503 Service Unavailable",
        openai_error("server_error", "Overloaded"),
        FailureCause.OVERLOADED,
    ),
    _openai_row("401", "401 Unauthorized", _OPENAI_KEY, FailureCause.AUTH),
    _openai_row(
        "403",
        "403 Forbidden",
        openai_error("request_forbidden", "Country not supported"),
        FailureCause.BAD_REQUEST,
    ),
    _openai_row(
        "500",
        "500 Internal Server Error",
        openai_error("server_error", "Oops"),
        FailureCause.TRANSIENT,
    ),
    _openai_row(
        "502", "502 Bad Gateway", b"<html>bad gateway</html>", FailureCause.TRANSIENT
    ),
    _openai_row(
        "400",
        "400 Bad Request",
        openai_error("invalid_request_error", "bad"),
        FailureCause.BAD_REQUEST,
    ),
    _openai_row(
        "422",
        "422 Unprocessable Entity",
        {"detail": [{"msg": "bad"}]},
        FailureCause.BAD_REQUEST,
    ),
    Row(
        "anthropic",
        "overload inside a stream",
        stream(
            [
                *claude_events("Half", finish=None),
                event(claude_error("overloaded_error", "Overloaded"), "error"),
            ]
        ),
        FailureCause.OVERLOADED,
    ),
    Row(
        "anthropic",
        "api_error inside a stream",
        stream(
            [
                *claude_events("Half", finish=None),
                event(claude_error("api_error", "Internal"), "error"),
            ]
        ),
        FailureCause.TRANSIENT,
    ),
    Row(
        "gemini",
        "overload inside a stream",
        stream(
            [
                *gemini_events("Half", finish=None),
                event(gemini_error(503, "UNAVAILABLE", "Overloaded.")),
            ]
        ),
        FailureCause.OVERLOADED,
    ),
    Row(
        "openai",
        "server_error inside a stream",
        stream(
            [
                *openai_events("Half", finish=None),
                event(openai_error("server_error", "The server had an error")),
            ]
        ),
        FailureCause.TRANSIENT,
    ),
    Row(
        "openai",
        "rate limit inside a stream",
        stream(
            [
                *openai_events("Half", finish=None),
                event({"error": {"message": "slow down", "code": 429}}),
            ]
        ),
        FailureCause.RATE_LIMIT,
    ),
    Row(
        "openai",
        "error with 200",
        respond("200 OK", {"error": {"message": "no", "code": 503}}),
        FailureCause.OVERLOADED,
    ),
]
