"""Shared code of the network providers: one SDK client per key, and an answer that is
assembled from a stream.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from agentos.documents.verdict import (
    LOOK_OR_PLAN_VERDICT_SCHEMA,
    LOOK_OR_VERDICT_SCHEMA,
    PLAN_VERDICT_SCHEMA,
    VERDICT_SCHEMA,
)
from agentos.errors import FailureCause, ProviderError, UsageError
from agentos.gateway.providers import (
    Completion,
    Credential,
    ProviderRecord,
    Request,
    on_note,
)
from agentos.gateway.providers.classify import CallInfo, clean_words
from agentos.gateway.providers.complaints import (
    SHORTEST_OUTPUT,
    Option,
    Terms,
    too_long_prompt,
)
from agentos.gateway.providers.rate_headers import read_rate_headers
from agentos.gateway.providers.registry import find_record
from agentos.gateway.providers.tokens import least_tokens
from agentos.gateway.providers.waiting import USUAL, Patience, SilenceWatch
from agentos.state.variables import environment
from agentos.usage import NOTHING, Consumed, RateHeaders, Usage

if TYPE_CHECKING:
    from agentos.gateway.providers.connection import Exchange

MOST_TERMS = 8
"""Maximum number of different terms to try with a server that refuses each."""
CHARACTERS_A_TOKEN = 3
"""Used for an estimate that is too high rather than too low."""
ANSWER_LIMIT = 4_000_000
_MOST_TOKENS = 10**12
_SCHEMAS: Mapping[str, dict[str, Any]] = {
    "verdict": VERDICT_SCHEMA,
    "plan_verdict": PLAN_VERDICT_SCHEMA,
    "look_or_plan_verdict": LOOK_OR_PLAN_VERDICT_SCHEMA,
    "look_or_verdict": LOOK_OR_VERDICT_SCHEMA,
}

Fields = Mapping[str, Any]
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Service:
    """How to reach one provider."""

    name: str
    module: str
    """Module of its SDK."""
    key_header: str
    key_prefix: str = ""
    placeholder: str = ""
    """Key for a custom address without one; empty if a key is always needed."""

    @property
    def record(self) -> ProviderRecord:
        """What else is known about the provider."""
        return find_record(self.name)

    @property
    def base_url(self) -> str:
        """Address from the SDK's environment variable, empty for its own."""
        return environment().get(self.record.base_url_variable, "").strip()


MakeClient = Callable[[Any, Credential, Any], Any]
"""Creates a client from the SDK's module, the key with its address and an HTTP client,
and imports all it needs.
"""


def is_web_address(url: str) -> bool:
    """Return whether a URL is a web address."""
    try:
        parts = urlsplit(url)
        if any(letter.isspace() for letter in url):
            return False
        return (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and parts.port != 0
        )
    except ValueError:
        return False


def require_model(provider: str, model: str, example: str) -> str:
    """Return the model's name, or raise `UsageError` without one."""
    if not model.strip():
        raise UsageError(
            f"{provider} needs a model: write it as {provider}:MODEL, for example"
            f" {provider}:{example}"
        )
    return model.strip()


def find_schema(request: Request) -> dict[str, Any] | None:
    """Return the JSON schema for a request's answer, if any."""
    if request.schema and request.schema not in _SCHEMAS:
        raise ProviderError(
            f"there is no answer schema {request.schema!r}",
            cause=FailureCause.BAD_REQUEST,
        )
    return _SCHEMAS.get(request.schema)


