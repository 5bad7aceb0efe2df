"""Find the family of a model: models of one family overlook the same problems."""

from __future__ import annotations

from agentos.gateway.providers import parse_model_spec
from agentos.gateway.providers.records import OFFLINE
from agentos.gateway.providers.registry import find_record

_NAMES = (
    "claude",
    "gemini",
    "gemma",
    "gpt",
    "llama",
    "mistral",
    "mixtral",
    "qwen",
    "deepseek",
    "grok",
    "phi",
    "command",
)
_ALIASES = {"gemma": "gemini", "mixtral": "mistral", "command": "cohere"}


def family_of(spec: str) -> str:
    """Return a model's family; empty for the offline rules."""
    parsed = parse_model_spec(spec)
    if parsed.provider == OFFLINE:
        return ""
    family = find_record(parsed.provider).family
    if family:
        return family
    model = parsed.model.casefold()
    for name in _NAMES:
        if name in model:
            return _ALIASES.get(name, name)
    is_reasoning = model[:1] == "o" and model[1:2].isdigit()
    if is_reasoning:
        return "gpt"
    return str(parsed)


def shared_family(drafter: str, reviewer: str) -> str:
    """Return the family of both drafter and reviewer, empty when they differ."""
    family = family_of(drafter)
    if family != family_of(reviewer):
        return ""
    return family
