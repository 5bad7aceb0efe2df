"""What a server that refuses a request finds wrong with it, and how to ask so that it does not.

Servers that speak one API differ in what they know of it. A parameter that one of them does not know is left out, or
named otherwise, and an answer that is asked for too long is asked for shorter. What was learned is kept, so that each
server refuses each thing once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentos.errors import ProviderError, Sign
from agentos.providers import NOTHING

SHORTEST_OUTPUT = 256
"""Tokens below which an answer is not worth asking for."""

_LIMIT_NAMES = ("max_completion_tokens", "max_tokens")
_LIMIT_WORDS = (*_LIMIT_NAMES, "max_output_tokens", "maxOutputTokens")
_SCHEMA_WORDS = (
    *("response_format", "json_schema", "output_config", "output_format"),
    *("response_json_schema", "responseJsonSchema", "response_schema", "guided_json"),
)
_STREAM_WORDS = ("stream_options", "include_usage")
_NUMBER = re.compile(r"\d[\d,_]*")
_CONTEXT = re.compile(r"context (?:length|limit|size|window)\D{0,24}(\d[\d,_]*)", re.IGNORECASE)
_SUM = re.compile(r"(\d[\d,_]*) \+ \d[\d,_]* > (\d[\d,_]*)")
# A prompt "of at least" so many tokens was not counted to its end.
_PROMPT = re.compile(
    r"(?:request has |resulted in |prompt is too long: )(\d[\d,_]*)|"
    r"(?<!at least )\b(\d[\d,_]*) (?:input tokens|in the (?:messages|prompt|input)|prompt tokens)",
    re.IGNORECASE,
)
_TOO_LARGE = re.compile(r"too (?:large|high|big)|at most|maximum|less than|exceed|range|\d > \d|<=", re.IGNORECASE)
_EXCESS = re.compile(r"Limit:? (\d[\d,_]*), Requested:? (\d[\d,_]*)")
_AFFORDABLE = re.compile(r"can only afford (\d[\d,_]*)")
_CONTEXT_NAMES = ("context_length_exceeded", "exceed_context_size_error")


@dataclass(frozen=True, slots=True)
class Complaint:
    """What a refusal of a request blames."""

    words: str
    parameter: str = ""
    """The parameter that the body names in a field of its own."""
    context: int = 0
    """Tokens that prompt and answer may have together, 0 when it is not said."""
    prompt: int = 0
    """Tokens that the server counted in the prompt, 0 when it is not said."""
    excess: int = 0
    """By how many tokens the request is larger than a limit on a minute, 0 when it is not said."""
    affordable: int = 0
    """The longest answer that there is still money for, 0 when it is not said."""

    def blames(self, names: Sequence[str]) -> bool:
        """Tell whether one of some parameters is blamed: the one that is named, else any that the words mention."""
        if self.parameter:
            return any(name in self.parameter for name in names)
        return any(name in self.words for name in names)

    @property
    def blames_something(self) -> bool:
        """Whether it is about anything that could be asked otherwise."""
        return bool(self.parameter) or self.blames((*_LIMIT_WORDS, *_SCHEMA_WORDS, *_STREAM_WORDS))

    def allowed_output(self, asked: int) -> int:
        """Return the longest answer that the model is said to give, 0 when that is not what is blamed."""
        if self.excess or self.affordable:
            return self.affordable or max(0, asked - self.excess)
        if self.is_about_context or not self.blames(_LIMIT_WORDS) or not _TOO_LARGE.search(self.words):
            return 0
        # Smaller numbers are those of a model's name or of a version.
        numbers = (number for number in _numbers(self.words) if SHORTEST_OUTPUT <= number < asked)
        allowed = max(numbers, default=0)
        return allowed - 1 if "exclusive" in self.words else allowed

    @property
    def is_about_length(self) -> bool:
        """Whether a shorter answer would be given, whatever status the refusal has."""
        return bool(self.excess or self.affordable)

    @property
    def is_about_context(self) -> bool:
        """Whether prompt and answer together are too long, and not the answer alone."""
        return bool(self.context or self.prompt)


@dataclass(frozen=True, slots=True)
class Terms:
    """How one server is asked for one model."""

    limit_name: str = ""
    """What the output limit is called, where there is a choice."""
    is_lookalike: bool = False
    """Whether the server only resembles the API: it may refuse what it does not know without a word about it."""
    takes_schema: bool = True
    takes_stream_options: bool = True
    most_output: int = 0
    """The longest answer that the model gives, 0 while it is not known."""
    context: int = 0
    """Tokens of prompt and answer together, 0 while it is not known."""

    def output_limit(self, wanted: int, prompt: int) -> int:
        """Return how long an answer to ask for, after a prompt of so many tokens."""
        limit = min(wanted, self.most_output) if self.most_output else wanted
        return min(limit, self.context - prompt) if self.context else limit

    def after(self, complaint: Complaint, asked: int, *, has_schema: bool = True) -> Terms:
        """Return the terms after a refusal of an answer of so many tokens; the same when they are not to blame."""
        if complaint.is_about_context:
            return replace(self, context=complaint.context or self.context)
        if allowed := complaint.allowed_output(asked):
            return replace(self, most_output=allowed)
        is_vague = self.is_lookalike and not complaint.blames_something
        if has_schema and self.takes_schema and (is_vague or complaint.blames(_SCHEMA_WORDS)):
            return replace(self, takes_schema=False)
        if self.takes_stream_options and (is_vague or complaint.blames(_STREAM_WORDS)):
            return replace(self, takes_stream_options=False)
        if self.limit_name and (is_vague or complaint.blames(_LIMIT_NAMES)):
            return replace(self, limit_name=_LIMIT_NAMES[1 - _LIMIT_NAMES.index(self.limit_name)])
        return self


def too_long_prompt(model: str, tokens: int, context: int) -> ProviderError:
    """Return the error for a prompt that does not fit."""
    return ProviderError(
        f"the prompt has about {tokens:,} tokens and {model} takes {context:,} with the answer; "
        "name a model with a larger context, or make the item smaller",
        sign=Sign.BAD_REQUEST,
        consumed=NOTHING,
    )


def read_complaint(error: Mapping[str, Any], words: str) -> Complaint:
    """Read the error object of a refusal, and its words."""
    context, prompt = _whole(error.get("n_ctx")), _whole(error.get("n_prompt_tokens"))
    if found := _SUM.search(words):
        prompt, context = _whole(found[1]), _whole(found[2])
    elif found := _CONTEXT.search(words):
        context = _whole(found[1])
    if found := _PROMPT.search(words):
        prompt = prompt or _whole(found[1] or found[2])
    if error.get("code") in _CONTEXT_NAMES or error.get("type") in _CONTEXT_NAMES:
        prompt = prompt or 1
    excess = affordable = 0
    if found := _EXCESS.search(words):
        excess = max(0, _whole(found[2]) - _whole(found[1]))
    if found := _AFFORDABLE.search(words):
        affordable = _whole(found[1])
    return Complaint(words, _parameter(error), context, prompt, excess, affordable)


def _parameter(error: Mapping[str, Any]) -> str:
    """Return the parameter that is blamed: OpenAI names it, FastAPI tells its place in the request."""
    named = error.get("param")
    if isinstance(named, str):
        return named
    detail = error.get("detail")
    first = detail[0] if isinstance(detail, list) and detail else None
    place = first.get("loc") if isinstance(first, dict) else None
    parts = [part for part in place if isinstance(part, str)] if isinstance(place, list) else []
    return ".".join(part for part in parts if part != "body")


def _numbers(words: str) -> list[int]:
    return [_whole(text) for text in _NUMBER.findall(words)]


def _whole(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return max(0, min(value, 10**12))
    digits = value.replace(",", "").replace("_", "") if isinstance(value, str) else ""
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 12 else 0
