"""Data classes for the tokens a call used and the rate limits a provider reports."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and cost of a completion, as the provider counted them."""

    input_tokens: int = 0
    """The whole prompt, including tokens read from a cache or written to one."""
    output_tokens: int = 0
    """The whole answer, including hidden thinking."""
    cached_tokens: int = 0
    """Input tokens that were read from the provider's cache."""
    cache_written_tokens: int = 0
    """Input tokens that were written to the provider's cache."""
    cost: int | None = None
    """Micro-dollars, when the server itself reports the cost."""


@dataclass(frozen=True, slots=True)
class Consumed:
    """What a failed call consumed, as far as it is known."""

    usage: Usage = field(default_factory=Usage)
    """What the provider counted, or what arrived of the answer."""
    is_final: bool = False
    """Whether `usage` is complete: nothing was billed, or the provider's own count of
    the whole call has arrived.
    """


NOTHING = Consumed(is_final=True)
"""For a failed connection or a refusal before any content, which is not billed."""
UNKNOWN = Consumed()
"""For a request that was sent without an answer: up to the reservation may be
billed.
"""


@dataclass(frozen=True, slots=True)
class RateHeaders:
    """Rate limits of a quota group from a provider's headers; None where a header is
    missing.
    """

    requests_limit: int | None = None
    requests_left: int | None = None
    requests_reset: float | None = None
    """Seconds until the full limit is available again."""
    tokens_limit: int | None = None
    tokens_left: int | None = None
    tokens_reset: float | None = None
    input_limit: int | None = None
    """Input tokens, when the provider counts input and output separately."""
    input_left: int | None = None
    input_reset: float | None = None
    output_limit: int | None = None
    output_left: int | None = None
    output_reset: float | None = None
