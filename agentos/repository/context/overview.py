"""Map a repository on one page: its folders with file counts, and its main modules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence

from agentos.documents.changes import is_test
from agentos.repository.context.bounded import BoundedFiles
from agentos.repository.context.ranking import CODE_ENDS
from agentos.repository.look.masking import shorten, show_name
from agentos.repository.look.showing import fit
from agentos.state.wording import count

_TREE_SHARE = 0.4
_ROOT_FILES = 30
_SPLIT_FROM = 8
_MAX_DEPTH = 3
_LONGEST_ENDING = 8
_MOST_MODULES = 60
_MOST_NAMES = 8
_LONGEST_ROW = 180

_Parts = list[str]
"""The folders of a path, and its file."""


def describe_repository(
    paths: Sequence[str],
    files: BoundedFiles,
    shown: Container[str],
    limit: int,
    *,
    is_cut: bool,
) -> str:
    """Return the map; modules that are `shown` elsewhere are not in it."""
    room = int(limit * _TREE_SHARE)
    depth = _MAX_DEPTH
    tree = _describe_tree(paths, depth, is_cut=is_cut)
    while depth > 1 and len("\n".join(tree)) > room:
        depth -= 1
        tree = _describe_tree(paths, depth, is_cut=is_cut)
    folders = fit(tree, room)
    rows = _describe_modules(paths, files, shown)
    title = "Main modules that are not shown below, with their top-level names:"
    room = limit - len(folders) - len(title) - 2
    kept = []
    for row in rows:
        room -= len(row) + 1
        if room < 0:
            break
        kept.append(row)
    if not kept:
        return folders
    # The main ones were chosen first; a reader looks for a path.
    kept.sort()
    return "\n".join([folders, title, *kept])


def list_names(path: str, files: BoundedFiles) -> str:
    """Return the first names that a file defines at its top level, or its headings."""
    telling: dict[str, None] = {}
    constants: dict[str, None] = {}
    for definition in files.definitions(path):
        is_private = definition.name.startswith("_")
        if definition.depth or is_private:
            continue
        name = show_name(definition.name)
        if name.isupper():
            constants[name] = None
        else:
            telling[name] = None
    names = telling or constants
    listed = ", ".join(list(names)[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    if more > 0:
        listed += f" and {more} more"
    return listed


def _describe_modules(
    paths: Iterable[str], files: BoundedFiles, shown: Container[str]
) -> Iterator[str]:
    """Yield a row for each of the largest modules, of every package in turn."""
    by_package: dict[str, list[tuple[int, str]]] = {}
    for path in paths:
        if not path.endswith(CODE_ENDS):
            continue
        if path in shown or is_test(path):
            continue
        text = files.read(path)
        if text is None:
            continue
        size = len(text.source)
        package, _, _ = path.rpartition("/")
        modules = by_package.setdefault(package, [])
        modules.append((-size, path))
    for modules in by_package.values():
        modules.sort()
    packages = list(by_package.values())
    for path in _take_turns(packages):
        names = list_names(path, files)
        if not names:
            continue
        name = show_name(path)
        row = f"- `{name}`: {names}"
        yield shorten(row, _LONGEST_ROW)


def _take_turns(packages: list[list[tuple[int, str]]]) -> Iterator[str]:
    """Yield the largest module of every package, then the next of each."""
    packages.sort()
    deepest = max(map(len, packages), default=0)
    left = _MOST_MODULES
    for turn in range(deepest):
        for modules in packages:
            if turn >= len(modules):
                continue
            if not left:
                return
            left -= 1
            _, path = modules[turn]
            yield path


def _describe_tree(names: Sequence[str], depth: int, *, is_cut: bool) -> list[str]:
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
    rows += _folder_rows(paths, 1, depth)
    return rows


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


def _folder_rows(paths: Sequence[_Parts], depth: int, deepest: int) -> list[str]:
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
        if depth < deepest:
            rows += _folder_rows(inside, depth + 1, deepest)
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
