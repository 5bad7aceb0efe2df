"""Take an answer out of the JSON that some models write around it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping

_FENCES = ("```", "~~~")
_SIGNS = ("```", "~~~", "<<<<<<<", "*** Begin Patch", "# File:", "# Edit:", "# Delete:")
_PATH_KEYS = ("path", "file", "filename", "file_path")
_TEXT_KEYS = ("content", "contents", "text", "code")
_BACKTICKS = re.compile(r"`+")
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
    files = _files(data)
    if files:
        return "\n".join(files)
    answers = [one for one in _texts(data) if _is_answer(one)]
    if len(answers) != 1:
        return text
    return answers[0]


def _files(data: object) -> list[str]:
    """Return a block for each file of a list, none if one of its parts is no file."""
    listed = data
    if isinstance(data, dict):
        lists = [one for one in data.values() if isinstance(one, list)]
        listed = lists[0] if len(lists) == 1 else []
    if not isinstance(listed, list):
        return []
    blocks = []
    for one in listed:
        block = _block(one)
        if not block:
            return []
        blocks.append(block)
    return blocks


def _block(file: object) -> str:
    """Write an object such as `{"path": "a.py", "content": "..."}` as a block."""
    if not isinstance(file, dict):
        return ""
    path = _first_text(file, _PATH_KEYS)
    text = _first_text(file, _TEXT_KEYS)
    if not path or not text or "\n" in path or len(file) > 2:
        return ""
    longest = max(map(len, _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    if not text.endswith("\n"):
        text += "\n"
    return f"{fence}\n# File: `{path}`\n{text}{fence}\n"


def _first_text(data: Mapping[object, object], keys: Iterable[str]) -> str:
    for key in keys:
        value = data.get(key)
        if isinstance(value, str):
            return value
    return ""


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
