"""Recognize lines that stand for text that was left out, such as `# ... unchanged`.

A line that the file has already stands for nothing. Dots alone are text in many places:
a body in Python, a console in a document, the end of a document in YAML.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence

from agentos.documents.changes.block_names import is_prose
from agentos.documents.changes.model import Edit

_DOTS = frozenset({"...", "…", "[...]", "[…]", "(...)", "(…)"})
_SIGNS = ("<!--", "/*", "{#", "//", "--", "#", ";", "%")
_MAX_LENGTH = 200
_LEFT_OUT = re.compile(
    r"\b(?:rest|existing|unchanged|remaining|remains?|omitted|same as|as before"
    r"|previous|snip(?:ped)?|not shown|keep|kept"
    r"|other (?:code|tests?|methods?|functions?|imports?|lines))\b",
    re.IGNORECASE,
)
_UNCHANGED = re.compile(
    r"(?:the )?rest of (?:the |this )?(?:file|code|class|function|method|module|tests?)"
    r"(?: (?:stays |remains |is )?(?:the same|unchanged|as before|as is|omitted|here"
    r"|goes here))?\W*|unchanged|omitted|snip",
    re.IGNORECASE,
)
_PYTHON = (".py", ".pyi")
_DATA = (".yaml", ".yml", ".diff", ".patch", ".out", ".snap", ".csv", ".log")


def is_elision(row: str) -> bool:
    """Tell whether a row says that text is left out; also dots alone."""
    bare = row.strip()
    return bare in _DOTS or is_remark(bare)


def is_remark(row: str) -> bool:
    """Tell whether a row is a remark that text is left out, and no text of a file."""
    bare = row.strip()
    if len(bare) > _MAX_LENGTH:
        return False
    body = _uncomment(bare)
    if body is None:
        return False
    if body in _DOTS:
        return True
    begins = body.startswith(("...", "…"))
    ends = body.endswith(("...", "…"))
    if begins and ends:
        return True
    if (begins or ends) and _LEFT_OUT.search(body):
        return True
    return bare != body and _UNCHANGED.fullmatch(body) is not None


def _uncomment(bare: str) -> str | None:
    """Return the text of a comment or in brackets, None for any other row."""
    for sign in _SIGNS:
        if bare.startswith(sign):
            body = bare.lstrip(sign[-1] + sign[0])
            for end in ("-->", "*/", "#}"):
                body = body.removesuffix(end)
            return body.strip()
    if bare[:1] in "([" and bare[-1:] in ")]":
        return bare[1:-1].strip()
    if bare.startswith(("...", "…")):
        return bare
    return None


def find_elision(path: str, before: str, after: str) -> str:
    """Return a line of a new text that says that text is left out, or an empty text."""
    if not _may_elide(after):
        return ""
    known = _DOTS.union(_trimmed(before))
    for row in _trimmed(after):
        if row not in known and is_remark(row):
            return row[:100]
    if path.endswith(_PYTHON):
        return _find_dots_in_python(before, after)
    return ""


def find_elided_edit(
    path: str, before: str, after: str, edits: Sequence[Edit]
) -> Edit | None:
    """Return an edit whose replacement has dots for lines that the SEARCH has."""
    if path.endswith(_DATA):
        return None
    if path.endswith(_PYTHON) and not _has_dots_in_text(before, after):
        return None
    new_dots = _DOTS.difference(_trimmed(before))
    may_add = _may_hold_dots(path)
    for edit in edits:
        new = _trimmed(edit.replace)
        if new_dots.isdisjoint(new):
            continue
        old = set(_trimmed(edit.search))
        if may_add and old.issubset(new):
            continue
        return edit
    return None


def _may_hold_dots(path: str) -> bool:
    return is_prose(path) or path.endswith(_PYTHON)


def _may_elide(text: str) -> bool:
    if "..." in text or "…" in text:
        return True
    lowered = text.lower()
    words = ("unchanged", "rest of", "omitted", "snip")
    return any(word in lowered for word in words)


def _find_dots_in_python(before: str, after: str) -> str:
    """Return dots that stand beside other statements, more often than before."""
    if "\n" not in after or "..." not in after:
        return ""
    if _count_rows(after) <= _count_rows(before):
        return ""
    now = _count_dots(after)
    earlier = _count_dots(before) or 0
    if now is None or now > earlier:
        return "..."
    return ""


def _has_dots_in_text(before: str, after: str) -> bool:
    """Tell whether strings have got lines of dots alone."""
    if _count_rows(after) <= _count_rows(before):
        return False
    return _count_text_rows(after) > _count_text_rows(before)


def _count_text_rows(text: str) -> int:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _count_rows(text)
    nodes = ast.walk(tree)
    statements = sum(map(_is_dots, nodes))
    return _count_rows(text) - statements


def _count_rows(text: str) -> int:
    rows = _trimmed(text)
    return rows.count("...")


def _trimmed(text: str) -> list[str]:
    """Return the lines of a text without the blanks around them."""
    rows = text.split("\n")
    return list(map(str.strip, rows))


def _count_dots(text: str) -> int | None:
    """Count the dots beside other statements, None if the text is no Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    count = 0
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list):
                count += _count_beside(body)
    return count


def _count_beside(body: Iterable[ast.stmt]) -> int:
    """Count the dots in a body that does something else too."""
    dots = others = 0
    for statement in body:
        if _is_dots(statement):
            dots += 1
        elif not _is_text(statement):
            others += 1
    if not others:
        return 0
    return dots


def _is_dots(statement: ast.AST) -> bool:
    return _constant(statement) is ...


def _is_text(statement: ast.AST) -> bool:
    return isinstance(_constant(statement), str)


def _constant(statement: ast.AST) -> object:
    if not isinstance(statement, ast.Expr):
        return None
    if not isinstance(statement.value, ast.Constant):
        return None
    return statement.value.value
