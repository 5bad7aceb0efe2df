"""Find code under test that accesses what judges it: the test runner, the reporter, the
line tracer.

Reading the source is the first of two layers. It cannot see a name that is computed at
run time; so inside the test run a guard compares the functions that decide an outcome
with those of the start. Neither layer is complete: code that runs in one process with
its judge can always be written to deceive one of them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from agentos.proving.inspection.parsing import (
    SourceProblem,
    dotted,
    parse_python,
    top_name,
)

RUNNERS = frozenset({"pytest", "_pytest", "pluggy"})
REPORTERS = frozenset(
    [
        "agentos_child_lines",
        "agentos_exceptions",
        "agentos_guard",
        "agentos_line_coverage",
        "agentos_pytest_report",
        "agentos_run_tests",
        "agentos_start",
    ],
)
"""The modules that are loaded next to the tests."""
_IN_CHILDREN = "sitecustomize"
"""The module that is loaded in the processes that tests start."""

_IMPORTERS = frozenset(
    {"import_module", "__import__", "resolve_name", "run_module", "reload"}
)
_FINDER_NAMES = "gc.get_objects gc.get_referrers gc.get_referents gc.unfreeze"
_TRACER_NAMES = """
sys.settrace sys.setprofile sys.gettrace sys.getprofile sys.monitoring threading.settrace threading.setprofile
threading.gettrace threading.getprofile threading.settrace_all_threads threading.setprofile_all_threads
"""
_JUDGES = frozenset({*_FINDER_NAMES.split(), *_TRACER_NAMES.split()})
_FRAME_TRACES = frozenset({"f_trace", "f_trace_lines", "f_trace_opcodes"})
_EXECUTORS = frozenset(
    {"exec", "eval", "compile", "builtins.exec", "builtins.eval", "builtins.compile"}
)
_ENTRY_POINT = "pytest11"
_PROJECT_FILES = ("pyproject.toml", "setup.cfg", "setup.py")
_REMEDY = (
    "remove it; only tests may use it, and a repository whose project declares the"
    " entry point `pytest11`"
)

Origins = dict[str, str]
"""The full name behind each imported name: `{"find": "gc.get_objects"}`."""


def extends_pytest(read: Callable[[str], str | None]) -> bool:
    """Tell whether a repository is a plugin of pytest; `read` returns the text of a
    file before any change.
    """
    for path in _PROJECT_FILES:
        text = read(path)
        if text and _ENTRY_POINT in text:
            return True
    return False


def tampering(module: ast.Module) -> list[SourceProblem]:
    """Return where a module accesses what judges it, other than by naming the test
    runner.
    """
    return [problem for problem, is_runner in _findings(module) if not is_runner]


def runner_uses(module: ast.Module) -> list[SourceProblem]:
    """Return where a module names the test runner, as only plugins and tests should."""
    return [problem for problem, is_runner in _findings(module) if is_runner]


def _findings(
    module: ast.Module, is_nested: bool = False
) -> Iterator[tuple[SourceProblem, bool]]:
    """Yield the problems of a module, and whether each is a use of the test runner."""
    origins = read_origins(module)
    for node in ast.walk(module):
        line = getattr(node, "lineno", 1)
        for name in _modules_named(node, origins):
            if top_name(name) in RUNNERS:
                yield SourceProblem(line, _runner_reason(name)), True
            elif top_name(name) in (*REPORTERS, _IN_CHILDREN):
                yield SourceProblem(line, _reporter_reason(name)), False
        reason = _access_reason(node, origins)
        if reason:
            yield SourceProblem(line, reason), False
        if is_nested:
            continue
        text = _executed(node, origins)
        inner = parse_python(text) if text else None
        if isinstance(inner, ast.Module):
            for problem, is_runner in _findings(inner, is_nested=True):
                yield SourceProblem(line, problem.text), is_runner


def _runner_reason(name: str) -> str:
    runner = "pluggy" if top_name(name) == "pluggy" else "pytest"
    return f"imports {runner} outside the tests (`{name[:60]}`); {_REMEDY}"


def _reporter_reason(name: str) -> str:
    what = f"`{top_name(name)}` reports how the tests went"
    return f"{what}; code may not reach for it; remove it"


def _access_reason(node: ast.AST, origins: Origins) -> str:
    name = ""
    match node:
        case ast.Attribute(attr=attribute) if attribute in _FRAME_TRACES:
            name = attribute
        case ast.Attribute() | ast.ImportFrom() | ast.Call():
            name = _accessed(node, origins)
    if name.startswith("gc."):
        what = f"`{name}` finds objects that are not the code's own"
        return f"{what}; hold on to what it needs"
    if name:
        return f"`{name}` is how the lines that ran are counted; do without it"
    return ""


def _accessed(node: ast.AST, origins: Origins) -> str:
    """Return the name in `_JUDGES` that a node stands for, however it was imported."""
    names: list[str] = []
    match node:
        case ast.ImportFrom(module=module, names=aliases, level=0):
            names += [f"{module}.{alias.name}" for alias in aliases]
        case ast.Attribute():
            names.append(full_name(node, origins))
        case ast.Call(func=ast.Name(id="getattr"), args=[value, attribute, *_]):
            owner = full_name(value, origins)
            names.append(f"{owner}.{composed_text(attribute)}")
    for name in names:
        if name in _JUDGES:
            return name
    return ""


def _modules_named(node: ast.AST, origins: Origins) -> Iterator[str]:
    """Yield the modules that a node imports or takes from `sys.modules`."""
    match node:
        case ast.Import(names=names):
            for alias in names:
                yield alias.name
        case ast.ImportFrom(module=str(name), level=0):
            yield name
        case ast.Call(func=function, args=[first, *_]):
            called = full_name(function, origins)
            if called.rpartition(".")[2] in _IMPORTERS:
                yield composed_text(first).replace(":", ".")
            elif _is_method_of_modules(function, origins):
                yield composed_text(first)
        case ast.Subscript(value=value, slice=key):
            if _is_modules(value, origins):
                yield composed_text(key)


def _is_modules(node: ast.expr, origins: Origins) -> bool:
    return full_name(node, origins) == "sys.modules"


def _is_method_of_modules(node: ast.expr, origins: Origins) -> bool:
    return isinstance(node, ast.Attribute) and _is_modules(node.value, origins)


def _executed(node: ast.AST, origins: Origins) -> str:
    """Return the literal text that a call runs as code."""
    match node:
        case ast.Call(func=function, args=[first, *_]):
            if full_name(function, origins) in _EXECUTORS:
                return composed_text(first)
    return ""


def read_origins(module: ast.Module) -> Origins:
    found: Origins = {}
    for node in ast.walk(module):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    if alias.asname:
                        found[alias.asname] = alias.name
            case ast.ImportFrom(module=origin, names=names, level=0):
                for alias in names:
                    name = alias.asname or alias.name
                    found[name] = f"{origin}.{alias.name}"
    return found


def full_name(node: ast.expr, origins: Origins) -> str:
    """Return the full name behind an expression."""
    first, dot, rest = dotted(node).partition(".")
    first = origins.get(first, first)
    return f"{first}{dot}{rest}"


def composed_text(node: ast.expr) -> str:
    """Return the text of a literal, also of one that is composed with `+`; empty for
    anything else.
    """
    parts: list[str] = []
    waiting = [node]
    while waiting:
        part = waiting.pop()
        match part:
            case ast.Constant(value=str(text)):
                parts.append(text)
            case ast.BinOp(op=ast.Add()):
                waiting.append(part.right)
                waiting.append(part.left)
            case _:
                return ""
    return "".join(parts)
