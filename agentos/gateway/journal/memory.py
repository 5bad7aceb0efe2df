"""Journal of one process, for runs that cost nothing, and for tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from agentos.gateway.budget import UNLIMITED, Caps, Scope, Spending, admit
from agentos.gateway.journal import (
    Begun,
    CallCost,
    RequestKey,
    Settled,
    item_key,
    keep_cost_within,
    keep_within,
    today,
)
from agentos.gateway.providers import Completion, Request
from agentos.money import NO_COST, Cost


@dataclass(slots=True)
class _Call:
    key: RequestKey
    node: str
    model: str
    day: str
    cost: Cost
    is_under_way: bool = True
    input_tokens: int = 0
    output_tokens: int = 0
    reason: str = ""


class MemoryJournal:
    """Keep calls in memory, so that a worker that dies with its item is not paid for
    twice.
    """

    waits_for_disk = False

    def __init__(self, run: str = "") -> None:
        self._run = run
        self._calls: dict[int, _Call] = {}
        self._last = 0
        self._answers: dict[str, dict[str, Settled]] = {}

    def settled(self, key: RequestKey) -> Settled | None:
        """Return the stored answer to a request, None without one."""
        answers = self._answers.get(key.item, {})
        return answers.get(key.question)

    def begin(
        self,
        key: RequestKey,
        request: Request,
        reservation: int,
        caps: Caps = UNLIMITED,
    ) -> Begun:
        """Record a call before it is sent."""
        reservation = keep_within(reservation)
        day = today()

        def spending(scope: Scope) -> Spending:
            if scope is Scope.ITEM:
                return _sum_up(self._select(key.item, None))
            if scope is Scope.DAY:
                return _sum_up(self._select(None, day))
            return _sum_up(self._select(None, None))

        refusal = admit(caps, reservation, spending)
        if refusal is not None:
            raise refusal
        is_again = False
        for call in self._calls.values():
            has_cost = call.cost and not call.is_under_way
            if has_cost and call.key == key:
                is_again = True
        self._last += 1
        cost = Cost(0, reservation)
        call = _Call(key, request.node, request.model, day, cost)
        self._calls[self._last] = call
        return Begun(self._last, was_sent_before=False, may_be_paid_before=is_again)

    def settle(
        self, call_id: int, completion: Completion, cost: Cost, seconds: float
    ) -> None:
        """Store the answer of a call and its cost."""
        call = self._end(call_id, cost)
        usage = completion.usage
        call.input_tokens = keep_within(usage.input_tokens)
        call.output_tokens = keep_within(usage.output_tokens)
        stored = replace(completion, rate_headers=None)
        answers = self._answers.setdefault(call.key.item, {})
        answer = Settled(stored, call.cost, seconds)
        answers[call.key.question] = answer

    def abandon(self, call_id: int, reason: str, cost: Cost) -> None:
        """Record that a call failed."""
        self._end(call_id, cost).reason = reason

    def forget_item(self, repository: str, workflow: str, item: str) -> None:
        """Drop the answers of an item and its calls that cost nothing, to bound memory."""
        name = item_key(repository, workflow, item)
        self._answers.pop(name, None)
        for number, call in list(self._calls.items()):
            is_free = not call.cost and not call.is_under_way
            if is_free and call.key.item == name:
                del self._calls[number]

    def spent(
        self,
        run: str | None = None,
        item: str | None = None,
        day: str | None = None,
    ) -> Cost:
        """Sum the costs of a run, an item or a day."""
        if run not in (None, self._run):
            return NO_COST
        return _sum_up(self._select(item, day)).cost

    def costs(self, run: str) -> list[CallCost]:
        """Return the costs of a run by item, node and model."""
        if run != self._run:
            return []
        return _group(self._calls.values())

    def costs_in(self, repository: str) -> list[CallCost]:
        """Return the costs of a repository by item, node and model."""
        start = f"{repository}/"
        calls = self._calls.values()
        own = [call for call in calls if call.key.item.startswith(start)]
        return _group(own)

    def repeated(self, run: str) -> int:
        """Return 0: lost calls are forgotten with the process."""
        del run
        return 0

    def close(self) -> None:
        """Do nothing: memory needs no closing."""

    def _select(self, item: str | None, day: str | None) -> list[_Call]:
        calls = list(self._calls.values())
        if item is not None:
            calls = [call for call in calls if call.key.item == item]
        if day is not None:
            calls = [call for call in calls if call.day == day]
        return calls

    def _end(self, call_id: int, cost: Cost) -> _Call:
        call = self._calls[call_id]
        call.cost = keep_cost_within(cost)
        call.is_under_way = False
        return call


def _sum_up(calls: Iterable[_Call]) -> Spending:
    total = NO_COST
    under_way = 0
    uncertain = 0
    last_failure = ""
    for call in calls:
        total += call.cost
        if call.is_under_way:
            under_way += call.cost.most
        elif not call.cost.is_exact:
            uncertain += 1
            last_failure = call.reason
    return Spending(total, under_way, uncertain, last_failure)


def _group(calls: Iterable[_Call]) -> list[CallCost]:
    groups = defaultdict(list)
    for call in calls:
        group = (call.key.item, call.node, call.model)
        groups[group].append(call)
    costs = []
    for group, own in sorted(groups.items()):
        cost = CallCost(
            *group,
            calls=len(own),
            repeated=0,
            input_tokens=sum(call.input_tokens for call in own),
            output_tokens=sum(call.output_tokens for call in own),
            cost=_sum_up(own).cost,
        )
        costs.append(cost)
    return costs
