"""Where completions come from: one Protocol, one module for each provider.

A new provider is one module with a `create(options)` function and one line in `PROVIDERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib import import_module
from typing import Protocol

from agentos.errors import UsageError

PROVIDERS: Mapping[str, str] = {
    "anthropic": "agentos.providers.anthropic",
    "claude-cli": "agentos.providers.claude_cli",
    "gemini": "agentos.providers.gemini",
    "offline": "agentos.providers.offline",
    "openai": "agentos.providers.openai",
}


on_sending: ContextVar[Callable[[], None]] = ContextVar("on_sending", default=lambda: None)
"""Told when a request goes out over the network: an SDK may compute for a while before it does."""


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model as the user named it: `provider:model`."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}" if self.model else self.provider


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model: plain data, so that it can cross a process border and be journalled."""

    repository: str
    workflow: str
    item: str
    node: str
    round: int
    attempt: int
    purpose: str
    """What is asked for, as `workflow.role`: `lld.draft`, `lld.review`, `issue.draft`, `issue.review`."""
    model: str
    """`provider:model` as the user gave it."""
    prompt: str
    """The rendered prompt, all that a language model sees."""
    inputs: Mapping[str, str]
    """The parts that the prompt was rendered from, for a provider that is no language model."""
    schema: str = ""
    """Name of the JSON schema that the answer must follow, or empty for Markdown."""
    max_output_tokens: int = 32_000
    """Longest answer that is asked for, thinking included; also what the budget reserves for it."""
    first_byte_timeout: float = 600.0
    """Seconds of silence before the first piece of the answer that end the call."""
    idle_timeout: float = 120.0
    """Seconds of silence after it that end the call."""

    @property
    def role(self) -> str:
        """Who is asked: `reviewer` or `drafter`."""
        return "reviewer" if self.purpose.endswith(".review") else "drafter"


@dataclass(frozen=True, slots=True)
class Usage:
    """What a completion consumed, as the provider counted it."""

    input_tokens: int = 0
    """All of the prompt, with what was read from a cache or written to one."""
    output_tokens: int = 0
    """All of the answer, with thinking that is not shown."""
    cached_tokens: int = 0
    """Of the input, what was read from the provider's cache."""
    cache_written_tokens: int = 0
    """Of the input, what was written to the provider's cache."""
    cost: int | None = None
    """Micro-dollars, where the server itself says what it charges."""


@dataclass(frozen=True, slots=True)
class Consumed:
    """What a failed call consumed, as far as anybody can tell."""

    usage: Usage = field(default_factory=Usage)
    """What the provider counted, or what was seen of the answer."""
    is_final: bool = False
    """Whether that is all: nothing was billed, or the provider's own count of the whole call has arrived."""


NOTHING = Consumed(is_final=True)
"""No connection, or a refusal before any content: the provider bills nothing."""
UNKNOWN = Consumed()
"""The request was sent and nothing came back: the provider may bill anything up to the reservation."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a provider's headers say about a quota group; None where they say nothing."""

    requests_limit: int | None = None
    requests_left: int | None = None
    requests_reset: float | None = None
    """Seconds until all requests are allowed again."""
    tokens_limit: int | None = None
    tokens_left: int | None = None
    tokens_reset: float | None = None
    input_limit: int | None = None
    """Of tokens of input alone, where the provider counts those of input and output apart."""
    input_left: int | None = None
    input_reset: float | None = None
    output_limit: int | None = None
    output_left: int | None = None
    output_reset: float | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's whole answer."""

    text: str
    model: str
    """What answered, in words fit for a report: `offline rules`, `gemini-3-pro`."""
    usage: Usage = field(default_factory=Usage)
    allowance: Allowance | None = None
    """What the provider said about its limits; of use to the key pool only."""
    cost: int = 0
    """Micro-dollars, as the gateway reckons; a provider does not say."""
    is_counted: bool = True
    """Whether the usage is the provider's own count of the whole call, if it counted at all."""


@dataclass(frozen=True, slots=True)
class Credential:
    """What a provider is asked with: never shown, never sent to a worker."""

    secret: str = field(repr=False)
    base_url: str = ""
    """Where to ask instead of the provider's own address."""


class Provider(Protocol):
    """Something that answers requests of one model."""

    needs_key: bool
    """Whether a key must be leased from the pool for a call."""

    async def complete(self, request: Request, credential: Credential | None) -> Completion:
        """Answer the request, or raise `ProviderError`; cancellation must take effect at once."""

    async def check(self, credential: Credential | None) -> str:
        """Ask the cheapest question there is; return in a few words what answered, or raise `ProviderError`."""

    async def prepare(self, credentials: Sequence[Credential]) -> None:
        """Load and open what a first call would have to wait for, so that later calls are sent at once."""

    async def close(self) -> None:
        """Let go of connections that are kept for the next call."""


def parse_model_spec(text: str) -> ModelSpec:
    """Read `provider:model`, refusing a provider that does not exist."""
    provider, _, model = text.strip().partition(":")
    if provider not in PROVIDERS:
        known = ", ".join(sorted(PROVIDERS))
        raise UsageError(f"unknown provider {provider!r} in {text!r}: use one of {known}, as provider:model")
    return ModelSpec(provider, model)


def create_provider(spec: ModelSpec) -> Provider:
    """Import the provider's module and make it, with the model text as its options."""
    module = import_module(PROVIDERS[spec.provider])
    provider: Provider = module.create(spec.model)
    return provider
