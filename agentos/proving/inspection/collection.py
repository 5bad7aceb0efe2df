"""Find the tests in a file as pytest would, and the helpers, fixtures and methods they
use.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from agentos.proving.inspection.parsing import (
    Definition,
    Function,
    Names,
    dotted,
    keyword_value,
    last_name,
    literal_text,
    nodes_of,
    own_nodes,
    without_call,
)

_AUTOUSE = "*"
_BASES_LIMIT = 20
_SETUP = frozenset(
    {
        "setUp",
        "asyncSetUp",
        "setup_method",
        "setup",
        "setUpClass",
        "setup_class",
        "tearDown",
    }
)


Marks = tuple[ast.expr, ...]
Edges = Mapping[str, Iterable[str]]


@dataclass(frozen=True, slots=True)
class TestFunction:
    """A function that pytest would run."""

    __test__ = False

    name: str
    node: Function
    owner: str = ""
    """The class it is a method of."""
    marks: Marks = ()
    """Its decorators and those of its classes."""

    @property
    def key(self) -> str:
        """Return its name in the graph of the file's functions."""
        return _key(self.owner, self.node)


class FileGraph:
    """The functions of a file and the names each of them uses.

    A class is a node as well, which uses all its methods.
    """

    def __init__(self) -> None:
        self.functions: dict[str, Function] = {}
        self.uses: dict[str, set[str]] = {}

    def reaching(self, has: Callable[[Function], bool]) -> Names:
        """Return the functions for which `has` is true, and all that use them, directly
        or not.
        """
        users: dict[str, list[str]] = {}
        for user, used in self.uses.items():
            for name in used:
                known = users.setdefault(name, [])
                known.append(user)
        having = set()
        for name, node in self.functions.items():
            if has(node):
                having.add(name)
        found = reachable(having, users)
        return frozenset(found)


def reachable(start: set[str], edges: Edges) -> set[str]:
    """Return the nodes of a graph that can be reached from some of them."""
    found = set(start)
    waiting = list(start)
    while waiting:
        node = waiting.pop()
        for neighbor in edges.get(node, ()):
            if neighbor not in found:
                found.add(neighbor)
                waiting.append(neighbor)
    return found


def collect_tests(module: ast.Module) -> list[TestFunction]:
    """Return the tests of a module in order."""
    statements = unfold(module.body)
    tests = _collect(statements, "", "", ())
    return list(tests)


def build_graph(module: ast.Module) -> FileGraph:
    """Index every function of a file and what it uses by name, by `self`, and as a
    fixture.
    """
    graph = FileGraph()
    autouse = set()
    for owner, node in _functions(module):
        key = _key(owner, node)
        graph.functions[key] = node
        uses = graph.uses.setdefault(key, set())
        uses |= _names_used(node, owner)
        uses |= argument_names(node)
        if owner:
            methods = graph.uses.setdefault(owner, set())
            methods.add(key)
        if is_fixture(node) and _is_autouse(node):
            autouse.add(key)
    for part in nodes_of(module, ast.ClassDef):
        _inherit(graph, part)
    # All functions use the fixtures that apply to every test, through one node.
    graph.uses[_AUTOUSE] = autouse
    for key in graph.functions:
        uses = graph.uses[key]
        uses.add(_AUTOUSE)
    return graph


