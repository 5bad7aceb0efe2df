"""Anthropic Messages."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from typing import Any

from tests.scenario.formats import (
    Block,
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

ORGANISATION = "0b3c2f1e-5a44-4d0c-9d0e-6a1f2b7c8d90"
MOST_MARKS = 4
ANSWER_TOOL = "StructuredOutput"
"""What the `claude` command offers when it is given a JSON schema."""
_ERRORS = {
    Kind.RATE_LIMIT: (429, "rate_limit_error"),
    Kind.DAILY_QUOTA: (429, "rate_limit_error"),
    Kind.SPEND_LIMIT: (429, "rate_limit_error"),
    Kind.BILLING: (402, "billing_error"),
    Kind.CREDIT: (400, "invalid_request_error"),
    Kind.OVERLOADED: (529, "overloaded_error"),
    Kind.CAPACITY: (529, "overloaded_error"),
    Kind.AUTH: (401, "authentication_error"),
    Kind.SERVER_ERROR: (500, "api_error"),
    Kind.NOT_FOUND: (404, "not_found_error"),
    Kind.BAD_REQUEST: (400, "invalid_request_error"),
}
_MESSAGES = {
    Kind.SPEND_LIMIT: "You have crossed the monthly API usage threshold of your API tier.",
    Kind.BILLING: "There's an issue with your billing or payment information.",
    Kind.CREDIT: (
        "Your credit balance is too low to access the Anthropic API. "
        "Please go to Plans & Billing to upgrade or purchase credits."
    ),
    Kind.OVERLOADED: "Overloaded",
    Kind.CAPACITY: "Overloaded",
    Kind.AUTH: "invalid x-api-key",
    Kind.SERVER_ERROR: "Internal server error",
    Kind.BAD_REQUEST: "messages: at least one message is required",
}
_SEE = (
    " For details, refer to: https://docs.claude.com/en/api/rate-limits. You can see the response headers for current "
    "usage. Please reduce the prompt length or the maximum tokens requested, or try again later. You may also contact "
    "sales at https://www.anthropic.com/contact-sales to discuss your options for a rate limit increase."
)


class Anthropic:
    """The format of `POST /v1/messages`."""

    name = "anthropic"

    def find_secret(self, request: HttpRequest) -> str:
        """Return the key of a request."""
        return request.headers.get("x-api-key", "") or find_bearer(request.headers)

    def read_call(self, request: HttpRequest) -> Call | Refusal | None:
        """Read a call of the Messages API."""
        if request.method != "POST" or request.path not in (
            "/v1/messages",
            "/v1/messages/count_tokens",
        ):
            return None
        body = read_json(request.body)
        if body is None:
            return Refusal(
                Kind.BAD_REQUEST,
                message="The request body is not valid JSON: expected a JSON object",
            )
        if not isinstance(body.get("messages"), list) or not body["messages"]:
            return Refusal(Kind.BAD_REQUEST)
        if not isinstance(body.get("model"), str):
            return Refusal(Kind.BAD_REQUEST, message="model: Field required")
        if "max_tokens" not in body and request.path == "/v1/messages":
            return Refusal(Kind.BAD_REQUEST, message="max_tokens: Field required")
        blocks = [*_read_blocks("system", body.get("system"))]
        for message in body["messages"]:
            if isinstance(message, dict):
                role = str(message.get("role"))
                blocks += _read_blocks(role, message.get("content"))
        if sum(block.is_marked for block in blocks) > MOST_MARKS:
            return Refusal(
                Kind.BAD_REQUEST,
                message="A maximum of 4 blocks with cache_control may be provided.",
            )
        if any(not block.text.strip() for block in blocks):
            return Refusal(
                Kind.BAD_REQUEST,
                message="messages: text content blocks must contain non-whitespace text",
            )
        config = body.get("output_config")
        schema = body.get("output_format") or (
            config.get("format") if isinstance(config, dict) else None
        )
        tools = [
            tool.get("name")
            for tool in body.get("tools") or ()
            if isinstance(tool, dict)
        ]
        return Call(
            format=self.name,
            secret=self.find_secret(request),
            model=body["model"],
            texts=tuple(_join_cut(blocks)),
            blocks=tuple(blocks),
            is_streamed=body.get("stream") is True,
            has_schema=bool(schema),
            max_tokens=whole_number(body.get("max_tokens")),
            answer_tool=ANSWER_TOOL if ANSWER_TOOL in tools else "",
            wraps_verdict=_takes_looks(body),
            is_follow_up=_brings_result(body["messages"][-1]),
            request_id=make_id("req_011C"),
        )

    def list_models(self, models: Sequence[str]) -> Any:
        """Return the list of models."""
        rows = [
            {
                "type": "model",
                "id": name,
                "display_name": name,
                "created_at": "2025-09-29T00:00:00Z",
            }
            for name in models
        ]
        ends = {
            "first_id": models[0] if models else None,
            "last_id": models[-1] if models else None,
        }
        return {"data": rows, "has_more": False, **ends}

    def count_reply(self, tokens: int) -> Any:
        """Return a count of tokens."""
        return {"input_tokens": tokens}

    def headers(self, call: Call, standing: Standing) -> Headers:
        """Return identity and the state of the limits; one window holds input and
        output tokens.
        """
        rows: list[tuple[str, str]] = [
            ("request-id", call.request_id),
            ("anthropic-organization-id", ORGANISATION),
        ]
        requests = (
            standing.requests_limit,
            standing.requests_left,
            standing.requests_reset,
        )
        tokens = (standing.tokens_limit, standing.tokens_left, standing.tokens_reset)
        for name, (limit, left, reset) in (
            ("requests", requests),
            ("tokens", tokens),
            ("input-tokens", tokens),
        ):
            if limit:
                prefix = f"anthropic-ratelimit-{name}"
                rows.append((f"{prefix}-limit", str(limit)))
                rows.append((f"{prefix}-remaining", str(left)))
                rows.append((f"{prefix}-reset", _moment(reset, standing.is_scaled)))
        return tuple(rows)

    def refuse(self, refusal: Refusal, call: Call, standing: Standing) -> Reply:
        """Return an error with its status and headers."""
        status, _ = _ERRORS[refusal.kind]
        headers = [("content-type", "application/json"), *self.headers(call, standing)]
        if (
            refusal.kind in (Kind.RATE_LIMIT, Kind.DAILY_QUOTA, Kind.SPEND_LIMIT)
            and refusal.delay is not None
        ):
            headers.append(("retry-after", _seconds(refusal.delay, standing.is_scaled)))
        is_passing = (refusal.status or status) in (429, 500, 529)
        headers.append(("x-should-retry", "true" if is_passing else "false"))
        return Reply(
            refusal.status or status, tuple(headers), dump(_error(refusal, call))
        )

    def error_frame(self, refusal: Refusal, call: Call) -> bytes:
        """Return an `error` event."""
        return _event("error", _error(refusal, call))

    def answer(self, call: Call, text: str, usage: Usage) -> bytes:
        """Return a message."""
        block = (
            {**_block(call), "input": json.loads(text)}
            if call.answer_tool
            else {"type": "text", "text": text}
        )
        content = [block] if text else []
        reason = _reason(call, usage)
        return dump(_message(call, content, reason, usage, usage.output_tokens))

    def opening(self, call: Call, usage: Usage) -> bytes:
        """Return the events before the first text."""
        block = {
            "type": "content_block_start",
            "index": 0,
            "content_block": _block(call),
        }
        message = _message(call, [], None, usage, 1)
        return (
            _event("message_start", {"type": "message_start", "message": message})
            + _event("content_block_start", block)
            + _event("ping", {"type": "ping"})
        )

    def piece(self, call: Call, text: str) -> bytes:
        """Return a delta of text."""
        delta = {"type": "text_delta", "text": text}
        if call.answer_tool:
            delta = {"type": "input_json_delta", "partial_json": text}
        return _event(
            "content_block_delta",
            {"type": "content_block_delta", "index": 0, "delta": delta},
        )

    def closing(self, call: Call, usage: Usage) -> bytes:
        """Return the events after the last text."""
        ending = {"stop_reason": _reason(call, usage), "stop_sequence": None}
        counts = _count_input(usage) | {"output_tokens": usage.output_tokens}
        return (
            _event("content_block_stop", {"type": "content_block_stop", "index": 0})
            + _event(
                "message_delta",
                {"type": "message_delta", "delta": ending, "usage": counts},
            )
            + _event("message_stop", {"type": "message_stop"})
        )

    def broken_frame(self, call: Call) -> bytes:
        """Return a delta that breaks off."""
        return b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"del\n\n'


def _read_blocks(speaker: str, content: Any) -> Iterator[Block]:
    if isinstance(content, str):
        yield Block(speaker, content)
        return
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict):
            is_marked = bool(block.get("cache_control"))
            for text in collect_text(block.get("text") or block.get("content")):
                yield Block(speaker, text, is_marked)


def _join_cut(blocks: Sequence[Block]) -> Iterator[str]:
    """Yield texts; what was cut in two for the cache is one again."""
    text = ""
    for block, following in zip_longest(blocks, blocks[1:]):
        text += block.text
        is_cut = block.is_marked and following and following.speaker == block.speaker
        if not is_cut:
            yield text
            text = ""


def _brings_result(message: Any) -> bool:
    content = message.get("content") if isinstance(message, dict) else None
    blocks = content if isinstance(content, list) else []
    return any(
        isinstance(block, dict) and block.get("type") == "tool_result"
        for block in blocks
    )


def _block(call: Call) -> dict[str, Any]:
    if not call.answer_tool:
        return {"type": "text", "text": ""}
    id = "toolu_01" + call.request_id.removeprefix("req_011C")
    return {"type": "tool_use", "id": id, "name": call.answer_tool, "input": {}}


def _takes_looks(body: Mapping[str, Any]) -> bool:
    """Tell whether the tool for the answer has a field for looks."""
    for tool in body.get("tools") or ():
        if isinstance(tool, dict) and tool.get("name") == ANSWER_TOOL:
            properties = tool.get("input_schema", {}).get("properties", {})
            return "look" in properties
    return False


def _reason(call: Call, usage: Usage) -> str:
    if usage.is_cut:
        return "max_tokens"
    return "tool_use" if call.answer_tool else "end_turn"


def _count_input(usage: Usage) -> dict[str, int]:
    fresh = usage.input_tokens - usage.cached_tokens - usage.written_tokens
    return {
        "input_tokens": fresh,
        "cache_creation_input_tokens": usage.written_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
    }


def _message(
    call: Call, content: list[Any], reason: str | None, usage: Usage, written: int
) -> dict[str, Any]:
    counts = {
        **_count_input(usage),
        "output_tokens": written,
        "service_tier": "standard",
    }
    return {
        "model": call.model,
        "id": "msg_01" + call.request_id.removeprefix("req_011C"),
        "type": "message",
        "role": "assistant",
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": counts,
    }


def _error(refusal: Refusal, call: Call) -> dict[str, Any]:
    error: dict[str, Any] = {
        "type": _ERRORS[refusal.kind][1],
        "message": refusal.message or _say(refusal, call),
    }
    if refusal.kind is Kind.SPEND_LIMIT:
        error["details"] = {"error_code": "enforced_spend_limit_reached"}
    return {"type": "error", "error": error, "request_id": call.request_id}


def _say(refusal: Refusal, call: Call) -> str:
    if refusal.kind is Kind.NOT_FOUND:
        return f"model: {call.model}"
    if refusal.kind not in (Kind.RATE_LIMIT, Kind.DAILY_QUOTA):
        return _MESSAGES[refusal.kind]
    if refusal.limit_name == "parallel":
        return "Number of concurrent connections to Claude exceeds your rate limit. Please try again later."
    unit = "input tokens" if refusal.limit_name == "tokens" else "requests"
    span = "day" if refusal.kind is Kind.DAILY_QUOTA else "minute"
    amount = f"{refusal.limit or 50:,} {unit} per {span}"
    return f"This request would exceed the rate limit for your organization ({ORGANISATION}) of {amount}.{_SEE}"


def _event(name: str, data: Any) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), dump(data))


def _seconds(delay: float, is_scaled: bool) -> str:
    """Write a delay in whole seconds, as the provider does, unless time is scaled down;
    never too short.
    """
    return (
        f"{math.ceil(delay * 1000) / 1000:.3f}" if is_scaled else str(math.ceil(delay))
    )


def _moment(delay: float, is_scaled: bool) -> str:
    moment = datetime.now(UTC) + timedelta(
        seconds=delay if is_scaled else math.ceil(delay)
    )
    return moment.isoformat(
        timespec="milliseconds" if is_scaled else "seconds"
    ).replace("+00:00", "Z")
