"""Tell which functions of a test file use the code under test."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from agentos.proving.inspection.collection import argument_names
from agentos.proving.inspection.parsing import (
    Function,
    Names,
    literal_text,
    names_in,
    nodes_of,
    top_name,
)

_SEPARATOR = re.compile(r"[^\w.-]+")
_SUPPORT = ("tests", "test", "conftest", "testing")
_FIXTURE_NAMES = """
capfd capfdbinary caplog capsys capsysbinary cache doctest_namespace monkeypatch mocker pytestconfig record_property
recwarn request tmp_path tmp_path_factory tmpdir self cls subtests benchmark faker freezer event_loop testdir pytester
"""
_PYTEST_FIXTURES = frozenset(_FIXTURE_NAMES.split())


def uses_code(
    module: ast.Module, packages: Names, subjects: Names = frozenset()
) -> Callable[[Function], bool]:
    """Return a predicate: does a function name something of the packages, or something
    that may lead there? `subjects` are other things under test, such as a command or a
    page of the documentation, by the word that names them.

    What cannot be seen from this file gets the benefit of the doubt: support modules of
    the tests, fixtures that are defined elsewhere, and packages that are named in a
    string, as commands and patches do.
    """
    words = _Words(frozenset(map(top_name, packages)), subjects)
    names = _names_of(module, packages, words)
    known = _parametrized(module)
    known |= _PYTEST_FIXTURES
    for node in ast.walk(module):
        if isinstance(node, Function):
            known.add(node.name)

    def touches(function: Function) -> bool:
        if "*" in names:
            return True
        if function.name.startswith("test"):
            fixtures = argument_names(function)
            if not fixtures <= known:
                return True
        return any(_is_touch(node, names, words) for node in ast.walk(function))

    return touches


def imported(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield each name that a node imports and its module, `.` for a relative import."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            name = alias.asname or top_name(alias.name)
            yield name, alias.name
    elif isinstance(node, ast.ImportFrom):
        origin = node.module or ""
        if node.level:
            origin = "."
        for alias in node.names:
            name = alias.asname or alias.name
            yield name, origin


def _is_touch(node: ast.AST, names: Names, words: _Words) -> bool:
    match node:
        case ast.Name(id=name):
            return name in names
        case ast.Constant():
            return words.are_in(node)
    for _, origin in imported(node):
        if origin == ".":
            return True
        if top_name(origin) in words.packages:
            return True
    return False


class _Words(NamedTuple):
    """The words that name what is under test in a string."""

    packages: Names
    subjects: Names

    def are_in(self, node: ast.AST) -> bool:
        """Tell whether a node is a string with one of them."""
        text = literal_text(node) or ""
        if any(package in text for package in self.packages):
            return True
        return not self.subjects.isdisjoint(_SEPARATOR.split(text))


def _leads_there(value: ast.expr, names: set[str], words: _Words) -> bool:
    """Tell whether an expression uses one of the names, or one of the words in a
    string.
    """
    if not names.isdisjoint(names_in(value)):
        return True
    return any(map(words.are_in, ast.walk(value)))


def _names_of(module: ast.Module, packages: Names, words: _Words) -> Names:
    """Return the names in a file that lead to the packages; `*` for all of them."""
    names: set[str] = set()
    known = {"."}
    known.update(packages, _SUPPORT)
    for node in ast.walk(module):
        for name, origin in imported(node):
            if origin in known or top_name(origin) in known:
                names.add(name)
    for statement in module.body:
        # A constant that is computed with the code under test leads there too.
        match statement:
            case ast.Assign(targets=targets, value=value):
                pass
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                targets = [target]
            case _:
                continue
        if _leads_there(value, names, words):
            names.update(names_in(*targets))
    return frozenset(names)


def _parametrized(module: ast.Module) -> set[str]:
    """Return the parameters that get their values from decorators, not from
    fixtures.
    """
    found: set[str] = set()
    for node in nodes_of(module, ast.Call):
        match node:
            case ast.Call(func=ast.Attribute(attr="parametrize"), args=[first, *_]):
                for part in ast.walk(first):
                    names = literal_text(part) or ""
                    for name in names.split(","):
                        found.add(name.strip())
            case ast.Call(func=ast.Name(id="given"), keywords=keywords):
                for keyword in keywords:
                    found.add(keyword.arg or "")
    return found
