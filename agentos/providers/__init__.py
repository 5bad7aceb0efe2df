"""Where completions come from: one Protocol, one module for each provider.

A new provider is one module with a `create(options)` function and one line in `PROVIDERS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Protocol

from agentos.errors import UsageError

PROVIDERS: Mapping[str, str] = {
    "offline": "agentos.providers.offline",
}


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


@dataclass(frozen=True, slots=True)
class Usage:
    """What a completion consumed, as the provider counted it."""

    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's whole answer."""

    text: str
    model: str
    """What answered, in words fit for a report: `offline rules`, `gemini-3-pro`."""
    usage: Usage = field(default_factory=Usage)


class Provider(Protocol):
    """Something that answers requests."""

    needs_key: bool
    """Whether a key must be leased from the pool for a call."""

    async def complete(self, request: Request, key: str | None) -> Completion:
        """Answer the request, or raise `ProviderError`; cancellation must take effect at once."""


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
