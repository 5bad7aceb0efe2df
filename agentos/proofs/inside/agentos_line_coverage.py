"""Which lines of a few declared files were executed; runs inside the target's own interpreter, standard library only.

Nothing can be excluded: neither a comment nor a configuration file of the repository takes a line out of the count.
What is imported or named under `if TYPE_CHECKING:` alone does not count, for it is never meant to run. Code that runs
in a child process is not seen.
"""

from __future__ import annotations

import ast
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple


class Statements:
    """The statements of one file, and the statement that each of its lines belongs to."""

    def __init__(self, source: bytes, name: str) -> None:
        tree = ast.parse(source, name)
        self.first_line: dict[int, int] = {}
        uncounted: set[int] = set()
        for node in _in_order(tree):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                uncounted.add(node.lineno)
            if isinstance(node, ast.If) and _is_for_type_checkers(node):
                uncounted.update(inner.lineno for inner in node.body)
            for line in range(*_header(node)):
                self.first_line[line] = node.lineno
        compiled = _lines(compile(source, name, "exec", dont_inherit=True))
        self.lines = {self.first_line[line] for line in compiled if line in self.first_line} - uncounted


def _in_order(tree: ast.AST) -> Any:
    """Yield the nodes that hold statements, the outer ones first, so that an inner one has the last word on a line."""
    waiting = deque([tree])
    while waiting:
        node = waiting.popleft()
        waiting.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))
        if isinstance(node, (ast.stmt, ast.ExceptHandler)):
            yield node


def _is_for_type_checkers(node: ast.If) -> bool:
    """Tell whether a block is read by type checkers alone and holds nothing but names for them."""
    name = getattr(node.test, "attr", None) or getattr(node.test, "id", None)
    harmless = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.Pass)
    return name == "TYPE_CHECKING" and all(isinstance(inner, harmless) for inner in node.body)


def _header(node: Any) -> tuple[int, int]:
    """Return the range of lines of a statement without the statements in its body."""
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno] + [decorator.lineno for decorator in decorators])
    body = getattr(node, "body", None)
    if not isinstance(body, list) or not body:
        return first, (node.end_lineno or node.lineno) + 1
    inner = min([body[0].lineno] + [each.lineno for each in getattr(body[0], "decorator_list", [])])
    return first, max(inner, node.lineno + 1)


def _lines(code: CodeType) -> set[int]:
    """Return the lines that a code object and all within it have instructions for."""
    found: set[int] = set()
    waiting = [code]
    while waiting:
        each = waiting.pop()
        if hasattr(each, "co_lines"):
            found.update(line for _, _, line in each.co_lines() if line)
        else:
            import dis

            found.update(line for _, line in dis.findlinestarts(each) if line)
        waiting.extend(constant for constant in each.co_consts if isinstance(constant, CodeType))
    return found


class LineCoverage(NamedTuple):
    """What follows the declared files alone, and what they are; nothing of it can be exchanged for something else."""

    statements: dict[str, Statements]
    unreadable: dict[str, str]
    arm: Callable[[], None]
    disarm: Callable[[], None]
    executed: Callable[[], dict[str, list[int]]]


def follow_lines(folder: str, files: list[str]) -> LineCoverage:
    """Read the declared files, and return what follows their lines."""
    statements: dict[str, Statements] = {}
    unreadable: dict[str, str] = {}
    declared: dict[str, str] = {}
    for name in files:
        path = str(Path(folder, name).resolve())
        declared[path] = name
        try:
            with open(path, "rb") as file:
                statements[name] = Statements(file.read(), name)
        except (OSError, ValueError, SyntaxError, RecursionError, MemoryError) as error:
            unreadable[name] = str(getattr(error, "strerror", None) or f"{type(error).__name__}: {error}")
    # What was seen is in no attribute of any object, and all that holds it is made before any code is loaded: the
    # garbage collector is told to hand out nothing of that. Code in the same process can get at it all the same, which
    # is why sources that reach for trace functions or for objects that are not theirs are refused before they run.
    seen: dict[str, set[int]] = {name: set() for name in files}
    arm, disarm = _make_tracer(declared, {name: _make_follower(lines) for name, lines in seen.items()})
    return LineCoverage(statements, unreadable, arm, disarm, _make_account(statements, seen))


def _make_follower(seen: set[int]) -> Callable[..., Any]:
    """Return the trace function of the frames of one file."""
    add = seen.add

    def follow(frame: FrameType, event: str, _argument: object) -> Any:
        if event == "line":
            add(frame.f_lineno)
        return follow

    return follow


def _make_tracer(
    declared: dict[str, str], followers: dict[str, Callable[..., Any]]
) -> tuple[Callable[[], None], Callable[[], None]]:
    """Return what starts to follow the declared files, and what ends it."""
    known: dict[str, Any] = {}
    # Taken now: a test may well replace any of them while it runs.
    real_path, get, put, put_for_threads = os.path.realpath, sys.gettrace, sys.settrace, threading.settrace

    def enter(frame: FrameType, _event: str, _argument: object) -> Any:
        name = frame.f_code.co_filename
        try:
            return known[name]
        except KeyError:
            found = known[name] = followers.get(declared.get(real_path(name), ""))
            return found

    def arm() -> None:
        """Follow from here on, also when a test has set a trace function of its own meanwhile."""
        if followers and get() is not enter:
            put(enter)
            put_for_threads(enter)

    def disarm() -> None:
        if followers:
            put(None)
            put_for_threads(None)

    return arm, disarm


def _make_account(statements: dict[str, Statements], seen: dict[str, set[int]]) -> Callable[[], dict[str, list[int]]]:
    """Return what tells the first lines of the statements that ran, file by file."""
    of_file = {name: (dict(each.first_line), frozenset(each.lines)) for name, each in statements.items()}

    def executed() -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for name, (first_line, lines) in of_file.items():
            ran = {first_line.get(line, 0) for line in list(seen[name])}
            found[name] = sorted(ran & lines)
        return found

    return executed
