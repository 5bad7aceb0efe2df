"""Decide what becomes of a call: who asks, what strikes it, whether the limits hold it;
and keep the books.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import Counter
from dataclasses import dataclass, replace

from agentos.state.redaction import fingerprint
from tests.scenario.answers import Recognised, recognise
from tests.scenario.cache import PromptCache, Served
from tests.scenario.faults import FaultBook, Strike
from tests.scenario.formats import Call, Refusal, Standing
from tests.scenario.ledger import Entry, Ledger
from tests.scenario.limits import GroupLimits
from tests.scenario.script import REFUSALS, Fault, Group, Kind, Script

_MANY = 1_000_000


@dataclass(frozen=True, slots=True)
class Refused:
    """A call that gets no answer."""

    call: Call
    refusal: Refusal
    standing: Standing
    entry: Entry


@dataclass(frozen=True, slots=True)
class Admitted:
    """A call that is answered, and what will go wrong with that."""

    call: Call
    served: Served
    recognised: Recognised
    standing: Standing
    strike: Strike | None
    group: Group


class Desk:
    """Holds the script and the account of every group."""

    def __init__(self, script: Script, ledger: Ledger) -> None:
        self.script = script
        self.ledger = ledger
        self._limits: dict[str, GroupLimits] = {}
        self._faults = FaultBook()
        self._cache = PromptCache()
        self._changed = asyncio.Event()
        self._slots = asyncio.Semaphore(script.slots or _MANY)
        self._turns: Counter[tuple[str, str]] = Counter()
        self._started = time.monotonic()
        ledger.start(script.window, self._started, time.time())

    def change(self, script: Script) -> None:
        """Go on by another script; what the groups have used stays used."""
        self.script = script
        self.ledger.start(script.window, time.monotonic(), time.time())
        self._changed.set()
        self._changed = asyncio.Event()

    def slot(self) -> asyncio.Semaphore:
        """Return what a call has to hold while it is answered."""
        return self._slots

    async def wait_until_lifted(self, fault: Fault) -> None:
        """Wait until the script no longer has a fault."""
        while fault in self.script.fault:
            await self._changed.wait()

    def identify(self, secret: str) -> tuple[Group, Refusal | None]:
        """Return the group of a key, and why the key is no good."""
        groups = {group.name: group for group in self.script.group}
        if not self.script.key:
            group = (
                self.script.group[0] if self.script.group else Group(_own_group(secret))
            )
            return group, None if secret else Refusal(Kind.AUTH)
        for key in self.script.key:
            if key.secret == secret:
                name = key.group or _own_group(secret)
                return groups.get(name, Group(name)), _refuse_state(key.state)
        return Group("unknown"), Refusal(Kind.AUTH)

    def receive(self, call: Call) -> Admitted | Refused:
        """Decide about a call; one that is admitted is in the ledger from here on."""
        now = time.monotonic()
        recognised = (
            recognise(call.texts)
            if not call.is_follow_up
            else Recognised("\n\n".join(call.texts))
        )
        call = replace(
            call,
            prompt=recognised.prompt,
            purpose=recognised.purpose,
            item=recognised.item,
        )
        group, refusal = self.identify(call.secret)
        limits = self._limits.setdefault(group.name, GroupLimits(self._started))
        strike = None
        if (
            refusal is None
            and self.script.models
            and call.model not in self.script.models
        ):
            refusal = Refusal(Kind.NOT_FOUND)
        if refusal is None:
            strike = self._faults.strike(self.script.fault, call, group.name, now)
            refusal = self._refuse_by(strike, call)
        if refusal is None:
            refusal = limits.admit(group, self.script, call.input_tokens, now)
        standing = limits.standing(group, self.script, now)
        entry = _describe(call, group, refusal, strike, now)
        if refusal is not None:
            return Refused(call, refusal, standing, entry)
        self.ledger.add(entry)
        served = Served()
        if self.script.cache_minimum:
            served = self._cache.serve(
                call,
                group.name,
                self.script.cache_minimum,
                self.script.cache_life,
                now,
            )
        return Admitted(call, served, recognised, standing, strike, group)

    def take_turn(self, recognised: Recognised) -> int:
        """Return how many answers of this purpose the item has had, this one
        included.
        """
        self._turns[recognised.purpose, recognised.item] += 1
        return self._turns[recognised.purpose, recognised.item]

    def settle(
        self, admitted: Admitted, output_tokens: int, status: int, has_left: bool
    ) -> None:
        """Note the end of an answer."""
        now = time.monotonic()
        cost = self.script.cost(
            admitted.call.input_tokens,
            output_tokens,
            admitted.served.read,
            admitted.served.written,
        )
        self._limits[admitted.group.name].settle(output_tokens, cost, now)
        self.ledger.finish(
            admitted.call.request_id,
            status=status,
            output_tokens=output_tokens,
            cost=cost,
            done_clock=now,
            has_left=has_left,
        )

    def note_refusal(self, refused: Refused, status: int) -> None:
        """Note a call that was refused, and with which status."""
        self.ledger.add(replace(refused.entry, status=status))

    def _refuse_by(self, strike: Strike | None, call: Call) -> Refusal | None:
        if strike is None or (strike.fault.in_stream and call.is_streamed):
            return None
        fault = strike.fault
        if fault.kind not in REFUSALS | {Kind.HTML, Kind.RESET}:
            return None
        return scripted_refusal(strike, self.script)


def _describe(
    call: Call, group: Group, refusal: Refusal | None, strike: Strike | None, now: float
) -> Entry:
    reason = (
        refusal.limit_name or refusal.kind
        if refusal
        else strike.fault.kind
        if strike
        else ""
    )
    return Entry(
        id=call.request_id,
        at=time.time(),
        clock=now,
        key=fingerprint(call.format, call.secret),
        group=group.name,
        format=call.format,
        model=call.model,
        prompt=hash_prompt(call.prompt),
        item=call.item,
        purpose=call.purpose,
        is_admitted=refusal is None,
        input_tokens=call.input_tokens,
        reason=str(reason),
        delay=refusal.delay if refusal else None,
    )


def scripted_refusal(strike: Strike, script: Script) -> Refusal:
    """Return what a scripted fault says."""
    fault, delay = strike.fault, strike.delay
    if delay is None and fault.kind is Kind.RATE_LIMIT:
        delay = script.window / 4
    if delay is None and fault.kind is Kind.DAILY_QUOTA:
        delay = script.day / 2
    return Refusal(fault.kind, delay, status=fault.status, message=fault.message)


def hash_prompt(prompt: str) -> str:
    """Return the name under which the ledger knows a prompt."""
    return hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()


def _own_group(secret: str) -> str:
    return (
        f"own-{hashlib.sha256(secret.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
    )


def _refuse_state(state: str) -> Refusal | None:
    if state == "revoked":
        return Refusal(Kind.AUTH, is_unknown_key=False)
    return Refusal(Kind.BILLING) if state == "no-billing" else None
