"""Take an answer out of the JSON that some models write around it."""

from __future__ import annotations

import json
from collections.abc import Iterator

_FENCES = ("```", "~~~")
_SIGNS = ("```", "~~~", "<<<<<<<", "*** Begin Patch", "# File:", "# Edit:", "# Delete:")
_MOST = 50


def open_envelope(text: str) -> str:
    """Return the answer in a JSON string, or the text as it is."""
    bare = _without_fence(text.strip())
    if not bare.startswith(('{"', "{\n", "{ ", '"', "[")):
        return text
    try:
        data = json.loads(bare, strict=False)
    except (ValueError, RecursionError):
        return text
    answers = [one for one in _texts(data) if _is_answer(one)]
    if len(answers) != 1:
        return text
    return answers[0]


def _without_fence(text: str) -> str:
    """Return what stands in a fence around the whole text."""
    first, _, rest = text.partition("\n")
    if not first.startswith(_FENCES) or not rest.endswith(_FENCES):
        return text
    inner, _, _ = rest.rpartition("\n")
    return inner.strip()


def _texts(data: object) -> Iterator[str]:
    """Yield the texts of some JSON that is nested no deeper than messages are."""
    waiting = [data]
    for _ in range(_MOST):
        if not waiting:
            return
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            waiting += list(one.values())[:_MOST]
        elif isinstance(one, list):
            waiting += one[:_MOST]


def _is_answer(text: str) -> bool:
    """Tell whether a text may name files: it has lines and a sign of a block."""
    return "\n" in text and any(sign in text for sign in _SIGNS)
