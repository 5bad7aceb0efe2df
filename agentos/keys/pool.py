"""Lend keys to calls: in order of arrival, within every limit, shared with every other AgentOS process."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from agentos.errors import ProviderError, RateLimited, Sign
from agentos.keys import Key
from agentos.keys.choice import MARGIN, Decision, Grant, Hopeless, Wait, Wish, choose, group_name, model_name
from agentos.keys.limits import Standing, after_fault, after_success
from agentos.keys.store import Books, Store
from agentos.providers import NOTHING, Completion, Credential
from agentos.wording import describe_seconds

EXHAUSTED = "Credential pool exhausted. Pausing all workflows..."
MINUTE = 60.0
LOOK_EVERY = 0.5
"""Seconds after which one who waits looks for new keys and for rests that another process has ended."""
LOOK_OFTEN = 0.02
"""The same while keys are merely busy, with other processes of which no word comes."""
SAY_EVERY = 60.0
LATE = 0.01
SLACK = 0.05
"""Part of a minute by which a provider's clock may differ from ours."""
SIMULATED_REST = 2.0

_UNCOUNTED = (Sign.RATE_LIMIT, Sign.QUOTA, Sign.BILLING, Sign.AUTH, Sign.NO_ACCESS, Sign.OVERLOADED)
"""After these the provider has not counted the request."""

NO_WISH = Wish("", "", 0)


@dataclass(frozen=True, slots=True)
class Lease:
    """A key lent to one call, or none where none is needed."""

    key: Key | None = None
    wish: Wish = NO_WISH
    number: int = 0
    started: float = 0.0
    waited: float = 0.0


