"""Claude by Anthropic's SDK."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from agentos.providers import Completion, Credential, Provider, Request, Usage
from agentos.providers.allowance import read_allowance
from agentos.providers.streaming import (
    Answer,
    Line,
    SdkProvider,
    Service,
    count_tokens,
    describe_models,
    find_schema,
    require_model,
)
from agentos.providers.waiting import Patience

if TYPE_CHECKING:
    from agentos.providers.complaints import Terms
    from agentos.providers.connection import Exchange

_NORMAL = frozenset({"end_turn", "stop_sequence"})
_CUT = frozenset({"max_tokens", "model_context_window_exceeded"})


def create(model: str) -> Provider:
    """Make the provider for a model such as `claude-opus-4-8`."""
    service = Service(
        "anthropic",
        "anthropic",
        "authorization",
        "Bearer ",
        os.environ.get("ANTHROPIC_BASE_URL", "").strip(),
    )
    return AnthropicProvider(require_model("anthropic", model, "claude-opus-4-8"), Line(service, _make_client))


def _make_client(sdk: Any, secret: str, base_url: str, http_client: Any) -> Any:
    client = sdk.AsyncAnthropic(api_key=secret, base_url=base_url or None, max_retries=0, http_client=http_client)
    # Both import more when they are first touched, which must not happen on the event loop.
    _ = client.messages, client.models
    return client


class AnthropicProvider(SdkProvider):
    """Ask one Claude model."""

    async def complete(self, request: Request, credential: Credential | None) -> Completion:
        """Stream an answer and return it whole."""
        schema = find_schema(request)

        async def ask(client: Any, exchange: Exchange) -> Completion:
            async def open_stream(terms: Terms, limit: int) -> Any:
                options: dict[str, Any] = {}
                if schema and terms.takes_schema:
                    options["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
                return await client.messages.create(
                    model=self._model,
                    max_tokens=limit,
                    messages=[{"role": "user", "content": request.prompt}],
                    stream=True,
                    **options,
                )

            exchange.streams = True
            stream = await self._open(request, credential, exchange, open_stream)
            answer = exchange.answer
            assert answer is not None
            async for event in stream:
                _take(event, answer)
                exchange.take(answer)
            return answer.complete(_NORMAL, _CUT, read_allowance(exchange.headers, time.time()))

        return await self._line.ask(credential, self._model, ask, Patience.of(request))

    async def check(self, credential: Credential | None) -> str:
        """Ask for the first model of the list."""

        async def ask(client: Any, exchange: Exchange) -> str:
            page = await client.models.list(limit=1)
            names = [str(model.id) for model in page.data]
            return describe_models(names, has_more=bool(page.has_more), secret=exchange.asked.secret)

        return await self._line.ask(credential, "", ask)


def _take(event: Any, answer: Answer) -> None:
    match event.type:
        case "message_start":
            answer.model = str(event.message.model)
            _take_usage(event.message.usage, answer)
        case "content_block_start" if event.content_block.type == "text":
            answer.add(event.content_block.text)
        case "content_block_delta" if event.delta.type == "text_delta":
            answer.add(event.delta.text)
        case "message_delta":
            answer.finish = event.delta.stop_reason or answer.finish
            if answer.finish == "refusal":
                details = event.delta.stop_details
                answer.refusal = (details and (details.explanation or details.category)) or "no reason was given"
            _take_usage(event.usage, answer)


def _take_usage(usage: Any, answer: Answer) -> None:
    """Counts are totals so far; what was told once is not told again in every event."""
    before = answer.usage
    cached = max(before.cached_tokens, count_tokens(getattr(usage, "cache_read_input_tokens", None)))
    written = max(before.cache_written_tokens, count_tokens(getattr(usage, "cache_creation_input_tokens", None)))
    fresh = count_tokens(getattr(usage, "input_tokens", None))
    answered = getattr(usage, "output_tokens", None)
    answer.count(
        Usage(
            input_tokens=max(before.input_tokens, fresh + cached + written),
            output_tokens=before.output_tokens if answered is None else count_tokens(answered),
            cached_tokens=cached,
            cache_written_tokens=written,
        )
    )
