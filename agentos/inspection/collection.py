"""Find the tests in a file as pytest would, and what they reach in it: helpers, fixtures, methods."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from agentos.inspection.parsing import Function, dotted, last_name, own_nodes

_AUTOUSE = "*"
_BASES_LIMIT = 20
_SETUP = frozenset({"setUp", "asyncSetUp", "setup_method", "setup", "setUpClass", "setup_class", "tearDown"})


@dataclass(frozen=True, slots=True)
class TestFunction:
    """A function that pytest would run."""

    __test__ = False

    name: str
    node: Function
    owner: str = ""
    """The class it is a method of."""
    marks: tuple[ast.expr, ...] = ()
    """Its decorators and those of its classes."""

    @property
    def key(self) -> str:
        """Its name in the graph of the file's functions."""
        return f"{self.owner}.{self.node.name}" if self.owner else self.node.name


@dataclass(slots=True)
class FileGraph:
    """The functions of a file and which of them use which; a class stands for all its methods."""

    functions: dict[str, Function] = field(default_factory=dict)
    uses: dict[str, set[str]] = field(default_factory=dict)

    def reaching(self, has: Callable[[Function], bool]) -> frozenset[str]:
        """Return the functions that have something themselves or through one that they use."""
        users: dict[str, list[str]] = {}
        for user, used in self.uses.items():
            for name in used:
                users.setdefault(name, []).append(user)
        waiting = [name for name, node in self.functions.items() if has(node)]
        found = set(waiting)
        while waiting:
            for user in users.get(waiting.pop(), ()):
                if user not in found:
                    found.add(user)
                    waiting.append(user)
        return frozenset(found)


def collect_tests(module: ast.Module) -> list[TestFunction]:
    """Return the tests of a module in order."""
    return list(_collect(unfold(module.body), "", "", ()))


def build_graph(module: ast.Module) -> FileGraph:
    """Index every function of a file and what it uses by name, by `self`, and as a fixture."""
    graph = FileGraph()
    fixtures_for_all: set[str] = set()
    for owner, node in _scopes(module):
        key = f"{owner}.{node.name}" if owner else node.name
        graph.functions[key] = node
        uses = graph.uses.setdefault(key, set())
        uses |= _names_used(node, owner)
        uses |= {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}
        if owner:
            graph.uses.setdefault(owner, set()).add(key)
        if is_fixture(node) and _is_autouse(node):
            fixtures_for_all.add(key)
    for part in ast.walk(module):
        if isinstance(part, ast.ClassDef):
            _inherit(graph, part)
    graph.uses[_AUTOUSE] = fixtures_for_all
    for key in graph.functions:
        graph.uses[key].add(_AUTOUSE)
    return graph


def unfold(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements, and those that stand under a condition, in order."""
    waiting = list(body)[::-1]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If):
            waiting.extend([*node.body, *node.orelse][::-1])
        elif isinstance(node, ast.Try):
            inner = [part for handler in node.handlers for part in handler.body]
            waiting.extend([*node.body, *inner, *node.orelse, *node.finalbody][::-1])
        elif isinstance(node, ast.With | ast.AsyncWith):
            waiting.extend(node.body[::-1])
        else:
            yield node


def is_fixture(node: Function) -> bool:
    """Tell whether pytest takes a function for a fixture."""
    return any(last_name(m.func if isinstance(m, ast.Call) else m) == "fixture" for m in node.decorator_list)


def is_unittest(node: ast.ClassDef) -> bool:
    """Tell whether a class looks like one of unittest's."""
    return any(last_name(base).endswith("TestCase") for base in node.bases)


def _collect(body: Iterable[ast.stmt], prefix: str, owner: str, marks: tuple[ast.expr, ...]) -> Iterator[TestFunction]:
    for node in body:
        if isinstance(node, Function) and node.name.startswith("test") and not is_fixture(node):
            yield TestFunction(prefix + node.name, node, owner, (*node.decorator_list, *marks))
        elif isinstance(node, ast.ClassDef) and (node.name.startswith("Test") or is_unittest(node)):
            inner = (*node.decorator_list, *marks)
            yield from _collect(unfold(node.body), f"{prefix}{node.name}::", node.name, inner)


def _scopes(module: ast.Module) -> Iterator[tuple[str, Function]]:
    """Yield each function with the class it is a method of; functions in functions belong to their outer one."""
    waiting: list[tuple[str, ast.AST]] = [("", node) for node in module.body]
    while waiting:
        owner, node = waiting.pop()
        if isinstance(node, Function):
            yield owner, node
        elif isinstance(node, ast.ClassDef):
            waiting.extend((node.name, part) for part in node.body)
        elif isinstance(node, ast.stmt | ast.excepthandler):
            waiting.extend((owner, part) for part in ast.iter_child_nodes(node))


def _names_used(function: Function, owner: str) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif owner and isinstance(node, ast.Attribute) and dotted(node.value) in ("self", "cls"):
            found.add(f"{owner}.{node.attr}")
        elif isinstance(node, ast.Call) and last_name(node.func) == "usefixtures":
            found |= {arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)}
    return found


def _inherit(graph: FileGraph, node: ast.ClassDef) -> None:
    """Let methods reach those of the bases, and what runs before and after them."""
    own = {part.name for part in node.body if isinstance(part, Function)}
    for name in own:
        uses = graph.uses.setdefault(f"{node.name}.{name}", set())
        if name.startswith("test"):
            uses |= {f"{node.name}.{setup}" for setup in _SETUP & own}
        for base in node.bases[:_BASES_LIMIT]:
            uses |= {f"{dotted(base)}.{used.partition('.')[2]}" for used in uses if used.startswith(f"{node.name}.")}


def _is_autouse(node: Function) -> bool:
    return any(
        word.arg == "autouse" and isinstance(word.value, ast.Constant) and bool(word.value.value)
        for mark in node.decorator_list
        if isinstance(mark, ast.Call)
        for word in mark.keywords
    )


def assigned_names(function: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield each name that a scope binds, with its value where that is a plain assignment."""
    plain: set[int] = set()
    for node in own_nodes(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            plain.add(id(node.targets[0]))
            yield node.targets[0].id, node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            plain.add(id(node.target))
            yield node.target.id, node.value
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del) and id(node) not in plain:
            yield node.id, None