class Pool:
    """The keys of this user, as one process sees them. Lives on the event loop of the gateway."""

    def __init__(
        self,
        store: Store,
        read_keys: Callable[[], Sequence[Key] | None],
        announce: Callable[[str], None],
        *,
        window: float = MINUTE,
        rehearse_429: bool = False,
    ) -> None:
        self._store = store
        self._read_keys = read_keys
        self._announce = announce
        self._window = window
        self._clock = store.clock
        self._keys: dict[str, list[Key]] = {}
        self._take_keys(read_keys() or ())
        self._lines: dict[tuple[str, str], asyncio.Lock] = {}
        self._waiting: dict[int, str] = {}
        self._changed = asyncio.Event()
        self._standings: dict[str, Standing] = {}
        self._pauses: dict[str, float] = {}
        self._reduced: dict[str, int] = {}
        self._no_access: dict[tuple[str, str], str] = {}
        """Why a key, by its fingerprint, may not use a model."""
        self._unrehearsed = {key.fingerprint for keys in self._keys.values() for key in keys} if rehearse_429 else set()

    def has_keys(self, provider: str) -> bool:
        """Whether calls to this provider are made with keys of the pool."""
        return bool(self._keys.get(provider))

    def credentials(self, provider: str) -> list[Credential]:
        """Return what calls to this provider may be made with."""
        return [key.credential for key in self._keys.get(provider, ())]

    async def lease(self, provider: str, model: str, tokens: int, label: str, *, output: int = 0) -> Lease:
        """Wait in line for a key for a call of so many tokens, of which so many are output."""
        if not self.has_keys(provider):
            return Lease()
        wish, started = Wish(provider, model, tokens, output), self._clock()
        line = self._lines.setdefault((provider, model), asyncio.Lock())
        place = id(asyncio.current_task())
        self._waiting[place] = label
        try:
            async with line:
                while True:
                    grant = await self._wait_for_grant(wish)
                    lease = Lease(grant.key, wish, grant.lease, grant.at, self._clock() - started)
                    if grant.key.fingerprint not in self._unrehearsed:
                        return lease
                    self._unrehearsed.discard(grant.key.fingerprint)
                    self.fail(lease, RateLimited("a simulated rate limit", SIMULATED_REST))
        finally:
            del self._waiting[place]

    def succeed(self, lease: Lease, completion: Completion) -> None:
        """Take a key back after an answer, and heed what the answer says about limits."""
        key = lease.key
        if key is None:
            return
        most = sum(other.max_parallel for other in self._keys.get(key.provider, ()) if other.group == key.group)
        usage = completion.usage
        self._store.give_up("leases", lease.number)
        with self._store.exclusively() as books:
            books.end_lease(lease.number, usage.input_tokens, usage.output_tokens)
            name = group_name(key.provider, key.group)
            # Headers are written when a call arrives: what was sent up to a minute before that may be in them.
            own = books.in_window(name, self._window * (1 + MARGIN) + books.now - lease.started)
            standing = after_success(
                books.standing(name),
                completion.allowance,
                max(most, key.max_parallel),
                self._window,
                books.now,
                own,
            )
            self._keep(books, name, standing)
            model = model_name(key.provider, lease.wish.model)
            overload = books.standing(model)
            if overload.is_cautious:
                books.set_standing(model, after_success(overload, None, 1000, self._window, books.now))
        self._changed.set()

    def fail(self, lease: Lease, error: ProviderError) -> None:
        """Take a key back after a failed call, and draw the conclusions for the key, its group or the model."""
        key = lease.key
        if key is None:
            return
        name = group_name(key.provider, key.group)
        self._store.give_up("leases", lease.number)
        with self._store.exclusively() as books:
            use = books.in_window(name, self._window)
            in_window = use.requests
            if error.delay is not None and books.now + error.delay < use.leaves_at - SLACK * self._window:
                # It may go on before the minute has room again: this was another limit than that of requests.
                in_window = 0
            # A refused request did not count at the provider; one that was cut off did.
            wish = lease.wish
            given = None if error.sign in _UNCOUNTED else wish.tokens - wish.output
            books.end_lease(lease.number, given, wish.output)
            is_known = key.fingerprint in books.dead_keys() or bool(books.standing(name).dead)
            if error.sign is Sign.AUTH:
                books.bury(key.fingerprint, str(error))
            elif error.sign is Sign.NO_ACCESS:
                is_known = (key.fingerprint, wish.model) in self._no_access
                self._no_access[key.fingerprint, wish.model] = str(error)
            elif error.sign is Sign.OVERLOADED:
                model = model_name(key.provider, lease.wish.model)
                books.set_standing(model, after_fault(books.standing(model), error, lease.started, 0, books.now))
            else:
                standing = after_fault(books.standing(name), error, lease.started, in_window, books.now, self._window)
                self._keep(books, name, standing)
                rest = standing.resting_until - books.now
        match error.sign:
            case Sign.AUTH if not is_known:
                self._announce(f"Credential {key.fingerprint} ({key.source}) is refused and not used again: {error}")
            case Sign.NO_ACCESS if not is_known:
                self._announce(f"Credential {key.fingerprint} ({key.source}) is not used for {wish.model}: {error}")
            case Sign.BILLING if not is_known:
                self._announce(f"Quota group {key.group} ({key.source}) is not used again: {error}")
            case Sign.RATE_LIMIT | Sign.QUOTA:
                self._announce(f"Credential {key.fingerprint} rate-limited, resting {describe_seconds(rest)}")
        self._changed.set()

    def mark_sent(self, lease: Lease) -> None:
        """Note that the call goes out only now, when something held it up since it got its key."""
        if lease.key is not None and self._clock() - lease.started > LATE:
            with self._store.exclusively() as books:
                books.redate(lease.number)

    def give_back(self, lease: Lease) -> None:
        """Take back a key that was not used."""
        if lease.key is not None:
            self._store.give_up("leases", lease.number)
            with self._store.exclusively() as books:
                books.end_lease(lease.number, None)
            self._changed.set()

    def parallelism(self, wanted: int) -> int:
        """Return how many workflows the keys can feed: with fewer than two usable groups, what is left of them bears.

        Called from other threads: it looks at what this process knows and asks nobody.
        """
        allowed = wanted
        for provider, keys in list(self._keys.items()):
            groups = {key.group for key in keys}
            known = {group: self._standings.get(group_name(provider, group), Standing()) for group in groups}
            usable = [standing for standing in known.values() if standing.is_usable(self._clock())]
            if len(usable) >= 2:
                self._say_restored(provider)
                continue
            bears = int(usable[0].ceiling) if usable else 1
            allowed = max(1, min(allowed, bears))
            self._say_reduced(provider, allowed, wanted)
        return allowed

    def close(self) -> None:
        """Give back whatever is still lent."""
        self._store.close()

    async def _wait_for_grant(self, wish: Wish) -> Grant:
        ticket = 0
        try:
            while True:
                self._changed.clear()
                decision, ticket = self._try(wish, ticket)
                match decision:
                    case Grant():
                        self._end_pause(wish.provider)
                        return decision
                    case Hopeless(why=why, sign=sign):
                        if not self._look_for_new_keys():
                            raise ProviderError(why, sign=sign, consumed=NOTHING)
                    case Wait():
                        if decision.why:
                            self._say_pause(wish.provider, decision)
                        await self._rest_until(decision)
                        self._look_for_new_keys()
        finally:
            if ticket:
                self._store.give_up("waiting", ticket)
                with suppress(ProviderError), self._store.exclusively():
                    pass

    def _try(self, wish: Wish, ticket: int) -> tuple[Decision, int]:
        line = f"{wish.provider}:{wish.model} {self._names.get(wish.provider, '')}"
        decision: Decision = Wait(math.inf)
        with self._store.exclusively() as books:
            ticket = ticket or books.queue(line)
            if books.is_first(ticket, line):
                decision = self._choose(books, wish)
            if isinstance(decision, Grant) or (isinstance(decision, Wait) and decision.why):
                # Who waits for the end of a rest stands in nobody's way, and all who do so are to know and say it.
                books.leave_queue(ticket)
                ticket = 0
            for group in {key.group for key in self._keys.get(wish.provider, ())}:
                name = group_name(wish.provider, group)
                self._standings[name] = books.standing(name)
        return decision, ticket

    def _choose(self, books: Books, wish: Wish) -> Decision:
        """Choose among the keys that may use the model."""
        keys = self._keys.get(wish.provider, ())
        barred = [key for key in keys if (key.fingerprint, wish.model) in self._no_access]
        allowed = [key for key in keys if key not in barred]
        dead = books.dead_keys()
        if barred and all(key.fingerprint in dead for key in allowed):
            # The next call tries again: that no key may use a model can pass, or be about one prompt.
            reasons = [self._no_access.pop((key.fingerprint, wish.model)) for key in barred]
            return Hopeless(f"no {wish.provider} key may use {wish.model}: {reasons[0]}", Sign.NO_ACCESS)
        return choose(books, allowed, wish, self._window)

    async def _rest_until(self, decision: Wait) -> None:
        """Wait for a sign of change in this process, for the time that was named, or to look again."""
        longest = LOOK_EVERY if decision.why else LOOK_OFTEN
        wait = max(0.0, min(longest, decision.until - self._clock()))
        with suppress(TimeoutError):
            async with asyncio.timeout(wait or 0.001):
                await self._changed.wait()

    def _keep(self, books: Books, name: str, standing: Standing) -> None:
        books.set_standing(name, standing)
        self._standings[name] = standing

    def _look_for_new_keys(self) -> bool:
        """Take over what was edited in the key file; tell whether there is a key that was not there before."""
        found = self._read_keys()
        new: list[Key] = []
        if found is not None:
            before = {key.fingerprint for keys in self._keys.values() for key in keys}
            self._take_keys(found)
            new = [key for keys in self._keys.values() for key in keys if key.fingerprint not in before]
            if new:
                with self._store.exclusively() as books:
                    books.revive([key.fingerprint for key in new])
                self._announce(f"{len(new)} new key{'s' if len(new) > 1 else ''} found; going on")
        return bool(new)

    def _take_keys(self, keys: Sequence[Key]) -> None:
        by_provider: dict[str, list[Key]] = {}
        for key in keys:
            by_provider.setdefault(key.provider, []).append(key)
        self._keys = by_provider
        # Processes with other keys stand in other lines: behind one whose keys all rest, they would wait for nothing.
        self._names = {
            provider: " ".join(sorted(key.fingerprint for key in own)) for provider, own in by_provider.items()
        }

    def _say_pause(self, provider: str, decision: Wait) -> None:
        now = self._clock()
        last = self._pauses.get(provider)
        if last is not None and now - last < SAY_EVERY:
            return
        if last is None and decision.is_exhausted:
            self._announce(EXHAUSTED)
        self._pauses[provider] = now
        at = datetime.fromtimestamp(time.time() + decision.until - now, UTC).strftime("%H:%M:%S UTC")
        waiting = ", ".join(sorted(set(self._waiting.values())))
        left = describe_seconds(max(0.0, decision.until - now))
        self._announce(f"{decision.why}; going on at {at}, in {left}. Waiting: {waiting}")

    def _end_pause(self, provider: str) -> None:
        if self._pauses.pop(provider, None) is not None:
            self._announce(f"{provider} can be asked again; going on")

    def _say_reduced(self, provider: str, allowed: int, wanted: int) -> None:
        if allowed < wanted and provider not in self._reduced:
            self._announce(f"{provider}: fewer than 2 usable quota groups, so {allowed} workflow(s) at a time for now")
            self._reduced[provider] = allowed

    def _say_restored(self, provider: str) -> None:
        if self._reduced.pop(provider, None) is not None:
            self._announce(f"{provider}: 2 or more quota groups are usable again; back to full parallelism")


