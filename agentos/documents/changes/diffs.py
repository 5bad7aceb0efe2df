"""Read a unified diff of one file as edits.

What a hunk takes out and what stays around it is the SEARCH; its line numbers do not
count, because models cannot count them.
"""

from __future__ import annotations

from agentos.documents.changes.matching import is_blank
from agentos.documents.changes.model import Edit, Problem, Rows, problem_at
from agentos.documents.changes.sections import join_rows

_HEADERS = ("diff --git ", "index ", "new file mode ", "similarity index ")
_HUNK = "@@"
_SIGNS = ("+", "-", " ")
_NO_END = "\\ No newline"


def path_in_header(row: str) -> str:
    """Return the path in a row `+++ b/path` of a diff."""
    name, _, _ = row[4:].partition("\t")
    path = name.strip()
    for prefix in ("a/", "b/"):
        if path.startswith(prefix):
            return path.removeprefix(prefix)
    return path


def is_diff(rows: Rows) -> bool:
    """Tell whether rows are a diff: hunks, or signs in front of all lines."""
    if not all(map(_is_part, rows)):
        return False
    begun = {row[:1] for row in rows if row.strip()}
    if "@" in begun:
        return True
    return begun.issuperset("+-") and begun.issubset(_SIGNS)


def _is_part(row: str) -> bool:
    """Tell whether a row can be part of a diff."""
    if row.startswith((*_SIGNS, *_HEADERS)):
        return True
    if row.startswith(("@@", _NO_END)):
        return True
    return is_blank(row)


def read_diff(rows: Rows, first_line: int) -> list[Edit] | Problem:
    """Return an edit for each hunk, or the first problem with them."""
    edits: list[Edit] = []
    search: list[str] = []
    replace: list[str] = []
    start = first_line
    files = 0
    listed = list(rows)
    while listed and is_blank(listed[-1]):
        listed.pop()
    # A last hunk that is empty ends the one before.
    listed.append(_HUNK)
    is_header = True
    for line, row in enumerate(listed, first_line):
        if row.startswith(("--- ", "+++ ")) and is_header:
            files += row.startswith("+++ ")
            continue
        if row.startswith((*_HEADERS, _HUNK)):
            is_header = not row.startswith(_HUNK)
            if search != replace:
                if all(map(is_blank, search)):
                    return _unplaced(start)
                old = join_rows(search)
                new = join_rows(replace)
                edit = Edit(old, new, start)
                edits.append(edit)
            search = []
            replace = []
            start = line
            continue
        if row.startswith(_NO_END):
            continue
        is_header = False
        text = row[1:]
        if not row.startswith("+"):
            search.append(text)
        if not row.startswith("-"):
            replace.append(text)
    if files > 1:
        return problem_at(
            first_line, "the diff changes several files; send one block for each."
        )
    return edits


def _unplaced(line: int) -> Problem:
    return problem_at(
        line,
        "the hunk has only new lines, and nothing says where they belong; add the lines"
        " around them.",
    )
