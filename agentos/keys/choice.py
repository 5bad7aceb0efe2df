"""Choose a key for a call, or say what it has to wait for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from agentos.errors import Sign
from agentos.keys import Key
from agentos.keys.limits import Standing
from agentos.keys.store import Books, Tokens

CAUTION = 1.1
"""How much larger than expected a call is taken for while it is under way: its answer may be longer than is usual."""
MARGIN = 0.02
"""Part of a minute by which it is taken for longer: the provider counts when a request arrives, not when it is sent."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a call needs a key for."""

    provider: str
    model: str
    tokens: int
    """How many tokens it is expected to take, input and output together."""
    output: int = 0
    """Of those, the output."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A key, the number under which it is lent, and the time from which on that counts."""

    lease: int
    key: Key
    at: float


@dataclass(frozen=True, slots=True)
class Wait:
    """No key now."""

    until: float
    """When there may be one; infinity when only the end of another call can help."""
    is_exhausted: bool = False
    """Whether no key is usable at all, and not merely busy."""
    why: str = ""
    """What everybody waits for; empty when it is only for others to be ready."""


@dataclass(frozen=True, slots=True)
class Hopeless:
    """No key now and none to come."""

    why: str
    sign: Sign = Sign.AUTH


Decision = Grant | Wait | Hopeless


def model_name(provider: str, model: str) -> str:
    """Name a model among the standings."""
    return f"model {provider}:{model}"


def group_name(provider: str, group: str) -> str:
    """Name a quota group among the standings."""
    return f"group {provider}/{group}"


def choose(books: Books, keys: Sequence[Key], wish: Wish, window: float) -> Decision:
    """Lend the key that was least burdened among those that may be used now."""
    now = books.now
    model = model_name(wish.provider, wish.model)
    overload = books.standing(model)
    if not overload.is_usable(now):
        return Wait(overload.resting_until, why=f"{wish.provider}:{wish.model} is overloaded")
    if overload.is_cautious and books.under_way("model", model) >= int(overload.ceiling):
        return Wait(math.inf)
    dead = books.dead_keys()
    living = [key for key in keys if key.fingerprint not in dead]
    if not living:
        return Hopeless(
            f"every {wish.provider} key is refused ({_first(dead, keys)}); add one with: agentos keys add, "
            "or have them tried again with: agentos keys check"
        )
    standings = {key.group: books.standing(group_name(key.provider, key.group)) for key in living}
    solvent = {group: standing for group, standing in standings.items() if not standing.dead}
    if not solvent:
        reason = next(iter(standings.values())).dead
        why = f"no {wish.provider} key can pay any more: {reason}; once it can, run: agentos keys check"
        return Hopeless(why, Sign.BILLING)
    usable = {group: standing for group, standing in solvent.items() if standing.is_usable(now)}
    if not usable:
        soonest = min(solvent.values(), key=lambda standing: standing.resting_until)
        return Wait(soonest.resting_until, is_exhausted=True, why=_describe_rest(wish.provider, soonest, len(solvent)))
    return _lend(books, [key for key in living if key.group in usable], usable, wish, window)


def _lend(books: Books, keys: Sequence[Key], standings: dict[str, Standing], wish: Wish, window: float) -> Grant | Wait:
    """Lend a key of the usable groups if one has room."""
    until = math.inf
    free: list[tuple[float, int, Key]] = []
    for group, standing in standings.items():
        own = [key for key in keys if key.group == group]
        name = group_name(wish.provider, group)
        burden = books.under_way("grp", name)
        if burden >= int(min(standing.ceiling, sum(key.max_parallel for key in own))):
            continue
        opens = _rate_opens_at(books, name, standing, own, wish, window)
        if opens > books.now:
            until = min(until, opens)
            continue
        for key in own:
            held = books.under_way("key", key.fingerprint)
            if held < key.max_parallel:
                free.append((burden / standing.ceiling, held, key))
    if not free:
        return Wait(until)
    _, _, key = min(free, key=lambda entry: entry[:2])
    model = model_name(wish.provider, wish.model)
    output = math.ceil(wish.output * CAUTION)
    given = math.ceil(wish.tokens * CAUTION) - output
    lease = books.lend(key.fingerprint, group_name(key.provider, key.group), model, given, output)
    return Grant(lease, key, books.now)


def _rate_opens_at(
    books: Books, name: str, standing: Standing, keys: Sequence[Key], wish: Wish, window: float
) -> float:
    """Return when the group's requests and tokens a minute leave room for one more call."""
    requests_limit = _least(standing.requests_limit, *(key.requests_per_minute for key in keys))
    tokens_limit = _least(standing.tokens_limit, *(key.tokens_per_minute for key in keys))
    if not (requests_limit or tokens_limit or standing.input_limit or standing.output_limit):
        return 0.0
    span = window * (1 + MARGIN)
    use = books.in_window(name, span)
    opens = 0.0
    if requests_limit and use.requests >= requests_limit:
        opens = use.leaves_at
    for kind, limit, used, wanted in (
        (Tokens.ALL, tokens_limit, use.tokens, wish.tokens),
        (Tokens.INPUT, standing.input_limit, use.input_tokens, wish.tokens - wish.output),
        (Tokens.OUTPUT, standing.output_limit, use.output_tokens, wish.output),
    ):
        # A call that is larger than the limit itself is let through alone, or it would wait for ever.
        if limit and used and used + wanted > limit:
            opens = max(opens, books.leaves_window_at(name, span, used + wanted - limit, kind))
    return opens


def _least(*limits: int) -> int:
    return min((limit for limit in limits if limit), default=0)


def _first(dead: object, keys: Sequence[Key]) -> str:
    reasons = dead if isinstance(dead, dict) else {}
    return next((reasons[key.fingerprint] for key in keys if key.fingerprint in reasons), "none is configured")


def _describe_rest(provider: str, standing: Standing, groups: int) -> str:
    reason = {"quota": "its quota is used up", "rate-limit": "its rate limit is reached"}.get(
        standing.why, standing.why
    )
    return f"{provider}: {reason}" if groups == 1 else f"{provider}: all {groups} quota groups rest, {reason}"
