"""Find public functions and classes that a change takes away."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from agentos.proving.inspection.parsing import (
    Definition,
    SourceProblem,
    parse_base,
    parse_python,
)


def lost_names(
    text: str, path: str, base_text: str | None, design: str
) -> list[SourceProblem]:
    """Return a problem for each public function, class or method that the previous
    version had, that the file binds nowhere, and that the design does not speak of.
    """
    module = parse_python(text)
    base = parse_base(base_text)
    if not isinstance(module, ast.Module) or base is None or _is_private(path):
        return []
    bound = set(_bound(module))
    problems = []
    for name in _public(base.body):
        last = name.rpartition(".")[2]
        if last in bound or re.search(rf"\b{re.escape(last)}\b", design):
            continue
        bound.add(last)
        reason = "was there and is gone, and the design does not name it; keep it"
        problems.append(SourceProblem(1, f"`{name}` {reason}"))
    return problems


def _is_private(path: str) -> bool:
    for part in PurePosixPath(path).parts:
        if part.startswith("_") and not part.startswith("__"):
            return True
    return False


def _public(body: Iterable[ast.stmt], prefix: str = "") -> Iterator[str]:
    """Yield the names of the public functions and classes, and of their methods."""
    for node in body:
        if not isinstance(node, Definition) or node.name.startswith("_"):
            continue
        name = prefix + node.name
        yield name
        if isinstance(node, ast.ClassDef):
            yield from _public(node.body, f"{name}.")


def _bound(module: ast.Module) -> Iterator[str]:
    """Yield every name that a module defines, imports or assigns, wherever it does."""
    for node in ast.walk(module):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name):
                yield name
            case ast.alias(name=name, asname=other):
                yield other or name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
