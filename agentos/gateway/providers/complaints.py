"""Read why a server refuses a request, and adapt the request.

Servers of one API support different parts of it. A parameter that a server does not
know is omitted or renamed, and an output limit that is too high is lowered. The result
is remembered, so that each server refuses each parameter once.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from agentos.errors import FailureCause, ProviderError
from agentos.usage import NOTHING

ErrorObject = Mapping[str, Any]
"""The JSON object of an error in the body of a response."""
SHORTEST_OUTPUT = 256
"""Smallest useful output limit, in tokens."""


class Option(StrEnum):
    """A part of a request that is left out when a server refuses it."""

    EFFORT = "effort"
    THINKING = "thinking budget"
    TEMPERATURE = "temperature"
    CACHE = "cache breakpoints"
    SCHEMA = "answer schema"
    STREAM_OPTIONS = "stream options"


_LIMIT_NAMES = ("max_completion_tokens", "max_tokens")
_LIMIT_WORDS = (*_LIMIT_NAMES, "max_output_tokens", "maxOutputTokens")
_OPTION_WORDS: Mapping[Option, tuple[str, ...]] = {
    # The effort comes before the schema: Anthropic has both in one object.
    Option.EFFORT: ("effort", "thinking_level", "thinkingLevel", "output_config: "),
    Option.TEMPERATURE: ("temperature",),
    Option.THINKING: ("thinking", "budget_tokens"),
    Option.CACHE: ("cache_control",),
    Option.SCHEMA: (
        *("response_format", "json_schema", "output_config", "output_format"),
        *("response_json_schema", "responseJsonSchema", "response_schema"),
        *("guided_json",),
    ),
    Option.STREAM_OPTIONS: ("stream_options", "include_usage"),
}
_VAGUE_ORDER = (
    Option.SCHEMA,
    Option.STREAM_OPTIONS,
    Option.CACHE,
    Option.EFFORT,
    Option.THINKING,
    Option.TEMPERATURE,
)
"""What is left out first when a server does not say what it refuses: what servers
support least.
"""
_NUMBER = re.compile(r"\d[\d,_]*")
_CONTEXT = re.compile(
    r"context (?:length|limit|size|window)\D{0,24}(\d[\d,_]*)", re.IGNORECASE
)
_SUM = re.compile(r"(\d[\d,_]*) \+ \d[\d,_]* > (\d[\d,_]*)")
# "At least" so many tokens is not the count of the whole prompt.
_PROMPT = re.compile(
    r"(?:request has |resulted in |prompt is too long: )(\d[\d,_]*)|"
    r"(?<!at least )\b(\d[\d,_]*) (?:input tokens|in the"
    r" (?:messages|prompt|input)|prompt tokens)",
    re.IGNORECASE,
)
_TOO_LARGE = re.compile(
    r"too (?:large|high|big)|at most|maximum|less than|exceed|range|\d > \d|<=",
    re.IGNORECASE,
)
_EXCESS = re.compile(r"Limit:? (\d[\d,_]*), Requested:? (\d[\d,_]*)")
_AFFORDABLE = re.compile(r"can only afford (\d[\d,_]*)")
_CONTEXT_NAMES = ("context_length_exceeded", "exceed_context_size_error")


@dataclass(frozen=True, slots=True)
class Complaint:
    """What a refusal says is wrong with a request; counts are 0 when it does not say."""

    words: str
    parameter: str = ""
    """The parameter that a field of the body names."""
    context: int = 0
    """Size of the context window in tokens."""
    prompt: int = 0
    """Tokens that the server counted in the prompt."""
    excess: int = 0
    """Tokens by which the request exceeds the limit per minute."""
    affordable: int = 0
    """Tokens of the longest answer that the remaining credit pays for."""

    def blames(self, names: Sequence[str]) -> bool:
        """Return whether the named parameter, or the words when none is named, match."""
        text = self.parameter or self.words
        return any(name in text for name in names)

    @property
    def blames_something(self) -> bool:
        """Whether it is about anything that could be omitted or changed."""
        if self.parameter or self.blames(_LIMIT_WORDS):
            return True
        return any(self.blames(words) for words in _OPTION_WORDS.values())

    def allowed_output(self, asked: int) -> int:
        """Return the longest answer that the server allows, 0 when it is not about
        that.
        """
        if self.affordable:
            return self.affordable
        if self.excess:
            return max(0, asked - self.excess)
        if self.is_about_context or not self.blames(_LIMIT_WORDS):
            return 0
        if not _TOO_LARGE.search(self.words):
            return 0
        allowed = 0
        for text in _NUMBER.findall(self.words):
            number = _whole(text)
            # Smaller numbers are part of a model's name or of a version.
            if SHORTEST_OUTPUT <= number < asked:
                allowed = max(allowed, number)
        if "exclusive" in self.words:
            return allowed - 1
        return allowed

    @property
    def is_about_length(self) -> bool:
        """Whether a shorter answer would be accepted, whatever the status."""
        return bool(self.excess or self.affordable)

    @property
    def is_about_context(self) -> bool:
        """Whether prompt and answer together are too long, not the answer alone."""
        return bool(self.context or self.prompt)


@dataclass(frozen=True, slots=True)
class Terms:
    """How to ask one server for one model."""

    limit_name: str = ""
    """Name of the output limit parameter, where there is a choice."""
    is_lookalike: bool = False
    """Whether it is a compatible server, which may refuse a parameter without naming
    it.
    """
    refused: frozenset[Option] = frozenset()
    """What it has refused, and is no longer sent."""
    most_output: int = 0
    """Tokens of the longest answer that the model gives, 0 while unknown."""
    context: int = 0
    """Size of the context window in tokens, 0 while unknown."""

    def output_limit(self, wanted: int, prompt: int) -> int:
        """Return the output limit to send with a prompt of so many tokens."""
        limit = wanted
        if self.most_output:
            limit = min(limit, self.most_output)
        if self.context:
            limit = min(limit, self.context - prompt)
        return limit

    def takes(self, option: Option) -> bool:
        """Return whether the server has not refused an option."""
        return option not in self.refused

    def after(
        self, complaint: Complaint, asked: int, sent: Collection[Option]
    ) -> Terms:
        """Return the terms to try after a refusal of a request with these options; the
        same when they are not the cause.
        """
        if complaint.is_about_context:
            context = complaint.context or self.context
            return replace(self, context=context)
        allowed = complaint.allowed_output(asked)
        if allowed:
            return replace(self, most_output=allowed)
        is_vague = self.is_lookalike and not complaint.blames_something
        for option in _VAGUE_ORDER if is_vague else _OPTION_WORDS:
            is_blamed = is_vague or complaint.blames(_OPTION_WORDS[option])
            if is_blamed and option in sent and self.takes(option):
                return replace(self, refused=self.refused | {option})
        blames_limit = is_vague or complaint.blames(_LIMIT_NAMES)
        if self.limit_name and blames_limit:
            other = 1 - _LIMIT_NAMES.index(self.limit_name)
            return replace(self, limit_name=_LIMIT_NAMES[other])
        return self


def too_long_prompt(model: str, tokens: int, context: int) -> ProviderError:
    """Return the error for a prompt that does not fit into the context."""
    return ProviderError(
        f"the prompt has about {tokens:,} tokens and {model} takes {context:,} with the"
        " answer; name a model with a larger context, or make the item smaller",
        cause=FailureCause.BAD_REQUEST,
        consumed=NOTHING,
    )


def read_complaint(error: ErrorObject, words: str) -> Complaint:
    """Read the error object of a refusal, and its words."""
    context = _whole(error.get("n_ctx"))
    prompt = _whole(error.get("n_prompt_tokens"))
    total = _SUM.search(words)
    window = _CONTEXT.search(words)
    if total:
        prompt = _whole(total[1])
        context = _whole(total[2])
    elif window:
        context = _whole(window[1])
    counted = _PROMPT.search(words)
    if counted and not prompt:
        number = counted[1] or counted[2]
        prompt = _whole(number)
    code = error.get("code")
    kind = error.get("type")
    is_about_context = code in _CONTEXT_NAMES or kind in _CONTEXT_NAMES
    if is_about_context and not prompt:
        prompt = 1
    excess = 0
    exceeded = _EXCESS.search(words)
    if exceeded:
        limit = _whole(exceeded[1])
        requested = _whole(exceeded[2])
        excess = max(0, requested - limit)
    affordable = 0
    afforded = _AFFORDABLE.search(words)
    if afforded:
        affordable = _whole(afforded[1])
    parameter = _parameter(error)
    return Complaint(words, parameter, context, prompt, excess, affordable)


def _parameter(error: ErrorObject) -> str:
    """Return the parameter that is blamed: OpenAI names it, FastAPI gives its path."""
    named = error.get("param")
    if isinstance(named, str):
        return named
    detail = error.get("detail")
    if not isinstance(detail, list) or not detail:
        return ""
    first = detail[0]
    place = first.get("loc") if isinstance(first, dict) else None
    if not isinstance(place, list):
        return ""
    names = [part for part in place if isinstance(part, str)]
    parts = [name for name in names if name != "body"]
    return ".".join(parts)


def _whole(value: object) -> int:
    if isinstance(value, bool):
        return 0
    if isinstance(value, int):
        return max(0, min(value, 10**12))
    if not isinstance(value, str):
        return 0
    digits = value.replace(",", "").replace("_", "")
    is_number = digits.isascii() and digits.isdigit()
    if not is_number or len(digits) > 12:
        return 0
    return int(digits)
