"""OpenAI, and every server that speaks its chat completions: Ollama, vLLM, llama.cpp and others by base URL."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agentos.providers import Completion, Credential, Provider, Request
from agentos.providers.allowance import read_allowance
from agentos.providers.streaming import (
    Answer,
    Line,
    SdkProvider,
    Service,
    count_tokens,
    describe_models,
    find_schema,
    read_idle_timeout,
    require_model,
)

if TYPE_CHECKING:
    from agentos.providers.connection import Exchange

# The second ones are what some compatible servers say.
_NORMAL = frozenset({"stop", "eos_token"})
_CUT = frozenset({"length", "model_length"})
_OWN_HOSTS = ("openai.com", "openai.azure.com")
_LIMIT_NAMES = ("max_completion_tokens", "max_tokens")


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a server understands."""

    limit_name: str
    takes_schema: bool = True

    def without(self, parameter: str) -> Dialect:
        """Return the dialect that does without a parameter that the server refused; itself when there is none."""
        if parameter.partition(".")[0] == "response_format":
            return replace(self, takes_schema=False)
        if parameter in _LIMIT_NAMES:
            return replace(self, limit_name=_LIMIT_NAMES[1 - _LIMIT_NAMES.index(self.limit_name)])
        return self


def guess_dialect(base_url: str) -> Dialect:
    """Guess by its address what a server understands."""
    try:
        host = urlsplit(base_url).hostname or ""
    except ValueError:
        host = ""
    is_own = not base_url or any(host == own or host.endswith(f".{own}") for own in _OWN_HOSTS)
    return Dialect("max_completion_tokens" if is_own else "max_tokens")


def create(model: str) -> Provider:
    """Make the provider for a model such as `gpt-5.5`, or of another server."""
    service = Service(
        "openai",
        "openai",
        "authorization",
        "Bearer ",
        os.environ.get("OPENAI_BASE_URL", "").strip(),
        read_idle_timeout(os.environ),
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

    def __init__(self, model: str, line: Line) -> None:
        super().__init__(model, line)
        self._dialects: dict[str, Dialect] = {}

    async def complete(self, request: Request, credential: Credential | None) -> Completion:
        """Stream an answer and return it whole, leaving out once what the server does not know."""
        address = self._line.address_of(credential)
        schema = find_schema(request)

        async def ask(client: Any, exchange: Exchange) -> Completion:
            exchange.streams = True
            dialect = self._dialects.get(address) or guess_dialect(address)
            try:
                stream = await self._open(client, request, schema, dialect)
            except Exception:
                spoken = dialect.without(exchange.refused_parameter)
                if spoken == dialect:
                    raise
                stream = None
            if stream is None:
                exchange.refused_parameter = ""
                stream = await self._open(client, request, schema, spoken)
                self._dialects[address] = spoken
            answer = Answer(exchange.asked, request.max_output_tokens)
            async for chunk in stream:
                _take(chunk, answer)
                exchange.has_begun = True
            return answer.complete(_NORMAL, _CUT, read_allowance(exchange.headers, time.time()))

        return await self._line.ask(credential, self._model, ask)

    async def _open(self, client: Any, request: Request, schema: dict[str, Any] | None, dialect: Dialect) -> Any:
        options: dict[str, Any] = {dialect.limit_name: request.max_output_tokens}
        if schema and dialect.takes_schema:
            form = {"name": request.schema, "strict": True, "schema": schema}
            options["response_format"] = {"type": "json_schema", "json_schema": form}
        return await client.chat.completions.create(
            model=self._model,
            messages=[{"role": "user", "content": request.prompt}],
            stream=True,
            stream_options={"include_usage": True},
            **options,
        )

    async def check(self, credential: Credential | None) -> str:
        """Ask for the list of models."""

        async def ask(client: Any, exchange: Exchange) -> str:
            page = await client.models.list()
            names = [str(model.id) for model in page.data]
            return describe_models(names, has_more=False, secret=exchange.asked.secret)

        return await self._line.ask(credential, "", ask)


def _take(chunk: Any, answer: Answer) -> None:
    answer.model = chunk.model or answer.model
    if chunk.usage:
        answer.input_tokens = count_tokens(chunk.usage.prompt_tokens)
        answer.output_tokens = count_tokens(chunk.usage.completion_tokens)
    if not chunk.choices:
        return
    choice = chunk.choices[0]
    if choice.delta:
        answer.add(choice.delta.content)
        if choice.delta.refusal:
            answer.refusal += str(choice.delta.refusal)[:1000]
    if choice.finish_reason:
        answer.finish = str(choice.finish_reason)
        if answer.finish == "content_filter":
            answer.refusal = answer.refusal or "the content filter stopped the answer"
