"""Find what a thin function calls, so that a wrapper is shown with what it wraps."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from agentos.repository.context.bounded import BoundedFiles
from agentos.repository.look.definitions import (
    PARSE_LIMIT,
    UNPARSABLE,
    Definition,
    is_python,
    parse_python,
)
from agentos.repository.look.texts import FileText

_THIN = 12
"""Lines below the docstring up to which a function is a thin one."""
_DEEPEST = 3
_MOST = 8
_SHORTEST = 3

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Types = dict[str, str]
"""The classes of variables by their names."""


def find_callees(
    text: FileText,
    chosen: Sequence[Definition],
    files: BoundedFiles,
) -> list[Definition]:
    """Return the definitions of a file that thin functions call, directly or through
    other thin functions, the nearest first.
    """
    if not is_python(text.path) or len(text.source) > PARSE_LIMIT:
        return []
    try:
        module = _Module(text, files.definitions(text.path))
    except UNPARSABLE:
        return []
    found: dict[Definition, None] = {}
    level = list(chosen)
    for _ in range(_DEEPEST):
        called: dict[Definition, None] = {}
        for definition in level:
            called |= dict.fromkeys(module.called_by(definition))
        for definition in (*chosen, *found):
            called.pop(definition, None)
        found |= called
        level = list(called)
    return list(found)[:_MOST]


class _Module:
    """The functions of a file, and what its names mean."""

    def __init__(
        self,
        text: FileText,
        definitions: Sequence[Definition],
    ) -> None:
        self._functions: dict[int, _Function] = {}
        self._named: dict[str, Definition] = {}
        self._by_last: dict[str, list[Definition]] = {}
        starts = set()
        tree = parse_python(text.source)
        for node in ast.walk(tree):
            if isinstance(node, _Function):
                self._functions[node.lineno] = node
                starts.add(node.lineno)
            elif isinstance(node, ast.ClassDef):
                starts.add(node.lineno)
        for definition in definitions:
            is_assigned = definition.line not in starts
            if is_assigned or definition.is_entry:
                continue
            self._named[definition.name] = definition
            last = definition.name.rpartition(".")[2]
            same = self._by_last.setdefault(last, [])
            same.append(definition)
        self._types = self._types_in(tree.body)

    def called_by(
        self,
        definition: Definition,
    ) -> Iterator[Definition]:
        """Yield what a thin function uses, in the order of its lines."""
        node = self._functions.get(definition.line)
        if node is None or not _is_thin(node):
            return
        owner, _, _ = definition.name.rpartition(".")
        types = self._types | self._types_in(node.body)
        types["self"] = owner
        types["cls"] = owner
        for statement in node.body:
            for inner in ast.walk(statement):
                found = self._meant(inner, types)
                if found is not None:
                    yield found

    def _meant(
        self,
        node: ast.AST,
        types: _Types,
    ) -> Definition | None:
        """Return what an expression names."""
        if isinstance(node, ast.Name):
            return self._named.get(node.id)
        if not isinstance(node, ast.Attribute):
            return None
        receiver = node.value
        if isinstance(receiver, ast.Name) and receiver.id in types:
            whole = f"{types[receiver.id]}.{node.attr}"
            return self._named.get(whole)
        is_named = isinstance(receiver, ast.Name | ast.Attribute)
        if not is_named or len(node.attr) < _SHORTEST:
            return None
        same = self._by_last.get(node.attr, [])
        if len(same) == 1:
            return same[0]
        return None

    def _types_in(
        self,
        body: Sequence[ast.stmt],
    ) -> _Types:
        """Return the classes of which variables are made an instance."""
        types: _Types = {}
        for node in body:
            value = None
            targets: Sequence[ast.expr] = ()
            if isinstance(node, ast.Assign):
                value = node.value
                targets = node.targets
            elif isinstance(node, ast.AnnAssign):
                value = node.value
                targets = (node.target,)
            if not isinstance(value, ast.Call):
                continue
            made = value.func
            if not isinstance(made, ast.Name):
                continue
            for target in targets:
                if isinstance(target, ast.Name) and made.id in self._named:
                    types[target.id] = made.id
        return types


def _is_thin(node: _Function) -> bool:
    first = node.body[0]
    begin = node.lineno
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        begin = first.end_lineno or begin
    end = node.end_lineno or begin
    return end - begin <= _THIN
