"""Ask Claude through Anthropic's SDK."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentos.gateway.providers import Credential, Message, Provider, Request, Speaker
from agentos.gateway.providers.complaints import SHORTEST_OUTPUT, Option, Terms
from agentos.gateway.providers.streaming import (
    Fields,
    SdkAccess,
    SdkProvider,
    Service,
    StreamedAnswer,
    count_tokens,
    find_schema,
    require_model,
)
from agentos.usage import Usage

MOST_BREAKPOINTS = 4
"""Maximum number of cache breakpoints that a request may have."""
SMALLEST_BUDGET = 1_024
"""Smallest thinking budget that the API accepts."""
_Block = dict[str, Any]


def create(model: str) -> Provider:
    """Create the provider for a model such as `claude-opus-4-8`."""
    service = Service(
        "anthropic",
        "anthropic",
        "authorization",
        "Bearer ",
    )
    return AnthropicProvider(
        require_model("anthropic", model, "claude-opus-4-8"),
        SdkAccess(service, _make_client),
    )


def _make_client(sdk: Any, access: Credential, http_client: Any) -> Any:
    headers = dict(access.headers)
    if access.api_version:
        headers["anthropic-version"] = access.api_version
    client = sdk.AsyncAnthropic(
        api_key=access.secret,
        base_url=access.base_url or None,
        max_retries=0,
        http_client=http_client,
        default_headers=headers,
    )
    # Accessing these imports more modules, which must not happen on the event loop.
    _ = client.messages, client.models
    return client


class AnthropicProvider(SdkProvider):
    """Ask one Claude model."""

    normal_ends = frozenset({"end_turn", "stop_sequence"})
    cut_ends = frozenset({"max_tokens", "model_context_window_exceeded"})
    options = frozenset(Option) - {Option.STREAM_OPTIONS}

    async def open_stream(
        self, client: Any, request: Request, terms: Terms, limit: int, extra: Fields
    ) -> Any:
        """Send a request on these terms and return the stream of its answer."""
        options: dict[str, Any] = {}
        output: dict[str, Any] = {}
        messages = []
        cuts: dict[int, list[int]] = {}
        if terms.takes(Option.CACHE):
            cuts = _choose_breakpoints(request.messages)
        for number, message in enumerate(request.messages):
            blocks = _cut(message.text, cuts.get(number, ()))
            if message.speaker is Speaker.SYSTEM:
                options["system"] = blocks
            else:
                messages.append({"role": message.speaker, "content": blocks})
        schema = find_schema(request)
        if schema and terms.takes(Option.SCHEMA):
            output["format"] = {"type": "json_schema", "schema": schema}
        if request.effort and terms.takes(Option.EFFORT):
            output["effort"] = request.effort
        if output:
            options["output_config"] = output
        # The budget is a part of the output limit, and the answer needs some of it.
        budget = min(request.thinking, limit - SHORTEST_OUTPUT)
        if budget >= SMALLEST_BUDGET and terms.takes(Option.THINKING):
            options["thinking"] = {"type": "enabled", "budget_tokens": budget}
        body = dict(extra)
        if request.temperature is not None and terms.takes(Option.TEMPERATURE):
            # The SDK has no parameter for it any more, but models that take it remain.
            body["temperature"] = request.temperature
        return await client.messages.create(
            model=self._model,
            max_tokens=limit,
            messages=messages,
            stream=True,
            extra_body=body or None,
            **options,
        )

    def take(self, chunk: Any, answer: StreamedAnswer) -> None:
        """Add an event of the stream to the answer."""
        match chunk.type:
            case "message_start":
                answer.model = str(chunk.message.model)
                _take_usage(chunk.message.usage, answer)
            case "content_block_start" if chunk.content_block.type == "text":
                answer.add(chunk.content_block.text)
            case "content_block_delta" if chunk.delta.type == "text_delta":
                answer.add(chunk.delta.text)
            case "message_delta":
                answer.finish = chunk.delta.stop_reason or answer.finish
                if answer.finish == "refusal":
                    answer.refusal = _explain_refusal(chunk.delta.stop_details)
                _take_usage(chunk.usage, answer)

    async def list_models(self, client: Any) -> tuple[list[str], bool]:
        """Return the name of the first model, and whether there are more."""
        page = await client.models.list(limit=1)
        names = [str(model.id) for model in page.data]
        return names, bool(page.has_more)


def _choose_breakpoints(messages: Sequence[Message]) -> dict[int, list[int]]:
    """Return the breakpoints to send, by message.

    A request may have four. The first one is kept, as other rounds share the text
    before it, and the last ones: a cached beginning is found up to 20 blocks before a
    breakpoint, and a turn of a conversation adds two. The end of a conversation is one,
    because its next turn repeats all of it.
    """
    found = []
    is_answered = False
    for number, message in enumerate(messages):
        place = (number, len(message.text))
        found += [(number, position) for position in message.breakpoints]
        if message.speaker is Speaker.ASSISTANT:
            is_answered = True
    if is_answered and place not in found:
        found.append(place)
    if len(found) > MOST_BREAKPOINTS:
        last = found[1 - MOST_BREAKPOINTS :]
        found = [found[0], *last]
    chosen: dict[int, list[int]] = {}
    for number, position in found:
        chosen.setdefault(number, []).append(position)
    return chosen


def _cut(text: str, positions: Sequence[int]) -> list[_Block]:
    """Return a text as blocks, of which those that end at a position are cached.

    The API refuses a blank block, so there is no cut that would make one.
    """
    blocks: list[_Block] = []
    start = 0
    for position in positions:
        part = text[start:position]
        rest = text[position:]
        if not part.strip():
            continue
        if rest and not rest.strip():
            continue
        block = _block(part)
        block["cache_control"] = {"type": "ephemeral"}
        blocks.append(block)
        start = position
    if start < len(text) or not blocks:
        blocks.append(_block(text[start:]))
    return blocks


def _block(text: str) -> _Block:
    return {"type": "text", "text": text}


def _explain_refusal(details: Any) -> str:
    told = details and (details.explanation or details.category)
    return told or "no reason was given"


def _take_usage(usage: Any, answer: StreamedAnswer) -> None:
    """Take cumulative counts, of which later events may repeat only some."""
    before = answer.usage
    cached = max(
        before.cached_tokens,
        count_tokens(getattr(usage, "cache_read_input_tokens", None)),
    )
    written = max(
        before.cache_written_tokens,
        count_tokens(getattr(usage, "cache_creation_input_tokens", None)),
    )
    fresh = count_tokens(getattr(usage, "input_tokens", None))
    answered = getattr(usage, "output_tokens", None)
    answer.count(
        Usage(
            input_tokens=max(before.input_tokens, fresh + cached + written),
            output_tokens=(
                before.output_tokens if answered is None else count_tokens(answered)
            ),
            cached_tokens=cached,
            cache_written_tokens=written,
        )
    )
