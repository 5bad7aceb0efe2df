"""Check the files that a design declares against the repository."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Protocol, runtime_checkable

from agentos.documents.findings import (
    Category,
    Finding,
    Findings,
    Tier,
    quality_finding,
    shorten,
)
from agentos.documents.lld.model import DeclaredFile
from agentos.documents.repository_paths import plain_path
from agentos.state.path_rules import unsafe_path

Files = Sequence[DeclaredFile]

_ADDS = ("add", "new", "create")
_NEEDS = (
    "modify",
    "update",
    "change",
    "edit",
    "extend",
    "delete",
    "remove",
    "refactor",
    "fix",
    "rename",
    "move",
)
_MAX_FILES = 500
_PLAIN = re.compile(r"[^*?{}<>]{1,400}")
_NOT_SLUG = re.compile(r"[^A-Za-z0-9._/-]")


class Tree(Protocol):
    """The files of a repository."""

    def exists(self, path: str) -> bool:
        """Tell whether the repository has a file or folder with this relative path."""
        ...


@runtime_checkable
class ListedTree(Tree, Protocol):
    """A tree that can also list folders, so that a finding can suggest a path."""

    def names(self, folder: str) -> Sequence[str]:
        """Return the names in a folder, or the first of them if there are many.

        The repository itself is the empty path.
        """
        ...


def check_paths(files: Files, tree: Tree | None, issue: str = "") -> Findings:
    """Yield a finding for every declared path that is wrong.

    Without a tree, only the paths themselves are checked. A missing path that should be
    changed is a fault of the design, unless the issue names it: then no draft can fix
    it, and all such paths together are one suggestion.
    """
    seen: dict[str, int] = {}
    safe: list[DeclaredFile] = []
    unsafe = 0
    for file in files:
        why = unsafe_path(file.path)
        if why:
            unsafe += 1
            shown = shorten(file.path)
            text = f"Line {file.line}: the path `{shown}` {why}."
            yield Finding(
                f"path-{unsafe}", Tier.BLOCKING, Category.SECURITY, "2.1", text
            )
            continue
        path = plain_path(file.path)
        if path in seen:
            text = f"`{shorten(path)}` is declared again; line {seen[path]} has it already."
            yield _finding("repeated-path", path, file.line, text)
            continue
        seen[path] = file.line
        safe.append(replace(file, path=path))
    if tree is not None:
        yield from _check_tree(safe, tree, issue)


def _check_tree(files: Files, tree: Tree, issue: str) -> Findings:
    added = {file.path for file in files if _is(file, _ADDS)}
    new = []
    absent = []
    named = []
    for file in files[:_MAX_FILES]:
        if not _is_plain(file.path):
            continue
        if _is(file, _ADDS):
            new.append(file)
            continue
        if not _is(file, _NEEDS):
            continue
        if tree.exists(file.path):
            continue
        if file.path in issue:
            named.append(file)
        else:
            absent.append(file)
    if named:
        paths = [f"`{shorten(file.path)}`" for file in named[:5]]
        text = (
            f"Line {named[0].line}: the issue wants {', '.join(paths)} changed, which"
            " this repository does not have."
        )
        yield Finding("absent-paths", Tier.SUGGESTION, Category.QUALITY, "2.1", text)
    for file in absent:
        yield _absent(file, tree)
    for file in new:
        yield from _check_new(file, added, tree)


def _is_plain(path: str) -> bool:
    """Tell whether a path is not too long and has no wildcards or placeholders."""
    return _PLAIN.fullmatch(path) is not None


def _absent(file: DeclaredFile, tree: Tree) -> Finding:
    path = file.path
    near = _nearest(path, tree)
    hint = "."
    if near:
        hint = f"; did you mean `{near}`?"
    change, *_ = file.change.casefold().split()
    text = f"`{path}` is declared as {change[:20]}, but does not exist{hint}"
    return _finding("absent-path", path, file.line, text)


def _check_new(file: DeclaredFile, added: set[str], tree: Tree) -> Findings:
    path = file.path
    if tree.exists(path):
        text = (
            f"`{path}` is to be added and exists already: modify it, or choose another"
            " name."
        )
        yield _finding("existing-path", path, file.line, text)
        return
    wrong, right = _mistyped_folder(path, added, tree)
    if right:
        text = (
            f"`{path}` is to be added, but there is no folder `{wrong}`; did you mean"
            f" `{right}`?"
        )
        yield _finding("folder-path", path, file.line, text)


def _is(file: DeclaredFile, verbs: Sequence[str]) -> bool:
    """Tell whether the change type of a file is one of these verbs.

    `New/Modify` could be either and is neither.
    """
    change = file.change.casefold().strip("*`_ ")
    if not change.startswith(tuple(verbs)):
        return False
    others = _NEEDS if verbs is _ADDS else _ADDS
    return not any(verb in change for verb in others)


def _mistyped_folder(path: str, added: set[str], tree: Tree) -> tuple[str, str]:
    """Return the first missing folder, and an existing one with a similar name.

    Both are empty if nothing is wrong: a new folder may be meant, certainly if the
    design adds its `__init__.py` too.
    """
    *folders, _ = PurePosixPath(path).parts
    for size in range(1, len(folders) + 1):
        folder = "/".join(folders[:size])
        if tree.exists(folder):
            continue
        if f"{folder}/__init__.py" in added:
            break
        return folder, _lookalike(folder, tree)
    return "", ""


def _nearest(path: str, tree: Tree) -> str:
    """Return an existing path that differs in the first missing name, or nothing."""
    parts = PurePosixPath(path).parts
    for size in range(1, len(parts) + 1):
        head = "/".join(parts[:size])
        if tree.exists(head):
            continue
        right = _lookalike(head, tree)
        if not right:
            return ""
        whole = "/".join([right, *parts[size:]])
        if tree.exists(whole):
            return whole
        return right
    return ""


def _lookalike(path: str, tree: Tree) -> str:
    """Return an existing path in the same folder with a similar name, or nothing."""
    if not isinstance(tree, ListedTree):
        return ""
    folder, slash, name = path.rpartition("/")
    for other in tree.names(folder):
        if looks_like(name, other):
            return f"{folder}{slash}{other}"
    return ""


def looks_like(name: str, other: str) -> bool:
    """Tell whether two names differ only by case or by one typing error.

    That is a letter that was added, lost, swapped with the next one or, in long names,
    wrong.
    """
    if name == other:
        return False
    short = name.casefold()
    long = other.casefold()
    if short == long:
        return True
    if len(short) > len(long):
        short, long = long, short
    if len(short) < 3:
        return False
    start = 0
    while start < len(short) and short[start] == long[start]:
        start += 1
    rest = short[start:]
    other_rest = long[start:]
    if len(short) < len(long):
        return rest == other_rest[1:]
    swapped = rest[1::-1] + rest[2:]
    if swapped == other_rest:
        return True
    # In a short name, another letter often makes another word.
    if len(short) < 6:
        return False
    return rest[1:] == other_rest[1:]


def _finding(rule: str, path: str, line: int, text: str) -> Finding:
    """Name a finding by rule and path, so that it keeps its id when rows move."""
    slug = _NOT_SLUG.sub("-", path)
    id = f"{rule}-{slug[:80]}"
    return quality_finding(id, "2.1", line, text)
