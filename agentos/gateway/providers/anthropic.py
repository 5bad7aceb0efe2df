"""Ask Claude through Anthropic's SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentos.gateway.providers import Provider, Request, Speaker
from agentos.gateway.providers.streaming import (
    Line,
    SdkProvider,
    Service,
    StreamedAnswer,
    count_tokens,
    find_schema,
    require_model,
)
from agentos.usage import Usage

if TYPE_CHECKING:
    from agentos.gateway.providers.complaints import Terms


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
        Line(service, _make_client),
    )


def _make_client(sdk: Any, secret: str, base_url: str, http_client: Any) -> Any:
    client = sdk.AsyncAnthropic(
        api_key=secret,
        base_url=base_url or None,
        max_retries=0,
        http_client=http_client,
    )
    # Accessing these imports more modules, which must not happen on the event loop.
    _ = client.messages, client.models
    return client


class AnthropicProvider(SdkProvider):
    """Ask one Claude model."""

    normal_ends = frozenset({"end_turn", "stop_sequence"})
    cut_ends = frozenset({"max_tokens", "model_context_window_exceeded"})

    async def open_stream(
        self, client: Any, request: Request, terms: Terms, limit: int
    ) -> Any:
        """Send a request on these terms and return the stream of its answer."""
        options: dict[str, Any] = {}
        messages = []
        for message in request.messages:
            if message.speaker is Speaker.SYSTEM:
                options["system"] = message.text
            else:
                messages.append({"role": message.speaker, "content": message.text})
        schema = find_schema(request)
        if schema and terms.takes_schema:
            options["output_config"] = {
                "format": {"type": "json_schema", "schema": schema}
            }
        return await client.messages.create(
            model=self._model,
            max_tokens=limit,
            messages=messages,
            stream=True,
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
