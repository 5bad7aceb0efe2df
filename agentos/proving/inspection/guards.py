"""Find error handling that a change removed from functions that still exist."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable

from agentos.proving.inspection.parsing import (
    Function,
    SourceProblem,
    definitions,
    last_name,
    own_nodes,
    without_call,
)

_KINDS = {
    "raise": "raises less",
    "except": "catches less",
    "check": "checks less",
    "assert": "asserts less",
}


def lost_guards(module: ast.Module, base: ast.Module) -> list[SourceProblem]:
    """Return a problem for each function that raises, catches or checks less than
    before.

    Guards that moved into other functions of the file are not lost: a kind is only
    reported when the whole file has less of it too.
    """
    after = _functions(module)
    before = _functions(base)
    lost_in_file = _total(before.values()) - _total(after.values())
    problems = []
    for name, node in after.items():
        old = before.get(name)
        if old is None:
            continue
        was = _guards(old)
        lost = was - _guards(node)
        for kind, change in _KINDS.items():
            if not lost[kind] or not lost_in_file[kind]:
                continue
            gone = _names(old, kind) - _names(node, kind)
            names = ", ".join(sorted(gone))
            what = ""
            if names:
                what = f" ({names[:80]})"
            text = (
                f"`{name}` {change} than before: {lost[kind]} of {was[kind]}"
                f" gone{what}; keep them"
            )
            problems.append(SourceProblem(node.lineno, text))
    return problems


def _functions(module: ast.Module) -> dict[str, Function]:
    return {
        name: node
        for name, node, _ in definitions(module)
        if isinstance(node, Function)
    }


def _total(functions: Iterable[Function]) -> Counter[str]:
    total: Counter[str] = Counter()
    for node in functions:
        total.update(_guards(node))
    return total


def _guards(function: Function) -> Counter[str]:
    found: Counter[str] = Counter()
    for node in own_nodes(function):
        match node:
            case ast.Raise(exc=exc) if _is_stub(exc):
                # What was not written yet guards nothing.
                continue
            case ast.Raise():
                found["raise"] += 1
            case ast.ExceptHandler():
                found["except"] += 1
            case ast.Assert():
                found["assert"] += 1
            case ast.If(body=body) if _ends_early(body):
                found["check"] += 1
    return found


def _is_stub(raised: ast.expr | None) -> bool:
    """Tell whether a function says that it is not written yet."""
    if raised is None:
        return False
    return last_name(without_call(raised)) == "NotImplementedError"


def _ends_early(body: list[ast.stmt]) -> bool:
    for statement in body:
        match statement:
            case ast.Raise() | ast.Return():
                return True
    return False


def _names(function: Function, kind: str) -> set[str]:
    """Return the names of the exceptions that a function raises or catches."""
    found: set[str] = set()
    for node in own_nodes(function):
        match node:
            case ast.Raise(exc=ast.expr() as raised) if kind == "raise":
                found.add(last_name(without_call(raised)))
            case ast.ExceptHandler(type=ast.Tuple(elts=caught)) if kind == "except":
                found.update(map(last_name, caught))
            case ast.ExceptHandler(type=ast.expr() as one) if kind == "except":
                found.add(last_name(one))
    return found - {""}
