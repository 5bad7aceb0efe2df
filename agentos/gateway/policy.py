"""What to do after a failed call: the one place that decides about retries."""

from __future__ import annotations

from dataclasses import dataclass

from agentos.errors import ProviderError, RateLimited

MAX_RETRIES = 2
FIRST_DELAY = 0.5


@dataclass(frozen=True, slots=True)
class Rest:
    """Let the key rest and ask again with another; this is no fault of the request and costs no retry."""

    delay: float


@dataclass(frozen=True, slots=True)
class Retry:
    """Ask again after a delay."""

    delay: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Report the error to the workflow."""


Decision = Rest | Retry | GiveUp


def after(error: ProviderError, retries: int) -> Decision:
    """Decide by the kind of error and by how many retries were spent on this request."""
    if isinstance(error, RateLimited):
        return Rest(error.delay)
    if error.failure == "provider" and retries < MAX_RETRIES:
        return Retry(FIRST_DELAY * 2**retries)
    return GiveUp()
