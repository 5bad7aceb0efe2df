"""What all network providers share: one SDK client for each key, and an answer that is put together from a stream."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from agentos.documents.verdict import VERDICT_SCHEMA
from agentos.errors import ProviderError, Sign, UsageError
from agentos.providers import NOTHING, Allowance, Completion, Consumed, Credential, Request, Usage
from agentos.providers.classify import Asked, clean_words
from agentos.providers.complaints import SHORTEST_OUTPUT, Terms, too_long_prompt
from agentos.providers.tokens import least_tokens
from agentos.providers.waiting import USUAL, Patience, SilenceWatch

if TYPE_CHECKING:
    from agentos.providers.connection import Exchange

MOST_TERMS = 5
"""On how many different terms a server is asked that refuses each of them."""
CHARACTERS_A_TOKEN = 3
"""For an estimate of a prompt that is rather too long than too short."""
ANSWER_LIMIT = 4_000_000
_MOST_TOKENS = 10**12
_SCHEMAS: Mapping[str, dict[str, Any]] = {"verdict": VERDICT_SCHEMA}

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Service:
    """How one provider is reached."""

    name: str
    """Also the extra that installs its SDK."""
    module: str
    """Its SDK."""
    key_header: str
    key_prefix: str
    base_url: str
    """What the SDK's own environment variable says, empty for the provider's own address."""
    placeholder: str = ""
    """Sent to a custom address that needs no key; empty where a key is always needed."""


MakeClient = Callable[[Any, str, str, Any], Any]
"""From the SDK's module, the key, the base URL and an HTTP client to a client of the SDK with all it needs imported."""


def is_web_address(url: str) -> bool:
    """Tell whether a URL names a web server."""
    try:
        parts = urlsplit(url)
        if any(letter.isspace() for letter in url):
            return False
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def require_model(provider: str, model: str, example: str) -> str:
    """Return the model's name, refusing none."""
    if not model.strip():
        raise UsageError(f"{provider} needs a model: write it as {provider}:MODEL, for example {provider}:{example}")
    return model.strip()


def find_schema(request: Request) -> dict[str, Any] | None:
    """Return the JSON schema that a request's answer must follow, if any."""
    if request.schema and request.schema not in _SCHEMAS:
        raise ProviderError(f"there is no answer schema {request.schema!r}", sign=Sign.BAD_REQUEST)
    return _SCHEMAS.get(request.schema)


