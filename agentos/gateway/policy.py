"""What to do after a failed call: the one place that decides about retries."""

from __future__ import annotations

import random
from dataclasses import dataclass

from agentos.errors import ProviderError, Sign
from agentos.providers import NOTHING, UNKNOWN, Consumed

MAX_RETRIES = 3
FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0
MOST_OVERLOADS = 30
UNTOLD_REST = 60.0
SHORTEST_REST = 1.0


@dataclass(frozen=True, slots=True)
class AskAgain:
    """Ask again after a delay; a fault that is none of the request's own costs no retry."""

    delay: float
    costs_retry: bool = False


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Report the error to the workflow."""


Decision = AskAgain | GiveUp

GIVE_UP = GiveUp()


@dataclass(frozen=True, slots=True)
class Record:
    """What a request has been through."""

    retries: int = 0
    overloads: int = 0
    refusals: int = 0
    """How often it was told to come again later."""


def after(error: ProviderError, record: Record, *, has_key: bool) -> Decision:
    """Decide by what the error is a sign of, by what the request has been through, and by who keeps the rest.

    With a key, rests are the pool's: the request goes back in line at once, gets another key, or waits there, or is
    told that no key can come. Without one the request itself waits.
    """
    rest = 0.0 if has_key else _rest(error.delay, record.refusals)
    match error.sign:
        case Sign.RATE_LIMIT | Sign.QUOTA:
            return AskAgain(rest)
        case Sign.AUTH | Sign.BILLING | Sign.NO_ACCESS:
            return AskAgain(0.0) if has_key else GIVE_UP
        case Sign.OVERLOADED:
            return AskAgain(rest) if record.overloads < MOST_OVERLOADS else GIVE_UP
        case Sign.TRANSIENT if error.failure == "provider" and record.retries < MAX_RETRIES:
            delay = min(LONGEST_DELAY, FIRST_DELAY * 2**record.retries)
            return AskAgain(max(error.delay or 0.0, delay) * random.uniform(0.8, 1.2), costs_retry=True)
    return GIVE_UP


def _rest(told: float | None, refusals: int) -> float:
    """Return the seconds to wait: what was told, but at least a second that doubles with each refusal."""
    if told is None:
        return UNTOLD_REST
    return max(told, min(UNTOLD_REST, SHORTEST_REST * 2**refusals)) if told < SHORTEST_REST else told


def usually_consumed(error: ProviderError) -> Consumed:
    """Return what a failed call consumed that does not say so itself: a provider does not bill what it refused."""
    return UNKNOWN if error.sign in (Sign.TRANSIENT, Sign.BAD_ANSWER) else NOTHING
