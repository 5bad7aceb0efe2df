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


def describe_tree(names: Sequence[str], is_cut: bool) -> str:
    """Return folders and counts, deeper where there are many files."""
    total = count(len(names), "file")
    if is_cut:
        total += ", and more that were not looked at"
    rows = [f"{total}."]
    root = []
    paths = []
    for name in names:
        if "/" in name:
            paths.append(name.split("/"))
        else:
            root.append(name)
    if root:
        rows.append(f"- in the root: {_list_root(root)}")
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
        folder = name.rpartition("/")[0] or "."
        folders.append(folder)
        examples.setdefault(folder, name)
    total = count(len(tests), "file")
    rows = [f"{total} of tests:"]
    for folder, number in _most_frequent(folders, _TEST_FOLDERS):
        shown = show_name(folder)
        files = count(number, "file")
        example = show_name(examples[folder])
        rows.append(f"- `{shown}/`: {files}, such as `{example}`")
    return "\n".join(rows)


def _list_root(names: Sequence[str]) -> str:
    quoted = [f"`{show_name(name)}`" for name in names[:_ROOT_FILES]]
    shown = ", ".join(quoted)
    more = len(names) - _ROOT_FILES
    if more > 0:
        shown += f" and {more} more"
    return shown


def _folder_rows(paths: Sequence[Sequence[str]], depth: int) -> list[str]:
    groups: dict[str, list[Sequence[str]]] = {}
    for parts in paths:
        if len(parts) <= depth:
            continue
        folder = "/".join(parts[:depth])
        groups.setdefault(folder, []).append(parts)
    rows = []
    indent = "  " * (depth - 1)
    for folder, inside in sorted(groups.items()):
        shown = show_name(folder)
        number = len(inside)
        row = f"{indent}- `{shown}/`: {number}"
        endings = _endings(inside)
        if endings:
            row += f" ({endings})"
        rows.append(row)
        if number >= _SPLIT_FROM and depth < _MAX_DEPTH:
            rows += _folder_rows(inside, depth + 1)
    return rows


def _endings(paths: Sequence[Sequence[str]]) -> str:
    """Return the two most frequent file name endings with their counts."""
    endings = []
    for parts in paths:
        _, dot, ending = parts[-1].rpartition(".")
        if not dot:
            continue
        if not ending.isalnum() or len(ending) > 8:
            continue
        endings.append(ending)
    frequent = _most_frequent(endings, 2)
    shown = [f"{number} .{ending}" for ending, number in frequent]
    return ", ".join(shown)


def _most_frequent(words: Sequence[str], limit: int) -> list[tuple[str, int]]:
    # Words with equal counts keep their order, so they come out sorted.
    counts = Counter(sorted(words))
    return counts.most_common(limit)
