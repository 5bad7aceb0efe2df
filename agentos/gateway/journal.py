"""Remember every call by what was asked: no question is paid for twice, and what was spent is known."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from agentos.gateway.budget import UNLIMITED, Caps, Scope, Spending, admit
from agentos.money import NO_COST, Cost
from agentos.providers import Completion, Request
from agentos.wording import utc_now

MOST = 10**15
"""No count of tokens and no cost is kept above this, whatever a provider says: sums stay within 64 bits."""
_HASHED_LIMIT = "32000"
"""The output limit was once part of the hash. Its value stays, so that answers from then are still found."""


@dataclass(frozen=True, slots=True)
class RequestKey:
    """The name of a request: the item it belongs to, and its place in the work with a hash of what is asked."""

    item: str
    question: str


@dataclass(frozen=True, slots=True)
class Settled:
    """An answer that was paid for before."""

    completion: Completion
    cost: Cost
    seconds: float


@dataclass(frozen=True, slots=True)
class Begun:
    """A call that is about to be sent."""

    call_id: int
    was_sent_before: bool
    """Whether an earlier process sent this very request and its answer is lost: it is being asked again."""
    may_be_paid_before: bool = False
    """Whether an earlier call for the same answer ended, and may have been billed."""


@dataclass(frozen=True, slots=True)
class CallCost:
    """What the calls of one item at one node to one model came to."""

    item: str
    """As `item_key` names it."""
    node: str
    model: str
    calls: int
    repeated: int
    input_tokens: int
    output_tokens: int
    cost: Cost


def item_key(repository: str, workflow: str, item: str) -> str:
    """Name an item across repositories."""
    return f"{repository}/{workflow}/{item}"


def request_key(request: Request) -> RequestKey:
    """Name a request: the same question at the same place has the same key, however long its answer may be."""
    asked = "\0".join((request.model, request.schema, _HASHED_LIMIT, request.prompt))
    digest = hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()
    question = f"{request.node}/{request.round}/{request.attempt}/{digest}"
    return RequestKey(item_key(request.repository, request.workflow, request.item), question)


class Journal(Protocol):
    """Where calls are kept: each is written down before it is sent, and again when it has ended.

    A call that is cut off because its process ends is left as it is: whether the provider bills it is not known, so
    it may have cost its reservation, and the next process learns that it is asking again.
    """

    waits_for_disk: bool
    """Whether its methods are not for an event loop; they may be called from any thread."""

    def settled(self, key: RequestKey) -> Settled | None:
        """Return the answer to a request that was settled before."""

    def begin(self, key: RequestKey, request: Request, reservation: int, caps: Caps = UNLIMITED) -> Begun:
        """Write down a call before it is sent; raise `OverBudget`, and write nothing, when a cap leaves no room."""

    def settle(self, call_id: int, completion: Completion, cost: Cost, seconds: float) -> None:
        """Keep the answer and what it cost."""

    def abandon(self, call_id: int, reason: str, cost: Cost) -> None:
        """Write down that a call failed, and what it may have cost all the same."""

    def forget_item(self, repository: str, workflow: str, item: str) -> None:
        """Drop the answers of an item that has ended; what they cost stays."""

    def spent(self, run: str | None = None, item: str | None = None, day: str | None = None) -> Cost:
        """Sum up what was spent by a run, on an item (as `item_key` names it), on a UTC day."""

    def costs(self, run: str) -> list[CallCost]:
        """Return what a run's calls came to, by item, node and model."""

    def repeated(self, run: str) -> int:
        """Return how many calls of a run were asked again because an answer was lost."""

    def close(self) -> None:
        """Let go of whatever is held."""


def keep_within(number: int) -> int:
    """Return the number brought into the range of what is kept."""
    return min(max(0, number), MOST)


def keep_cost_within(cost: Cost) -> Cost:
    """Return a cost brought into the range of what is kept; no more is known than may be spent."""
    most = keep_within(max(cost.known, cost.most))
    return Cost(min(keep_within(cost.known), most), most)


def today() -> str:
    """Return the day that a call sent now counts for."""
    return utc_now()[:10]


@dataclass(slots=True)
class _Call:
    key: RequestKey
    node: str
    model: str
    day: str
    cost: Cost
    is_under_way: bool = True
    tokens: tuple[int, int] = (0, 0)
    reason: str = ""