class Line:
    """The way to one provider: loads its SDK once, keeps a client for each key, and lets only our errors out."""

    def __init__(self, service: Service, make_client: MakeClient) -> None:
        self.service = service
        self._make_client = make_client
        self._clients: dict[tuple[str, str], Any] = {}
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
        """Let `question` use the key's client; nothing of the SDK is left behind, neither open nor on an error."""
        secret, base_url = self._access(credential)
        client = await self._client(secret, base_url)
        connection = import_module("agentos.providers.connection")
        exchange = connection.Exchange(Asked(self.service.name, model, secret), SilenceWatch(patience))
        token = connection.current_exchange.set(exchange)
        try:
            async with exchange.watch.watching():
                return await question(client, exchange)
        except Exception as error:
            failure: ProviderError = connection.convert(error, exchange)
        finally:
            connection.current_exchange.reset(token)
            await exchange.close()
        # Raised here and not in the handler, where the SDK's error, which holds the key, would hang on it.
        raise failure

    async def prepare(self, credentials: Sequence[Credential]) -> None:
        """Load the SDK and make a client for each key."""
        for credential in credentials:
            await self._client(*self._access(credential))

    async def close(self) -> None:
        """Close all connections that are kept for the next call."""
        clients, self._clients = self._clients, {}
        for _, http_client in clients.values():
            await http_client.aclose()

    def address_of(self, credential: Credential | None) -> str:
        """Return where to ask, empty for the provider's own address."""
        return (credential.base_url.strip() if credential else "") or self.service.base_url

    def _access(self, credential: Credential | None) -> tuple[str, str]:
        base_url = self.address_of(credential)
        secret = credential.secret.strip() if credential else ""
        if not secret and base_url:
            secret = self.service.placeholder
        if not secret:
            raise ProviderError(
                f"no key is configured for {self.service.name}: add one and run again", sign=Sign.AUTH, consumed=NOTHING
            )
        if not (secret.isascii() and secret.isprintable()):
            raise ProviderError(f"the {self.service.name} key holds characters that no key has", sign=Sign.AUTH)
        if base_url and not is_web_address(base_url):
            raise ProviderError(
                f"{self.service.name} cannot be asked at {clean_words(base_url, secret, 100)!r}: check the base URL",
                sign=Sign.BAD_REQUEST,
            )
        return secret, base_url

    async def _client(self, secret: str, base_url: str) -> Any:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            # Connections belong to the loop that opened them.
            self._clients, self._loop = {}, loop
        clients = self._clients
        if (secret, base_url) not in clients:
            failure = None
            try:
                await loop.run_in_executor(None, self._open, clients, secret, base_url)
            except ImportError as error:
                failure = self._explain(error)
            except Exception as error:
                failure = ProviderError(
                    f"{self.service.name} cannot be asked at this address ({type(error).__name__}): check the base URL",
                    sign=Sign.BAD_REQUEST,
                )
            if failure:
                raise failure
        return clients[secret, base_url][0]

    def _open(self, clients: dict[tuple[str, str], Any], secret: str, base_url: str) -> None:
        """Import the SDK and make a client unless another call did; takes seconds, so never on the event loop."""
        with self._opening:
            if (secret, base_url) in clients:
                return
            sdk = import_module(self.service.module)
            connection = import_module("agentos.providers.connection")
            self._verify = self._verify or ssl_context()
            service = self.service
            edge = connection.Edge(secret, service.key_header, service.key_prefix)
            http_client = connection.make_http_client(edge, self._verify, base_url)
            clients[secret, base_url] = self._make_client(sdk, secret, base_url, http_client), http_client

    def _explain(self, error: ImportError) -> ProviderError:
        name = self.service.name
        missing = clean_words(error.name or "", limit=60) or name
        return ProviderError(
            f"{name} needs a package that is not installed ({missing}): pip install 'agentos[{name}]'",
            sign=Sign.BAD_REQUEST,
        )


OpenStream = Callable[[Terms, int], Awaitable[Any]]
"""Opens a stream on some terms, for an answer of so many tokens."""


class SdkProvider:
    """What all providers have in common that ask one model by an SDK."""

    needs_key = True

    def __init__(self, model: str, line: Line) -> None:
        self._model = model
        self._line = line
        self._terms: dict[str, Terms] = {}
        """What was learned of each address."""

    async def prepare(self, credentials: Sequence[Credential]) -> None:
        """Load the SDK and make a client for each key."""
        await self._line.prepare(credentials)

    async def close(self) -> None:
        """Close the connections that are kept."""
        await self._line.close()

    def _first_terms(self, address: str) -> Terms:
        """Return how a server is asked that has not been asked before."""
        del address
        return Terms()

    async def _open(
        self, request: Request, credential: Credential | None, exchange: Exchange, open_stream: OpenStream
    ) -> Any:
        """Open a stream and the answer that it fills; ask otherwise what the server does not understand."""
        address = self._line.address_of(credential)
        terms = self._terms.get(address) or self._first_terms(address)
        prompt = self._estimate(request, terms)
        tried: list[tuple[Terms, int]] = []
        first_refusal: Exception | None = None
        while (terms, prompt) not in tried and len(tried) < MOST_TERMS:
            tried.append((terms, prompt))
            limit = terms.output_limit(request.max_output_tokens, prompt)
            if limit < SHORTEST_OUTPUT:
                raise too_long_prompt(self._model, prompt, terms.context)
            exchange.answer = Answer(exchange.asked, limit)
            try:
                stream = await open_stream(terms, limit)
            except Exception as error:
                complaint, exchange.complaint = exchange.complaint, None
                if complaint is None:
                    # Not about how it was asked: whatever was refused before, this is what happened.
                    raise
                first_refusal = first_refusal or error
                terms = terms.after(complaint, limit, has_schema=bool(request.schema))
                prompt = complaint.prompt or prompt
                continue
            self._terms[address] = terms
            return stream
        assert first_refusal is not None
        raise first_refusal

    def _estimate(self, request: Request, terms: Terms) -> int:
        """Guess how many tokens a prompt has: rather too many, unless it would not fit then and may fit in truth."""
        guess = len(request.prompt) // CHARACTERS_A_TOKEN
        if terms.context and terms.context - guess < SHORTEST_OUTPUT:
            return least_tokens(request.prompt)
        return guess