class SdkAccess:
    """Access to one provider: loads its SDK once, keeps a client per key, and raises
    only our errors.
    """

    def __init__(self, service: Service, make_client: MakeClient) -> None:
        self.service = service
        self._make_client = make_client
        self._clients: dict[Credential, Any] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._verify: ssl.SSLContext | None = None
        self._opening = threading.Lock()

    async def ask(
        self,
        credential: Credential | None,
        model: str,
        question: Callable[[Any, Exchange], Awaitable[Result]],
        patience: Patience = USUAL,
    ) -> Result:
        """Call `question` with the key's client; nothing of the SDK stays open or
        attached to an error.
        """
        access = self._access(credential)
        client = await self._client(access)
        connection = import_module("agentos.gateway.providers.connection")
        exchange = connection.Exchange(
            CallInfo(self.service.name, model, access.secret), SilenceWatch(patience)
        )
        token = connection.current_exchange.set(exchange)
        try:
            async with exchange.watch.watching():
                return await question(client, exchange)
        # An SDK raises errors of its own, of httpx and of the standard library.
        except Exception as error:
            failure: ProviderError = connection.convert(error, exchange)
        finally:
            connection.current_exchange.reset(token)
            await exchange.close()
        # Raised outside the handler, where the SDK's error with the key would be
        # attached to it.
        raise failure

    async def prepare(self, credentials: Sequence[Credential]) -> None:
        """Load the SDK and create a client for each key."""
        for credential in credentials:
            await self._client(self._access(credential))

    async def close(self) -> None:
        """Close all kept connections."""
        clients, self._clients = self._clients, {}
        for _, http_client in clients.values():
            await http_client.aclose()

    def address_of(self, credential: Credential | None) -> str:
        """Return the base URL, empty for the provider's own address."""
        base_url = ""
        if credential is not None:
            base_url = credential.base_url.strip()
        return base_url or self.service.base_url

    def _access(self, credential: Credential | None) -> Credential:
        """Return the key and address of a call, or raise `ProviderError`."""
        base_url = self.address_of(credential)
        secret = credential.secret.strip() if credential else ""
        if not secret and base_url:
            secret = self.service.placeholder
        if not secret:
            raise ProviderError(
                f"no key is configured for {self.service.name}: add one and run again",
                cause=FailureCause.AUTH,
                consumed=NOTHING,
            )
        if not (secret.isascii() and secret.isprintable()):
            raise ProviderError(
                f"the {self.service.name} key holds characters that no key has",
                cause=FailureCause.AUTH,
            )
        if base_url and not is_web_address(base_url):
            raise ProviderError(
                f"{self.service.name} cannot be asked at"
                f" {clean_words(base_url, secret, 100)!r}: check the base URL",
                cause=FailureCause.BAD_REQUEST,
            )
        return replace(credential or Credential(""), secret=secret, base_url=base_url)

    async def _client(self, access: Credential) -> Any:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            # Connections belong to the loop that opened them.
            self._clients, self._loop = {}, loop
        clients = self._clients
        if access not in clients:
            failure = None
            try:
                await loop.run_in_executor(None, self._open, clients, access)
            except ImportError as error:
                failure = self._explain(error)
            # What an SDK raises for an address that it cannot use is not documented.
            except Exception as error:
                failure = ProviderError(
                    f"{self.service.name} cannot be asked at this address"
                    f" ({type(error).__name__}): check the base URL",
                    cause=FailureCause.BAD_REQUEST,
                )
            if failure:
                raise failure
        return clients[access][0]

    def _open(self, clients: dict[Credential, Any], access: Credential) -> None:
        """Import the SDK and create a client unless another call did; takes seconds, so
        never on the event loop.
        """
        with self._opening:
            if access in clients:
                return
            sdk = import_module(self.service.module)
            connection = import_module("agentos.gateway.providers.connection")
            self._verify = self._verify or ssl_context()
            service = self.service
            edge = connection.Edge(
                access.secret, service.key_header, service.key_prefix
            )
            http_client = connection.make_http_client(
                edge, self._verify, access.base_url
            )
            clients[access] = (
                self._make_client(sdk, access, http_client),
                http_client,
            )

    def _explain(self, error: ImportError) -> ProviderError:
        name = self.service.name
        missing = clean_words(error.name or "", limit=60) or name
        extra = self.service.record.extra
        package = f"'agentos[{extra}]'" if extra else missing
        return ProviderError(
            f"{name} needs a package that is not installed ({missing}): pip install"
            f" {package}",
            cause=FailureCause.BAD_REQUEST,
        )


