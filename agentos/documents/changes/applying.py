"""Apply the changes of an answer to the files that there are.

A file whose block cannot be applied stays as it is, and the changes of other files are
made. So a model that is shown the present files sends again only what was refused.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from agentos.documents.changes.contract import (
    NAME_EDIT,
    NAME_WHOLE,
    WHOLE_LINES,
    WRITTEN_OUT,
)
from agentos.documents.changes.edits import edit_text
from agentos.documents.changes.elisions import find_elided_edit, find_elision
from agentos.documents.changes.model import Change, Deletion, EditedFile, WholeFile

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

    def refuse(self, line: int, text: str) -> None:
        """Say why the change at a line of the answer is not made."""
        slip = f"Line {line}: {text}"
        self.slips.append(slip)


def apply_changes(changes: Iterable[Change], read: Read) -> Applied:
    """Apply each change that can be applied as it is meant."""
    applied = Applied()
    for change in changes:
        match change:
            case Deletion():
                applied.deleted.append(change.path)
            case _ if change.is_cut:
                applied.refuse(
                    change.line,
                    f"the block of `{change.path}` is not closed; give it whole",
                )
            case WholeFile():
                _write(applied, change, read(change.path))
                _edit_written(applied, change)
            case EditedFile():
                _edit(applied, change, read(change.path))
    return applied


def _write(applied: Applied, change: WholeFile, before: str | None) -> None:
    path = change.path
    present = before or ""
    line = change.line
    elision = find_elision(path, present, change.text)
    if elision:
        applied.refuse(
            line,
            f"`{path}` has a line `{elision}`; {WRITTEN_OUT}",
        )
        return
    is_new = not present.strip()
    if not (change.is_sure or is_new or _is_whole(present, change.text)):
        whole = NAME_WHOLE.format(path=path)
        edit = NAME_EDIT.format(path=path)
        applied.refuse(
            line,
            f"`{path}` exists, and nothing says whether the block is the whole file or a"
            f" part of it; {whole}, and {edit} with its sections",
        )
        return
    if not change.is_sure:
        applied.notes.append(f"{path}: a block was taken for the whole file")
    applied.files[path] = change.text


def _edit_written(applied: Applied, change: WholeFile) -> None:
    """Apply the edits that an answer makes to a file that it has written."""
    path = change.path
    if not change.edits or path not in applied.files:
        return
    text = applied.files.pop(path)
    edited = EditedFile(path, change.edits, change.line)
    _edit(applied, edited, text)


def _is_whole(before: str, after: str) -> bool:
    """Tell whether a text may well be all of a file: it begins and ends where the file
    does and has half of its lines.
    """
    old = _written(before)
    new = _written(after)
    if not new or old[0] not in new:
        return False
    *_, last = old
    if last not in new and new[-1] in old:
        return False
    lost = Counter(old) - Counter(new)
    return 2 * lost.total() <= len(old)


def _written(text: str) -> list[str]:
    rows = text.split("\n")
    bare = map(str.strip, rows)
    return list(filter(None, bare))


def _edit(applied: Applied, change: EditedFile, before: str | None) -> None:
    path = change.path
    present = before or ""
    edited = edit_text(present, change.edits, path)
    if edited.refused:
        _refuse(applied, change, edited.refused, edited.applicable)
        return
    elided = find_elided_edit(path, present, edited.text, change.edits)
    elision = find_elision(path, present, edited.text)
    line = change.line
    if elided:
        line = elided.line
        elision = "..."
    if elision:
        applied.refuse(
            line,
            f"the edit of `{path}` has a line `{elision}`; {WRITTEN_OUT}",
        )
        return
    if edited.notes and _is_broken(path, present, edited.text):
        notes = edited.notes[:_MAX_LISTED]
        listed = "; ".join(notes)
        applied.refuse(
            line,
            f"the edit of `{path}` leaves no valid Python ({listed}); {WHOLE_LINES},"
            " with their indentation",
        )
        return
    for note in edited.notes:
        text = f"{path}: {note}"
        applied.notes.append(text)
    applied.files[path] = edited.text


def _is_broken(path: str, before: str, after: str) -> bool:
    """Tell whether a Python module could be parsed before an edit and no longer can."""
    if not path.endswith((".py", ".pyi")):
        return False
    return _is_python(before) and not _is_python(after)


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _refuse(
    applied: Applied,
    change: EditedFile,
    refused: Iterable[Exception],
    applicable: tuple[int, ...],
) -> None:
    path = change.path
    reasons = []
    for error in refused:
        reason = f"`{path}`: {error}"
        reasons.append(reason)
    count = len(change.edits)
    if count > 1:
        text = f"; the file stays as it is, without any of its {count} sections"
        if applicable:
            lines = map(str, applicable[:_MAX_LISTED])
            listed = ", ".join(lines)
            text += f" (those at lines {listed} of the answer could be applied)"
        reasons[-1] += f"{text}; send all of them again"
    applied.slips += reasons
