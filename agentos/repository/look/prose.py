"""Find the lines of a file that are prose: documents, docstrings and comments."""

from __future__ import annotations

import ast
from collections.abc import Collection

from agentos.repository.look.definitions import (
    PARSE_LIMIT,
    UNPARSABLE,
    is_python,
    parse_python,
)
from agentos.repository.look.texts import FileText

DOCUMENT_ENDS = (".md", ".markdown", ".rst", ".txt", ".adoc")
"""Files with headings, which are quoted and not named."""
_BARE_DOCUMENTS = ("readme", "changelog", "changes", "history", "news", "authors")
_COMMENTS = ("#", "//", "/*", "* ", "--", ";")


def is_document(path: str) -> bool:
    """Tell whether a file is prose as a whole."""
    lowered = path.casefold()
    if lowered.endswith(DOCUMENT_ENDS):
        return True
    return lowered.rpartition("/")[2] in _BARE_DOCUMENTS


def prose_lines(file: FileText) -> Collection[int]:
    """Return the numbers of the lines that are no code."""
    total = len(file.lines)
    if is_document(file.path):
        return range(1, total + 1)
    found = set()
    for number, line in enumerate(file.lines, 1):
        if line.lstrip().startswith(_COMMENTS):
            found.add(number)
    if is_python(file.path) and len(file.source) <= PARSE_LIMIT:
        found |= _docstrings(file.source)
    return found


def _docstrings(source: str) -> set[int]:
    """Return the lines of strings that stand alone."""
    found: set[int] = set()
    try:
        module = parse_python(source)
    except UNPARSABLE:
        return found
    for node in ast.walk(module):
        if not isinstance(node, ast.Expr):
            continue
        value = node.value
        if not isinstance(value, ast.Constant):
            continue
        if isinstance(value.value, str):
            last = node.end_lineno or node.lineno
            found.update(range(node.lineno, last + 1))
    return found
