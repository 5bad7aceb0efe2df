"""Hold a run, an item and a day to what they may cost: a call is admitted before it is sent, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from agentos.errors import ProviderError, Sign
from agentos.gateway.prices import say_dollars


class Scope(StrEnum):
    """What a cap is put on."""

    RUN = "run"
    ITEM = "item"
    DAY = "day"


@dataclass(frozen=True, slots=True)
class Caps:
    """What may be spent at the most, in micro-dollars; None where there is no limit."""

    per_run: int | None = None
    per_item: int | None = None
    per_day: int | None = None

    def limits(self) -> list[tuple[Scope, int]]:
        """Return the caps that are set."""
        caps = ((Scope.RUN, self.per_run), (Scope.ITEM, self.per_item), (Scope.DAY, self.per_day))
        return [(scope, cap) for scope, cap in caps if cap is not None]


UNLIMITED = Caps()


class OverBudget(ProviderError):
    """The call could cost more than a cap leaves.

    `may_fit_later` is whether it would fit if the calls under way turned out to cost nothing, so that waiting for
    them to settle makes sense.
    """

    def __init__(self, message: str, *, scope: Scope, may_fit_later: bool) -> None:
        super().__init__(message, sign=Sign.BUDGET)
        self.is_for_all = scope is not Scope.ITEM
        self.may_fit_later = may_fit_later


def admit(
    caps: Caps, reservation: int, spent: Callable[[Scope], int], under_way: Callable[[Scope], int]
) -> OverBudget | None:
    """Return why a call may not be sent, None when it may.

    `spent` says what must be assumed spent within a scope, calls under way at their worst; `under_way` says how much
    of that is of calls whose process still lives and will settle them. A call that costs nothing always may.
    A cap that waiting cannot help is named before one that it can.
    """
    if reservation <= 0:
        return None
    refusals = []
    for scope, cap in caps.limits():
        total = spent(scope)
        if total + reservation > cap:
            waiting = under_way(scope)
            message = _explain(scope, cap, total, waiting, reservation)
            may_fit_later = total - waiting + reservation <= cap
            refusals.append(OverBudget(message, scope=scope, may_fit_later=may_fit_later))
    return min(refusals, key=lambda refusal: refusal.may_fit_later, default=None)


def _explain(scope: Scope, cap: int, spent: int, under_way: int, reservation: int) -> str:
    words, remedy = {
        Scope.RUN: ("the run", "run again with a higher cap, as --max-cost {}"),
        Scope.ITEM: ("the item", "set max_cost_per_item to {} or more and run again"),
        Scope.DAY: ("the day", "run again after midnight UTC, or set max_cost_per_day to {} or more"),
    }[scope]
    enough = say_dollars(spent + reservation).removeprefix("$")
    waiting = f", {say_dollars(under_way)} of it held for calls under way" if under_way else ""
    return (
        f"the cap of {say_dollars(cap)} for {words} is reached: {say_dollars(spent)} is spent{waiting}, and this call "
        f"could cost up to {say_dollars(reservation)}; {remedy.format(enough)}"
    )
