"""Read untrusted JSON: size, depth and digits are limited, repeated keys and NaN refused."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from agentos.errors import AgentOSError

MAX_BYTES = 1_000_000
MAX_DEPTH = 32
MAX_DIGITS = 18

_OUTSIDE = re.compile(r'["\[\]{}]')
_INSIDE = re.compile(r'["\\]')


class StrictJsonError(AgentOSError, ValueError):
    """JSON text that is refused."""


def load_strict(text: str) -> Any:
    """Return the one JSON value of a text, or raise `StrictJsonError`, in linear time."""
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise StrictJsonError(f"the answer is over {MAX_BYTES} bytes")
    if _depth(text) > MAX_DEPTH:
        raise StrictJsonError(f"the answer is nested deeper than {MAX_DEPTH} levels")
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_refuse_constant,
            parse_int=_integer,
            parse_float=_number,
        )
    except StrictJsonError:
        raise
    except (ValueError, RecursionError) as error:
        why = str(error)[:200]
        raise StrictJsonError(f"the answer is not one JSON value: {why}") from None
    return value


def _depth(text: str) -> int:
    depth = deepest = position = 0
    while match := _OUTSIDE.search(text, position):
        position = match.end()
        if match[0] == '"':
            position = _string_end(text, position)
        elif match[0] in "[{":
            depth += 1
            deepest = max(deepest, depth)
        else:
            depth -= 1
    return deepest


def _string_end(text: str, position: int) -> int:
    while match := _INSIDE.search(text, position):
        if match[0] == '"':
            return match.end()
        position = match.end() + 1
    return len(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise StrictJsonError(f"the key {key[:60]!r} is given twice")
        found[key] = value
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise StrictJsonError(f"{name} is not JSON")


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise StrictJsonError(f"a number of {len(digits)} digits is not accepted")
    return int(digits)


def _number(digits: str) -> float:
    if len(digits) > 2 * MAX_DIGITS:
        raise StrictJsonError(f"a number of {len(digits)} digits is not accepted")
    return float(digits)
