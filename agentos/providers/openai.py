"""OpenAI, and every server that speaks its chat completions: Ollama, vLLM, llama.cpp and others by base URL."""

from __future__ import annotations

import math
import os
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agentos.providers import Completion, Credential, Provider, Request, Usage
from agentos.providers.allowance import read_allowance
from agentos.providers.complaints import Terms
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
    from agentos.providers.connection import Exchange

# The second ones are what some compatible servers say.
_NORMAL = frozenset({"stop", "eos_token"})
_CUT = frozenset({"length", "model_length"})
_OWN_HOSTS = ("openai.com", "openai.azure.com")
_MICRO = 1_000_000
_MOST_DOLLARS = 1_000_000.0
"""No call costs more than this, whatever a server says."""


def create(model: str) -> Provider:
    """Make the provider for a model such as `gpt-5.5`, or of another server."""
    service = Service(
        "openai",
        "openai",
        "authorization",
        "Bearer ",
        os.environ.get("OPENAI_BASE_URL", "").strip(),
        placeholder="none",
    )
    return OpenAIProvider(require_model("openai", model, "gpt-5.5"), Line(service, _make_client))


def _make_client(sdk: Any, secret: str, base_url: str, http_client: Any) -> Any:
    client = sdk.AsyncOpenAI(api_key=secret, base_url=base_url or None, max_retries=0, http_client=http_client)
    # Both import more when they are first touched, which must not happen on the event loop.
    _ = client.chat.completions, client.models
    return client


class OpenAIProvider(SdkProvider):
    """Ask one model of an OpenAI-compatible server."""

    async def complete(self, request: Request, credential: Credential | None) -> Completion:
        """Stream an answer and return it whole."""
        schema = find_schema(request)

        async def ask(client: Any, exchange: Exchange) -> Completion:
            async def open_stream(terms: Terms, limit: int) -> Any:
                options: dict[str, Any] = {terms.limit_name: limit}
                if schema and terms.takes_schema:
                    form = {"name": request.schema, "strict": True, "schema": schema}
                    options["response_format"] = {"type": "json_schema", "json_schema": form}
                if terms.takes_stream_options:
                    options["stream_options"] = {"include_usage": True}
                return await client.chat.completions.create(
                    model=self._model,
                    messages=[{"role": "user", "content": request.prompt}],
                    stream=True,
                    **options,
                )

            exchange.streams = True
            stream = await self._open(request, credential, exchange, open_stream)
            answer = exchange.answer
            assert answer is not None
            async for chunk in stream:
                _take(chunk, answer)
                exchange.take(answer)
            return answer.complete(_NORMAL, _CUT, read_allowance(exchange.headers, time.time()))

        return await self._line.ask(credential, self._model, ask, Patience.of(request))

    def _first_terms(self, address: str) -> Terms:
        """Guess by its address what a server understands."""
        try:
            host = urlsplit(address).hostname or ""
        except ValueError:
            host = ""
        is_own = not address or any(host == own or host.endswith(f".{own}") for own in _OWN_HOSTS)
        return Terms(limit_name="max_completion_tokens" if is_own else "max_tokens", is_lookalike=not is_own)

    async def check(self, credential: Credential | None) -> str:
        """Ask for the list of models."""

        async def ask(client: Any, exchange: Exchange) -> str:
            page = await client.models.list()
            names = [str(model.id) for model in page.data]
            return describe_models(names, has_more=False, secret=exchange.asked.secret)

        return await self._line.ask(credential, "", ask)


def _take(chunk: Any, answer: Answer) -> None:
    answer.model = chunk.model or answer.model
    if chunk.choices:
        _take_choice(chunk.choices[0], answer)
    if chunk.usage:
        answer.count(_read_usage(chunk.usage))


def _take_choice(choice: Any, answer: Answer) -> None:
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
        # Some servers count thinking in the total only.
        output_tokens=max(count_tokens(usage.completion_tokens), count_tokens(usage.total_tokens) - given),
        cached_tokens=count_tokens(getattr(details, "cached_tokens", None)),
        cache_written_tokens=count_tokens(getattr(details, "cache_write_tokens", None)),
        cost=_read_cost(getattr(usage, "cost", None)),
    )


def _read_cost(dollars: object) -> int | None:
    """Return what the server says that the call costs, in micro-dollars, rounded up."""
    if isinstance(dollars, bool) or not isinstance(dollars, int | float) or not 0 <= dollars <= _MOST_DOLLARS:
        return None
    return math.ceil(round(dollars * _MICRO, 3))