def unfold(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements in order, with those inside `if`, `try` and `with` blocks in
    place of the block.
    """
    waiting = list(body)
    waiting.reverse()
    while waiting:
        node = waiting.pop()
        inner: list[ast.stmt] = []
        match node:
            case ast.If():
                inner += node.body
                inner += node.orelse
            case ast.Try():
                inner += node.body
                for handler in node.handlers:
                    inner += handler.body
                inner += node.orelse
                inner += node.finalbody
            case ast.With() | ast.AsyncWith():
                inner += node.body
            case _:
                yield node
        waiting += reversed(inner)


def argument_names(function: Function) -> set[str]:
    """Return the parameters that pytest would fill with fixtures."""
    parameters = function.args
    names = set()
    named = parameters.args + parameters.kwonlyargs
    for parameter in named:
        names.add(parameter.arg)
    return names


def is_fixture(node: Function) -> bool:
    """Tell whether pytest treats a function as a fixture."""
    for mark in node.decorator_list:
        decorator = without_call(mark)
        name = last_name(decorator)
        if name == "fixture":
            return True
    return False


def is_unittest(node: ast.ClassDef) -> bool:
    """Tell whether a class looks like a unittest `TestCase`."""
    for base in node.bases:
        name = last_name(base)
        if name.endswith("TestCase"):
            return True
    return False


def assigned_names(scope: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield each name that a scope binds, with the value of a plain assignment."""
    plain = set()
    for node in own_nodes(scope):
        match node:
            case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
                pass
            case _:
                continue
        if isinstance(target, ast.Name):
            plain.add(target)
            yield target.id, node.value
    for name in nodes_of(scope, ast.Name):
        if name in plain:
            continue
        if not isinstance(name.ctx, ast.Load):
            yield name.id, None


def _key(owner: str, node: Function) -> str:
    if owner:
        return f"{owner}.{node.name}"
    return node.name


def _collect(
    body: Iterable[ast.stmt], prefix: str, owner: str, marks: Marks
) -> Iterator[TestFunction]:
    for node in body:
        if not isinstance(node, Definition):
            continue
        name = node.name
        own_marks = (*node.decorator_list, *marks)
        if isinstance(node, ast.ClassDef):
            if name.startswith("Test") or is_unittest(node):
                inner = unfold(node.body)
                inner_prefix = f"{prefix}{name}::"
                yield from _collect(inner, inner_prefix, name, own_marks)
        elif name.startswith("test") and not is_fixture(node):
            full_name = prefix + name
            yield TestFunction(full_name, node, owner, own_marks)


def _functions(module: ast.Module) -> Iterator[tuple[str, Function]]:
    """Yield each function with its class; nested functions are part of the outer
    one.
    """
    waiting: list[tuple[str, ast.AST]] = [("", module)]
    while waiting:
        owner, node = waiting.pop()
        children: Iterable[ast.AST] = ()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield owner, node
            case ast.ClassDef():
                owner = node.name
                children = node.body
            case ast.Module() | ast.stmt() | ast.excepthandler():
                children = ast.iter_child_nodes(node)
        for child in children:
            entry = (owner, child)
            waiting.append(entry)


def _names_used(function: Function, owner: str) -> set[str]:
    found = set()
    for node in ast.walk(function):
        match node:
            case ast.Name(id=name):
                found.add(name)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name) if owner:
                found.add(f"{owner}.{name}")
            case ast.Call(func=func, args=args) if last_name(func) == "usefixtures":
                for argument in args:
                    fixture = literal_text(argument)
                    found.add(fixture or "")
    return found


def _inherit(graph: FileGraph, node: ast.ClassDef) -> None:
    """Connect methods to those of the base classes, and tests to setup and teardown."""
    own = set()
    for part in node.body:
        if isinstance(part, Function):
            own.add(part.name)
    setups = _SETUP & own
    prefix = f"{node.name}."
    bases = node.bases[:_BASES_LIMIT]
    for name in own:
        key = prefix + name
        uses = graph.uses.setdefault(key, set())
        if name.startswith("test"):
            for setup in setups:
                uses.add(prefix + setup)
        for base in bases:
            inherited = f"{dotted(base)}."
            for used in list(uses):
                if used.startswith(prefix):
                    method = used.removeprefix(prefix)
                    uses.add(inherited + method)


def _is_autouse(node: Function) -> bool:
    for mark in node.decorator_list:
        if not isinstance(mark, ast.Call):
            continue
        if keyword_value(mark, "autouse"):
            return True
    return False
