"""Describe the conventions of a repository: its guides, its change log, its README."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence

from agentos.repository.context.bounded import BoundedFiles
from agentos.repository.context.building import find_test_runs
from agentos.repository.context.changelog import describe_changelog, find_section
from agentos.repository.look.asking import Range
from agentos.repository.look.listing import base_name
from agentos.repository.look.masking import show_name
from agentos.repository.look.showing import merge, number_within
from agentos.repository.look.texts import FileText
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
_GUIDE_SHARE = 0.35
_README_SHARE = 0.4
_CHANGELOG_SHARE = 0.2
_FOR_REMARK = 50
_FEW_LINES = 30
_SECTION_LINES = 20
_PARAGRAPH_LINES = 4
_MOST_SECTIONS = 4
_SECTIONS = re.compile(
    r"\b(?:contribut|develop|hacking|test|coding|style|build|release|policy)",
    re.IGNORECASE,
)
_MARKUP = ("[!", "![", "<", "..", ":", "=", "-", "#", "|", "`", "*", ">", "~", "{", "+")


def describe_conventions(
    paths: Sequence[str],
    files: BoundedFiles,
    shown: Container[str],
    limit: int,
) -> Iterator[str]:
    """Yield what guides a change, the most binding first: the guides, how changes are
    noted, and what the README says about the project and its development; nothing of
    files that are `shown` elsewhere.
    """
    share = int(limit * _GUIDE_SHARE)
    for path in _find(paths, _GUIDES):
        if path not in shown:
            yield from _begin(path, files, share)
    share = int(limit * _CHANGELOG_SHARE)
    yield from describe_changelog(paths, files, shown, share)
    share = int(limit * _README_SHARE)
    readmes = _find(paths, _READMES)
    for path in readmes[:1]:
        if path not in shown:
            yield from _excerpt(path, files, share)


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


def _begin(path: str, files: BoundedFiles, limit: int) -> Iterator[str]:
    """Yield the first lines of a guide, and those that say how tests are run."""
    text = files.read(path)
    if text is None or not text.source.strip():
        return
    beginning = (1, min(_FEW_LINES, len(text.lines)))
    runs = find_test_runs(text)
    ranges = [beginning, *zip(runs, runs, strict=True)]
    yield _show(text, "how this project is worked on", ranges, limit)


def _excerpt(path: str, files: BoundedFiles, limit: int) -> Iterator[str]:
    """Yield of a README its first sentences, the beginnings of sections about
    development and changes, and the lines that run tests.
    """
    text = files.read(path)
    if text is None:
        return
    runs = find_test_runs(text)
    ranges = list(zip(runs, runs, strict=True))
    ranges += _first_paragraph(text)
    sections = []
    for definition in files.definitions(path):
        if _SECTIONS.search(definition.name):
            first = definition.first
            last = min(definition.last, first + _SECTION_LINES)
            sections.append((first, last))
    ranges += sections[:_MOST_SECTIONS]
    ranges += find_section(path, files)
    if ranges:
        yield _show(text, "what it is, and how to work on it", ranges, limit)


def _first_paragraph(text: FileText) -> list[Range]:
    """Return the lines of the first sentences, below titles, badges and other markup."""
    lines = text.lines
    for number, line in enumerate(lines, 1):
        if not _is_prose(line):
            continue
        following = lines[number : number + 1]
        if any(map(_is_rule, following)):
            continue
        last = number
        while last < len(lines) and last - number < _PARAGRAPH_LINES:
            if not _is_prose(lines[last]):
                break
            last += 1
        return [(number, last)]
    return []


def _is_prose(line: str) -> bool:
    """Tell whether a line has words and is no markup; what is indented belongs to some."""
    if line.startswith((" ", "\t", *_MARKUP)):
        return False
    return " " in line.strip()


def _is_rule(line: str) -> bool:
    """Tell whether a line underlines a title."""
    stripped = line.strip()
    return len(set(stripped)) == 1 and not stripped.isalnum()


def _show(
    text: FileText,
    about: str,
    ranges: Iterable[Range],
    limit: int,
) -> str:
    size = count(len(text.lines), "line")
    name = show_name(text.path)
    head = f"#### `{name}` ({about}; {size}{text.remark})"
    room = limit - len(head) - _FOR_REMARK
    numbered = number_within(text.lines, merge(ranges), room)
    rows = [head, "", *numbered.rows]
    if numbered.hidden:
        rows.append(f"cut; the file has {size}")
    return "\n".join(rows)
