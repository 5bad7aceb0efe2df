"""Take an answer out of the JSON that some models write around it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping

_FENCES = ("```", "~~~")
_BEGINNINGS = ("{", "[", '"')
_SIGNS = (
    *_FENCES,
    "<<<<<<<",
    "*** Begin Patch",
    "# File:",
    "# Edit:",
    "# Delete:",
)
_PATH_KEYS = ("path", "file", "filename", "file_path")
_TEXT_KEYS = ("content", "contents", "text", "code")
_BACKTICKS = re.compile(r"`+")
_MOST = 50
"""Maximum number of values that are looked at."""


def open_envelope(text: str) -> str:
    """Return the answer in a JSON text, or the text as it is.

    A list of objects with a path and a content becomes an answer with these files.
    """
    bare = _without_fence(text.strip())
    if not bare.startswith(_BEGINNINGS):
        return text
    try:
        data = json.loads(bare, strict=False)
    except (ValueError, RecursionError):
        return text
    files = _read_files(data)
    if files:
        return "\n".join(files)
    found = list(filter(_is_answer, _texts(data)))
    if len(found) != 1:
        return text
    return found[0]


def _without_fence(text: str) -> str:
    """Return what stands in a fence around the whole text."""
    first, _, rest = text.partition("\n")
    if not first.startswith(_FENCES):
        return text
    if not rest.endswith(_FENCES):
        return text
    inner, _, _ = rest.rpartition("\n")
    return inner.strip()


def _texts(data: object) -> Iterator[str]:
    """Yield the texts among the first values of some JSON."""
    waiting = [data]
    for _ in range(_MOST):
        if not waiting:
            return
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, list):
            waiting += one[:_MOST]
        elif isinstance(one, dict):
            values = list(one.values())
            waiting += values[:_MOST]


def _is_answer(text: str) -> bool:
    """Tell whether a text may name files: it has lines and a sign of a block."""
    if "\n" not in text:
        return False
    return any(sign in text for sign in _SIGNS)


def _read_files(data: object) -> list[str]:
    """Return a block for each file of a list, none if one of its parts is no file."""
    listed = _find_list(data)
    blocks = []
    for one in listed:
        block = _write_block(one)
        if not block:
            return []
        blocks.append(block)
    return blocks


def _find_list(data: object) -> list[object]:
    """Return a list, or the only list of an object."""
    if isinstance(data, list):
        return data
    if not isinstance(data, dict):
        return []
    values = data.values()
    found = [value for value in values if isinstance(value, list)]
    if len(found) != 1:
        return []
    return found[0]


def _write_block(file: object) -> str:
    """Write an object such as `{"path": "a.py", "content": "..."}` as a block."""
    # What else an object has could mean that the text is only a part.
    if not isinstance(file, dict) or len(file) != 2:
        return ""
    path = _first_text(file, _PATH_KEYS)
    text = _first_text(file, _TEXT_KEYS)
    if not path or not text or "\n" in path:
        return ""
    runs = _BACKTICKS.findall(text)
    longest = max(map(len, runs), default=2)
    fence = "`" * (longest + 1)
    if not text.endswith("\n"):
        text += "\n"
    return f"{fence} whole\n# File: `{path}`\n{text}{fence}\n"


def _first_text(
    data: Mapping[object, object],
    keys: Iterable[str],
) -> str:
    for key in keys:
        value = data.get(key)
        if isinstance(value, str):
            return value
    return ""
