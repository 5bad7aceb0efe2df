"""Keep the garbage collector away while a long text is read.

A reader makes a small object or more for every line, none of which refers back to another. Searching them for cycles
over and over takes a third of the time that reading takes, and finds nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def undisturbed(read: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Return a reader during which nothing is collected."""

    @wraps(read)
    def reading(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return read(*args, **kwargs)
        finally:
            if was_enabled:
                gc.enable()

    return reading
