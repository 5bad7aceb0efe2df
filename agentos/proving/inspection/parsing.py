"""Parse untrusted Python; report text that cannot be parsed as a problem, not an error."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

SIZE_LIMIT = 1_000_000
DOTS_LIMIT = 20

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef
Node = TypeVar("Node", bound=ast.AST)


Names = frozenset[str]


class Defined(NamedTuple):
    """A function or class of a module."""

    name: str
    """Its qualified name."""
    node: Definition
    owner: ast.ClassDef | None
    """The class whose body holds it."""


@dataclass(frozen=True, slots=True, order=True)
class SourceProblem:
    """Something in a file that its author has to correct."""

    line: int
    text: str


Problems = Iterator[SourceProblem]
TOO_DEEP = SourceProblem(1, "is nested too deeply to be read; make it flatter")


def parse_python(text: str) -> ast.Module | SourceProblem:
    """Return the tree of a module, or the problem that prevents parsing."""
    if len(text) > SIZE_LIMIT:
        return SourceProblem(
            1, f"is longer than {SIZE_LIMIT:,} characters; split it up"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        line = error.lineno or 1
        return SourceProblem(line, f"is not valid Python: {error.msg}")
    except ValueError as error:
        return SourceProblem(1, f"is not valid Python: {error}")
    except (RecursionError, MemoryError):
        return TOO_DEEP


def parse_base(text: str | None) -> ast.Module | None:
    """Return the tree of the previous version of a file, if it can be parsed."""
    if text is None:
        return None
    module = parse_python(text)
    if isinstance(module, SourceProblem):
        return None
    return module


def new_only(
    found: Iterable[SourceProblem], before: Iterable[SourceProblem]
) -> list[SourceProblem]:
    """Return the problems that the previous version did not have.

    Problems are matched by text and number, because an edit moves their lines.
    """
    known: Counter[str] = Counter()
    for problem in before:
        known[problem.text] += 1
    kept = []
    for problem in found:
        if known[problem.text]:
            known[problem.text] -= 1
        else:
            kept.append(problem)
    return kept


def comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each comment up to the first tokenizer error."""
    read = io.StringIO(text).readline
    try:
        tokens = tokenize.generate_tokens(read)
        for token in tokens:
            if token.type == tokenize.COMMENT:
                line, _ = token.start
                yield line, token.string
    except (tokenize.TokenError, SyntaxError, ValueError, RecursionError, MemoryError):
        return


def nodes_of(tree: ast.AST, kind: type[Node]) -> Iterator[Node]:
    """Yield the nodes of one type in a tree."""
    for node in ast.walk(tree):
        if isinstance(node, kind):
            yield node


def names_in(*expressions: ast.expr) -> Iterator[str]:
    """Yield the names in some expressions."""
    for expression in expressions:
        for node in nodes_of(expression, ast.Name):
            yield node.id


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a scope, but not those of functions and classes inside it."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, Definition | ast.Lambda):
            continue
        waiting.extend(ast.iter_child_nodes(node))


def definitions(module: ast.Module) -> Iterator[Defined]:
    """Yield the functions and classes of a module, nested ones included."""
    waiting: list[tuple[str, ast.AST, ast.ClassDef | None]]
    waiting = [("", node, None) for node in module.body]
    while waiting:
        prefix, node, owner = waiting.pop()
        children: Iterable[ast.AST] = ()
        if isinstance(node, Definition):
            name = prefix + node.name
            yield Defined(name, node, owner)
            prefix = f"{name}."
            owner = None
            if isinstance(node, ast.ClassDef):
                owner = node
            children = node.body
        elif isinstance(node, ast.stmt | ast.excepthandler):
            children = ast.iter_child_nodes(node)
        for child in children:
            entry = (prefix, child, owner)
            waiting.append(entry)


def dotted(node: ast.expr) -> str:
    """Return `a.b.c` for a name with a few attributes, empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        if len(parts) == DOTS_LIMIT:
            return ""
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    parts.append(node.id)
    parts.reverse()
    return ".".join(parts)


def last_name(node: ast.expr) -> str:
    """Return the last part of a name, also of an attribute of a call."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def top_name(name: str) -> str:
    """Return the first part of a dotted name."""
    first, _, _ = name.partition(".")
    return first


def without_call(node: ast.expr) -> ast.expr:
    """Return the function of a call, and any other expression unchanged."""
    if isinstance(node, ast.Call):
        return node.func
    return node


def literal_text(node: ast.AST) -> str | None:
    """Return the value of a string literal."""
    match node:
        case ast.Constant(value=str(text)):
            return text
    return None


def keyword_value(call: ast.Call, name: str) -> object:
    """Return the literal that a call passes by keyword, None for anything else."""
    for keyword in call.keywords:
        match keyword:
            case ast.keyword(arg=given, value=ast.Constant(value=value)):
                if given == name:
                    return value
    return None


def is_bare_constant(node: ast.stmt) -> bool:
    """Tell whether a statement is only a literal, such as `...` or a docstring."""
    match node:
        case ast.Expr(value=ast.Constant()):
            return True
    return False


def is_docstring(node: ast.stmt) -> bool:
    """Tell whether a statement is only a string."""
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
    return False


def without_docstrings(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a body that are not docstrings."""
    return [node for node in body if not is_docstring(node)]
