"""Find functions and classes that were left without a body."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agentos.inspection.parsing import Function, dotted, is_docstring, last_name

_EMPTY_ON_PURPOSE = frozenset(
    {"abstractmethod", "overload", "abstractproperty", "singledispatch", "singledispatchmethod"}
)
_INTERFACES = ("Protocol", "ABC", "ABCMeta")


def stubs(module: ast.Module) -> Iterator[tuple[str, int, str]]:
    """Yield name, line and kind of every function whose body is missing and every class that is an empty shell."""
    waiting: list[tuple[str, ast.AST, bool]] = [("", node, False) for node in module.body]
    while waiting:
        prefix, node, is_interface = waiting.pop()
        if isinstance(node, Function):
            name = f"{prefix}{node.name}"
            if (kind := _missing_body(node)) and not _is_free(node, is_interface, kind):
                yield name, node.lineno, kind
            waiting.extend((f"{name}.", part, False) for part in node.body)
        elif isinstance(node, ast.ClassDef):
            is_open = _is_interface(node)
            if not node.bases and not node.keywords and not node.decorator_list and _is_shell(node):
                yield f"{prefix}{node.name}", node.lineno, "an empty class"
            waiting.extend((f"{prefix}{node.name}.", part, is_open) for part in node.body)
        elif isinstance(node, ast.stmt | ast.excepthandler):
            waiting.extend((prefix, part, is_interface) for part in ast.iter_child_nodes(node))


def _missing_body(node: Function) -> str:
    body = [part for part in node.body if not is_docstring(part)]
    if not body:
        return "only a docstring"
    if len(body) == 1 and isinstance(body[0], ast.Pass):
        return "`pass`"
    if all(isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant) for part in body):
        return "`...`"
    last = body[-1]
    if len(body) == 1 and isinstance(last, ast.Raise) and last.exc is not None:
        kind = last.exc.func if isinstance(last.exc, ast.Call) else last.exc
        return "`raise NotImplementedError`" if dotted(kind) == "NotImplementedError" else ""
    return ""


def _is_free(node: Function, is_interface: bool, kind: str) -> bool:
    marks = {last_name(mark.func if isinstance(mark, ast.Call) else mark) for mark in node.decorator_list}
    if marks & _EMPTY_ON_PURPOSE:
        return True
    # Hooks that do nothing by default are an honest part of an interface.
    is_hook = node.name in ("__init__", "__exit__", "__aexit__", "close") and kind != "`raise NotImplementedError`"
    return is_interface or is_hook


def _is_interface(node: ast.ClassDef) -> bool:
    names = [last_name(base.value if isinstance(base, ast.Subscript) else base) for base in node.bases]
    names += [last_name(word.value) for word in node.keywords if word.arg == "metaclass"]
    has_abstract = any(
        last_name(mark) in _EMPTY_ON_PURPOSE
        for part in node.body
        if isinstance(part, Function)
        for mark in part.decorator_list
    )
    return has_abstract or any(name in _INTERFACES for name in names)


def _is_shell(node: ast.ClassDef) -> bool:
    body = [part for part in node.body if not is_docstring(part)]
    return all(isinstance(part, ast.Pass) for part in body) or all(
        isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant) for part in body
    )