def ssl_context() -> ssl.SSLContext:
    """Return a context to be shared by all clients of a provider: one costs a megabyte and 20 ms."""
    context: ssl.SSLContext = import_module("httpx2").create_ssl_context()
    return context


@dataclass(slots=True)
class Answer:
    """An answer while it comes in."""

    asked: Asked
    max_tokens: int
    model: str = ""
    finish: str = ""
    """Why the model stopped, in the provider's words; empty as long as it did not."""
    refusal: str = ""
    usage: Usage = field(default_factory=Usage)
    """What the provider has counted so far."""
    _is_counted: bool = False
    """Whether that is its count of the whole call."""
    _parts: list[str] = field(default_factory=list)
    _length: int = 0

    @property
    def has_text(self) -> bool:
        """Whether anything of the answer itself has arrived."""
        return self._length > 0

    def add(self, text: object) -> None:
        """Take a part of the text."""
        if text is None:
            return
        if not isinstance(text, str):
            raise TypeError("text of an answer")
        self._length += len(text)
        if self._length > ANSWER_LIMIT:
            raise self._unusable(f"the answer is longer than {ANSWER_LIMIT} characters, reading was stopped")
        self._parts.append(text)

    def count(self, usage: Usage) -> None:
        """Take what the provider has counted; after the reason to stop, it is the count of the whole call."""
        self.usage = usage
        self._is_counted = bool(self.finish or self.refusal)

    def consumed(self) -> Consumed:
        """Return what the call has consumed: as counted, else at least what was seen of the answer."""
        if self._is_counted and (self.usage.input_tokens or self.usage.output_tokens):
            return Consumed(self.usage, is_final=True)
        seen = least_tokens("".join(self._parts))
        return Consumed(replace(self.usage, output_tokens=max(self.usage.output_tokens, seen)))

    def complete(self, normal: frozenset[str], cut: frozenset[str], allowance: Allowance | None) -> Completion:
        """Return the answer if its end is a normal one, else raise why it cannot be used."""
        who = self.asked.provider
        if self.refusal:
            raise self._unusable(f"the model refused: {self._clean(self.refusal)}")
        if not self.finish:
            raise ProviderError(
                f"{who}: the answer was cut off, the stream ended without a finish reason", consumed=self.consumed()
            )
        if self.finish in cut:
            raise self._unusable(self._describe_cut())
        if self.finish not in normal:
            raise self._unusable(f"the model stopped for {self._clean(self.finish)}")
        text = join_text(self._parts)
        if not text.strip():
            raise self._unusable("the answer is empty")
        return Completion(text, self._clean(self.model) or self.asked.model, self.usage, allowance)

    def _describe_cut(self) -> str:
        reason = self._clean(self.finish)
        written = self.usage.output_tokens
        if written and written < self.max_tokens:
            return (
                f"the answer was cut after {written:,} of {self.max_tokens:,} tokens ({reason}), probably as "
                "the model's context is full; name a model with a larger one, or make the item smaller"
            )
        return (
            f"the answer was cut at {self.max_tokens:,} tokens ({reason}); "
            "raise drafter_output_limit or reviewer_output_limit"
        )

    def _clean(self, words: str) -> str:
        return clean_words(words, self.asked.secret)

    def _unusable(self, why: str) -> ProviderError:
        return ProviderError(f"{self.asked.provider}: {why}", sign=Sign.BAD_ANSWER, consumed=self.consumed())


def count_tokens(*values: object) -> int:
    """Add up what a provider counted, taking what is no count for none."""
    return sum(value for value in values if isinstance(value, int) and 0 <= value <= _MOST_TOKENS)


def join_text(parts: list[str]) -> str:
    """Put an answer together; characters that were halved between two parts become whole, lone halves a mark."""
    text = "".join(parts)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def describe_models(names: list[str], *, has_more: bool, secret: str) -> str:
    """Say in a few words which models a provider listed."""
    if not names:
        return "no models"
    return f"{len(names)}{'+' if has_more else ''} models, first {clean_words(names[0], secret, 80)}"
