"""Estimate the duration of a run from the durations of earlier items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentos.state.wording import describe_seconds

OFFLINE_SECONDS = 0.5
MODEL_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated duration and its basis."""

    seconds: float
    basis: str

    def describe(self) -> str:
        """Return the estimate as one phrase."""
        return f"about {describe_seconds(self.seconds)} ({self.basis})"


def estimate(
    items: int,
    parallel: int,
    earlier: Sequence[float],
    is_offline: bool,
    chain: int = 0,
) -> Estimate:
    """Estimate the duration of `items`, of which `chain` have to run one after the
    other; without earlier items assume a typical duration.
    """
    if earlier:
        each = sum(earlier) / len(earlier)
        basis = f"{describe_seconds(each)} an item, as in {len(earlier)} earlier ones"
    else:
        each = OFFLINE_SECONDS if is_offline else MODEL_SECONDS
        basis = f"assuming {describe_seconds(each)} an item, none was run here yet"
    waves = -(-items // max(1, min(parallel, items))) if items else 0
    return Estimate(max(waves, chain) * each, basis)
