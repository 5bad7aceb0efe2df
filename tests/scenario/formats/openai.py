"""OpenAI chat completions, also spoken by Ollama, vLLM and llama.cpp."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

from tests.scenario.formats import (
    Call,
    Headers,
    HttpRequest,
    Refusal,
    Reply,
    Standing,
    Usage,
    collect_text,
    dump,
    find_bearer,
    make_id,
    read_json,
    whole_number,
)
from tests.scenario.script import Kind

ORGANISATION = "org-scenario"
_ERRORS: dict[Kind, tuple[int, str | None, str | None]] = {
    Kind.RATE_LIMIT: (429, "requests", "rate_limit_exceeded"),
    Kind.DAILY_QUOTA: (429, "requests", "rate_limit_exceeded"),
    Kind.SPEND_LIMIT: (429, "insufficient_quota", "insufficient_quota"),
    Kind.BILLING: (429, "billing_not_active", "billing_not_active"),
    Kind.CREDIT: (429, "insufficient_quota", "insufficient_quota"),
    Kind.OVERLOADED: (503, "server_error", None),
    Kind.CAPACITY: (503, "service_unavailable_error", "server_is_overloaded"),
    Kind.AUTH: (401, "invalid_request_error", "invalid_api_key"),
    Kind.SERVER_ERROR: (500, "server_error", None),
    Kind.NOT_FOUND: (404, "invalid_request_error", "model_not_found"),
    Kind.BAD_REQUEST: (400, "invalid_request_error", None),
}
_QUOTA = (
    "You exceeded your current quota, please check your plan and billing details. For more information on this error, "
    "read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors."
)
_MESSAGES = {
    Kind.SPEND_LIMIT: _QUOTA,
    Kind.CREDIT: _QUOTA,
    Kind.BILLING: "Your account is not active, please check your billing details on our website.",
    Kind.OVERLOADED: (
        "The server is currently overloaded with other requests. Sorry about that! You can retry your request, or "
        "contact us through our help center at help.openai.com if the error persists."
    ),
    Kind.CAPACITY: "Our servers are currently overloaded. Please try again later.",
    Kind.SERVER_ERROR: (
        "The server had an error while processing your request. Sorry about that! You can retry your request, or "
        "contact us through our help center at help.openai.com if the error persists."
    ),
    Kind.BAD_REQUEST: "Missing required parameter: 'messages'.",
}


class OpenAI:
    """The format of `POST /v1/chat/completions`."""

    name = "openai"

    def find_secret(self, request: HttpRequest) -> str:
        """Return the key of a request."""
        return find_bearer(request.headers)

    def read_call(self, request: HttpRequest) -> Call | Refusal | None:
        """Read a call for a chat completion."""
        if request.method != "POST" or request.path not in (
            "/v1/chat/completions",
            "/chat/completions",
        ):
            return None
        body = read_json(request.body)
        if body is None:
            return Refusal(
                Kind.BAD_REQUEST,
                message="We could not parse the JSON body of your request.",
            )
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            return Refusal(Kind.BAD_REQUEST)
        if not isinstance(body.get("model"), str):
            return Refusal(
                Kind.BAD_REQUEST, message="you must provide a model parameter"
            )
        texts = [
            text
            for m in messages
            if isinstance(m, dict)
            for text in collect_text(m.get("content"))
        ]
        options = body.get("stream_options")
        form = body.get("response_format")
        return Call(
            format=self.name,
            secret=self.find_secret(request),
            model=body["model"],
            texts=tuple(texts),
            is_streamed=body.get("stream") is True,
            has_schema=isinstance(form, dict) and form.get("type") == "json_schema",
            max_tokens=whole_number(
                body.get("max_completion_tokens") or body.get("max_tokens")
            ),
            wants_usage=isinstance(options, dict)
            and options.get("include_usage") is True,
            request_id=make_id("req_", 32),
        )

    def list_models(self, models: Sequence[str]) -> Any:
        """Return the list of models."""
        rows = [
            {
                "id": name,
                "object": "model",
                "created": 1_715_367_049,
                "owned_by": "system",
            }
            for name in models
        ]
        return {"object": "list", "data": rows}

    def count_reply(self, tokens: int) -> Any:
        """Return a count of tokens."""
        return {"input_tokens": tokens}

    def headers(self, call: Call, standing: Standing) -> Headers:
        """Return identity and the state of the limits."""
        rows = [
            ("openai-organization", ORGANISATION),
            ("openai-version", "2020-10-01"),
            ("x-request-id", call.request_id),
        ]
        requests = (
            standing.requests_limit,
            standing.requests_left,
            standing.requests_reset,
        )
        tokens = (standing.tokens_limit, standing.tokens_left, standing.tokens_reset)
        for name, (limit, left, reset) in (("requests", requests), ("tokens", tokens)):
            if limit:
                rows.append((f"x-ratelimit-limit-{name}", str(limit)))
                rows.append((f"x-ratelimit-remaining-{name}", str(left)))
                rows.append((f"x-ratelimit-reset-{name}", _span(reset)))
        return tuple(rows)

    def refuse(self, refusal: Refusal, call: Call, standing: Standing) -> Reply:
        """Return an error with its status and headers."""
        headers = [
            ("content-type", "application/json; charset=utf-8"),
            *self.headers(call, standing),
        ]
        if (
            refusal.kind in (Kind.RATE_LIMIT, Kind.DAILY_QUOTA)
            and refusal.delay is not None
        ):
            headers.append(("retry-after", str(math.ceil(refusal.delay))))
            headers.append(("retry-after-ms", str(math.ceil(refusal.delay * 1000))))
        return Reply(
            refusal.status or _ERRORS[refusal.kind][0],
            tuple(headers),
            dump(_error(refusal, call), 4) + b"\n",
        )

    def error_frame(self, refusal: Refusal, call: Call) -> bytes:
        """Return an error as a chunk."""
        return _chunk(_error(refusal, call))

    def answer(self, call: Call, text: str, usage: Usage) -> bytes:
        """Return a completion."""
        message: dict[str, Any] = {
            "role": "assistant",
            "content": text,
            "refusal": None,
            "annotations": [],
        }
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": _reason(usage),
        }
        return (
            dump(
                {
                    **_frame(call, "chat.completion"),
                    "choices": [choice],
                    "usage": _usage(usage),
                },
                2,
            )
            + b"\n"
        )

    def opening(self, call: Call, usage: Usage) -> bytes:
        """Return the chunk that names the role."""
        return _delta(call, {"role": "assistant", "content": "", "refusal": None}, None)

    def piece(self, call: Call, text: str) -> bytes:
        """Return a chunk of text."""
        return _delta(call, {"content": text}, None)

    def closing(self, call: Call, usage: Usage) -> bytes:
        """Return the chunks after the last text."""
        closing = _delta(call, {}, _reason(usage))
        if call.wants_usage:
            closing += _chunk(
                {
                    **_frame(call, "chat.completion.chunk"),
                    "choices": [],
                    "usage": _usage(usage),
                }
            )
        return closing + b"data: [DONE]\n\n"

    def broken_frame(self, call: Call) -> bytes:
        """Return a chunk that breaks off."""
        return b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choi\n\n'


def _frame(call: Call, kind: str) -> dict[str, Any]:
    return {
        "id": "chatcmpl-" + call.request_id.removeprefix("req_"),
        "object": kind,
        "created": int(time.time()),
        "model": call.model,
        "service_tier": "default",
        "system_fingerprint": None,
    }


def _delta(call: Call, delta: dict[str, Any], reason: str | None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    chunk = {**_frame(call, "chat.completion.chunk"), "choices": [choice]}
    return _chunk({**chunk, "usage": None} if call.wants_usage else chunk)


def _usage(usage: Usage) -> dict[str, Any]:
    total = usage.input_tokens + usage.output_tokens
    return {
        "prompt_tokens": usage.input_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens": usage.output_tokens,
        "total_tokens": total,
    }


def _reason(usage: Usage) -> str:
    return "length" if usage.is_cut else "stop"


def _error(refusal: Refusal, call: Call) -> dict[str, Any]:
    _, kind, code = _ERRORS[refusal.kind]
    if refusal.limit_name == "tokens":
        kind = "tokens"
    message = refusal.message or _say(refusal, call)
    param = (
        "messages" if refusal.kind is Kind.BAD_REQUEST and not refusal.message else None
    )
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def _say(refusal: Refusal, call: Call) -> str:
    if refusal.kind is Kind.NOT_FOUND:
        return (
            f"The model `{call.model}` does not exist or you do not have access to it."
        )
    if refusal.kind is Kind.AUTH:
        if not call.secret:
            return (
                "You didn't provide an API key. You need to provide your API key in an Authorization header using "
                "Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."
            )
        url = "https://platform.openai.com/account/api-keys"
        return f"Incorrect API key provided: {_mask(call.secret)}. You can find your API key at {url}."
    if refusal.kind not in (Kind.RATE_LIMIT, Kind.DAILY_QUOTA):
        return _MESSAGES[refusal.kind]
    unit = (
        "tokens per min (TPM)"
        if refusal.limit_name == "tokens"
        else "requests per min (RPM)"
    )
    if refusal.kind is Kind.DAILY_QUOTA:
        unit = "requests per day (RPD)"
    counts = f"Limit {refusal.limit or 3}, Used {refusal.used or 3}, Requested {refusal.requested or 1}"
    return (
        f"Rate limit reached for {call.model} in organization {ORGANISATION} on {unit}: {counts}. Please try again in "
        f"{_span(refusal.delay or 0)}. Visit https://platform.openai.com/account/rate-limits to learn more."
    )


def _mask(secret: str) -> str:
    """Show the ends of a key, as the provider does in its message."""
    if len(secret) <= 12:
        return "*" * len(secret)
    return secret[:8] + "*" * (len(secret) - 12) + secret[-4:]


def _span(seconds: float) -> str:
    """Write a time as the provider does: `20ms`, `13.694s`, `6m0s`, `1h2m3s`."""
    milliseconds = math.ceil(seconds * 1000)
    if milliseconds < 1000:
        return f"{milliseconds}ms"
    whole, rest = divmod(milliseconds, 60_000)
    short = f"{rest / 1000:.3f}".rstrip("0").rstrip(".") + "s"
    hours, minutes = divmod(whole, 60)
    return (f"{hours}h" if hours else "") + (f"{minutes}m" if whole else "") + short


def _chunk(data: Any) -> bytes:
    return b"data: %s\n\n" % dump(data)
