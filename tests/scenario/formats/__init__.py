"""The wire formats: what a call, a refusal and an answer look like in each provider's
bytes.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.scenario.script import Kind

Headers = tuple[tuple[str, str], ...]
CHARACTERS_PER_TOKEN = 4
ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz123456789"


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request as it came in."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """Names in small letters."""
    body: bytes = field(repr=False, default=b"")


@dataclass(frozen=True, slots=True)
class Reply:
    """One whole answer to a request."""

    status: int
    headers: Headers
    body: bytes


@dataclass(frozen=True, slots=True)
class Block:
    """A block of text of a request, and whether its end is marked for the cache."""

    speaker: str
    text: str = field(repr=False)
    is_marked: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A request for a completion, whatever format it came in."""

    format: str
    secret: str = field(repr=False)
    model: str
    texts: tuple[str, ...] = field(repr=False)
    """The blocks of text that the model is to read, system prompt first."""
    is_streamed: bool
    has_schema: bool = False
    max_tokens: int = 0
    wants_usage: bool = True
    is_sse: bool = True
    answer_tool: str = ""
    """The tool that an answer in JSON must be given by, where one was offered for
    that.
    """
    wraps_verdict: bool = False
    """Whether that tool takes a verdict, or looks in its place."""
    is_follow_up: bool = False
    """Whether this only brings the result of a tool, so that nothing new is asked."""
    blocks: tuple[Block, ...] = field(repr=False, default=())
    """The same text with the marks for the cache, in a format that has them."""
    prompt: str = field(repr=False, default="")
    purpose: str = "other"
    item: str = ""
    request_id: str = field(default_factory=lambda: make_id(""))

    @property
    def input_tokens(self) -> int:
        """Return how many tokens the call is counted for when it arrives."""
        return count_tokens("".join(self.texts))


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call is not answered."""

    kind: Kind
    delay: float | None = None
    limit_name: str = ""
    """What was reached: `requests`, `tokens`, `day`, `parallel`, `spend`; empty for a
    scripted fault.
    """
    limit: int = 0
    used: int = 0
    requested: int = 0
    status: int = 0
    message: str = ""
    is_unknown_key: bool = True
    """For `auth`: nobody knows the key, else it was revoked."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What is left of a group's limits, a limit of 0 where there is none."""

    requests_limit: int = 0
    requests_left: int = 0
    requests_reset: float = 0.0
    tokens_limit: int = 0
    tokens_left: int = 0
    tokens_reset: float = 0.0
    is_scaled: bool = False
    """Whether time runs faster than real, so that whole seconds are too coarse."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer came to."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    """Input tokens that were read from the cache."""
    written_tokens: int = 0
    """Input tokens that were written to it."""
    is_cut: bool = False
    """Whether the answer ended at the most tokens that were asked for."""


class Format(Protocol):
    """What the server needs of a wire format."""

    name: str

    def read_call(self, request: HttpRequest) -> Call | Refusal | None:
        """Return the call, why it cannot be one, or None if the request is none of this
        format's.
        """

    def find_secret(self, request: HttpRequest) -> str:
        """Return the key that came with a request, or nothing."""

    def list_models(self, models: Sequence[str]) -> Any:
        """Return the list of models as JSON data."""

    def count_reply(self, tokens: int) -> Any:
        """Return the answer of the endpoint that counts tokens."""

    def headers(self, call: Call, standing: Standing) -> Headers:
        """Return the headers that every answer carries."""

    def refuse(self, refusal: Refusal, call: Call, standing: Standing) -> Reply:
        """Return the provider's answer to a call that it refuses."""

    def error_frame(self, refusal: Refusal, call: Call) -> bytes:
        """Return an error in the middle of a stream."""

    def answer(self, call: Call, text: str, usage: Usage) -> bytes:
        """Return a whole answer."""

    def opening(self, call: Call, usage: Usage) -> bytes:
        """Return what a stream begins with."""

    def piece(self, call: Call, text: str) -> bytes:
        """Return one piece of text."""

    def closing(self, call: Call, usage: Usage) -> bytes:
        """Return what a stream ends with."""

    def broken_frame(self, call: Call) -> bytes:
        """Return a frame whose JSON breaks off."""


def count_tokens(text: str) -> int:
    """Count tokens as the scenario does: one for every four characters begun."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def make_id(prefix: str, length: int = 24) -> str:
    """Make an identifier as providers do."""
    return prefix + "".join(secrets.choice(ALPHABET) for _ in range(length))


def dump(value: Any, indent: int | None = None) -> bytes:
    """Write JSON as a provider does: closely, or with an indent."""
    separators = (",", ":") if indent is None else None
    return json.dumps(
        value, indent=indent, separators=separators, ensure_ascii=False
    ).encode("utf-8", "replace")


def read_json(body: bytes) -> dict[str, Any] | None:
    """Return the JSON object of a body, or None."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def collect_text(content: Any) -> Iterable[str]:
    """Yield the texts in a message's content: a string, or blocks with a text."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for block in content:
            if isinstance(block, dict):
                yield from collect_text(block.get("text") or block.get("content"))


def whole_number(value: Any) -> int:
    """Return a number of a request, 0 for anything else."""
    return (
        value
        if isinstance(value, int) and not isinstance(value, bool) and value > 0
        else 0
    )


def find_bearer(headers: Mapping[str, str]) -> str:
    """Return the token of an Authorization header."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.casefold() == "bearer" else ""
