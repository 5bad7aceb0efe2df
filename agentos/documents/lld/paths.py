"""Check the files that a design declares against the repository."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum, auto
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
from agentos.documents.hazards import is_sample_path
from agentos.documents.hints import hint
from agentos.documents.lld.model import DeclaredFile
from agentos.documents.repository_paths import plain_path
from agentos.state.path_rules import unsafe_path

Files = Sequence[DeclaredFile]


class _Kind(Enum):
    """What a design says about a declared file."""

    ADD = auto()
    EXISTING = auto()
    OPEN = auto()


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
_WORD = re.compile(r"[a-z]+")
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

    Without a tree, only the paths themselves are checked. A missing path that is not to
    be added is a fault of the design, unless the issue names it: then no draft can fix
    it, and all such paths together are one hint.
    """
    seen: dict[str, DeclaredFile] = {}
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
        if is_sample_path(path):
            text = f"`{shorten(path)}` stands for a path; name the file."
            yield _finding(
                "sample-path",
                path,
                file.line,
                text,
            )
            continue
        before = seen.setdefault(path, file)
        if before is file:
            safe.append(replace(file, path=path))
        elif _kind(file) != _kind(before):
            text = (
                f"`{shorten(path)}` is declared as {shorten(file.change, 20)}, in line"
                f" {before.line} as {shorten(before.change, 20)}."
            )
            yield _finding("repeated-path", path, file.line, text)
    if tree is not None:
        yield from _check_tree(safe, tree, issue)


def _check_tree(files: Files, tree: Tree, issue: str) -> Findings:
    added = {file.path for file in files if _kind(file) is _Kind.ADD}
    present = {file.line for file in files[:_MAX_FILES] if tree.exists(file.path)}
    named = []
    for file in files[:_MAX_FILES]:
        if not _is_plain(file.path):
            continue
        if file.path in added:
            yield from _check_new(file, added, tree)
            continue
        if tree.exists(file.path) or _kind(file) is _Kind.OPEN:
            continue
        is_moved = file.change.casefold().startswith(("rename", "move"))
        # A row that renames has the new name too.
        if is_moved and file.line in present:
            continue
        if file.path in issue:
            named.append(file)
        else:
            yield _absent(file, tree)
    if named:
        paths = [f"`{shorten(file.path)}`" for file in named[:5]]
        text = (
            f"the issue wants {', '.join(paths)} changed, which this repository does"
            " not have. Is the path right?"
        )
        yield hint("absent-paths", "2.1", named[0].line, text)


def _is_plain(path: str) -> bool:
    """Tell whether a path is not too long and has no wildcards or placeholders."""
    return _PLAIN.fullmatch(path) is not None


def _absent(file: DeclaredFile, tree: Tree) -> Finding:
    path = file.path
    near = _nearest(path, tree)
    end = "."
    if near:
        end = f"; did you mean `{near}`?"
    text = f"`{path}` does not exist and is not declared as added{end}"
    return _finding("absent-path", path, file.line, text)


def _check_new(file: DeclaredFile, added: set[str], tree: Tree) -> Findings:
    path = file.path
    is_folder = isinstance(tree, ListedTree) and len(tree.names(path)) > 0
    if tree.exists(path) and not is_folder:
        text = (
            f"`{path}` is to be added and exists already: modify it, or choose another"
            " name."
        )
        yield _finding("existing-path", path, file.line, text)
        return
    wrong, right = _mistyped_folder(path, added, tree)
    if right:
        text = (
            f"`{shorten(path)}` is to be added in the new folder `{wrong}`, and there is"
            f" a folder `{right}`. Which is meant?"
        )
        yield hint(f"folder-path-{_slug(path)}", "2.1", file.line, text)


def _kind(file: DeclaredFile) -> _Kind:
    """Return whether a file is to be added or must exist.

    `New/Modify` may be either. Where the change says nothing, as `Test` does, the
    description may.
    """
    change = _verbs(file.change)
    if not change:
        described = _verbs(file.description)
        return _Kind.OPEN if described[:1] == [_Kind.ADD] else _Kind.EXISTING
    is_either = "/" in file.change or " or " in file.change
    if is_either and len(set(change)) > 1:
        return _Kind.OPEN
    return change[0]


def _verbs(text: str) -> list[_Kind]:
    """Return what the verbs at the beginning of a text say."""
    found = []
    for word in _WORD.findall(text[:60].casefold()):
        if word.startswith(_ADDS):
            found.append(_Kind.ADD)
        elif word.startswith(_NEEDS):
            found.append(_Kind.EXISTING)
    return found


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
    return quality_finding(f"{rule}-{_slug(path)}", "2.1", line, text)


def _slug(path: str) -> str:
    return _NOT_SLUG.sub("-", path)[:80]
