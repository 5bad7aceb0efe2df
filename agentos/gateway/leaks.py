"""Keep keys out of what is asked and of what is answered: neither is changed, both are refused.

Whoever has to take a key out is told where it stands: the place is looked for in the parts that the prompt was rendered
from, and then in the file that is shown there.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentos.errors import BadInput, ProviderError, Sign
from agentos.files import is_inside, read_regular
from agentos.places import answers_path
from agentos.providers import Completion, Request
from agentos.redaction import find_secret
from agentos.task import Workflow

SOURCES = frozenset({"brief", "issue", "design"})
"""Parts of a prompt that are the item's own text."""
FILE_LIMIT = 10_000_000
_SHOWN = re.compile(r"#{1,6} (?:`([^`]+)`|File: (\S.*))")
"""The line above a file in a prompt."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an item comes from."""

    repository: Path
    source: str
    """Its own text: a path, relative to the repository when it lies inside, or an address."""


def refuse_prompt(request: Request, origin: Origin | None) -> ProviderError | None:
    """Return why a prompt must not be sent, None when it holds no key."""
    name = find_secret(request.prompt)
    if not name:
        return None
    place = _find_place(request, origin)
    return ProviderError(
        f"{place} holds the key {name}; take it out of the repository, and run again",
        "bad-input",
        sign=Sign.SECRET,
    )


def refuse_answer(completion: Completion) -> ProviderError | None:
    """Return why an answer must go no further, None when it holds no key; its text is told by its hash alone."""
    name = find_secret(f"{completion.text}\n{completion.model}")
    if not name:
        return None
    digest = hashlib.sha256(completion.text.encode("utf-8", "surrogatepass")).hexdigest()
    usage = completion.usage
    return ProviderError(
        f"the answer held the key {name} (sha256 {digest}, {usage.input_tokens} tokens in, {usage.output_tokens} out); "
        "nothing of it is kept; as the model knows that key, replace it",
        sign=Sign.SECRET,
    )


def _find_place(request: Request, origin: Origin | None) -> str:
    for part, text in request.inputs.items():
        rows = text.split("\n") if find_secret(text) else []
        number = _first_line(rows)
        if number:
            return _name_place(request, origin, part, rows[:number])
    rows = request.prompt.split("\n")
    return f"the prompt, line {_first_line(rows)},"


def _name_place(request: Request, origin: Origin | None, part: str, rows: Sequence[str]) -> str:
    """Name the file whose text ends a part of a prompt, and the line there; else the line of the part."""
    paths = list(_candidates(request, origin, part, rows))
    for path in paths:
        number = _line_in(origin, path)
        if number:
            return f"{path}, line {number},"
    if part in SOURCES and paths:
        return f"{paths[0]}, line {len(rows)},"
    shown = f"{paths[0]}, as shown in " if paths else ""
    return f"{shown}the prompt's part `{part}`, line {len(rows)},"


def _candidates(request: Request, origin: Origin | None, part: str, rows: Sequence[str]) -> Iterator[str]:
    """Yield the paths of which one holds the last of these rows, the likeliest first."""
    if part in SOURCES and origin is not None:
        yield origin.source
        yield answers_path(Workflow(request.workflow), request.item)
    elif part not in SOURCES:
        above = filter(None, map(_SHOWN.match, reversed(rows)))
        yield from ((found[1] or found[2]).strip("`\"' ") for found in above)


def _line_in(origin: Origin | None, path: str) -> int:
    """Return the line of a file of the repository that holds a key, 0 when none does."""
    if origin is None:
        return 0
    file = origin.repository / path
    try:
        if not is_inside(file, origin.repository):
            return 0
        return _first_line(read_regular(file, FILE_LIMIT).decode("utf-8", "replace").split("\n"))
    except (OSError, ValueError, BadInput):
        return 0


def _first_line(rows: Sequence[str]) -> int:
    return next((number for number, row in enumerate(rows, 1) if find_secret(row)), 0)
