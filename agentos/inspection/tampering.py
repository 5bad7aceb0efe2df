"""Find code under test that reaches for what judges it: the test runner, the reporter, the trace of its lines.

Reading is the first of two layers. What it cannot see, such as a name that is put together while the code runs, the
reporter looks for inside the test run, where it holds what decides an outcome against what that was at the start.
Neither layer is complete: code that runs in one process with its judge can always be written to deceive one of them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from agentos.inspection.parsing import Problem, dotted, parse_python

RUNNERS = frozenset({"pytest", "_pytest", "pluggy"})
REPORTERS = frozenset(
    ["agentos_exceptions", "agentos_guard", "agentos_line_coverage", "agentos_pytest_report", "agentos_start"],
)
"""The modules that are loaded beside the tests; nothing else in a repository has their names."""

_IMPORTERS = frozenset({"import_module", "__import__", "resolve_name", "run_module", "reload"})
_FINDER_NAMES = "get_objects get_referrers get_referents unfreeze"
_TRACER_NAMES = """
sys.settrace sys.setprofile sys.gettrace sys.getprofile sys.monitoring threading.settrace threading.setprofile
threading.gettrace threading.getprofile threading.settrace_all_threads threading.setprofile_all_threads
"""
_JUDGES = frozenset({*(f"gc.{name}" for name in _FINDER_NAMES.split()), *_TRACER_NAMES.split()})
_FRAME_TRACES = frozenset({"f_trace", "f_trace_lines", "f_trace_opcodes"})
_EXECUTORS = frozenset({"exec", "eval", "compile", "builtins.exec", "builtins.eval", "builtins.compile"})
_ENTRY_POINT = "pytest11"
_PROJECT_FILES = ("pyproject.toml", "setup.cfg", "setup.py")
_REMEDY = "remove it; only tests may use it, and a repository whose project declares the entry point `pytest11`"


def extends_pytest(read: Callable[[str], str | None]) -> bool:
    """Tell whether a repository is a plugin of pytest; `read` returns its text of a path before any change."""
    return any(_ENTRY_POINT in (read(path) or "") for path in _PROJECT_FILES)


def tampering(module: ast.Module) -> list[Problem]:
    """Return where a module reaches for what judges it, other than by naming the test runner."""
    return [problem for problem, runner in _findings(module) if not runner]


def runner_uses(module: ast.Module) -> list[Problem]:
    """Return where a module names the test runner, which is natural in plugins and in tests alone."""
    return [problem for problem, runner in _findings(module) if runner]


def _findings(module: ast.Module, depth: int = 0) -> Iterator[tuple[Problem, bool]]:
    """Yield what a module reaches for, and whether that is the test runner."""
    origins = _origins(module)
    for node in ast.walk(module):
        for name in _modules_named(node, origins):
            yield from _of_module(node, name)
        yield from ((problem, False) for problem in _of_attribute(node, origins))
        if depth == 0 and (text := _executed(node, origins)):
            inner = parse_python(text)
            for problem, runner in _findings(inner, 1) if isinstance(inner, ast.Module) else ():
                yield Problem(_line(node), problem.text), runner


def _of_module(node: ast.AST, name: str) -> Iterator[tuple[Problem, bool]]:
    top = name.partition(".")[0]
    if top in RUNNERS:
        called = "pytest" if top != "pluggy" else top
        yield Problem(_line(node), f"imports {called} outside the tests (`{name[:60]}`); {_REMEDY}"), True
    elif top in REPORTERS:
        yield Problem(_line(node), f"`{top}` reports how the tests went; code may not reach for it; remove it"), False


def _of_attribute(node: ast.AST, origins: dict[str, str]) -> Iterator[Problem]:
    if isinstance(node, ast.Attribute) and node.attr in _FRAME_TRACES:
        yield Problem(node.lineno, f"`{node.attr}` is how the lines that ran are counted; do without it")
        return
    name = _accessed(node, origins)
    if name.startswith("gc."):
        yield Problem(_line(node), f"`{name}` finds objects that are not the code's own; hold on to what it needs")
    elif name:
        yield Problem(_line(node), f"`{name}` is how the lines that ran are counted; do without it")


def _accessed(node: ast.AST, origins: dict[str, str]) -> str:
    """Return the thing of `_JUDGES` that a node names, however it was imported; empty when it names none."""
    if isinstance(node, ast.ImportFrom) and not node.level:
        names = [f"{node.module}.{alias.name}" for alias in node.names]
        return next((name for name in names if name in _JUDGES), "")
    if isinstance(node, ast.Attribute):
        name = _origin(node, origins)
        return name if name in _JUDGES else ""
    if isinstance(node, ast.Call) and dotted(node.func) == "getattr" and len(node.args) >= 2:
        name = f"{_origin(node.args[0], origins)}.{_literal(node.args[1])}"
        return name if name in _JUDGES else ""
    return ""


def _modules_named(node: ast.AST, origins: dict[str, str]) -> Iterator[str]:
    """Yield the modules that a node imports, or takes from those that are loaded."""
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=str(name), level=0):
            yield name
        case ast.Call(func=func, args=[first, *_]) if _origin(func, origins).rpartition(".")[2] in _IMPORTERS:
            yield _literal(first).replace(":", ".")
        case ast.Call(func=ast.Attribute(value=where), args=[first, *_]) if _is_modules(where, origins):
            yield _literal(first)
        case ast.Subscript(value=where, slice=key) if _is_modules(where, origins):
            yield _literal(key)
        case _:
            return


def _is_modules(node: ast.expr, origins: dict[str, str]) -> bool:
    return _origin(node, origins) == "sys.modules"


def _executed(node: ast.AST, origins: dict[str, str]) -> str:
    """Return the literal text that a call runs as code."""
    if isinstance(node, ast.Call) and node.args and _origin(node.func, origins) in _EXECUTORS:
        return _literal(node.args[0])
    return ""


def _origins(module: ast.Module) -> dict[str, str]:
    """Return what the names stand for that a module imports: `{"find": "gc.get_objects"}`."""
    found: dict[str, str] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            found |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return found


def _origin(node: ast.expr, origins: dict[str, str]) -> str:
    """Return the full name of what an expression names, through what the module calls it."""
    first, dot, rest = dotted(node).partition(".")
    return f"{origins.get(first, first)}{dot}{rest}"


def _literal(node: ast.expr) -> str:
    """Return the text of a literal, also of one that is put together with `+`; empty for anything else."""
    parts: list[str] = []
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add):
            waiting += [part.right, part.left]
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            parts.append(part.value)
        else:
            return ""
    return "".join(parts)


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 1))
