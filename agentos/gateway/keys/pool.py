"""Lease keys to calls in order of arrival and within all limits, shared with all
AgentOS processes of the user.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from agentos.errors import FailureCause, ProviderError, RateLimited
from agentos.gateway.keys import Key, KeyRequest, Lease
from agentos.gateway.keys.choice import (
    MARGIN,
    Decision,
    Grant,
    Hopeless,
    Wait,
    choose,
    describe_unserved,
    group_name,
    model_name,
)
from agentos.gateway.keys.limits import (
    NO_USE,
    QuotaState,
    Use,
    after_fault,
    after_success,
)
from agentos.gateway.keys.store import PoolTransaction, Store
from agentos.gateway.providers import Completion, Credential
from agentos.state.wording import count, describe_seconds
from agentos.usage import NOTHING

EXHAUSTED = "Credential pool exhausted. Pausing all workflows..."
MINUTE = 60.0
LOOK_EVERY = 0.5
"""Seconds between two polls for new keys or for the end of a rest."""
LOOK_OFTEN = 0.02
"""The same while keys are merely busy: other processes send no notification."""
SAY_EVERY = 60.0
LATE = 0.01
SLACK = 0.05
"""Fraction of a minute by which a provider's clock may differ from ours."""
SIMULATED_REST = 2.0

_UNCOUNTED = (
    FailureCause.RATE_LIMIT,
    FailureCause.QUOTA,
    FailureCause.BILLING,
    FailureCause.AUTH,
    FailureCause.NO_ACCESS,
    FailureCause.OVERLOADED,
)
"""Causes after which the provider has not counted the request."""

_Pair = tuple[str, str]
_KeysByProvider = dict[str, list[Key]]
_ReadKeys = Callable[[], Sequence[Key] | None]


