"""Turn the garbage collector off while a long text is parsed.

A parser makes small objects for every line, and none of them forms a cycle. Searching
them for cycles again and again takes a third of the parsing time and finds nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def without_gc(read: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Return a parser that runs without garbage collection."""

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