class SdkProvider(ABC):
    """Ask one model through an SDK; subclasses define the steps."""

    needs_key = True
    normal_ends: frozenset[str]
    """Stop reasons of a complete answer."""
    cut_ends: frozenset[str]
    """Stop reasons of an answer that reached its limit."""
    options: frozenset[Option]
    """What its requests can contain and a server may refuse."""

    def __init__(self, model: str, access: SdkAccess) -> None:
        self._model = model
        self._access = access
        self._terms: dict[str, Terms] = {}
        """Terms that each address accepts."""

    async def prepare(self, credentials: Sequence[Credential]) -> None:
        """Load the SDK and create a client for each key."""
        await self._access.prepare(credentials)

    async def close(self) -> None:
        """Close the connections that are kept."""
        await self._access.close()

    @abstractmethod
    async def open_stream(
        self, client: Any, request: Request, terms: Terms, limit: int, extra: Fields
    ) -> Any:
        """Send a request on these terms, with extra fields in its body, and return the
        stream of its answer.
        """

    @abstractmethod
    def take(self, chunk: Any, answer: StreamedAnswer) -> None:
        """Add a part of the stream to the answer."""

    @abstractmethod
    async def list_models(self, client: Any) -> tuple[list[str], bool]:
        """Return the names of a few models, and whether there are more."""

    async def complete(
        self, request: Request, credential: Credential | None
    ) -> Completion:
        """Stream an answer and return it complete."""

        async def ask(client: Any, exchange: Exchange) -> Completion:
            exchange.streams = True
            stream = await self._open(client, request, credential, exchange)
            answer = exchange.answer
            assert answer is not None
            async with AsyncExitStack() as stack:
                if isinstance(stream, AsyncGenerator):
                    stack.push_async_callback(stream.aclose)
                async for chunk in stream:
                    self.take(chunk, answer)
                    exchange.take(answer)
            rate_headers = read_rate_headers(exchange.headers, time.time())
            return answer.complete(self.normal_ends, self.cut_ends, rate_headers)

        return await self._access.ask(
            credential, self._model, ask, Patience.of(request)
        )

    async def check(self, credential: Credential | None) -> str:
        """List the models."""

        async def ask(client: Any, exchange: Exchange) -> str:
            names, has_more = await self.list_models(client)
            secret = exchange.asked.secret
            return describe_models(names, has_more=has_more, secret=secret)

        return await self._access.ask(credential, "", ask)

    def _first_terms(self, address: str) -> Terms:
        """Return the terms for a server that has not been asked before."""
        del address
        return Terms()

    async def _open(
        self,
        client: Any,
        request: Request,
        credential: Credential | None,
        exchange: Exchange,
    ) -> Any:
        """Open a stream and the answer that it fills; adapt the terms to what the
        server refuses.
        """
        address = self._access.address_of(credential)
        terms = self._terms.get(address) or self._first_terms(address)
        prompt = self._estimate(request, terms)
        extra = json.loads(credential.body) if credential and credential.body else {}
        tried: list[tuple[Terms, int]] = []
        first_refusal: Exception | None = None
        while (terms, prompt) not in tried and len(tried) < MOST_TERMS:
            tried.append((terms, prompt))
            limit = terms.output_limit(request.max_output_tokens, prompt)
            if limit < SHORTEST_OUTPUT:
                raise too_long_prompt(self._model, prompt, terms.context)
            exchange.answer = StreamedAnswer(exchange.asked, limit)
            try:
                stream = await self.open_stream(client, request, terms, limit, extra)
            # Whatever the SDK raises, the complaint in the response says more.
            except Exception as error:
                complaint, exchange.complaint = exchange.complaint, None
                if complaint is None:
                    # Not about the terms, so this is the error to report.
                    raise
                first_refusal = first_refusal or error
                sent = self.options & _chosen_options(request)
                before, terms = terms, terms.after(complaint, limit, sent)
                self._tell_left_out(terms.refused - before.refused)
                prompt = complaint.prompt or prompt
                continue
            self._terms[address] = terms
            return stream
        assert first_refusal is not None
        raise first_refusal

    def _tell_left_out(self, refused: frozenset[Option]) -> None:
        for option in refused & _CHOSEN_BY_USER:
            on_note.get()(f"{self._model} does not take a {option}; asked without it")

    def _estimate(self, request: Request, terms: Terms) -> int:
        """Estimate the tokens of a prompt: too high, unless only a lower estimate fits."""
        guess = len(request.prompt) // CHARACTERS_A_TOKEN
        if terms.context and terms.context - guess < SHORTEST_OUTPUT:
            return least_tokens(request.prompt)
        return guess


_CHOSEN_BY_USER = frozenset({Option.EFFORT, Option.THINKING, Option.TEMPERATURE})


def _chosen_options(request: Request) -> set[Option]:
    """Return the options of a request; stream options are part of each."""
    chosen = {Option.STREAM_OPTIONS}
    if request.schema:
        chosen.add(Option.SCHEMA)
    if request.effort:
        chosen.add(Option.EFFORT)
    if request.thinking:
        chosen.add(Option.THINKING)
    if request.temperature is not None:
        chosen.add(Option.TEMPERATURE)
    if any(message.breakpoints for message in request.messages):
        chosen.add(Option.CACHE)
    return chosen


