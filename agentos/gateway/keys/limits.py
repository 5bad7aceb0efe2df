"""Track the limits of a quota group, and how each answer changes them (pure functions).

Three limits hold a group back. A *rest* is what its provider asked for. The *rate* is
the number of requests and tokens per minute, as given by the user, the provider's
headers or its refusals, or as learned from a refusal that names no number. The
*ceiling* is the number of simultaneous calls: it grows quickly until the first refusal,
is cut once for each episode of refusals, and grows slowly from then on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone

from agentos.errors import FailureCause, ProviderError
from agentos.usage import RateHeaders

FIRST_CEILING = 4.0
CUT = 0.7
OVERLOAD_CUT = 0.5
FIRST_REST = 1.0
LONGEST_REST = 60.0
FEW = 3
"""With fewer requests in a minute, a refusal does not reveal the rate."""
PROBE = 1.05
"""Factor by which a learned rate is exceeded as a probe."""
PROBE_PAUSE = 4.0
"""Minutes without a refusal before a probe; twice the time between the last two
refusals if that is longer.
"""
CALLS_A_PROBE = 100
"""Calls for each probe, at least: a probe costs a refused call, and a low limit has few
calls in a minute.
"""
LONGEST_PAUSE = 60.0
"""Minutes without a refusal before a probe above a limit that the provider named."""
PACIFIC = timezone(timedelta(hours=-8))


@dataclass(frozen=True, slots=True)
class Use:
    """What the calls of a group used within a minute."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    leaves_at: float = 0.0
    """When the oldest of the requests leaves the minute."""

    @property
    def tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens


NO_USE = Use()


@dataclass(frozen=True, slots=True)
class QuotaState:
    """State of a quota group, or of a model of a provider."""

    resting_until: float = 0.0
    why: str = ""
    """Reason of the rest: `rate-limit`, `quota`, `overloaded`."""
    dead: str = ""
    """Why it is not used any more; empty while it is."""
    ceiling: float = FIRST_CEILING
    is_cautious: bool = False
    """Whether it was refused before, so that the ceiling grows slowly."""
    cut_at: float = 0.0
    strikes: int = 0
    """Consecutive episodes of refusals with no delay or a very short one."""
    requests_limit: int = 0
    """Requests per minute, 0 while unknown."""
    tokens_limit: int = 0
    is_learned: bool = False
    """Whether the limit was derived from a refusal that named none."""
    probe_at: float = 0.0
    """When to probe whether the limit was raised; 0 when every answer names it."""
    input_limit: int = 0
    """Input tokens per minute, when counted separately; 0 while unknown."""
    output_limit: int = 0

    def is_usable(self, now: float) -> bool:
        """Return whether calls are allowed, apart from the limits per minute."""
        return not self.dead and self.resting_until <= now


def after_success(
    state: QuotaState,
    rate_headers: RateHeaders | None,
    most: int,
    window: float,
    now: float,
    own: Use = NO_USE,
) -> QuotaState:
    """Return the state of a group after an answer.

    `most` is the highest ceiling; `own` is what the provider can have counted of our
    calls when it wrote the headers.
    """
    step = 1.0
    if state.is_cautious:
        step /= state.ceiling
    ceiling = min(float(most), state.ceiling + step)
    changed = replace(state, ceiling=ceiling, strikes=0)
    if changed.probe_at and now >= changed.probe_at:
        changed = _try_more(changed, window, now)
    if rate_headers is None:
        return changed
    return _heed(changed, rate_headers, own, now)


def after_fault(
    state: QuotaState,
    error: ProviderError,
    started: float,
    use: Use,
    now: float,
    window: float = 60.0,
) -> QuotaState:
    """Return the state of a group after a failed call.

    `use` is what the limits per minute may have counted, with this call.
    """
    match error.cause:
        case FailureCause.RATE_LIMIT:
            if error.rate_headers is not None:
                state = _take_limits(state, error.rate_headers)
            told = _be_told(state, error, use, window, now)
            if told is not None:
                # A known limit is kept by counting; fewer simultaneous calls would only
                # waste it.
                return _rest(told, error, 1.0, started, now)
            return _rest(
                _learn(state, use.requests, window, now), error, CUT, started, now
            )
        case FailureCause.QUOTA:
            until = now + error.delay if error.delay else next_day(now)
            return replace(
                state,
                resting_until=max(state.resting_until, until),
                why=FailureCause.QUOTA,
            )
        case FailureCause.BILLING:
            return replace(state, dead=str(error))
        case FailureCause.OVERLOADED:
            return _rest(state, error, OVERLOAD_CUT, started, now)
    return state


def next_day(now: float) -> float:
    """Return when daily quotas are renewed: at midnight Pacific time, without daylight
    saving.
    """
    local = datetime.fromtimestamp(now, UTC).astimezone(PACIFIC)
    today = datetime(local.year, local.month, local.day, tzinfo=PACIFIC)
    midnight = today + timedelta(days=1)
    return midnight.timestamp()