class Pool:
    """The key pool in a database that all processes of the user share, or in memory."""

    def __init__(
        self,
        store: Store,
        read_keys: _ReadKeys,
        announce: Callable[[str], None],
        *,
        window: float = MINUTE,
        simulate_429: bool = False,
    ) -> None:
        self._store = store
        self._read_keys = read_keys
        self._announce = announce
        self._window = window
        self._clock = store.clock
        self._keys: _KeysByProvider = {}
        self._take_keys(read_keys() or ())
        self._lines: dict[_Pair, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._waiting: dict[int, str] = {}
        self._changed = asyncio.Event()
        self._states: dict[str, QuotaState] = {}
        self._pauses: dict[str, float] = {}
        self._reduced: dict[str, int] = {}
        self._no_access: dict[_Pair, str] = {}
        """Reason by fingerprint and model."""
        self._to_refuse_once: set[str] = set()
        """Keys that are still to get a simulated rate limit."""
        if simulate_429:
            self._to_refuse_once = self._fingerprints()

    def credentials(self, provider: str) -> list[Credential]:
        """Return the credentials for calls to this provider."""
        return [key.credential for key in self._keys_of(provider)]

    def _keys_of(self, provider: str) -> list[Key]:
        return self._keys.get(provider, [])

    async def lease(
        self,
        provider: str,
        model: str,
        tokens: int,
        label: str,
        *,
        output: int = 0,
        group: str = "",
    ) -> Lease:
        """Wait for a key for a call of so many expected tokens, including its output."""
        if not self._keys_of(provider):
            return Lease()
        request = KeyRequest(provider, model, tokens, output, group)
        started = self._clock()
        line = self._lines[provider, model]
        caller = id(asyncio.current_task())
        self._waiting[caller] = label
        # Calls wait in two lines. In this process the lock lets one call for a model at
        # a time ask the database, in order of arrival; among processes the ticket
        # decides. Without the first every waiting call would poll, without the second a
        # busy process could starve another.
        try:
            async with line:
                while True:
                    grant = await self._wait_for_grant(request)
                    waited = self._clock() - started
                    key = grant.key
                    lease = Lease(key, request, grant.lease, grant.at, waited)
                    name = key.fingerprint
                    is_limited = name in self._to_refuse_once
                    if not is_limited:
                        return lease
                    self._to_refuse_once.discard(name)
                    refusal = RateLimited("a simulated rate limit", SIMULATED_REST)
                    self.fail(lease, refusal)
        finally:
            del self._waiting[caller]

    def succeed(self, lease: Lease, completion: Completion) -> None:
        """Take a key back after an answer, and apply the limits that the answer names."""
        key = lease.key
        if key is None:
            return
        most = 0
        for other in self._keys_of(key.provider):
            if other.group == key.group:
                most += other.max_parallel
        most = max(most, key.max_parallel)
        usage = completion.usage
        self._store.give_up("leases", lease.number)
        with self._store.exclusively() as shared:
            now = shared.now
            given = usage.input_tokens
            shared.end_lease(lease.number, given, usage.output_tokens)
            name = group_name(key)
            # Headers are written when a call arrives, so they may include what was sent
            # up to a minute before that.
            span = self._window * (1 + MARGIN)
            span += now - lease.started
            own = shared.in_window(name, span)
            state = after_success(
                shared.quota_state(name),
                completion.rate_headers,
                most,
                self._window,
                now,
                own,
            )
            self._keep(shared, name, state)
            model = model_name(key.provider, lease.request.model)
            overload = shared.quota_state(model)
            if overload.is_cautious:
                overload = after_success(overload, None, 1000, self._window, now)
                shared.set_quota_state(model, overload)
        self._changed.set()

    def fail(self, lease: Lease, error: ProviderError) -> None:
        """Take a key back after a failed call, and apply the error to the key, its
        group or the model.
        """
        key = lease.key
        if key is None:
            return
        request = lease.request
        name = group_name(key)
        rest = 0.0
        self._store.give_up("leases", lease.number)
        with self._store.exclusively() as shared:
            use = self._use_before(shared, name, error)
            # A refused request did not count at the provider, an interrupted one did.
            given = None
            if error.cause not in _UNCOUNTED:
                given = request.tokens - request.output
            shared.end_lease(lease.number, given, request.output)
            state = shared.quota_state(name)
            dead = shared.dead_keys()
            is_known = bool(state.dead) or key.fingerprint in dead
            match error.cause:
                case FailureCause.AUTH:
                    shared.bury(key.fingerprint, str(error))
                case FailureCause.NO_ACCESS:
                    barred = (key.fingerprint, request.model)
                    is_known = barred in self._no_access
                    self._no_access[barred] = str(error)
                case FailureCause.OVERLOADED:
                    model = model_name(key.provider, request.model)
                    overload = shared.quota_state(model)
                    overload = after_fault(
                        overload, error, lease.started, NO_USE, shared.now
                    )
                    shared.set_quota_state(model, overload)
                case _:
                    state = after_fault(
                        state,
                        error,
                        lease.started,
                        use,
                        shared.now,
                        self._window,
                    )
                    self._keep(shared, name, state)
                    rest = state.resting_until - shared.now
        if error.cause in (FailureCause.RATE_LIMIT, FailureCause.QUOTA):
            seconds = describe_seconds(rest)
            self._announce(
                f"Credential {key.fingerprint} rate-limited, resting {seconds}"
            )
        elif not is_known:
            self._say_refused(key, request.model, error)
        self._changed.set()

    def _use_before(
        self, shared: PoolTransaction, name: str, error: ProviderError
    ) -> Use:
        """Return what the limits per minute of a group may have counted."""
        use = shared.in_window(name, self._window)
        if error.delay is not None:
            resumes = shared.now + error.delay
            slack = SLACK * self._window
            opens = use.leaves_at - slack
            if resumes < opens:
                # It may resume before the minute has room again, so this was not the
                # limit of requests.
                return replace(use, requests=0)
        return use

    def _say_refused(self, key: Key, model: str, error: ProviderError) -> None:
        name = f"Credential {key.fingerprint} ({key.source})"
        match error.cause:
            case FailureCause.AUTH:
                self._announce(f"{name} is refused and not used again: {error}")
            case FailureCause.NO_ACCESS:
                self._announce(f"{name} is not used for {model}: {error}")
            case FailureCause.BILLING:
                self._announce(
                    f"Quota group {key.group} ({key.source}) is not used again: {error}"
                )

    def mark_sent(self, lease: Lease) -> None:
        """Record that a delayed call is sent only now."""
        delay = self._clock() - lease.started
        if lease.key is None or delay <= LATE:
            return
        with self._store.exclusively() as shared:
            shared.redate(lease.number)

    def give_back(self, lease: Lease) -> None:
        """Take back an unused key."""
        if lease.key is None:
            return
        self._store.give_up("leases", lease.number)
        with self._store.exclusively() as shared:
            shared.end_lease(lease.number, None)
        self._changed.set()

    def parallelism(self, wanted: int) -> int:
        """Return how many items can run at once: all with two usable groups of each
        provider, else what the remaining group carries.

        Called from other threads, so it uses only what this process already knows.
        """
        allowed = wanted
        providers = list(self._keys.items())
        for provider, keys in providers:
            usable = []
            for name in {group_name(key) for key in keys}:
                state = self._states.get(name, QuotaState())
                if state.is_usable(self._clock()):
                    usable.append(state)
            if len(usable) >= 2:
                self._say_restored(provider)
                continue
            capacity = 1
            if usable:
                capacity = int(usable[0].ceiling)
            allowed = min(allowed, capacity)
            allowed = max(1, allowed)
            self._say_reduced(provider, allowed, wanted)
        return allowed

    def close(self) -> None:
        """Give all leased keys back."""
        self._store.close()

    async def _wait_for_grant(self, request: KeyRequest) -> Grant:
        ticket = 0
        try:
            while True:
                # Cleared before the look: a key that comes back during it must end the
                # next wait.
                self._changed.clear()
                decision, ticket = self._try(request, ticket)
                match decision:
                    case Grant():
                        self._end_pause(request.provider)
                        return decision
                    case Hopeless(why=why, cause=cause):
                        if not self._look_for_new_keys():
                            raise ProviderError(why, cause=cause, consumed=NOTHING)
                    case Wait():
                        if decision.why:
                            self._say_pause(request.provider, decision)
                        await self._rest_until(decision)
                        self._look_for_new_keys()
        finally:
            if ticket:
                self._store.give_up("waiting", ticket)
                # Beginning a transaction deletes what was given up: a ticket that is
                # left behind would hold up every process after it.
                with suppress(ProviderError), self._store.exclusively():
                    pass

    def _try(self, request: KeyRequest, ticket: int) -> tuple[Decision, int]:
        """Try once to get a key; return the decision, and the ticket to try again with.

        Only the first ticket in line may choose, and choosing and leasing are one
        transaction, so no key is lent to more calls than it allows.
        """
        provider = request.provider
        names = self._names.get(provider, "")
        line = f"{provider}:{request.model} {names}"
        decision: Decision = Wait(math.inf)
        with self._store.exclusively() as shared:
            if not ticket:
                ticket = shared.queue(line)
            if shared.is_first(ticket, line):
                decision = self._choose(shared, request)
            leaves = isinstance(decision, Grant)
            if isinstance(decision, Wait):
                # A call that waits for the end of a rest must not block the others: all
                # of them are to learn and announce it.
                leaves = bool(decision.why)
            if leaves:
                shared.leave_queue(ticket)
                ticket = 0
            for name in {group_name(key) for key in self._keys_of(provider)}:
                state = shared.quota_state(name)
                self._states[name] = state
        return decision, ticket

    def _choose(self, shared: PoolTransaction, request: KeyRequest) -> Decision:
        """Choose among the keys that may use the model."""
        model = request.model
        dead = shared.dead_keys()
        barred = []
        allowed = []
        has_living = False
        keys = self._keys_of(request.provider)
        serving = [key for key in keys if key.serves(model)]
        if not serving:
            return Hopeless(describe_unserved(request.provider, model))
        for key in serving:
            pair = (key.fingerprint, model)
            if pair in self._no_access:
                barred.append(pair)
                continue
            allowed.append(key)
            if key.fingerprint not in dead:
                has_living = True
        if has_living or not barred:
            return choose(shared, allowed, request, self._window)
        # The next call tries again: the refusal of all keys may be temporary, or about
        # one prompt.
        reason = self._no_access[barred[0]]
        for pair in barred:
            del self._no_access[pair]
        return Hopeless(
            f"no {request.provider} key may use {model}: {reason}",
            FailureCause.NO_ACCESS,
        )

    async def _rest_until(self, decision: Wait) -> None:
        """Wait for a change in this process, until the given time, or until the next
        look.
        """
        longest = LOOK_OFTEN
        if decision.why:
            longest = LOOK_EVERY
        left = decision.until - self._clock()
        wait = max(0.001, min(longest, left))
        with suppress(TimeoutError):
            async with asyncio.timeout(wait):
                await self._changed.wait()

    def _keep(self, shared: PoolTransaction, name: str, state: QuotaState) -> None:
        shared.set_quota_state(name, state)
        self._states[name] = state

    def _look_for_new_keys(self) -> bool:
        """Reload the key file if it was edited; return whether it has new keys."""
        found = self._read_keys()
        if found is None:
            return False
        before = self._fingerprints()
        self._take_keys(found)
        new = self._fingerprints() - before
        if new:
            with self._store.exclusively() as shared:
                shared.revive(sorted(new))
            keys = count(len(new), "new key")
            self._announce(f"{keys} found; continuing")
        return bool(new)

    def _fingerprints(self) -> set[str]:
        names = set()
        for keys in self._keys.values():
            for key in keys:
                names.add(key.fingerprint)
        return names

    def _take_keys(self, keys: Sequence[Key]) -> None:
        by_provider: _KeysByProvider = {}
        for key in keys:
            own = by_provider.setdefault(key.provider, [])
            own.append(key)
        # Replaced at once, because other threads read it.
        self._keys = by_provider
        # Processes with different keys wait in different lines: behind a process whose
        # keys all rest, the others would wait in vain.
        self._names = {}
        for provider, own in by_provider.items():
            fingerprints = sorted(key.fingerprint for key in own)
            self._names[provider] = " ".join(fingerprints)

    def _say_pause(self, provider: str, decision: Wait) -> None:
        now = self._clock()
        last = self._pauses.get(provider)
        if last is None:
            if decision.is_exhausted:
                self._announce(EXHAUSTED)
        elif now - last < SAY_EVERY:
            return
        self._pauses[provider] = now
        delay = decision.until - now
        end = time.time() + delay
        at = datetime.fromtimestamp(end, UTC)
        labels = set(self._waiting.values())
        waiting = ", ".join(sorted(labels))
        seconds = max(0.0, delay)
        left = describe_seconds(seconds)
        why = decision.why
        self._announce(
            f"{why}; continuing at {at:%H:%M:%S UTC}, in {left}. Waiting: {waiting}"
        )

    def _end_pause(self, provider: str) -> None:
        if self._pauses.pop(provider, None) is not None:
            self._announce(f"{provider} can be asked again; continuing")

    def _say_reduced(self, provider: str, allowed: int, wanted: int) -> None:
        if allowed < wanted and provider not in self._reduced:
            workflows = count(allowed, "workflow")
            self._announce(
                f"{provider}: fewer than 2 usable quota groups, so {workflows} at a"
                " time for now"
            )
            self._reduced[provider] = allowed

    def _say_restored(self, provider: str) -> None:
        if self._reduced.pop(provider, None) is not None:
            self._announce(
                f"{provider}: 2 or more quota groups are usable again; back to full"
                " parallelism"
            )


def revive(home: Path, key: Key) -> None:
    """Allow a key and its group again after a successful check."""
    path = home / "pool.db"
    if not path.exists():
        return
    name = group_name(key)
    with _opened(path) as shared:
        shared.revive([key.fingerprint])
        state = shared.quota_state(name)
        state = replace(state, dead="")
        shared.set_quota_state(name, state)


def describe_states(home: Path, keys: Sequence[Key]) -> Mapping[str, str]:
    """Describe the state of each key by fingerprint; create no pool where none is."""
    path = home / "pool.db"
    if not path.exists():
        return {key.fingerprint: "ready" for key in keys}
    states = {}
    with _opened(path) as shared:
        dead = shared.dead_keys()
        for key in keys:
            name = group_name(key)
            state = shared.quota_state(name)
            refused = dead.get(key.fingerprint, "")
            described = _describe(state, refused, shared.now)
            states[key.fingerprint] = described
    return states


@contextmanager
def _opened(path: Path) -> Iterator[PoolTransaction]:
    store = Store(path)
    try:
        with store.exclusively() as shared:
            yield shared
    finally:
        store.close()


def _describe(state: QuotaState, refused: str, now: float) -> str:
    reason = refused or state.dead
    if reason:
        return f"dead: {reason}"
    if state.resting_until <= now:
        return "ready"
    kind = "resting"
    if state.why == FailureCause.QUOTA:
        kind = "exhausted"
    until = time.time() + state.resting_until - now
    end = datetime.fromtimestamp(until, UTC)
    return f"{kind} until {end:%Y-%m-%d %H:%M:%S UTC}"
