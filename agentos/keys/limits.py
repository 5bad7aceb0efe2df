"""What is known of a quota group's limits, and how each answer changes it (pure).

Three things hold a group back. A *rest* is what its provider asked for. The *rate* is how many requests and tokens a
minute may have, as the user, the provider's headers or its refusals say, or as a refusal without a word about it has
shown. The *ceiling* is how many calls may be under way at once: it grows quickly until the first refusal, is cut once
for each episode of refusals, and grows slowly from then on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone

from agentos.errors import ProviderError, Sign
from agentos.providers import Allowance

FIRST_CEILING = 4.0
CUT = 0.7
OVERLOAD_CUT = 0.5
FIRST_REST = 1.0
LONGEST_REST = 60.0
FEW = 3
"""With fewer requests in a minute, a refusal tells nothing about the rate."""
PROBE = 1.05
"""How much more is tried, when the rate is known from a refusal only."""
PROBE_PAUSE = 4.0
"""Minutes without a refusal before more is tried; twice the time between the last two refusals when that is longer."""
LONGEST_PAUSE = 60.0
"""Minutes without a refusal before more is tried than the provider itself has named."""
PACIFIC = timezone(timedelta(hours=-8))


@dataclass(frozen=True, slots=True)
class Use:
    """What the calls of a group have used within a minute."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    leaves_at: float = 0.0
    """When the oldest of the requests leaves the minute."""

    @property
    def tokens(self) -> int:
        """Tokens of input and output together."""
        return self.input_tokens + self.output_tokens


NO_USE = Use()


@dataclass(frozen=True, slots=True)
class Standing:
    """How a quota group, or a model of a provider, stands."""

    resting_until: float = 0.0
    why: str = ""
    """What the rest is for: `rate-limit`, `quota`, `overloaded`."""
    dead: str = ""
    """Why it will not be asked again; empty while it lives."""
    ceiling: float = FIRST_CEILING
    is_cautious: bool = False
    """Whether it has been refused before, so that the ceiling grows slowly."""
    cut_at: float = 0.0
    strikes: int = 0
    """Episodes of refusals in a row that named no delay, or next to none."""
    requests_limit: int = 0
    """Requests a minute, 0 while it is not known."""
    tokens_limit: int = 0
    is_learned: bool = False
    """Whether the limit was only concluded from a refusal."""
    probe_at: float = 0.0
    """When to try more than the limit, which may have been raised; 0 where every answer tells it."""
    input_limit: int = 0
    """Tokens of input a minute, where the provider counts them apart; 0 while it is not known."""
    output_limit: int = 0

    def is_usable(self, now: float) -> bool:
        """Whether a call may be made, limits of the moment aside."""
        return not self.dead and self.resting_until <= now


def after_success(
    standing: Standing,
    allowance: Allowance | None,
    most: int,
    window: float,
    now: float,
    own: Use = NO_USE,
) -> Standing:
    """Return how a group stands after an answer.

    `most` is how high its ceiling may grow; `own` is what the provider can have counted of ours when it wrote the
    headers.
    """
    step = 1.0 / standing.ceiling if standing.is_cautious else 1.0
    changed = replace(standing, ceiling=min(float(most), standing.ceiling + step), strikes=0)
    if changed.probe_at and now >= changed.probe_at:
        changed = _try_more(changed, window, now)
    return changed if allowance is None else _heed(changed, allowance, own, now)


def after_fault(
    standing: Standing, error: ProviderError, started: float, in_window: int, now: float, window: float = 60.0
) -> Standing:
    """Return how a group stands after a failed call that was started at a time, with so many in the last minute."""
    match error.sign:
        case Sign.RATE_LIMIT:
            if error.allowance is not None:
                standing = _take_limits(standing, error.allowance)
            told = _be_told(standing, error, window, now)
            if told is not None:
                # What is known exactly holds by its count; fewer calls at once would only waste it.
                return _rest(told, error, 1.0, started, now)
            return _rest(_learn(standing, in_window, window, now), error, CUT, started, now)
        case Sign.QUOTA:
            until = now + error.delay if error.delay else next_day(now)
            return replace(standing, resting_until=max(standing.resting_until, until), why=Sign.QUOTA)
        case Sign.BILLING:
            return replace(standing, dead=str(error))
        case Sign.OVERLOADED:
            return _rest(standing, error, OVERLOAD_CUT, started, now)
    return standing


def next_day(now: float) -> float:
    """Return when daily quotas are renewed: at midnight on the Pacific coast, without its summer time."""
    local = datetime.fromtimestamp(now, UTC).astimezone(PACIFIC)
    midnight = datetime(local.year, local.month, local.day, tzinfo=PACIFIC) + timedelta(days=1)
    return midnight.timestamp()


