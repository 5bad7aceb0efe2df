"""Read a unified diff of one file as edits.

What a hunk takes out and what stays around it is the SEARCH; its line numbers do not
count, because models cannot count them.
"""

from __future__ import annotations

from agentos.documents.changes.model import Edit, Problem, Rows, problem_at

_HEADERS = ("diff --git ", "index ", "new file mode ", "similarity index ")
_SIGNS = ("+", "-", " ")
_NO_END = "\\ No newline"


def path_in_header(row: str) -> str:
    """Return the path in a row `+++ b/path` of a diff."""
    path = row[4:].partition("\t")[0].strip()
    for prefix in ("a/", "b/"):
        if path.startswith(prefix):
            return path.removeprefix(prefix)
    return path


def is_diff(rows: Rows) -> bool:
    """Tell whether rows are a diff: hunks, or signs in front of all lines."""
    if any(row.startswith("@@") for row in rows):
        return all(_is_part(row) for row in rows)
    body = [row for row in rows if row.strip()]
    if not all(row.startswith(_SIGNS) for row in body):
        return False
    has_added = any(row.startswith("+") for row in body)
    return has_added and any(row.startswith("-") for row in body)


def _is_part(row: str) -> bool:
    if not row.strip() or row.startswith((*_SIGNS, "@@", _NO_END)):
        return True
    return row.startswith(_HEADERS)


def read_diff(rows: Rows, first_line: int) -> list[Edit] | Problem:
    """Return an edit for each hunk, or the first problem with them."""
    edits: list[Edit] = []
    search: list[str] = []
    replace: list[str] = []
    start = first_line
    files = 0
    end = len(rows)
    while end and not rows[end - 1].strip():
        end -= 1
    is_header = True
    for line, row in enumerate([*rows[:end], "@@"], first_line):
        if row.startswith(("--- ", "+++ ")) and is_header:
            files += row.startswith("+++ ")
            continue
        if row.startswith(_HEADERS) or row.startswith("@@"):
            is_header = not row.startswith("@@")
            if search != replace:
                if not any(map(str.strip, search)):
                    return _unplaced(start)
                edits.append(Edit(_join(search), _join(replace), start))
            search, replace, start = [], [], line
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


def _join(rows: Rows) -> str:
    return "".join(f"{row}\n" for row in rows)
