"""Describe the shape of a repository: its folders with file counts, and its tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from agentos.documents.changes import is_named_as_test
from agentos.repository.context.showing import show_name
from agentos.state.wording import count

MAX_ROWS = 60
_ROOT_FILES = 30
_SPLIT_FROM = 8
_MAX_DEPTH = 3
_TEST_FOLDERS = 8
_LONGEST_ENDING = 8

_Parts = list[str]
"""The folders of a path, and its file."""


def describe_tree(names: Sequence[str], is_cut: bool) -> str:
    """Return folders and counts, deeper where there are many files."""
    number = len(names)
    total = count(number, "file")
    if is_cut:
        total += ", and more that were not looked at"
    rows = [f"{total}."]
    root = []
    paths = []
    for name in names:
        parts = name.split("/")
        if len(parts) > 1:
            paths.append(parts)
        else:
            root.append(name)
    if root:
        listed = _list_root(root)
        rows.append(f"- in the root: {listed}")
    folders = _folder_rows(paths, 1)
    rows += folders[:MAX_ROWS]
    more = len(folders) - MAX_ROWS
    if more > 0:
        rows.append(f"- ... and {more} more folders")
    return "\n".join(rows)


def describe_tests(names: Sequence[str]) -> str:
    """Return where the tests are and what they are called, empty if there are none."""
    tests = list(filter(is_named_as_test, names))
    if not tests:
        return ""
    folders = []
    examples: dict[str, str] = {}
    for name in tests:
        folder, _, _ = name.rpartition("/")
        if not folder:
            folder = "."
        folders.append(folder)
        examples.setdefault(folder, name)
    number = len(tests)
    total = count(number, "file")
    rows = [f"{total} of tests:"]
    frequent = _most_frequent(folders, _TEST_FOLDERS)
    for folder, number in frequent:
        shown = show_name(folder)
        files = count(number, "file")
        first = examples[folder]
        example = show_name(first)
        rows.append(f"- `{shown}/`: {files}, such as `{example}`")
    return "\n".join(rows)


def _list_root(names: Sequence[str]) -> str:
    quoted = []
    for name in names[:_ROOT_FILES]:
        shown = show_name(name)
        quoted.append(f"`{shown}`")
    listed = ", ".join(quoted)
    more = len(names) - _ROOT_FILES
    if more > 0:
        listed += f" and {more} more"
    return listed


def _folder_rows(paths: Sequence[_Parts], depth: int) -> list[str]:
    """Return a row for each folder at a depth, with rows for the folders inside below
    it if it has many files.
    """
    groups: dict[str, list[_Parts]] = {}
    for parts in paths:
        if len(parts) <= depth:
            continue
        folder = "/".join(parts[:depth])
        inside = groups.setdefault(folder, [])
        inside.append(parts)
    rows = []
    indent = "  " * (depth - 1)
    for folder, inside in sorted(groups.items()):
        shown = show_name(folder)
        number = len(inside)
        row = f"{indent}- `{shown}/`: {number}"
        endings = _list_endings(inside)
        if endings:
            row += f" ({endings})"
        rows.append(row)
        if number < _SPLIT_FROM:
            continue
        if depth < _MAX_DEPTH:
            rows += _folder_rows(inside, depth + 1)
    return rows


def _list_endings(paths: Sequence[_Parts]) -> str:
    """Return the two most frequent file name endings with their counts."""
    endings = []
    for parts in paths:
        name = parts[-1]
        ending = _ending(name)
        if ending:
            endings.append(ending)
    shown = []
    frequent = _most_frequent(endings, 2)
    for ending, number in frequent:
        row = f"{number} .{ending}"
        shown.append(row)
    return ", ".join(shown)


def _ending(name: str) -> str:
    """Return what is after the last dot, empty if that does not look like an ending."""
    _, dot, ending = name.rpartition(".")
    if not dot:
        return ""
    if not ending.isalnum():
        return ""
    if len(ending) > _LONGEST_ENDING:
        return ""
    return ending


def _most_frequent(words: Sequence[str], limit: int) -> list[tuple[str, int]]:
    # Words with equal counts keep their order, so they come out sorted.
    words = sorted(words)
    counts = Counter(words)
    return counts.most_common(limit)
