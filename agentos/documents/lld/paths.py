"""Check the files that a design declares against the repository they are in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Protocol, runtime_checkable

from agentos.documents.findings import Category, Finding, Tier
from agentos.documents.hazards import unsafe_path
from agentos.documents.lld.model import DeclaredFile
from agentos.documents.repository_paths import plain_path

_ADDS = ("add", "new", "create")
_NEEDS = ("modify", "update", "change", "edit", "extend", "delete", "remove", "refactor", "fix", "rename", "move")
_LONGEST = 400
_MOST_FILES = 500


class Tree(Protocol):
    """The files of a repository."""

    def exists(self, path: str) -> bool:
        """Tell whether a file or folder with this relative path is in the repository."""
        ...


@runtime_checkable
class ListedTree(Tree, Protocol):
    """A tree that can also tell which names a folder holds, so that a finding can say what was meant."""

    def names(self, folder: str) -> Sequence[str]:
        """Return names in a folder, all or the first of many; the repository itself is the empty path."""
        ...


def check_paths(files: Sequence[DeclaredFile], tree: Tree | None, issue: str = "") -> Iterator[Finding]:
    """Yield what is wrong with the declared paths; without a tree only what the paths alone tell.

    A path to be changed that does not exist is the design's fault, unless the issue names it: then no draft can mend
    it, and all such paths together are one suggestion.
    """
    seen: dict[str, int] = {}
    safe: list[tuple[str, DeclaredFile]] = []
    unsafe = 0
    for change in files:
        why = unsafe_path(change.path)
        if why:
            unsafe += 1
            yield Finding(
                f"path-{unsafe}",
                Tier.BLOCKING,
                Category.SECURITY,
                "2.1",
                f"Line {change.line}: the path `{_short(change.path)}` {why}.",
            )
            continue
        path = plain_path(change.path)
        if path in seen:
            text = f"`{_short(path)}` is declared again; line {seen[path]} has it already."
            yield _finding("repeated-path", path, change.line, text)
            continue
        seen[path] = change.line
        safe.append((path, change))
    if tree is not None:
        added = {path for path, change in safe if _is(change, _ADDS)}
        absent = [(path, change) for path, change in safe[:_MOST_FILES] if _is_absent(path, change, added, tree)]
        named = [(path, change) for path, change in absent if path in issue]
        if named:
            listed = ", ".join(f"`{_short(path)}`" for path, _ in named[:5])
            text = f"Line {named[0][1].line}: the issue wants {listed} changed, which this repository does not have."
            yield Finding("absent-paths", Tier.SUGGESTION, Category.QUALITY, "2.1", text)
        for path, change in absent:
            if path not in issue:
                yield _absent(path, change, tree)
        for path, change in safe[:_MOST_FILES]:
            if _is(change, _ADDS) and _is_plain(path):
                yield from _check_new(path, change, added, tree)


def _is_plain(path: str) -> bool:
    return 0 < len(path) <= _LONGEST and not any(mark in path for mark in "*?{}<>")


def _is_absent(path: str, change: DeclaredFile, added: set[str], tree: Tree) -> bool:
    return _is_plain(path) and _is(change, _NEEDS) and path not in added and not tree.exists(path)


def _absent(path: str, change: DeclaredFile, tree: Tree) -> Finding:
    near = _nearest(path, tree)
    hint = f"; did you mean `{near}`?" if near else "."
    what = (change.change.split() or ["change"])[0].casefold()[:20]
    return _finding("absent-path", path, change.line, f"`{path}` is declared as {what}, but does not exist{hint}")


def _check_new(path: str, change: DeclaredFile, added: set[str], tree: Tree) -> Iterator[Finding]:
    if tree.exists(path):
        text = f"`{path}` is to be added and exists already: modify it, or choose another name."
        yield _finding("existing-path", path, change.line, text)
    elif folder := _mistyped_folder(path, added, tree):
        wrong, right = folder
        text = f"`{path}` is to be added, but there is no folder `{wrong}`; did you mean `{right}`?"
        yield _finding("folder-path", path, change.line, text)


def _is(change: DeclaredFile, verbs: Sequence[str]) -> bool:
    """Tell what the declared change type says; `New/Modify` says both and so neither."""
    words = change.change.casefold().strip("*`_ ")
    other = _NEEDS if verbs is _ADDS else _ADDS
    return words.startswith(tuple(verbs)) and not any(verb in words for verb in other)


def _mistyped_folder(path: str, added: set[str], tree: Tree) -> tuple[str, str] | None:
    """Return the first folder that is missing and looks like one that is there, with that one.

    A new folder is nothing wrong in itself; one whose `__init__.py` is declared too is meant to be new.
    """
    parents = [str(parent) for parent in PurePosixPath(path).parents][-2::-1]
    for folder in parents:
        if tree.exists(folder):
            continue
        if f"{folder}/__init__.py" in added:
            return None
        right = _lookalike(folder, tree)
        return (folder, right) if right else None
    return None


def _nearest(path: str, tree: Tree) -> str:
    """Return an existing path that differs from the given one in the first name that is missing."""
    parts = PurePosixPath(path).parts
    for size in range(1, len(parts) + 1):
        head = "/".join(parts[:size])
        if not tree.exists(head):
            right = _lookalike(head, tree)
            whole = "/".join([right, *parts[size:]]) if right else ""
            return whole if whole and tree.exists(whole) else right
    return ""


def _lookalike(path: str, tree: Tree) -> str:
    folder, _, name = path.rpartition("/")
    for other in tree.names(folder) if isinstance(tree, ListedTree) else ():
        if looks_like(name, other):
            return f"{folder}/{other}" if folder else other
    return ""


def looks_like(name: str, other: str) -> bool:
    """Tell whether two names differ by case only, or by one letter: added, lost, swapped or, in long names, wrong."""
    one, two = name.casefold(), other.casefold()
    if one == two or min(len(one), len(two)) < 3:
        return one == two and name != other
    if len(one) > len(two):
        one, two = two, one
    start = 0
    while start < len(one) and one[start] == two[start]:
        start += 1
    if len(two) - len(one) == 1:
        return one[start:] == two[start + 1 :]
    if len(one) != len(two):
        return False
    if one[start + 2 :] == two[start + 2 :] and one[start : start + 2] == two[start : start + 2][::-1]:
        return True
    return len(one) >= 6 and one[start + 1 :] == two[start + 1 :]


def _finding(rule: str, path: str, line: int, text: str) -> Finding:
    """Name a finding by rule and path, so that it keeps its id when rows move."""
    slug = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "._/-") else "-" for letter in path)
    return Finding(f"{rule}-{slug[:80]}", Tier.HIGH, Category.QUALITY, "2.1", f"Line {line}: {text}")


def _short(text: str) -> str:
    flat = " ".join(text[:320].split())
    return flat if len(flat) <= 160 else flat[:159].rstrip() + "…"
