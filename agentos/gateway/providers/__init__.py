"""Call models: one protocol, one record and one module for each provider.

The records of the built-in providers are in `records`; other packages offer theirs with
the entry points that `finding` reads.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol

from agentos.gateway.providers.messages import Message as Message
from agentos.gateway.providers.messages import Speaker as Speaker
from agentos.gateway.providers.messages import as_text
from agentos.gateway.providers.messages import ask_once as ask_once
from agentos.gateway.providers.messages import is_single as is_single
from agentos.gateway.providers.records import BUILT_IN, OFFLINE
from agentos.gateway.providers.records import ProviderRecord as ProviderRecord
from agentos.gateway.providers.registry import find_record, make_provider
from agentos.gateway.roles import role_of
from agentos.usage import RateHeaders, Usage

on_sending: ContextVar[Callable[[], None]] = ContextVar(
    "on_sending", default=lambda: None
)
"""Called when a request is sent over the network, which an SDK may delay."""

on_note: ContextVar[Callable[[str], None]] = ContextVar(
    "on_note", default=lambda _: None
)
"""Called with what the user should know about a call that continues."""


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model as the user named it: `provider:model`."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}" if self.model else self.provider


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model, as plain data that can cross a process border and be
    journaled.
    """

    repository: str
    workflow: str
    item: str
    node: str
    round: int
    attempt: int
    purpose: str
    """Purpose as `workflow.role`: `lld.draft`, `lld.review`, `issue.draft`,
    `issue.review`.
    """
    model: str
    """`provider:model` as the user gave it."""
    messages: tuple[Message, ...]
    """The conversation so far, the question last; a language model sees nothing else.
    A conversation only grows at its end, so that providers can cache its beginning.
    """
    inputs: Mapping[str, str]
    """The parts of the prompt, for a provider that is not a language model."""
    schema: str = ""
    """Name of the JSON schema of the answer; empty for Markdown."""
    max_output_tokens: int = 32_000
    """Limit of the answer, including thinking; the budget reserves this much."""
    effort: str = ""
    """How much the model is to think, in the provider's own words; empty for its
    default.
    """
    thinking: int = 0
    """Tokens that the model may think for, 0 for its default."""
    temperature: float | None = None
    first_byte_timeout: float = 600.0
    """Seconds of silence before the first part of the answer that end the call."""
    idle_timeout: float = 120.0
    """Seconds of silence after it that end the call."""

    @property
    def role(self) -> str:
        """The role that is asked."""
        return role_of(self.purpose.rpartition(".")[2])

    @property
    def prompt(self) -> str:
        """The conversation as one text, for a provider that takes a single prompt, and
        for estimates and checks.
        """
        return as_text(self.messages)


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's complete answer."""

    text: str
    model: str
    """Name of what answered, for reports: `offline rules`, `gemini-3-pro`."""
    usage: Usage = field(default_factory=Usage)
    rate_headers: RateHeaders | None = None
    """Limits that the provider named, for the key pool."""
    cost: int = 0
    """Micro-dollars, set by the gateway and not by providers."""
    is_counted: bool = True
    """Whether the usage, if there is any, is the provider's count of the whole call."""


@dataclass(frozen=True, slots=True)
class Credential:
    """Key and address for a call; never shown, never sent to a worker."""

    secret: str = field(repr=False)
    base_url: str = ""
    """Address to use instead of the provider's own."""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Headers to send too."""
    body: str = ""
    """A JSON object whose fields the body of the request has too."""
    api_version: str = ""
    """Version of the API instead of the usual one."""


class Provider(Protocol):
    """Answers requests to one model; a class that derives from it has to define only
    `complete`.
    """

    needs_key: bool = False
    """Whether a key must be leased from the pool for a call."""

    @abstractmethod
    async def complete(
        self, request: Request, credential: Credential | None
    ) -> Completion:
        """Answer the request, or raise `ProviderError`; must be cancelable at any time."""

    async def check(self, credential: Credential | None) -> str:  # noqa: ARG002
        """Make the cheapest possible call; return a short description of what answered,
        or raise `ProviderError`.
        """
        return "not checked: this provider has no check"

    async def prepare(self, credentials: Sequence[Credential]) -> None:  # noqa: ARG002
        """Load and open what the first call needs, so that calls are sent without
        delay.
        """
        # A body, or a type checker would take this for a method that must be defined.
        return

    async def close(self) -> None:
        """Close the connections that are kept for later calls."""
        return


def parse_model_spec(text: str) -> ModelSpec:
    """Parse `provider:model`, or raise `UsageError` for an unknown provider."""
    provider, _, model = text.strip().partition(":")
    find_record(provider)
    return ModelSpec(provider, model)


def is_rules(model: str) -> bool:
    """Return whether a model spec names the offline rules, without recorded answers."""
    return model.partition(":")[0] == OFFLINE and not gives_recorded(model)


def gives_recorded(model: str) -> bool:
    """Return whether a model spec names recorded answers."""
    provider, _, options = model.partition(":")
    return provider == OFFLINE and "answers=" in options


def create_provider(spec: ModelSpec) -> Provider:
    """Import what makes a provider and create it with the model text as its options."""
    provider: Provider = make_provider(find_record(spec.provider), spec.model)
    if spec.provider in BUILT_IN:
        return provider
    from agentos.gateway.providers.guarding import GuardedProvider

    return GuardedProvider(spec.provider, provider)
