"""Decide which fault strikes a call."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.scenario.formats import Call
from tests.scenario.script import Fault


@dataclass(frozen=True, slots=True)
class Strike:
    """A fault that strikes a call, and the delay to tell or to wait, None for the
    kind's own.
    """

    fault: Fault
    delay: float | None


@dataclass
class _Tally:
    chance: random.Random
    calls: int = 0
    strikes: int = 0
    until: float = field(default=float("-inf"))


class FaultBook:
    """Counts the calls that each fault is about; the first fault that strikes is the
    one that happens.
    """

    def __init__(self) -> None:
        self._tallies: dict[Fault, _Tally] = {}

    def strike(
        self, faults: Sequence[Fault], call: Call, group: str, now: float
    ) -> Strike | None:
        """Count the call for every fault and return what strikes it; a fault that is
        scripted on keeps its count.
        """
        self._tallies = {
            fault: self._tallies.get(fault) or _Tally(random.Random(fault.seed))
            for fault in faults
        }
        struck = None
        for fault, tally in self._tallies.items():
            if not _concerns(fault, call, group):
                continue
            tally.calls += 1
            if struck is None and _is_due(fault, tally, now):
                if now >= tally.until:
                    tally.strikes += 1
                    tally.until = now + fault.lasts
                struck = Strike(
                    fault, tally.until - now if fault.lasts else fault.delay
                )
        return struck


def _concerns(fault: Fault, call: Call, group: str) -> bool:
    wanted = (
        (fault.key, call.secret),
        (fault.group, group),
        (fault.item, call.item),
        (fault.model, call.model),
        (fault.format, call.format),
        (fault.purpose, call.purpose),
    )
    return all(value in ("", actual) for value, actual in wanted)


def _is_due(fault: Fault, tally: _Tally, now: float) -> bool:
    is_hit_by_chance = fault.rate is not None and tally.chance.random() < fault.rate
    if now < tally.until:
        return True
    most = fault.times or (1 if fault.lasts else 0)
    if most and tally.strikes >= most:
        return False
    if fault.at:
        return tally.calls in fault.at
    if fault.rate is not None:
        return is_hit_by_chance
    return tally.calls > (fault.after or 0)
