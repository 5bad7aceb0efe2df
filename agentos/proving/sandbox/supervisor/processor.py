"""Choose how much processor time a command may use."""

from __future__ import annotations

import math

LEAST = 600
_PARALLEL = 2
"""A process may keep this many processors busy until the time limit."""


def processor_seconds(seconds: float, given: int = 0) -> int:
    """Return the limit of one process: the given one, or one that suits the time
    limit.
    """
    return given or max(LEAST, math.ceil(_PARALLEL * seconds))
