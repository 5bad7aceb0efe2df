"""Say how long a batch may take, from what items took before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentos.wording import describe_seconds

OFFLINE_SECONDS = 0.5
MODEL_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """A guess with its ground."""

    seconds: float
    ground: str

    def describe(self) -> str:
        """Say it in one phrase."""
        return f"about {describe_seconds(self.seconds)} ({self.ground})"


def estimate(items: int, parallel: int, earlier: Sequence[float], is_offline: bool, chain: int = 0) -> Estimate:
    """Spread the items over the workers; no quicker than a chain that has to run one after the other.

    Without history a usual length is assumed.
    """
    if earlier:
        each = sum(earlier) / len(earlier)
        ground = f"{describe_seconds(each)} an item, as in {len(earlier)} earlier ones"
    else:
        each = OFFLINE_SECONDS if is_offline else MODEL_SECONDS
        ground = f"assuming {describe_seconds(each)} an item, none was run here yet"
    waves = -(-items // max(1, min(parallel, items))) if items else 0
    return Estimate(max(waves, chain) * each, ground)
