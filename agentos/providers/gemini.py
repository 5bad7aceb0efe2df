"""Gemini by Google's google-genai SDK."""

from __future__ import annotations

import os
import time
from contextlib import aclosing
from importlib import import_module
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

_NORMAL = frozenset({"STOP"})
_CUT = frozenset({"MAX_TOKENS"})
_BLOCKED = frozenset({"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"})


def create(model: str) -> Provider:
    """Make the provider for a model such as `gemini-3-pro`."""
    service = Service(
        "gemini",
        "google.genai",
        "x-goog-api-key",
        "",
        os.environ.get("GOOGLE_GEMINI_BASE_URL", "").strip(),
    )
    return GeminiProvider(require_model("gemini", model, "gemini-3-pro"), Line(service, _make_client))


def _make_client(sdk: Any, secret: str, base_url: str, http_client: Any) -> Any:
    """Make a client that no environment variable can turn to Vertex, to a replay or to another key.

    With an asynchronous HTTP client of ours the SDK does not switch to aiohttp; the other one is never used.
    """
    httpx2 = import_module("httpx2")
    options = sdk.types.HttpOptions(
        base_url=base_url or None,
        # The names that end in `-latest` and the newest models are in this version only.
        api_version="v1beta",
        httpx_async_client=http_client,
        httpx_client=httpx2.Client(transport=httpx2.BaseTransport()),
        retry_options=sdk.types.HttpRetryOptions(attempts=1),
    )
    debug = sdk.client.DebugConfig(client_mode=None, replays_directory=None, replay_id=None)
    return sdk.Client(vertexai=False, api_key=secret, http_options=options, debug_config=debug)


class GeminiProvider(SdkProvider):
    """Ask one Gemini model."""

    async def complete(self, request: Request, credential: Credential | None) -> Completion:
        """Stream an answer and return it whole."""
        schema = find_schema(request)

        async def ask(client: Any, exchange: Exchange) -> Completion:
            async def open_stream(terms: Terms, limit: int) -> Any:
                # Both automatic features would send paid requests that nobody asked for.
                config: dict[str, Any] = {
                    "max_output_tokens": limit,
                    "automatic_function_calling": {"disable": True},
                    "automatic_continuation": False,
                }
                if schema and terms.takes_schema:
                    config |= {"response_mime_type": "application/json", "response_json_schema": schema}
                return await client.aio.models.generate_content_stream(
                    model=self._model, contents=request.prompt, config=config
                )

            exchange.streams = True
            stream = await self._open(request, credential, exchange, open_stream)
            answer = exchange.answer
            assert answer is not None
            async with aclosing(stream) as chunks:
                async for chunk in chunks:
                    _take(chunk, answer)
                    exchange.take(answer)
            return answer.complete(_NORMAL, _CUT, read_allowance(exchange.headers, time.time()))

        return await self._line.ask(credential, self._model, ask, Patience.of(request))

    async def check(self, credential: Credential | None) -> str:
        """Ask for the first model of the list."""

        async def ask(client: Any, exchange: Exchange) -> str:
            pager = await client.aio.models.list(config={"page_size": 1})
            names = [str(model.name) for model in pager.page]
            has_more = bool(pager.config.get("page_token"))
            return describe_models(names, has_more=has_more, secret=exchange.asked.secret)

        return await self._line.ask(credential, "", ask)


def _take(chunk: Any, answer: Answer) -> None:
    answer.model = chunk.model_version or answer.model
    feedback = chunk.prompt_feedback
    if feedback and feedback.block_reason:
        words = feedback.block_reason_message or _name(feedback.block_reason)
        answer.refusal = f"the prompt was blocked, {words}"
    if chunk.candidates:
        _take_candidate(chunk.candidates[0], answer)
    if chunk.usage_metadata:
        answer.count(_read_usage(chunk.usage_metadata))


def _read_usage(usage: Any) -> Usage:
    given = count_tokens(usage.prompt_token_count, usage.tool_use_prompt_token_count)
    written = count_tokens(usage.candidates_token_count, usage.thoughts_token_count)
    return Usage(
        input_tokens=given,
        # Some models count their thoughts in the total only.
        output_tokens=max(written, count_tokens(usage.total_token_count) - given),
        cached_tokens=count_tokens(usage.cached_content_token_count),
    )


def _take_candidate(candidate: Any, answer: Answer) -> None:
    parts = (candidate.content and candidate.content.parts) or ()
    for part in parts:
        if not part.thought:
            answer.add(part.text)
    if candidate.finish_reason:
        answer.finish = _name(candidate.finish_reason)
        if answer.finish in _BLOCKED:
            answer.refusal = f"blocked for {answer.finish}"


def _name(value: Any) -> str:
    """Return an enumeration's value as text; the SDK makes members up for values that it does not know."""
    return str(getattr(value, "value", value))
