"""Which lines of a few declared files were executed; runs inside the target's own interpreter, standard library only.

Nothing can be excluded: neither a comment nor a configuration file of the repository takes a line out of the count.
Code that runs in a child process is not seen.
"""

from __future__ import annotations

import ast
import os
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType
from typing import Any


class Statements:
    """The statements of one file, and the statement that each of its lines belongs to."""

    def __init__(self, source: bytes, name: str) -> None:
        tree = ast.parse(source, name)
        self.first_line: dict[int, int] = {}
        constants: set[int] = set()
        for node in _in_order(tree):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                constants.add(node.lineno)
            for line in range(*_header(node)):
                self.first_line[line] = node.lineno
        compiled = _lines(compile(source, name, "exec", dont_inherit=True))
        self.lines = {self.first_line[line] for line in compiled if line in self.first_line} - constants


def _in_order(tree: ast.AST) -> Any:
    """Yield the nodes that hold statements, the outer ones first, so that an inner one has the last word on a line."""
    waiting = [tree]
    while waiting:
        node = waiting.pop(0)
        waiting.extend(ast.iter_child_nodes(node))
        if isinstance(node, (ast.stmt, ast.ExceptHandler)):
            yield node


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


class LineCoverage:
    """A trace function that follows the declared files alone."""

    def __init__(self, folder: str, files: list[str]) -> None:
        self.statements: dict[str, Statements] = {}
        self.unreadable: dict[str, str] = {}
        self._declared: dict[str, str] = {}
        self._known: dict[str, set[int] | None] = {}
        self._seen: dict[str, set[int]] = {name: set() for name in files}
        for name in files:
            path = str(Path(folder, name).resolve())
            self._declared[path] = name
            try:
                with open(path, "rb") as file:
                    self.statements[name] = Statements(file.read(), name)
            except (OSError, ValueError, SyntaxError, RecursionError, MemoryError) as error:
                self.unreadable[name] = str(getattr(error, "strerror", None) or f"{type(error).__name__}: {error}")

    def arm(self) -> None:
        """Follow from here on, also when a test has set a trace function of its own meanwhile."""
        if self._seen and sys.gettrace() != self._enter:
            sys.settrace(self._enter)
            threading.settrace(self._enter)

    def disarm(self) -> None:
        """Follow no more."""
        if self._seen:
            sys.settrace(None)
            threading.settrace(None)

    def executed(self) -> dict[str, list[int]]:
        """Return the first lines of the statements that ran, file by file."""
        found: dict[str, list[int]] = {}
        for name, statements in self.statements.items():
            ran = {statements.first_line.get(line, 0) for line in list(self._seen[name])}
            found[name] = sorted(ran & statements.lines)
        return found

    def _enter(self, frame: FrameType, _event: str, _argument: object) -> Any:
        name = frame.f_code.co_filename
        try:
            seen = self._known[name]
        except KeyError:
            seen = self._known[name] = self._seen.get(self._declared.get(os.path.realpath(name), ""))
        if seen is None:
            return None
        add = seen.add

        def follow(frame: FrameType, event: str, _argument: object) -> Any:
            if event == "line":
                add(frame.f_lineno)
            return follow

        return follow
