"""Parse Python of unknown origin; what cannot be parsed is a problem with a line, never an exception."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

SIZE_LIMIT = 1_000_000
DOTS_LIMIT = 20

Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = ast.Module | ast.ClassDef | Function


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """Something in a file that its writer has to correct."""

    line: int
    text: str


def parse_python(text: str) -> ast.Module | Problem:
    """Return the tree of a module, or why there is none."""
    if len(text) > SIZE_LIMIT:
        return Problem(1, f"is longer than {SIZE_LIMIT:,} characters; split it up")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        return Problem(error.lineno or 1, f"is not valid Python: {error.msg}")
    except ValueError as error:
        return Problem(1, f"is not valid Python: {error}")
    except (RecursionError, MemoryError):
        return Problem(1, "is nested too deeply to be read; make it flatter")


def new_only(found: Iterable[Problem], before: Iterable[Problem]) -> list[Problem]:
    """Leave out as many problems of each text as there were before: lines move, words stay."""
    known = Counter(problem.text for problem in before)
    kept = []
    for problem in found:
        if known[problem.text]:
            known[problem.text] -= 1
        else:
            kept.append(problem)
    return kept


def comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each comment, as far as the text can be read."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
    except (tokenize.TokenError, SyntaxError, ValueError, RecursionError, MemoryError):
        return


def dotted(node: ast.expr) -> str:
    """Return `a.b.c` for a name with a few attributes, empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < DOTS_LIMIT:
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    parts.append(node.id)
    return ".".join(reversed(parts))


def last_name(node: ast.expr) -> str:
    """Return the last part of a name, also of one that hangs on a call."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def is_docstring(node: ast.stmt) -> bool:
    """Tell whether a statement is a string that stands alone."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a scope, but not those of functions and classes inside it."""
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))
