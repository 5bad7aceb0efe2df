"""Find error handling that a change took out of functions which still exist."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator

from agentos.inspection.parsing import Function, Problem, last_name, own_nodes

_KINDS = {"raise": "raises less", "except": "catches less", "check": "checks less", "assert": "asserts less"}


def lost_guards(module: ast.Module, base: ast.Module) -> list[Problem]:
    """Return a problem for each function that raises, catches or checks less than before.

    What moved into other functions of the file is not lost: a kind is only reported when the whole file has
    less of it too.
    """
    after, before = dict(_functions(module)), dict(_functions(base))
    total_after, total_before = _total(after.values()), _total(before.values())
    problems = []
    for name, node in after.items():
        if name not in before:
            continue
        was, now = _guards(before[name]), _guards(node)
        lost = {kind: was[kind] - now[kind] for kind in _KINDS if was[kind] > now[kind]}
        lost = {kind: number for kind, number in lost.items() if total_after[kind] < total_before[kind]}
        for kind, number in lost.items():
            names = ", ".join(sorted(_names(before[name], kind) - _names(node, kind)))
            what = f" ({names[:80]})" if names else ""
            problems.append(
                Problem(
                    node.lineno, f"`{name}` {_KINDS[kind]} than before: {number} of {was[kind]} gone{what}; keep them"
                )
            )
    return problems


def _functions(module: ast.Module) -> Iterator[tuple[str, Function]]:
    waiting: list[tuple[str, ast.AST]] = [("", node) for node in module.body]
    while waiting:
        prefix, node = waiting.pop()
        if isinstance(node, Function):
            yield f"{prefix}{node.name}", node
        if isinstance(node, Function | ast.ClassDef):
            waiting.extend((f"{prefix}{node.name}.", part) for part in node.body)
        elif isinstance(node, ast.stmt | ast.excepthandler):
            waiting.extend((prefix, part) for part in ast.iter_child_nodes(node))


def _total(functions: Iterable[Function]) -> Counter[str]:
    total: Counter[str] = Counter()
    for node in functions:
        total.update(_guards(node))
    return total


def _guards(function: Function) -> Counter[str]:
    found: Counter[str] = Counter()
    for node in own_nodes(function):
        if isinstance(node, ast.Raise):
            found["raise"] += 1
        elif isinstance(node, ast.ExceptHandler):
            found["except"] += 1
        elif isinstance(node, ast.Assert):
            found["assert"] += 1
        elif isinstance(node, ast.If) and _ends_early(node):
            found["check"] += 1
    return found


def _ends_early(node: ast.If) -> bool:
    return any(isinstance(part, ast.Raise | ast.Return) for part in node.body)


def _names(function: Function, kind: str) -> set[str]:
    found: set[str] = set()
    for node in own_nodes(function):
        if kind == "raise" and isinstance(node, ast.Raise) and node.exc is not None:
            found.add(last_name(node.exc.func if isinstance(node.exc, ast.Call) else node.exc))
        elif kind == "except" and isinstance(node, ast.ExceptHandler) and node.type is not None:
            kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            found |= {last_name(part) for part in kinds}
    return found - {""}
