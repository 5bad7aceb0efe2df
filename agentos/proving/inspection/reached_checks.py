"""Find tests that passed although none of their assertions ran."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from agentos.proving.inspection.collection import build_graph, collect_tests
from agentos.proving.inspection.forbidden_actions import is_check
from agentos.proving.inspection.parsing import Function, nodes_of, parse_python

_BLOCKS = (ast.stmt, ast.ExceptHandler, ast.match_case)


def idle_tests(text: str, executed: Collection[int]) -> list[str]:
    """Return the tests of a file that have assertions, themselves or in what they use,
    of which none ran; `executed` are the first lines of the statements that ran.
    """
    module = parse_python(text)
    if not isinstance(module, ast.Module):
        return []
    ran = frozenset(executed)
    graph = build_graph(module)
    checking = graph.reaching(lambda function: bool(_check_lines(function)))
    checked = graph.reaching(lambda function: bool(_check_lines(function) & ran))
    idle = checking - checked
    return [test.name for test in collect_tests(module) if test.key in idle]


def _check_lines(function: Function) -> set[int]:
    """Return the first lines of the statements that check something."""
    lines = set()
    for statement in nodes_of(function, ast.stmt):
        if any(map(is_check, _own_parts(statement))):
            lines.add(statement.lineno)
    return lines


def _own_parts(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield a statement and its expressions without the statements inside it."""
    yield statement
    for child in ast.iter_child_nodes(statement):
        if not isinstance(child, _BLOCKS):
            yield from ast.walk(child)
