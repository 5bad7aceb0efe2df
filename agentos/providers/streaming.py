"""What all network providers share: one SDK client for each key, and an answer that is put together from a stream."""

from __future__ import annotations

import asyncio
import math
import ssl
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from agentos.documents.verdict import VERDICT_SCHEMA
from agentos.errors import ProviderError, Sign, UsageError
from agentos.providers import Allowance, Completion, Credential, Request, Usage
from agentos.providers.classify import Asked, clean_words

if TYPE_CHECKING:
    from agentos.providers.connection import Exchange

IDLE_TIMEOUT = 120.0
IDLE_VARIABLE = "AGENTOS_IDLE_TIMEOUT"
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
    idle_timeout: float = IDLE_TIMEOUT
    placeholder: str = ""
    """Sent to a custom address that needs no key; empty where a key is always needed."""


MakeClient = Callable[[Any, str, str, Any], Any]
"""From the SDK's module, the key, the base URL and an HTTP client to a client of the SDK with all it needs imported."""


def read_idle_timeout(environ: Mapping[str, str]) -> float:
    """Return how many seconds without a byte end a call."""
    text = environ.get(IDLE_VARIABLE, "").strip()
    if not text:
        return IDLE_TIMEOUT
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= 86_400:
        raise UsageError(f"{IDLE_VARIABLE}: must be seconds from above 0 to 86400, not {text!r}")
    return seconds


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
        self, credential: Credential | None, model: str, question: Callable[[Any, Exchange], Awaitable[Result]]
    ) -> Result:
        """Let `question` use the key's client; nothing of the SDK is left behind, neither open nor on an error."""
        secret, base_url = self._access(credential)
        client = await self._client(secret, base_url)
        connection = import_module("agentos.providers.connection")
        exchange = connection.Exchange(Asked(self.service.name, model, secret))
        token = connection.current_exchange.set(exchange)
        try:
            return await question(client, exchange)
        except Exception as error:
            failure: ProviderError = connection.convert(error, exchange, self.service.idle_timeout)
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
            raise ProviderError(f"no key is configured for {self.service.name}: add one and run again", sign=Sign.AUTH)
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
            edge = connection.Edge(secret, service.key_header, service.key_prefix, service.idle_timeout)
            http_client = connection.make_http_client(edge, self._verify)
            clients[secret, base_url] = self._make_client(sdk, secret, base_url, http_client), http_client

    def _explain(self, error: ImportError) -> ProviderError:
        name = self.service.name
        missing = clean_words(error.name or "", limit=60) or name
        return ProviderError(
            f"{name} needs a package that is not installed ({missing}): pip install 'agentos[{name}]'",
            sign=Sign.BAD_REQUEST,
        )


class SdkProvider:
    """What all providers have in common that ask one model by an SDK."""

    needs_key = True

    def __init__(self, model: str, line: Line) -> None:
        self._model = model
        self._line = line

    async def prepare(self, credentials: Sequence[Credential]) -> None:
        """Load the SDK and make a client for each key."""
        await self._line.prepare(credentials)

    async def close(self) -> None:
        """Close the connections that are kept."""
        await self._line.close()


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
    input_tokens: int = 0
    output_tokens: int = 0
    _parts: list[str] = field(default_factory=list)
    _length: int = 0

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

    def complete(self, normal: frozenset[str], cut: frozenset[str], allowance: Allowance | None) -> Completion:
        """Return the answer if its end is a normal one, else raise why it cannot be used."""
        who = self.asked.provider
        if self.refusal:
            raise self._unusable(f"the model refused: {self._clean(self.refusal)}")
        if not self.finish:
            raise ProviderError(f"{who}: the answer was cut off, the stream ended without a finish reason")
        if self.finish in cut:
            raise self._unusable(f"the answer was cut at {self.max_tokens} tokens ({self._clean(self.finish)})")
        if self.finish not in normal:
            raise self._unusable(f"the model stopped for {self._clean(self.finish)}")
        text = join_text(self._parts)
        if not text.strip():
            raise self._unusable("the answer is empty")
        usage = Usage(self.input_tokens, self.output_tokens)
        return Completion(text, self._clean(self.model) or self.asked.model, usage, allowance)

    def _clean(self, words: str) -> str:
        return clean_words(words, self.asked.secret)

    def _unusable(self, why: str) -> ProviderError:
        return ProviderError(f"{self.asked.provider}: {why}", sign=Sign.BAD_ANSWER)


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