def _rest(standing: Standing, error: ProviderError, cut: float, started: float, now: float) -> Standing:
    delay, strikes = _how_long(standing, error.delay, now)
    changed = replace(
        standing, resting_until=max(standing.resting_until, now + delay), why=str(error.sign), strikes=strikes
    )
    if cut == 1.0 or started < standing.cut_at:
        # Nothing to cut, or it was under way when the ceiling was cut: the same episode.
        return changed
    return replace(changed, ceiling=max(1.0, standing.ceiling * cut), is_cautious=True, cut_at=now)


def _how_long(standing: Standing, told: float | None, now: float) -> tuple[float, int]:
    """Return the seconds to rest, and the strikes from now on.

    A delay of zero, or one that has passed, says no more than none at all: the rest is a second at first, and doubles
    with each further episode. A fraction of a second is believed once.
    """
    if told is not None and told >= FIRST_REST:
        return told, standing.strikes
    is_same_episode = now < standing.resting_until
    strikes = max(1, standing.strikes + (not is_same_episode))
    if told and strikes == 1:
        return told, strikes
    return min(LONGEST_REST, FIRST_REST * 2 ** (strikes - 1)), strikes


def _be_told(standing: Standing, error: ProviderError, window: float, now: float) -> Standing | None:
    """Take over the limits that a refusal names, or return nothing when it names none."""
    if not (error.requests_limit or error.tokens_limit or error.input_limit):
        return None
    return replace(
        standing,
        # A count of requests that an earlier refusal seemed to show was that of another limit.
        requests_limit=error.requests_limit or (0 if standing.is_learned else standing.requests_limit),
        tokens_limit=error.tokens_limit or standing.tokens_limit,
        input_limit=error.input_limit or standing.input_limit,
        is_learned=False,
        probe_at=now + LONGEST_PAUSE * window,
    )


def _try_more(standing: Standing, window: float, now: float) -> Standing:
    return replace(
        standing,
        requests_limit=math.ceil(standing.requests_limit * PROBE),
        tokens_limit=math.ceil(standing.tokens_limit * PROBE),
        input_limit=math.ceil(standing.input_limit * PROBE),
        output_limit=math.ceil(standing.output_limit * PROBE),
        probe_at=now + (window if standing.is_learned else LONGEST_PAUSE * window),
    )


def _learn(standing: Standing, in_window: int, window: float, now: float) -> Standing:
    """Take what a minute has borne for the limit, unless the limit is known; try more only after a pause.

    The pause grows while more is refused again and again, as then the limit is right.
    """
    if in_window < FEW or (standing.requests_limit and not standing.is_learned):
        return standing
    limit = in_window - 1
    if standing.requests_limit:
        limit = min(limit, standing.requests_limit)
    held = now - standing.cut_at if standing.is_learned else 0.0
    pause = min(max(PROBE_PAUSE * window, 2 * held), LONGEST_PAUSE * window)
    return replace(standing, requests_limit=max(1, limit), is_learned=True, probe_at=now + pause)


def _take_limits(standing: Standing, allowance: Allowance) -> Standing:
    """Take over the limits on a minute that the provider's headers tell."""
    changed = replace(
        standing,
        tokens_limit=allowance.tokens_limit or standing.tokens_limit,
        input_limit=allowance.input_limit or standing.input_limit,
        output_limit=allowance.output_limit or standing.output_limit,
    )
    if allowance.requests_limit:
        changed = replace(changed, requests_limit=allowance.requests_limit, is_learned=False, probe_at=0.0)
    return changed


def _heed(standing: Standing, allowance: Allowance, own: Use, now: float) -> Standing:
    """Take over what the provider's headers say."""
    changed = _take_limits(standing, allowance)
    for left, reset, limit, used in (
        (allowance.requests_left, allowance.requests_reset, changed.requests_limit, own.requests),
        (allowance.tokens_left, allowance.tokens_reset, changed.tokens_limit, own.tokens),
        (allowance.input_left, allowance.input_reset, changed.input_limit, own.input_tokens),
        (allowance.output_left, allowance.output_reset, changed.output_limit, own.output_tokens),
    ):
        # What our own calls have used up comes free again one by one, as our own books say. Where they do not explain
        # it, somebody else uses the quota too, and the provider's count is the one that holds.
        if left == 0 and reset and used < limit:
            changed = replace(changed, resting_until=max(changed.resting_until, now + reset), why=str(Sign.RATE_LIMIT))
    return changed
