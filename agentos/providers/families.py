"""Tell which family a model is of: models of one family overlook the same things."""

from __future__ import annotations

from agentos.providers import parse_model_spec

_OF_PROVIDER = {"anthropic": "claude", "claude-cli": "claude", "gemini": "gemini"}
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
    """Return a model's family; empty for rules, which are no model."""
    provider, model = parse_model_spec(spec).provider, parse_model_spec(spec).model.casefold()
    if provider == "offline":
        return ""
    if provider in _OF_PROVIDER:
        return _OF_PROVIDER[provider]
    named = next((name for name in _NAMES if name in model), "")
    if named:
        return _ALIASES.get(named, named)
    is_reasoning = model[:1] == "o" and model[1:2].isdigit()
    return "gpt" if is_reasoning or not model else model


def shared_family(drafter: str, reviewer: str) -> str:
    """Return the family that drafter and reviewer are both of, or nothing."""
    family = family_of(drafter)
    return family if family == family_of(reviewer) else ""
