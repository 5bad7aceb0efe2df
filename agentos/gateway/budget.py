"""Enforce cost caps for a run, an item and a day: a call is admitted before it is sent,
or not at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from agentos.errors import FailureCause, ProviderError
from agentos.money import Cost, format_dollars
from agentos.state.wording import count
from agentos.usage import NOTHING


class Scope(StrEnum):
    """What a cap applies to."""

    RUN = "run"
    ITEM = "item"
    DAY = "day"


@dataclass(frozen=True, slots=True)
class Caps:
    """Highest costs in micro-dollars; None for no limit."""

    per_run: int | None = None
    per_item: int | None = None
    per_day: int | None = None

    def limits(self) -> list[tuple[Scope, int]]:
        """Return the caps that are set."""
        caps = (
            (Scope.RUN, self.per_run),
            (Scope.ITEM, self.per_item),
            (Scope.DAY, self.per_day),
        )
        return [(scope, cap) for scope, cap in caps if cap is not None]


UNLIMITED = Caps()


@dataclass(frozen=True, slots=True)
class Spending:
    """Costs within a scope."""

    cost: Cost
    """Total, including the worst case of the calls under way."""
    under_way: int = 0
    """Amount that is reserved for calls of live processes, which will settle them."""
    uncertain: int = 0
    """Number of ended calls whose cost is unknown."""
    last_failure: str = ""
    """Why the last of those failed."""


class OverBudget(ProviderError):
    """The call could exceed a cap.

    `may_fit_later` is whether it would fit if the calls under way cost nothing, so that
    waiting for them makes sense. `remedy` is the option, with its value, under which
    the call would be sent.
    """

    def __init__(
        self,
        message: str,
        *,
        scope: Scope,
        remedy: tuple[str, str],
        may_fit_later: bool,
    ) -> None:
        super().__init__(message, cause=FailureCause.BUDGET, consumed=NOTHING)
        self.is_for_all = scope is not Scope.ITEM
        self.remedy = remedy
        self.may_fit_later = may_fit_later


_WORDS = {
    Scope.RUN: "this run and the runs that it continues",
    Scope.ITEM: "this item",
    Scope.DAY: "today (UTC)",
}
_FLAGS = {
    Scope.RUN: "--max-cost",
    Scope.ITEM: "--max-cost-per-item",
    Scope.DAY: "--max-cost-per-day",
}


def admit(
    caps: Caps, reservation: int, spending: Callable[[Scope], Spending]
) -> OverBudget | None:
    """Return why a call may not be sent, None when it may.

    The highest possible cost must stay below a cap. A call that costs nothing may
    always be sent. A cap for which waiting does not help is reported first.
    """
    if reservation <= 0:
        return None
    refusals = []
    for scope, cap in caps.limits():
        spent = spending(scope)
        total = spent.cost.most + reservation
        if total > cap:
            remedy = _FLAGS[scope], format_dollars(total).removeprefix("$")
            refusals.append(
                OverBudget(
                    _explain(scope, cap, spent, reservation, remedy),
                    scope=scope,
                    remedy=remedy,
                    may_fit_later=total - spent.under_way <= cap,
                )
            )
    return min(refusals, key=lambda refusal: refusal.may_fit_later, default=None)


def _explain(
    scope: Scope, cap: int, spent: Spending, reservation: int, remedy: tuple[str, str]
) -> str:
    """Explain what used the cap up, what failed before, and what helps."""
    parts = [f"{format_dollars(spent.cost.known)} is spent"]
    if spent.under_way:
        parts.append(
            f"{format_dollars(spent.under_way)} is reserved for calls under way"
        )
    unsure = spent.cost.most - spent.cost.known - spent.under_way
    if unsure > 0:
        calls = "calls that a kill cut off"
        if spent.uncertain:
            calls = count(spent.uncertain, "call")
        failure = ""
        if spent.last_failure:
            failure = f" (the last: {spent.last_failure})"
        parts.append(
            f"up to {format_dollars(unsure)} more may have been billed for {calls} without"
            f" a whole answer{failure}"
        )
    parts.append(f"this call could cost up to {format_dollars(reservation)}")
    wait = "wait until midnight UTC, or " if scope is Scope.DAY else ""
    return (
        f"the cap of {format_dollars(cap)} for {_WORDS[scope]} is reached:"
        f" {', '.join(parts)}; {wait}run again with {' '.join(remedy)} or more"
    )
