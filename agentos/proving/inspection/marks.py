"""Tell which marks may keep a test from running somewhere else.

A mark says where a test can run. One that a repository uses already, or one about the
platform or an optional dependency that is declared, is fine as long as the test runs
here, which the proof by running it shows.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agentos.proving.inspection.parsing import (
    Names,
    dotted,
    last_name,
    nodes_of,
    parse_base,
)

_CONDITIONAL = frozenset({"skipif", "skipIf", "skipUnless"})
_PLATFORM_NAMES = """
sys.platform sys.version_info sys.implementation.name sys.maxsize os.name platform.system platform.machine
platform.python_implementation sys.platform.startswith hasattr
"""
_PLATFORM = frozenset(_PLATFORM_NAMES.split())
_ROOTS = frozenset({"sys", "os", "platform", "hasattr"})


def conditions(text: str | None) -> Names:
    """Return the conditions under which the tests of a file are skipped already."""
    module = parse_base(text)
    if module is None:
        return frozenset()
    return frozenset(_conditions(module))


def condition_of_import(module: str) -> str:
    """Return the condition under which a test is skipped without a module."""
    name = ast.Constant(module)
    return f"importorskip({ast.dump(name)})"


def _conditions(module: ast.Module) -> Iterator[str]:
    for call in nodes_of(module, ast.Call):
        if _is_conditional(call) or last_name(call.func) == "importorskip":
            yield _condition(call)


def allowed_marks(module: ast.Module, known: Names) -> set[ast.expr]:
    """Return the functions of the calls in a file that may skip tests elsewhere;
    `known` are the conditions that the repository uses.
    """
    allowed: set[ast.expr] = set()
    for call in nodes_of(module, ast.Call):
        if _condition(call) in known or (
            _is_conditional(call) and _is_about_platform(call)
        ):
            allowed.add(call.func)
    return allowed


def _is_conditional(call: ast.Call) -> bool:
    return last_name(call.func) in _CONDITIONAL


def _condition(call: ast.Call) -> str:
    """Return what decides whether a test is skipped, without the reason."""
    if not call.args:
        return ""
    name = last_name(call.func)
    return f"{name}({ast.dump(call.args[0])})"


def _is_about_platform(call: ast.Call) -> bool:
    """Tell whether a condition compares the platform with literals, and nothing else."""
    is_about = False
    if not call.args:
        return False
    for part in ast.walk(call.args[0]):
        match part:
            case ast.Name(id=name):
                if name not in _ROOTS:
                    return False
                is_about = True
            case ast.Attribute():
                name = dotted(part)
                if not any(each.startswith(name) for each in _PLATFORM):
                    return False
            case ast.NamedExpr() | ast.Lambda():
                return False
    return is_about
