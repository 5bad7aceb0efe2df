"""Write changes as an answer that reads back equal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentos.documents.changes.fences import WHOLE
from agentos.documents.changes.markers import clean_path, read_comment_reason, split_note
from agentos.documents.changes.model import Change, Changes, Deletion, EditedFile, WholeFile
from agentos.documents.changes.parse import NO_FINAL_NEWLINE, holds_section
from agentos.documents.changes.sections import DIVIDER, REPLACE, SEARCH, SHORTEST, make_mark, mark_length

_LANGUAGES = {
    **{"py": "python", "pyi": "python", "js": "javascript", "ts": "typescript", "sh": "bash", "md": "markdown"},
    **{"rs": "rust", "yml": "yaml", "yaml": "yaml", "toml": "toml", "json": "json", "go": "go", "html": "html"},
}


def render_changes(changes: Changes | Iterable[Change]) -> str:
    """Write every change as a block of its own, in fences longer than any inside; what was cut off is left open."""
    listed = changes.changes if isinstance(changes, Changes) else tuple(changes)
    return "\n".join(_render(change) for change in listed)


def _render(change: Change) -> str:
    match change:
        case Deletion(path=path, reason=reason):
            return f"# Delete: {_quote(path)}\n" + (f"Reason: {reason}\n" if reason else "")
        case EditedFile(path=path, edits=edits):
            rows = [row for edit in edits for row in _section(edit.search, edit.replace)]
            return _fence(change, f"# Edit: {_quote(path)}", rows, [_language(path)])
        case WholeFile(path=path, text=text):
            rows = text.split("\n")
            words = [_language(path)]
            if not rows[-1]:
                rows.pop()
            else:
                words.append(NO_FINAL_NEWLINE)
            if holds_section(rows):
                words.append(WHOLE)
            return _fence(change, f"# File: {_quote(path)}", rows, words)


def _fence(change: WholeFile | EditedFile, marker: str, rows: Sequence[str], words: Sequence[str]) -> str:
    head = [marker]
    if change.reason or (rows and read_comment_reason(rows[0]) is not None):
        head.append(f"# Reason: {change.reason}".rstrip())
    if rows and not rows[0].strip(" \t\r"):
        head.append("")
    mark = "`" * max(3, 1 + max((_backticks(row) for row in rows), default=0))
    closing = [] if change.is_cut else [mark]
    return "\n".join([f"{mark}{' '.join(words)}", *head, *rows, *closing]) + "\n"


def _section(search: str, replace: str) -> list[str]:
    old, new = search.split("\n")[:-1], replace.split("\n")[:-1]
    longest = max((mark_length(row, kind) for row in [*old, *new] for kind in (SEARCH, DIVIDER, REPLACE)), default=0)
    length = max(SHORTEST, longest + 1)
    return [make_mark(SEARCH, length), *old, make_mark(DIVIDER, length), *new, make_mark(REPLACE, length)]


def _backticks(row: str) -> int:
    bare = row.lstrip(" \t")
    return len(bare) - len(bare.lstrip("`"))


def _quote(path: str) -> str:
    return path if clean_path(path) == path and not split_note(path)[1] else f"`{path}`"


def _language(path: str) -> str:
    return _LANGUAGES.get(path.rpartition(".")[2].casefold(), "text")
