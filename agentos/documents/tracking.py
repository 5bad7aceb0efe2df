"""Recognize a review that goes nowhere."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence

Rounds = Sequence[set[str]]
"""The ids of the findings that hold up an approval after each round, the oldest first."""

PATIENCE = 2
"""Maximum number of rounds in a row without progress."""
_MOST_NAMES = 5


def find_standstill(rounds: Rounds) -> str:
    """Return why another round would not help, or nothing while there is progress."""
    if len(rounds) < 2:
        return ""
    *past, previous, last = rounds
    if not last:
        return ""
    number = len(rounds)
    # Every round may close findings and yet lead back to where an earlier one was.
    if last != previous and last in past:
        index = past.index(last)
        names = _names(last)
        other = index + 1
        return f"round {number} is back at the findings of round {other}: {names}"
    if number <= PATIENCE:
        return ""
    first = -PATIENCE - 1
    recent = rounds[first:]
    return _find_stop(recent)


def _find_stop(rounds: Rounds) -> str:
    """Return why these rounds in a row are no progress, empty if one of them is."""
    sizes = map(len, rounds)
    counts = list(sizes)
    later_counts = counts[1:]
    grows = map(
        operator.lt,
        counts,
        later_counts,
    )
    if all(grows):
        numbers = map(str, counts)
        listed = ", ".join(numbers)
        return f"the findings grow from round to round: {listed}"
    later = rounds[1:]
    # A round that only adds to the one before has resolved nothing of it.
    keeps_all = map(operator.le, rounds, later)
    if all(keeps_all):
        last = rounds[-1]
        names = _names(last)
        return f"no finding was resolved in {PATIENCE} rounds: {names}"
    return ""


def _names(ids: Iterable[str]) -> str:
    ordered = sorted(ids)
    shown = ordered[:_MOST_NAMES]
    names = ", ".join(shown)
    more = len(ordered) - len(shown)
    if more:
        names += f" and {more} more"
    return names
