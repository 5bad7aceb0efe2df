"""Hold a run, an item and a day to what they may cost: a call is admitted before it is sent, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from agentos.errors import ProviderError, Sign
from agentos.money import Cost, say_dollars
from agentos.providers import NOTHING
from agentos.wording import count


class Scope(StrEnum):
    """What a cap is put on."""

    RUN = "run"
    ITEM = "item"
    DAY = "day"


@dataclass(frozen=True, slots=True)
class Caps:
    """What may be spent at most, in micro-dollars; None where there is no limit."""

    per_run: int | None = None
    per_item: int | None = None
    per_day: int | None = None

    def limits(self) -> list[tuple[Scope, int]]:
        """Return the caps that are set."""
        caps = ((Scope.RUN, self.per_run), (Scope.ITEM, self.per_item), (Scope.DAY, self.per_day))
        return [(scope, cap) for scope, cap in caps if cap is not None]


UNLIMITED = Caps()


@dataclass(frozen=True, slots=True)
class Spending:
    """What was spent within a scope."""

    cost: Cost
    """With the calls under way at their worst."""
    under_way: int = 0
    """Of the most that it may be, what is set aside for calls whose process still lives and will settle them."""
    uncertain: int = 0
    """How many calls ended so that it is not known what they cost."""
    last_failure: str = ""
    """Why the last of those failed."""


class OverBudget(ProviderError):
    """The call could cost more than a cap leaves.

    `may_fit_later` is whether it would fit if the calls under way turned out to cost nothing, so that waiting for
    them to settle makes sense. `remedy` is the option, with its value, under which the call would be sent.
    """

    def __init__(self, message: str, *, scope: Scope, remedy: tuple[str, str], may_fit_later: bool) -> None:
        super().__init__(message, sign=Sign.BUDGET, consumed=NOTHING)
        self.is_for_all = scope is not Scope.ITEM
        self.remedy = remedy
        self.may_fit_later = may_fit_later


_WORDS = {Scope.RUN: "this run and those it goes on from", Scope.ITEM: "this item", Scope.DAY: "today (UTC)"}
_FLAGS = {Scope.RUN: "--max-cost", Scope.ITEM: "--max-cost-per-item", Scope.DAY: "--max-cost-per-day"}


def admit(caps: Caps, reservation: int, spending: Callable[[Scope], Spending]) -> OverBudget | None:
    """Return why a call may not be sent, None when it may.

    A cap holds against the most that may have been spent. A call that costs nothing may always be sent. A cap that
    waiting cannot help is named before one that it can.
    """
    if reservation <= 0:
        return None
    refusals = []
    for scope, cap in caps.limits():
        spent = spending(scope)
        total = spent.cost.most + reservation
        if total > cap:
            remedy = _FLAGS[scope], say_dollars(total).removeprefix("$")
            refusals.append(
                OverBudget(
                    _explain(scope, cap, spent, reservation, remedy),
                    scope=scope,
                    remedy=remedy,
                    may_fit_later=total - spent.under_way <= cap,
                )
            )
    return min(refusals, key=lambda refusal: refusal.may_fit_later, default=None)


def _explain(scope: Scope, cap: int, spent: Spending, reservation: int, remedy: tuple[str, str]) -> str:
    """Say what used the cap up, what failed before, and what helps."""
    parts = [f"{say_dollars(spent.cost.known)} is spent"]
    if spent.under_way:
        parts.append(f"{say_dollars(spent.under_way)} is set aside for calls under way")
    unsure = spent.cost.most - spent.cost.known - spent.under_way
    if unsure > 0:
        calls = count(spent.uncertain, "call") if spent.uncertain else "calls that a kill cut off"
        failure = f" (the last: {spent.last_failure})" if spent.last_failure else ""
        parts.append(
            f"up to {say_dollars(unsure)} more may have been billed for {calls} without a whole answer{failure}"
        )
    parts.append(f"this call could cost up to {say_dollars(reservation)}")
    wait = "wait until midnight UTC, or " if scope is Scope.DAY else ""
    return (
        f"the cap of {say_dollars(cap)} for {_WORDS[scope]} is reached: {', '.join(parts)}; "
        f"{wait}run again with {' '.join(remedy)} or more"
    )
