"""Refuse prompts and answers that contain a key.

The message names the location of the key: it is searched for in the parts that the
prompt was rendered from, and then in the file that is shown there.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentos.errors import BadInput, FailureCause, ProviderError
from agentos.gateway.providers import Completion, Request
from agentos.kinds import Kind
from agentos.state.files import is_inside, read_regular
from agentos.state.redaction import find_secret

FILE_LIMIT = 10_000_000
_SHOWN = re.compile(r"#{1,6} (?:`([^`]+)`|File: (\S.*))")
"""The heading above a file in a prompt."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the texts of an item come from."""

    repository: Path
    source: str
    """Its own text: a URL, or a path that is relative inside the repository."""
    answers: str
    """Path in the repository of the answers to the reviewer's questions."""


def refuse_prompt(request: Request, origin: Origin | None) -> ProviderError | None:
    """Return the error for a prompt that contains a key, None for any other."""
    name = find_secret(request.prompt)
    if not name:
        return None
    place = _find_place(request, origin)
    return ProviderError(
        f"{place} holds the key {name}; remove it from the repository and run again",
        "bad-input",
        cause=FailureCause.SECRET,
    )


def refuse_answer(completion: Completion) -> ProviderError | None:
    """Return the error for an answer that contains a key, None for any other."""
    name = find_secret(f"{completion.text}\n{completion.model}")
    if not name:
        return None
    # The text must not be kept anywhere, so only its hash is reported.
    data = completion.text.encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(data).hexdigest()
    usage = completion.usage
    return ProviderError(
        f"the answer held the key {name} (sha256 {digest}, {usage.input_tokens} tokens"
        f" in, {usage.output_tokens} out); the answer was discarded. The model knows"
        " this key: replace it",
        cause=FailureCause.SECRET,
    )


def _find_place(request: Request, origin: Origin | None) -> str:
    source = Kind(request.workflow).record.source
    for part, text in request.inputs.items():
        if not find_secret(text):
            continue
        rows = text.split("\n")
        number = _first_line(rows)
        if number:
            return _name_place(origin, part, rows[:number], source)
    rows = request.prompt.split("\n")
    number = _first_line(rows)
    # A later message shows files too.
    for path in _candidates(origin, rows[:number], is_source=False):
        line = _line_in(origin, path)
        if line:
            return f"{path}, line {line},"
    return f"the prompt, line {number},"


def _name_place(
    origin: Origin | None, part: str, rows: Sequence[str], source: str
) -> str:
    """Return the file and line that the last row comes from, or the line of the
    part.
    """
    is_source = part == source
    paths = list(_candidates(origin, rows, is_source=is_source))
    for path in paths:
        number = _line_in(origin, path)
        if number:
            return f"{path}, line {number},"
    shown = ""
    if paths:
        if is_source:
            return f"{paths[0]}, line {len(rows)},"
        shown = f"{paths[0]}, as shown in "
    return f"{shown}the prompt's part `{part}`, line {len(rows)},"


def _candidates(
    origin: Origin | None, rows: Sequence[str], *, is_source: bool
) -> Iterator[str]:
    """Yield the paths that the last row may come from, the likeliest first."""
    if is_source:
        if origin is not None:
            yield origin.source
            yield origin.answers
        return
    for row in reversed(rows):
        heading = _SHOWN.match(row)
        if heading:
            path = heading[1] or heading[2]
            yield path.strip("`\"' ")


def _line_in(origin: Origin | None, path: str) -> int:
    """Return the line of a file of the repository that contains a key, 0 for none."""
    if origin is None:
        return 0
    file = origin.repository / path
    try:
        if not is_inside(file, origin.repository):
            return 0
        data = read_regular(file, FILE_LIMIT)
    except (OSError, ValueError, BadInput):
        return 0
    rows = data.decode("utf-8", "replace").split("\n")
    return _first_line(rows)


def _first_line(rows: Sequence[str]) -> int:
    for number, row in enumerate(rows, 1):
        if find_secret(row):
            return number
    return 0