class MemoryJournal:
    """Keep calls for as long as the process lives: a worker that dies with its item is not paid for twice."""

    waits_for_disk = False

    def __init__(self, run: str = "") -> None:
        self._run = run
        self._calls: dict[int, _Call] = {}
        self._last = 0
        self._answers: dict[str, dict[str, Settled]] = {}

    def settled(self, key: RequestKey) -> Settled | None:
        """Return the answer to a request that was settled before."""
        return self._answers.get(key.item, {}).get(key.question)

    def begin(self, key: RequestKey, request: Request, reservation: int, caps: Caps = UNLIMITED) -> Begun:
        """Write down a call before it is sent."""
        reservation, day = keep_within(reservation), today()

        def spending(scope: Scope) -> Spending:
            item = key.item if scope is Scope.ITEM else None
            calls = list(self._select(item, day if scope is Scope.DAY else None))
            open_calls = [call for call in calls if call.is_under_way]
            uncertain = [call for call in calls if not call.is_under_way and not call.cost.is_exact]
            return Spending(
                sum((call.cost for call in calls), NO_COST),
                under_way=sum(call.cost.most for call in open_calls),
                uncertain=len(uncertain),
                last_failure=next((call.reason for call in reversed(uncertain)), ""),
            )

        refusal = admit(caps, reservation, spending)
        if refusal is not None:
            raise refusal
        self._last += 1
        is_again = any(call.key == key and call.cost and not call.is_under_way for call in self._calls.values())
        self._calls[self._last] = _Call(key, request.node, request.model, day, Cost(0, reservation))
        return Begun(self._last, was_sent_before=False, may_be_paid_before=is_again)

    def settle(self, call_id: int, completion: Completion, cost: Cost, seconds: float) -> None:
        """Keep the answer and what it cost."""
        call = self._end(call_id, cost)
        usage = completion.usage
        answer = Settled(replace(completion, allowance=None), call.cost, seconds)
        call.tokens = (keep_within(usage.input_tokens), keep_within(usage.output_tokens))
        self._answers.setdefault(call.key.item, {})[call.key.question] = answer

    def abandon(self, call_id: int, reason: str, cost: Cost) -> None:
        """Write down that a call failed."""
        self._end(call_id, cost).reason = reason

    def forget_item(self, repository: str, workflow: str, item: str) -> None:
        """Drop the answers of an item, and the calls that cost nothing, so that memory does not grow with the run."""
        name = item_key(repository, workflow, item)
        self._answers.pop(name, None)
        free = [
            n for n, call in self._calls.items() if call.key.item == name and not call.cost and not call.is_under_way
        ]
        for number in free:
            del self._calls[number]

    def spent(self, run: str | None = None, item: str | None = None, day: str | None = None) -> Cost:
        """Sum up what was spent."""
        calls = self._select(item, day) if run in (None, self._run) else ()
        return sum((call.cost for call in calls), NO_COST)

    def costs(self, run: str) -> list[CallCost]:
        """Return what a run's calls came to, by item, node and model."""
        groups: dict[tuple[str, str, str], list[_Call]] = {}
        for call in self._calls.values() if run == self._run else ():
            groups.setdefault((call.key.item, call.node, call.model), []).append(call)
        return [
            CallCost(
                *group,
                calls=len(calls),
                repeated=0,
                input_tokens=sum(call.tokens[0] for call in calls),
                output_tokens=sum(call.tokens[1] for call in calls),
                cost=sum((call.cost for call in calls), NO_COST),
            )
            for group, calls in sorted(groups.items())
        ]

    def repeated(self, run: str) -> int:
        """Return 0: what would have to be asked again is forgotten with the process."""
        del run
        return 0

    def close(self) -> None:
        """Do nothing: memory needs no closing."""

    def _select(self, item: str | None, day: str | None) -> Iterable[_Call]:
        return (c for c in list(self._calls.values()) if item in (None, c.key.item) and day in (None, c.day))

    def _end(self, call_id: int, cost: Cost) -> _Call:
        call = self._calls[call_id]
        call.cost, call.is_under_way = keep_cost_within(cost), False
        return call