def ssl_context() -> ssl.SSLContext:
    """Return a context for all clients of a provider: each costs a megabyte and 20 ms."""
    context: ssl.SSLContext = import_module("httpx2").create_ssl_context()
    return context


@dataclass(slots=True)
class StreamedAnswer:
    """An answer while it arrives."""

    asked: CallInfo
    max_tokens: int
    model: str = ""
    finish: str = ""
    """Why the model stopped, in the provider's words; empty until it did."""
    refusal: str = ""
    usage: Usage = field(default_factory=Usage)
    """Count of the provider so far."""
    _is_counted: bool = False
    """Whether `usage` is its count of the whole call."""
    _parts: list[str] = field(default_factory=list)
    _length: int = 0

    @property
    def has_text(self) -> bool:
        """Whether any text of the answer has arrived."""
        return self._length > 0

    def add(self, text: object) -> None:
        """Add a part of the text."""
        if text is None:
            return
        if not isinstance(text, str):
            raise TypeError("text of an answer")
        self._length += len(text)
        if self._length > ANSWER_LIMIT:
            raise self._unusable(
                f"the answer is longer than {ANSWER_LIMIT} characters, reading was"
                " stopped"
            )
        self._parts.append(text)

    def count(self, usage: Usage) -> None:
        """Take a count of the provider; after the stop reason, it covers the whole
        call.
        """
        self.usage = usage
        self._is_counted = bool(self.finish or self.refusal)

    def consumed(self) -> Consumed:
        """Return what the call has consumed: as counted, or at least what has arrived."""
        if self._is_counted and (self.usage.input_tokens or self.usage.output_tokens):
            return Consumed(self.usage, is_final=True)
        seen = least_tokens("".join(self._parts))
        return Consumed(
            replace(self.usage, output_tokens=max(self.usage.output_tokens, seen))
        )

    def complete(
        self,
        normal: frozenset[str],
        cut: frozenset[str],
        rate_headers: RateHeaders | None,
    ) -> Completion:
        """Return the answer if it ended normally, or raise why it is unusable."""
        who = self.asked.provider
        if self.refusal:
            raise self._unusable(f"the model refused: {self._clean(self.refusal)}")
        if not self.finish:
            raise ProviderError(
                f"{who}: the answer was cut off, the stream ended without a finish"
                " reason",
                consumed=self.consumed(),
            )
        if self.finish in cut:
            raise self._unusable(self._describe_cut())
        if self.finish not in normal:
            raise self._unusable(f"the model stopped for {self._clean(self.finish)}")
        text = join_text(self._parts)
        if not text.strip():
            raise self._unusable("the answer is empty")
        return Completion(
            text, self._clean(self.model) or self.asked.model, self.usage, rate_headers
        )

    def _describe_cut(self) -> str:
        reason = self._clean(self.finish)
        written = self.usage.output_tokens
        if written and written < self.max_tokens:
            return (
                f"the answer was cut after {written:,} of {self.max_tokens:,} tokens"
                f" ({reason}), probably as the model's context is full; name a model"
                " with a larger one, or make the item smaller"
            )
        return (
            f"the answer was cut at {self.max_tokens:,} tokens ({reason}); "
            "raise --output-limit"
        )

    def _clean(self, words: str) -> str:
        return clean_words(words, self.asked.secret)

    def _unusable(self, why: str) -> ProviderError:
        return ProviderError(
            f"{self.asked.provider}: {why}",
            cause=FailureCause.BAD_ANSWER,
            consumed=self.consumed(),
        )


def count_tokens(*values: object) -> int:
    """Sum token counts, ignoring values that are not counts."""
    return sum(
        value
        for value in values
        if isinstance(value, int) and 0 <= value <= _MOST_TOKENS
    )


def join_text(parts: list[str]) -> str:
    """Join the parts of an answer; surrogate pairs split between parts are joined, lone
    ones replaced.
    """
    text = "".join(parts)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def describe_models(names: list[str], *, has_more: bool, secret: str) -> str:
    """Describe in a few words which models a provider listed."""
    if not names:
        return "no models"
    return (
        f"{len(names)}{'+' if has_more else ''} models, first"
        f" {clean_words(names[0], secret, 80)}"
    )
