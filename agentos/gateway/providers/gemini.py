"""Ask Gemini through Google's google-genai SDK."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from importlib import import_module
from typing import Any

from agentos.gateway.providers import Credential, Provider, Request, Speaker
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

_BLOCKED = frozenset(
    {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"}
)


def create(model: str) -> Provider:
    """Create the provider for a model such as `gemini-3-pro`."""
    service = Service(
        "gemini",
        "google.genai",
        "x-goog-api-key",
    )
    return GeminiProvider(
        require_model("gemini", model, "gemini-3-pro"), SdkAccess(service, _make_client)
    )


def _make_client(sdk: Any, access: Credential, http_client: Any) -> Any:
    """Create a client that no environment variable can redirect to Vertex, to a replay
    or to another key.

    With our asynchronous HTTP client the SDK does not switch to aiohttp; the
    synchronous one is never used.
    """
    httpx2 = import_module("httpx2")
    options = sdk.types.HttpOptions(
        base_url=access.base_url or None,
        # Only this version has the newest models and names that end in `-latest`.
        api_version=access.api_version or "v1beta",
        headers=dict(access.headers),
        httpx_async_client=http_client,
        httpx_client=httpx2.Client(transport=httpx2.BaseTransport()),
        retry_options=sdk.types.HttpRetryOptions(attempts=1),
    )
    debug = sdk.client.DebugConfig(
        client_mode=None, replays_directory=None, replay_id=None
    )
    return sdk.Client(
        vertexai=False, api_key=access.secret, http_options=options, debug_config=debug
    )


class GeminiProvider(SdkProvider):
    """Ask one Gemini model."""

    normal_ends = frozenset({"STOP"})
    cut_ends = frozenset({"MAX_TOKENS"})
    options = frozenset(
        {Option.SCHEMA, Option.EFFORT, Option.THINKING, Option.TEMPERATURE}
    )

    async def open_stream(
        self, client: Any, request: Request, terms: Terms, limit: int, extra: Fields
    ) -> Any:
        """Send a request on these terms and return the stream of its answer."""
        # Both automatic features would send additional paid requests.
        config: dict[str, Any] = {
            "max_output_tokens": limit,
            "automatic_function_calling": {"disable": True},
            "automatic_continuation": False,
        }
        schema = find_schema(request)
        if schema and terms.takes(Option.SCHEMA):
            config |= {
                "response_mime_type": "application/json",
                "response_json_schema": schema,
            }
        thinking: dict[str, Any] = {}
        if request.effort and terms.takes(Option.EFFORT):
            thinking["thinking_level"] = request.effort
        if request.thinking and terms.takes(Option.THINKING):
            thinking["thinking_budget"] = request.thinking
        if thinking:
            config["thinking_config"] = thinking
        if request.temperature is not None and terms.takes(Option.TEMPERATURE):
            config["temperature"] = request.temperature
        if extra:
            config["http_options"] = {"extra_body": extra}
        contents = []
        for message in request.messages:
            if message.speaker is Speaker.SYSTEM:
                config["system_instruction"] = message.text
                continue
            role = "model" if message.speaker is Speaker.ASSISTANT else "user"
            contents.append({"role": role, "parts": [{"text": message.text}]})
        stream = await client.aio.models.generate_content_stream(
            model=self._model, contents=contents, config=config
        )
        # The SDK sends the request when the first chunk is asked for; a refusal has to
        # arrive here, where the request can be adapted.
        first = await anext(stream, None)
        return _continue(first, stream)

    async def list_models(self, client: Any) -> tuple[list[str], bool]:
        """Return the name of the first model, and whether there are more."""
        pager = await client.aio.models.list(config={"page_size": 1})
        names = [str(model.name) for model in pager.page]
        return names, bool(pager.config.get("page_token"))

    def take(self, chunk: Any, answer: StreamedAnswer) -> None:
        """Add a chunk of the stream to the answer."""
        answer.model = chunk.model_version or answer.model
        feedback = chunk.prompt_feedback
        if feedback and feedback.block_reason:
            words = feedback.block_reason_message or _name(feedback.block_reason)
            answer.refusal = f"the prompt was blocked, {words}"
        if chunk.candidates:
            _take_candidate(chunk.candidates[0], answer)
        if chunk.usage_metadata:
            answer.count(_read_usage(chunk.usage_metadata))


async def _continue(first: Any, stream: AsyncGenerator[Any]) -> AsyncGenerator[Any]:
    async with aclosing(stream):
        if first is not None:
            yield first
        async for chunk in stream:
            yield chunk


def _read_usage(usage: Any) -> Usage:
    given = count_tokens(usage.prompt_token_count, usage.tool_use_prompt_token_count)
    written = count_tokens(usage.candidates_token_count, usage.thoughts_token_count)
    return Usage(
        input_tokens=given,
        # Some models count thinking only in the total.
        output_tokens=max(written, count_tokens(usage.total_token_count) - given),
        cached_tokens=count_tokens(usage.cached_content_token_count),
    )


def _take_candidate(candidate: Any, answer: StreamedAnswer) -> None:
    parts = (candidate.content and candidate.content.parts) or ()
    for part in parts:
        if not part.thought:
            answer.add(part.text)
    if candidate.finish_reason:
        answer.finish = _name(candidate.finish_reason)
        if answer.finish in _BLOCKED:
            answer.refusal = f"blocked for {answer.finish}"


def _name(value: Any) -> str:
    """Return the value of an enumeration as text; the SDK invents members for unknown
    values.
    """
    return str(getattr(value, "value", value))
