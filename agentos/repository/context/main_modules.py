"""Outline the main modules, for a text that names nothing of the repository."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from agentos.documents.changes import is_test
from agentos.repository.context.bounded import BoundedFiles
from agentos.repository.context.ranking import CODE_ENDS
from agentos.repository.look.answers import outline
from agentos.repository.look.masking import show_name
from agentos.repository.look.naming import is_stub
from agentos.repository.look.showing import fit
from agentos.state.wording import count

_MOST = 3
_LONGEST = 3_000


def largest_modules(paths: Iterable[str], files: BoundedFiles) -> list[str]:
    """Return the paths of the modules with the most text, without tests."""
    sizes = []
    for path in paths:
        if not path.endswith(CODE_ENDS):
            continue
        if is_test(path) or is_stub(path):
            continue
        text = files.read(path)
        if text is not None:
            sizes.append((-len(text.source), path))
    sizes.sort()
    return [path for _, path in sizes[:_MOST]]


def outline_modules(paths: Sequence[str], files: BoundedFiles) -> Iterator[str]:
    """Yield the outline of each module."""
    for path in paths:
        text = files.read(path)
        if text is None:
            continue
        rows = outline(text, files.definitions(path))
        if not rows:
            continue
        size = count(len(text.lines), "line")
        head = f"#### `{show_name(path)}` (outline of {size}{text.remark})"
        yield fit([head, "", *rows], _LONGEST)
