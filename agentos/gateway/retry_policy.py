"""Decide what to do after a failed call: the only retry policy of the gateway."""

from __future__ import annotations

import random
from dataclasses import dataclass

from agentos.errors import FailureCause, ProviderError
from agentos.usage import NOTHING, UNKNOWN, Consumed

MAX_RETRIES = 3
FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0
MOST_OVERLOADS = 30
UNTOLD_REST = 60.0
SHORTEST_REST = 1.0


@dataclass(frozen=True, slots=True)
class AskAgain:
    """Ask again after a delay; it costs a retry only when the request itself failed."""

    delay: float
    costs_retry: bool = False


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Report the error to the workflow."""


Decision = AskAgain | GiveUp

GIVE_UP = GiveUp()


@dataclass(frozen=True, slots=True)
class Record:
    """History of a request."""

    retries: int = 0
    overloads: int = 0
    refusals: int = 0
    """How often a provider asked to wait."""


def after(error: ProviderError, record: Record, *, has_key: bool) -> Decision:
    """Decide by the cause of the error and by the history of the request.

    With a key, the pool keeps the rests: the request queues again at once and gets
    another key, waits there, or learns that no key will come. Without a key, the
    request itself waits.
    """
    rest = 0.0 if has_key else _rest(error.delay, record.refusals)
    match error.cause:
        case FailureCause.RATE_LIMIT | FailureCause.QUOTA:
            return AskAgain(rest)
        case FailureCause.AUTH | FailureCause.BILLING | FailureCause.NO_ACCESS:
            if has_key:
                return AskAgain(0.0)
        case FailureCause.OVERLOADED:
            if record.overloads < MOST_OVERLOADS:
                return AskAgain(rest)
        case FailureCause.TRANSIENT if (
            error.failure == "provider" and record.retries < MAX_RETRIES
        ):
            delay = min(LONGEST_DELAY, FIRST_DELAY * 2**record.retries)
            if error.delay is not None:
                delay = max(error.delay, delay)
            jitter = random.uniform(0.8, 1.2)
            return AskAgain(delay * jitter, costs_retry=True)
    return GIVE_UP


def _rest(told: float | None, refusals: int) -> float:
    """Return the seconds to wait: what the provider asked for, but at least a second
    that doubles with each refusal.
    """
    if told is None:
        return UNTOLD_REST
    if told >= SHORTEST_REST:
        return told
    rest: float = SHORTEST_REST * 2**refusals
    return max(told, min(UNTOLD_REST, rest))


def usually_consumed(error: ProviderError) -> Consumed:
    """Return what a failed call of this cause consumes: a refusal is not billed."""
    if error.cause in (FailureCause.TRANSIENT, FailureCause.BAD_ANSWER):
        return UNKNOWN
    return NOTHING
