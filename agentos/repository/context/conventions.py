"""Describe the conventions of a repository: the beginning of its guides."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from agentos.repository.context.bounded import BoundedFiles
from agentos.repository.context.building import find_test_runs
from agentos.repository.look.listing import base_name
from agentos.repository.look.masking import show_name
from agentos.repository.look.showing import fit, merge, number_lines
from agentos.state.wording import count

_GUIDES = (
    "agents.md",
    "claude.md",
    "contributing.md",
    "contributing.rst",
    "contributing.txt",
    "contributing",
)
_READMES = ("readme.md", "readme.rst", "readme.txt", "readme")
_FOLDERS = ("", ".github/", "docs/")
_PATHS = frozenset(
    f"{folder}{base}" for folder in _FOLDERS for base in (*_GUIDES, *_READMES)
)
_GUIDE_SHARE = 0.5
_README_SHARE = 0.2
_FEW_LINES = 30
_README_LINES = 10


def describe_conventions(
    paths: Sequence[str], files: BoundedFiles, shown: Container[str], limit: int
) -> Iterator[str]:
    """Yield the beginning of each guide that is not `shown` elsewhere, the most binding
    first.
    """
    share = int(limit * _GUIDE_SHARE)
    for path in _find(paths, _GUIDES):
        if path in shown:
            continue
        about = "how this project is worked on"
        yield from _begin(path, about, _FEW_LINES, files, share)
    share = int(limit * _README_SHARE)
    readmes = _find(paths, _READMES)
    for path in readmes[:1]:
        if path in shown:
            continue
        yield from _begin(path, "its beginning", _README_LINES, files, share)


def is_guide(path: str) -> bool:
    """Tell whether the beginning of a file is shown among the conventions."""
    return path.casefold() in _PATHS


def _find(paths: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return the wanted guides, those of the root first, then in the order wanted."""
    found = []
    for path in filter(is_guide, paths):
        base = base_name(path).casefold()
        if base not in wanted:
            continue
        depth = path.count("/")
        position = wanted.index(base)
        found.append((depth, position, path))
    found.sort()
    return [path for _, _, path in found]


def _begin(
    path: str,
    about: str,
    lines: int,
    files: BoundedFiles,
    limit: int,
) -> Iterator[str]:
    """Yield the first lines of a file, and those that say how tests are run."""
    text = files.read(path)
    if text is None:
        return
    if not text.source.strip():
        return
    total = len(text.lines)
    runs = find_test_runs(text)
    beginning = (1, min(lines, total))
    ranges = merge([beginning, *zip(runs, runs, strict=True)])
    shown = number_lines(text.lines, ranges)
    size = count(total, "line")
    name = show_name(path)
    head = f"#### `{name}` ({about}; {size}{text.remark})"
    rows = [head, "", *shown]
    kept = fit(rows, limit)
    if len(kept) < len("\n".join(rows)):
        # The remark of a cut counts what was to be shown, not the file.
        above, _, _ = kept.rpartition("\n")
        kept = f"{above}\ncut; the file has {size}"
    yield kept