def _rest(
    state: QuotaState, error: ProviderError, cut: float, started: float, now: float
) -> QuotaState:
    delay, strikes = _how_long(state, error.delay, now)
    changed = replace(
        state,
        resting_until=max(state.resting_until, now + delay),
        why=str(error.cause),
        strikes=strikes,
    )
    if cut == 1.0 or started < state.cut_at:
        # Nothing to cut, or the call started before the last cut: the same episode.
        return changed
    return replace(
        changed, ceiling=max(1.0, state.ceiling * cut), is_cautious=True, cut_at=now
    )


def _how_long(state: QuotaState, told: float | None, now: float) -> tuple[float, int]:
    """Return the seconds to rest, and the new number of strikes.

    A delay of zero, or one in the past, counts as none: the rest is a second at first
    and doubles with each further episode. A fraction of a second is accepted once.
    """
    if told is not None and told >= FIRST_REST:
        return told, state.strikes
    is_same_episode = now < state.resting_until
    strikes = max(1, state.strikes + (not is_same_episode))
    if told and strikes == 1:
        return told, strikes
    return min(LONGEST_REST, FIRST_REST * 2 ** (strikes - 1)), strikes


def _be_told(
    state: QuotaState, error: ProviderError, use: Use, window: float, now: float
) -> QuotaState | None:
    """Apply the limits that a refusal names; return None when it names none."""
    if not (error.requests_limit or error.tokens_limit or error.input_limit):
        return None
    tokens_limit = error.tokens_limit or state.tokens_limit
    if _counts_output(error.input_limit, use):
        tokens_limit = error.input_limit
    return replace(
        state,
        # A learned limit of requests was a guess about the limit that is named now.
        requests_limit=error.requests_limit
        or (0 if state.is_learned else state.requests_limit),
        tokens_limit=tokens_limit,
        input_limit=error.input_limit or state.input_limit,
        is_learned=False,
        probe_at=now + LONGEST_PAUSE * window,
    )


def _counts_output(input_limit: int, use: Use) -> bool:
    """Return whether a limit that is named for input tokens counts output as well.

    It does if input does not explain the refusal, and input and output together are
    nearer to the limit. If output did not count, they would usually be far beyond it.
    """
    missing = input_limit - use.input_tokens
    excess = use.tokens - input_limit
    return 0 <= excess < missing


def _try_more(state: QuotaState, window: float, now: float) -> QuotaState:
    return replace(
        state,
        requests_limit=math.ceil(state.requests_limit * PROBE),
        tokens_limit=math.ceil(state.tokens_limit * PROBE),
        input_limit=math.ceil(state.input_limit * PROBE),
        output_limit=math.ceil(state.output_limit * PROBE),
        probe_at=now + (window if state.is_learned else LONGEST_PAUSE * window),
    )


def _learn(state: QuotaState, in_window: int, window: float, now: float) -> QuotaState:
    """Take the requests of the last minute as the limit, unless the limit is known, and
    schedule a probe.

    The pause before a probe grows while probes are refused, since then the limit is
    right.
    """
    if in_window < FEW or (state.requests_limit and not state.is_learned):
        return state
    limit = in_window - 1
    if state.requests_limit:
        limit = min(limit, state.requests_limit)
    limit = max(1, limit)
    pause = window * max(PROBE_PAUSE, CALLS_A_PROBE / limit)
    earliest = 0.0
    if state.is_learned:
        held = now - state.cut_at
        pause = max(pause, 2 * held)
        # Further refusals of the same probe come at once, and must not shorten it.
        earliest = state.probe_at
    probe_at = now + min(pause, window * LONGEST_PAUSE)
    return replace(
        state,
        requests_limit=limit,
        is_learned=True,
        probe_at=max(probe_at, earliest),
    )


def _take_limits(state: QuotaState, rate_headers: RateHeaders) -> QuotaState:
    """Apply the limits per minute in the provider's headers."""
    changed = replace(
        state,
        tokens_limit=rate_headers.tokens_limit or state.tokens_limit,
        input_limit=rate_headers.input_limit or state.input_limit,
        output_limit=rate_headers.output_limit or state.output_limit,
    )
    if rate_headers.requests_limit:
        changed = replace(
            changed,
            requests_limit=rate_headers.requests_limit,
            is_learned=False,
            probe_at=0.0,
        )
    return changed


def _heed(
    state: QuotaState, rate_headers: RateHeaders, own: Use, now: float
) -> QuotaState:
    """Apply the provider's headers."""
    changed = _take_limits(state, rate_headers)
    for left, reset, limit, used in (
        (
            rate_headers.requests_left,
            rate_headers.requests_reset,
            changed.requests_limit,
            own.requests,
        ),
        (
            rate_headers.tokens_left,
            rate_headers.tokens_reset,
            changed.tokens_limit,
            own.tokens,
        ),
        (
            rate_headers.input_left,
            rate_headers.input_reset,
            changed.input_limit,
            own.input_tokens,
        ),
        (
            rate_headers.output_left,
            rate_headers.output_reset,
            changed.output_limit,
            own.output_tokens,
        ),
    ):
        # Our own calls leave the minute one by one, which the pool counts itself. If
        # they do not explain the count, somebody else uses the quota too, and the
        # provider's count decides.
        if left == 0 and reset and used < limit:
            changed = replace(
                changed,
                resting_until=max(changed.resting_until, now + reset),
                why=str(FailureCause.RATE_LIMIT),
            )
    return changed
