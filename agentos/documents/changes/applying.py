"""Apply the changes of an answer to the files that there are.

A file whose block cannot be applied stays as it is, and the changes of other files are
made. So a model that is shown the present files sends again only what was refused.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from agentos.documents.changes.contract import NAME_EDIT, NAME_WHOLE, WRITTEN_OUT
from agentos.documents.changes.edits import Edited, edit_text
from agentos.documents.changes.elisions import find_elided_edit, find_elision
from agentos.documents.changes.model import Change, Deletion, EditedFile, WholeFile

Slips = list[str]
Read = Callable[[str], str | None]
"""Returns the present text of a file, None if there is none."""
_MAX_LISTED = 8


@dataclass(slots=True)
class Applied:
    """What became of the changes of an answer."""

    files: dict[str, str] = field(default_factory=dict)
    """The new texts by path."""
    deleted: list[str] = field(default_factory=list)
    slips: list[str] = field(default_factory=list)
    """Why some changes were not made, and what to do, a line each."""
    notes: list[str] = field(default_factory=list)
    """How changes were understood that were not quite what the contract says."""


def apply_changes(changes: Iterable[Change], read: Read) -> Applied:
    """Apply each change that can be applied as it is meant."""
    applied = Applied()
    for change in changes:
        path = change.path
        if isinstance(change, Deletion):
            applied.deleted.append(path)
            continue
        present = read(path) or ""
        if change.is_cut:
            slips = _cut(change)
        elif isinstance(change, WholeFile):
            slips = _write(applied, change, present)
        else:
            slips = _edit(applied, change, present)
        applied.slips += slips
    return applied


def _cut(change: Change) -> Slips:
    place = _place(change)
    return [f"{place}: the block is not closed; give it whole"]


def _place(change: Change) -> str:
    path = change.path
    return f"Line {change.line}: `{path}`"


def _elided(place: str, elision: str) -> Slips:
    return [f"{place} has a line `{elision}`; {WRITTEN_OUT}"]


def _write(applied: Applied, change: WholeFile, present: str) -> Slips:
    """Make a change, or return why it is not made."""
    path = change.path
    place = _place(change)
    elision = find_elision(path, present, change.text)
    if elision:
        return _elided(place, elision)
    is_whole = change.is_sure
    if not is_whole:
        is_whole = _is_whole(present, change.text)
    if not is_whole:
        whole = NAME_WHOLE.format(path=path)
        edit = NAME_EDIT.format(path=path)
        return [
            f"{place} exists, and nothing says whether the block is the whole file or a"
            f" part of it; {whole}, and {edit} with its sections"
        ]
    if not change.is_sure:
        note = f"{path}: a block was taken for the whole file"
        applied.notes.append(note)
    applied.files[path] = change.text
    return []


def _is_whole(before: str, after: str) -> bool:
    """Tell whether a text may well be all of a file: it begins and ends where the file
    does and has half of its lines.
    """
    old = _written(before)
    new = _written(after)
    if not old:
        return True
    if not new:
        return False
    if old[0] not in new:
        return False
    *_, last = old
    *_, newest = new
    if last not in new and newest in old:
        return False
    lost = Counter(old) - Counter(new)
    count = lost.total()
    left = len(old) - count
    return left >= count


def _written(text: str) -> list[str]:
    rows = text.split("\n")
    bare = map(str.strip, rows)
    return list(filter(None, bare))


def _edit(applied: Applied, change: EditedFile, present: str) -> Slips:
    """Make a change, or return why it is not made."""
    path = change.path
    place = _place(change)
    edited = edit_text(present, change.edits, path)
    text = edited.text
    if edited.refused:
        return _say_refused(change, edited)
    elision = find_elision(path, present, text)
    if find_elided_edit(path, present, text, change.edits):
        elision = "..."
    if elision:
        return _elided(place, elision)
    notes = edited.notes
    if notes and _is_broken(path, present, text):
        listed = "; ".join(notes[:_MAX_LISTED])
        return [
            f"{place} is no valid Python with the edit ({listed}); write both parts"
            " with the indentation of the file"
        ]
    for note in notes:
        line = f"{path}: {note}"
        applied.notes.append(line)
    applied.files[path] = text
    return []


def _is_broken(path: str, before: str, after: str) -> bool:
    """Tell whether a Python module could be parsed before an edit and no longer can."""
    if not path.endswith((".py", ".pyi")):
        return False
    if _is_python(after):
        return False
    return _is_python(before)


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _say_refused(change: EditedFile, edited: Edited) -> Slips:
    """Say which edits cannot be applied, and which could be."""
    path = change.path
    reasons = []
    for error in edited.refused:
        reason = f"`{path}`: {error}"
        reasons.append(reason)
    count = len(change.edits)
    if count == 1:
        return reasons
    text = f"; the file stays as it is, without any of its {count} sections"
    if edited.applicable:
        applicable = edited.applicable[:_MAX_LISTED]
        lines = map(str, applicable)
        listed = ", ".join(lines)
        text += f" (those at lines {listed} of the answer could be applied)"
    reasons[-1] += f"{text}; send all of them again"
    return reasons
