"""Tell which functions of a test file use the code under test."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from agentos.inspection.parsing import Function

_SUPPORT = ("tests", "test", "conftest", "testing")
_FIXTURE_NAMES = """
capfd capfdbinary caplog capsys capsysbinary cache doctest_namespace monkeypatch mocker pytestconfig record_property
recwarn request tmp_path tmp_path_factory tmpdir self cls subtests benchmark faker freezer event_loop testdir pytester
"""
_PYTEST_FIXTURES = frozenset(_FIXTURE_NAMES.split())


def toucher(module: ast.Module, packages: frozenset[str]) -> Callable[[Function], bool]:
    """Return a judge of functions: does it name something of the packages, or something that may lead there?

    What cannot be seen from this file gets the benefit of the doubt: support modules of the tests, fixtures that are
    defined elsewhere, and packages that are named in a string, as commands and patches do.
    """
    names, imports_all = _names_of(module, packages)
    fixtures = {node.name for node in ast.walk(module) if isinstance(node, Function)} | _parametrized(module)
    words = frozenset(package.partition(".")[0] for package in packages)

    def touches(function: Function) -> bool:
        if imports_all:
            return True
        arguments = (*function.args.args, *function.args.kwonlyargs)
        unknown = {argument.arg for argument in arguments} - fixtures - _PYTEST_FIXTURES
        if unknown and function.name.startswith("test"):
            return True
        return any(_is_touch(node, names, words) for node in ast.walk(function))

    return touches


def _is_touch(node: ast.AST, names: frozenset[str], words: frozenset[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, ast.Import):
        return any(alias.name.partition(".")[0] in words for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return bool(node.level) or (node.module or "").partition(".")[0] in words
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return any(word in node.value for word in words)
    return False


def _names_of(module: ast.Module, packages: frozenset[str]) -> tuple[frozenset[str], bool]:
    names: set[str] = set()
    imports_all = False
    for node in ast.walk(module):
        for name, origin in imported(node):
            if origin == "." or origin in packages or origin.partition(".")[0] in (*packages, *_SUPPORT):
                imports_all = imports_all or name == "*"
                names.add(name)
    for statement in module.body:
        # A constant of the file that is made with the code under test leads there too.
        if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
            continue
        if any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(statement.value)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names |= {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    return frozenset(names), imports_all


def imported(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield each name that a node imports with the module that it is from, a dot for one of the same package."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0], alias.name
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name, "." if node.level else node.module or ""


def _parametrized(module: ast.Module) -> set[str]:
    """Return the arguments that parametrize gives, which are no fixtures."""
    found: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "parametrize":
            for part in ast.walk(node.args[0]) if node.args else ():
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    found |= {name.strip() for name in part.value.split(",")}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "given":
            found |= {word.arg for word in node.keywords if word.arg}
    return found
