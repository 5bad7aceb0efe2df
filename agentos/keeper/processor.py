"""How much processor time a command may use."""

from __future__ import annotations

import math

LEAST = 600
_PARALLEL = 2
"""A process that keeps so many processors busy may do so for as long as the clock allows."""


def processor_seconds(seconds: float, given: int = 0) -> int:
    """Return the limit of one process: what was given, else as much as time on the clock makes reasonable."""
    return given or max(LEAST, math.ceil(_PARALLEL * seconds))
