"""Resolve a conflict that consists only of entries which two sides add to a change log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from agentos.documents.change_logs import Hunk, is_change_log, join_hunks
from agentos.repository.git.names import os_text
from agentos.repository.git.run import Git, GitError
from agentos.repository.git.scanning import FILE, PROGRAM
from agentos.repository.git.storing import TreeEntry

_SIZE_LIMIT = 4_000_000
_CONTENTS = b"CONFLICT (contents)"
_BASE, _OURS, _THEIRS = "1", "2", "3"
_COUNT = re.compile(rb"[0-9]{1,6}")
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")

Stages = Mapping[str, TreeEntry]
"""The versions of one file in conflict, by git's number of the stage."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """What git says about a merge with conflicts."""

    tree: str
    """The tree of the merge, in which files in conflict have marks."""
    files: Mapping[bytes, Stages] = field(default_factory=dict)
    is_of_contents: bool = False
    """Whether lines of these files are all that conflicts."""

    @property
    def names(self) -> tuple[str, ...]:
        """The paths of the files in conflict."""
        names = map(os_text, self.files)
        return tuple(names)


def read_conflict(printed: bytes) -> Conflict:
    """Read the output of `git merge-tree -z`, of which the end may be missing."""
    parts = printed.split(b"\0")
    rest = iter(parts)
    first = next(rest)
    tree = first.decode("ascii", "replace")
    files: dict[bytes, dict[str, TreeEntry]] = {}
    for part in rest:
        if not part:
            break
        facts, tab, path = part.partition(b"\t")
        text = facts.decode("ascii", "replace")
        words = text.split(" ")
        if not tab or len(words) != 3:
            break
        mode, content, stage = words
        entry = TreeEntry(mode, content)
        stages = files.setdefault(path, {})
        stages[stage] = entry
    kinds = _read_kinds(rest)
    is_of_contents = bool(files) and kinds == {_CONTENTS}
    return Conflict(tree, files, is_of_contents)


def _read_kinds(parts: Iterator[bytes]) -> set[bytes]:
    """Return the kinds of conflicts in the messages; none if they cannot be read.

    A message is a number of paths, the paths, its kind, and a text.
    """
    kinds = set()
    for number in parts:
        if not number:
            break
        if not _COUNT.fullmatch(number):
            return set()
        for _ in range(int(number)):
            next(parts, b"")
        kind = next(parts, b"")
        next(parts, b"")
        if kind.startswith(b"CONFLICT"):
            kinds.add(kind)
    return kinds


def join_entries(git: Git, conflict: Conflict) -> str:
    """Return the tree without conflicts, empty if one is not of added entries alone."""
    if not conflict.is_of_contents:
        return ""
    tree = conflict.tree
    for path, stages in conflict.files.items():
        name = os_text(path)
        if not is_change_log(name):
            return ""
        joined = _join_file(git, stages)
        if joined is None:
            return ""
        content = _store(git, joined)
        names = path.split(b"/")
        tree = _replace(git, tree, names, content)
    return tree


def _store(git: Git, data: bytes) -> str:
    return git.line("hash-object", "-w", "--stdin", data=data)


def _join_file(git: Git, stages: Stages) -> bytes | None:
    """Return the file with the entries of both sides, None if that is not possible."""
    ours = stages.get(_OURS)
    theirs = stages.get(_THEIRS)
    if ours is None:
        return None
    if theirs is None:
        return None
    if ours.mode != theirs.mode:
        return None
    if ours.mode not in (FILE, PROGRAM):
        return None
    before = stages.get(_BASE)
    if before is None:
        before = TreeEntry(FILE, _store(git, b""))
    old = before.content
    try:
        base = _read_lines(git, old)
        our_hunks = _find_hunks(git, old, ours.content)
        their_hunks = _find_hunks(git, old, theirs.content)
    except GitError:
        # It is too large; a conflict says less than it could, and nothing wrong.
        return None
    joined = join_hunks(base, our_hunks, their_hunks)
    if joined is None:
        return None
    joined.append(b"")
    return b"\n".join(joined)


def _read_lines(git: Git, content: str) -> list[bytes]:
    data = git.run("cat-file", "blob", content, limit=_SIZE_LIMIT)
    lines = data.split(b"\n")
    last = lines.pop()
    if last:
        lines.append(last)
    return lines


def _find_hunks(git: Git, old: str, new: str) -> list[Hunk]:
    """Return what was changed, in order; a place that git could choose is the last one."""
    hunks = []
    lines = _read_lines(git, new)
    printed = git.run(
        "diff",
        "--unified=0",
        "--inter-hunk-context=0",
        "--no-indent-heuristic",
        "--diff-algorithm=myers",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--text",
        old,
        new,
        limit=3 * _SIZE_LIMIT,
    )
    for row in printed.split(b"\n"):
        found = _HUNK.match(row)
        if found is None:
            continue
        old_start, old_count, new_start, new_count = found.groups()
        start, end = _read_range(old_start, old_count)
        first, last = _read_range(new_start, new_count)
        written = tuple(lines[first:last])
        hunk = Hunk(start, end, written)
        hunks.append(hunk)
    return hunks


def _read_range(line: bytes, count: bytes | None) -> tuple[int, int]:
    """Return the index of the first line and that after the last one.

    For no lines, git names the one before.
    """
    number = 1
    if count is not None:
        number = int(count)
    start = int(line)
    if number:
        start -= 1
    return start, start + number


def _replace(git: Git, tree: str, path: Sequence[bytes], content: str) -> str:
    """Return a tree with another content of a file that it has."""
    name, *below = path
    rows = []
    listed = git.run("ls-tree", "-z", "--full-tree", tree)
    entries = listed.split(b"\0")[:-1]
    for row in entries:
        facts, _, found = row.partition(b"\t")
        if found == name:
            text = facts.decode("ascii")
            mode, kind, old = text.split(" ")
            new = content
            if below:
                new = _replace(git, old, below, content)
            facts = f"{mode} {kind} {new}".encode()
        row = facts + b"\t" + found
        rows.append(row + b"\0")
    data = b"".join(rows)
    return git.line("mktree", "-z", data=data)
