"""Ask OpenAI and servers with a compatible chat completions API: Ollama, vLLM,
llama.cpp and others by base URL.
"""

from __future__ import annotations

import math
from typing import Any
from urllib.parse import urlsplit

from agentos.gateway.providers import Credential, Provider, Request
from agentos.gateway.providers.complaints import Option, Terms
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

_OWN_HOSTS = ("openai.com", "openai.azure.com")
_MICRO = 1_000_000
_MOST_DOLLARS = 1_000_000.0
"""Higher costs that a server reports are ignored."""


def create(model: str) -> Provider:
    """Create the provider for a model such as `gpt-5.5`, or of another server."""
    service = Service(
        "openai",
        "openai",
        "authorization",
        "Bearer ",
        placeholder="none",
    )
    return OpenAIProvider(
        require_model("openai", model, "gpt-5.5"), SdkAccess(service, _make_client)
    )


def _make_client(sdk: Any, access: Credential, http_client: Any) -> Any:
    query = {}
    if access.api_version:
        query["api-version"] = access.api_version
    client = sdk.AsyncOpenAI(
        api_key=access.secret,
        base_url=access.base_url or None,
        max_retries=0,
        http_client=http_client,
        default_headers=dict(access.headers),
        default_query=query,
    )
    # Accessing these imports more modules, which must not happen on the event loop.
    _ = client.chat.completions, client.models
    return client


class OpenAIProvider(SdkProvider):
    """Ask one model of an OpenAI-compatible server."""

    # Some compatible servers use the second names.
    normal_ends = frozenset({"stop", "eos_token"})
    cut_ends = frozenset({"length", "model_length"})
    options = frozenset(
        {Option.SCHEMA, Option.STREAM_OPTIONS, Option.EFFORT, Option.TEMPERATURE}
    )

    async def open_stream(
        self, client: Any, request: Request, terms: Terms, limit: int, extra: Fields
    ) -> Any:
        """Send a request on these terms and return the stream of its answer."""
        options: dict[str, Any] = {terms.limit_name: limit}
        schema = find_schema(request)
        if schema and terms.takes(Option.SCHEMA):
            form = {"name": request.schema, "strict": True, "schema": schema}
            options["response_format"] = {"type": "json_schema", "json_schema": form}
        if terms.takes(Option.STREAM_OPTIONS):
            options["stream_options"] = {"include_usage": True}
        if request.effort and terms.takes(Option.EFFORT):
            options["reasoning_effort"] = request.effort
        if request.temperature is not None and terms.takes(Option.TEMPERATURE):
            options["temperature"] = request.temperature
        messages = [
            {"role": message.speaker, "content": message.text}
            for message in request.messages
        ]
        return await client.chat.completions.create(
            model=self._model,
            messages=messages,
            stream=True,
            extra_body=extra or None,
            **options,
        )

    async def list_models(self, client: Any) -> tuple[list[str], bool]:
        """Return the names of the models."""
        page = await client.models.list()
        return [str(model.id) for model in page.data], False

    def take(self, chunk: Any, answer: StreamedAnswer) -> None:
        """Add a chunk of the stream to the answer."""
        answer.model = chunk.model or answer.model
        if chunk.choices:
            _take_choice(chunk.choices[0], answer)
        if chunk.usage:
            answer.count(_read_usage(chunk.usage))

    def _first_terms(self, address: str) -> Terms:
        """Guess from its address what a server supports."""
        try:
            host = urlsplit(address).hostname or ""
        except ValueError:
            host = ""
        is_own = not address or any(
            host == own or host.endswith(f".{own}") for own in _OWN_HOSTS
        )
        return Terms(
            limit_name="max_completion_tokens" if is_own else "max_tokens",
            is_lookalike=not is_own,
        )


def _take_choice(choice: Any, answer: StreamedAnswer) -> None:
    if choice.delta:
        answer.add(choice.delta.content)
        if choice.delta.refusal:
            answer.refusal += str(choice.delta.refusal)[:1000]
    if choice.finish_reason:
        answer.finish = str(choice.finish_reason)
        if answer.finish == "content_filter":
            answer.refusal = answer.refusal or "the content filter stopped the answer"


def _read_usage(usage: Any) -> Usage:
    details = getattr(usage, "prompt_tokens_details", None)
    given = count_tokens(usage.prompt_tokens)
    return Usage(
        input_tokens=given,
        # Some servers count thinking only in the total.
        output_tokens=max(
            count_tokens(usage.completion_tokens),
            count_tokens(usage.total_tokens) - given,
        ),
        cached_tokens=count_tokens(getattr(details, "cached_tokens", None)),
        cache_written_tokens=count_tokens(getattr(details, "cache_write_tokens", None)),
        cost=_read_cost(getattr(usage, "cost", None)),
    )


def _read_cost(dollars: object) -> int | None:
    """Return the cost that the server reports in micro-dollars, rounded up."""
    if (
        isinstance(dollars, bool)
        or not isinstance(dollars, int | float)
        or not 0 <= dollars <= _MOST_DOLLARS
    ):
        return None
    return math.ceil(round(dollars * _MICRO, 3))
