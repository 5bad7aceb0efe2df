"""Choose a key for a call, or decide what the call has to wait for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter

from agentos.errors import FailureCause
from agentos.gateway.keys import Key, KeyRequest
from agentos.gateway.keys.limits import QuotaState
from agentos.gateway.keys.store import PoolTransaction, Tokens

CAUTION = 1.1
"""Factor on the expected tokens of a call under way, as its answer may be long."""
MARGIN = 0.02
"""Fraction added to the minute, as the provider counts a request when it arrives."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A leased key, the number of its lease and the time of its start."""

    lease: int
    key: Key
    at: float


@dataclass(frozen=True, slots=True)
class Wait:
    """No key is available now."""

    until: float
    """When there may be one; infinity when another call has to end first."""
    is_exhausted: bool = False
    """Whether no key is usable at all, rather than merely busy."""
    why: str = ""
    """What all calls wait for; empty when this one waits only for other calls."""


@dataclass(frozen=True, slots=True)
class Hopeless:
    """No key is available, and none will be."""

    why: str
    cause: FailureCause = FailureCause.AUTH


Decision = Grant | Wait | Hopeless


def model_name(provider: str, model: str) -> str:
    """Return the name of a model among the quota states."""
    return f"model {provider}:{model}"


def group_name(key: Key) -> str:
    """Return the name of a key's quota group among the quota states."""
    return f"group {key.provider}/{key.group}"


def describe_unserved(provider: str, model: str) -> str:
    """Return the message for a model that no key serves."""
    return (
        f"{provider}:{model}: no {provider} key serves this model; add it to the models"
        " of a key in keys.toml"
    )


def choose(
    pool: PoolTransaction,
    keys: Sequence[Key],
    request: KeyRequest,
    window: float,
) -> Decision:
    """Lease the least busy of the usable keys."""
    model = model_name(request.provider, request.model)
    overload = pool.quota_state(model)
    if not overload.is_usable(pool.now):
        why = f"{request.provider}:{request.model} is overloaded"
        return Wait(overload.resting_until, why=why)
    if overload.is_cautious:
        busy = pool.under_way("model", model)
        if busy >= int(overload.ceiling):
            return Wait(math.inf)
    dead = pool.dead_keys()
    living = [key for key in keys if key.fingerprint not in dead]
    if not living:
        reason = "none is configured"
        if keys:
            reason = dead[keys[0].fingerprint]
        return Hopeless(
            f"every {request.provider} key is refused ({reason}); add one with:"
            " agentos keys add, or have them tried again with: agentos keys check"
        )
    solvent = {}
    usable = {}
    reason = ""
    for key in living:
        name = group_name(key)
        state = pool.quota_state(name)
        reason = reason or state.dead
        if not state.dead:
            solvent[key.group] = state
        if state.is_usable(pool.now):
            usable[key.group] = state
    if not solvent:
        why = (
            f"no {request.provider} key can pay any more: {reason}; once it can, run:"
            " agentos keys check"
        )
        return Hopeless(why, FailureCause.BILLING)
    if not usable:
        states = sorted(solvent.values(), key=attrgetter("resting_until"))
        soonest = states[0]
        groups = len(states)
        why = _describe_rest(request.provider, soonest, groups)
        return Wait(soonest.resting_until, is_exhausted=True, why=why)
    return _lend(pool, living, usable, request, window)


def _lend(
    pool: PoolTransaction,
    keys: Sequence[Key],
    states: dict[str, QuotaState],
    request: KeyRequest,
    window: float,
) -> Grant | Wait:
    """Lease a key of the usable groups if one has room."""
    until = math.inf
    free = []
    for group, state in states.items():
        own = [key for key in keys if key.group == group]
        name = group_name(own[0])
        busy = pool.under_way("grp", name)
        total = sum(key.max_parallel for key in own)
        most = min(int(state.ceiling), total)
        if busy >= most:
            continue
        opens = _rate_opens_at(pool, name, state, own, request, window)
        if opens > pool.now:
            until = min(until, opens)
            continue
        load = busy / state.ceiling
        for key in own:
            leased = pool.under_way("key", key.fingerprint)
            if leased < key.max_parallel:
                # Elsewhere, the beginning of the conversation would be paid for again.
                is_elsewhere = bool(request.group) and group != request.group
                free.append((is_elsewhere, load, leased, key))
    if not free:
        return Wait(until)
    free.sort(key=itemgetter(0, 1, 2))
    key = free[0][3]
    group = group_name(key)
    model = model_name(request.provider, request.model)
    cautious = request.output * CAUTION
    output = math.ceil(cautious)
    tokens = math.ceil(request.tokens * CAUTION)
    given = tokens - output
    name = key.fingerprint
    lease = pool.lend(name, group, model, given, output)
    return Grant(lease, key, pool.now)


def _rate_opens_at(
    pool: PoolTransaction,
    name: str,
    state: QuotaState,
    keys: Sequence[Key],
    request: KeyRequest,
    window: float,
) -> float:
    """Return when the limits per minute of a group leave room for one more call."""
    requests_limit = state.requests_limit
    tokens_limit = state.tokens_limit
    for key in keys:
        requests_limit = _lower(requests_limit, key.requests_per_minute)
        tokens_limit = _lower(tokens_limit, key.tokens_per_minute)
    input_limit = state.input_limit
    output_limit = state.output_limit
    if not (requests_limit or tokens_limit or input_limit or output_limit):
        return 0.0
    span = window * (1 + MARGIN)
    use = pool.in_window(name, span)
    opens = 0.0
    if requests_limit and use.requests >= requests_limit:
        opens = use.leaves_at
    given = request.tokens - request.output
    for kind, limit, used, wanted in (
        (Tokens.ALL, tokens_limit, use.tokens, request.tokens),
        (Tokens.INPUT, input_limit, use.input_tokens, given),
        (Tokens.OUTPUT, output_limit, use.output_tokens, request.output),
    ):
        # A call larger than the limit itself is let through alone, or it would wait
        # forever.
        excess = used + wanted - limit
        if limit and used and excess > 0:
            at = pool.leaves_window_at(name, span, excess, kind)
            opens = max(opens, at)
    return opens


def _lower(limit: int, other: int) -> int:
    """Return the lower of two limits, of which 0 stands for none."""
    if limit and other:
        return min(limit, other)
    return limit or other


def _describe_rest(provider: str, state: QuotaState, groups: int) -> str:
    reason = state.why
    if reason == FailureCause.QUOTA:
        reason = "its quota is used up"
    elif reason == FailureCause.RATE_LIMIT:
        reason = "its rate limit is reached"
    if groups == 1:
        return f"{provider}: {reason}"
    return f"{provider}: all {groups} quota groups rest, {reason}"