def revive(home: Path, key: Key) -> None:
    """Let a key be used again that was refused, and its group that could not pay: it has just been tried."""
    path = home / "pool.db"
    if path.exists():
        store = Store(path)
        try:
            with store.exclusively() as books:
                books.revive([key.fingerprint])
                name = group_name(key.provider, key.group)
                books.set_standing(name, replace(books.standing(name), dead=""))
        finally:
            store.close()


def describe_states(home: Path, keys: Sequence[Key]) -> Mapping[str, str]:
    """Return in words how each key stands, by fingerprint; writes nothing where no pool was ever used."""
    path = home / "pool.db"
    if not path.exists():
        return {key.fingerprint: "ready" for key in keys}
    store = Store(path)
    states = {}
    try:
        with store.exclusively() as books:
            dead = books.dead_keys()
            for key in keys:
                standing = books.standing(group_name(key.provider, key.group))
                states[key.fingerprint] = _describe(standing, dead.get(key.fingerprint, ""), books.now)
    finally:
        store.close()
    return states


def _describe(standing: Standing, refused: str, now: float) -> str:
    if refused or standing.dead:
        return f"dead: {refused or standing.dead}"
    if standing.resting_until > now:
        kind = "exhausted" if standing.why == Sign.QUOTA else "resting"
        until = time.time() + standing.resting_until - now
        at = datetime.fromtimestamp(until, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return f"{kind} until {at}"
    return "ready"
