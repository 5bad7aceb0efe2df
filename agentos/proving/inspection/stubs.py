"""Find functions and classes without a body."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agentos.proving.inspection.parsing import (
    Function,
    definitions,
    dotted,
    is_bare_constant,
    last_name,
    without_call,
    without_docstrings,
)

_EMPTY_ON_PURPOSE = frozenset(
    {
        "abstractmethod",
        "overload",
        "abstractproperty",
        "singledispatch",
        "singledispatchmethod",
    }
)
_INTERFACES = frozenset({"Protocol", "ABC", "ABCMeta"})
_HOOKS = frozenset({"__init__", "__exit__", "__aexit__", "close"})
_NOT_IMPLEMENTED = "`raise NotImplementedError`"


def stubs(module: ast.Module) -> Iterator[tuple[str, int, str]]:
    """Yield name, line and kind of every function without a body and every empty
    class.
    """
    # Decided once for each class, which may have thousands of methods.
    interfaces: dict[ast.ClassDef | None, bool] = {None: False}
    for name, node, owner in definitions(module):
        if isinstance(node, ast.ClassDef):
            if _is_empty_class(node):
                yield name, node.lineno, "an empty class"
            continue
        kind = _missing_body(node)
        if not kind or _may_be_empty(node, kind):
            continue
        if owner is not None and owner not in interfaces:
            interfaces[owner] = _is_interface(owner)
        if not interfaces[owner]:
            yield name, node.lineno, kind


def _missing_body(node: Function) -> str:
    body = without_docstrings(node.body)
    match body:
        case []:
            return "only a docstring"
        case [ast.Pass()]:
            return "`pass`"
        case [ast.Raise(exc=ast.expr() as raised)]:
            is_stub = dotted(without_call(raised)) == "NotImplementedError"
            return _NOT_IMPLEMENTED if is_stub else ""
    return "`...`" if _has_only_constants(body) else ""


def _may_be_empty(node: Function, kind: str) -> bool:
    marks = {last_name(without_call(mark)) for mark in node.decorator_list}
    if marks & _EMPTY_ON_PURPOSE:
        return True
    # A hook that does nothing by default is a legitimate part of an interface.
    return node.name in _HOOKS and kind != _NOT_IMPLEMENTED


def _is_interface(node: ast.ClassDef) -> bool:
    for base in node.bases:
        generic = base.value if isinstance(base, ast.Subscript) else base
        if last_name(generic) in _INTERFACES:
            return True
    for keyword in node.keywords:
        if keyword.arg == "metaclass" and last_name(keyword.value) in _INTERFACES:
            return True
    for part in node.body:
        if isinstance(part, Function):
            marks = {last_name(mark) for mark in part.decorator_list}
            if marks & _EMPTY_ON_PURPOSE:
                return True
    return False


def _is_empty_class(node: ast.ClassDef) -> bool:
    if node.bases or node.keywords or node.decorator_list:
        return False
    body = without_docstrings(node.body)
    has_only_pass = all(isinstance(part, ast.Pass) for part in body)
    return has_only_pass or _has_only_constants(body)


def _has_only_constants(body: list[ast.stmt]) -> bool:
    return all(map(is_bare_constant, body))
