"""Record which lines of the declared files are executed.

Runs inside the interpreter of the repository, with the standard library only. Nothing
can be excluded: neither a comment nor a configuration file of the repository takes a
line out of the count. Only imports and names under `if TYPE_CHECKING:` do not count,
because they are never meant to run. What runs in processes that the tests start counts
as well: they write their lines into a folder, which is read at the end.
"""

from __future__ import annotations

import ast
import dis
import os
import sys
import threading
from collections import deque
from pathlib import Path
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from agentos_child_lines import FILES, LINES, record_lines  # type: ignore[import-not-found]

_CHILDREN_LIMIT = 64_000_000
_PAIR_LIMIT = 30
_STATEMENT = (ast.stmt, ast.ExceptHandler)
_HARMLESS = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.Pass)
_UNREADABLE = (OSError, ValueError, SyntaxError, RecursionError, MemoryError)

# Python 3.8 cannot evaluate these.
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Switch = Callable[[], None]
    Numbers = set[int]
    """Numbers of lines."""
    Lines = dict[str, list[int]]
    """The lines of each file."""
    Reader = Callable[[Iterable[int]], list[int]]


class Statements:
    """The statements of one file, and for each line the statement it belongs to."""

    def __init__(self, source: bytes, name: str) -> None:
        self.first_line = {}
        self.lines = set()
        uncounted = set()
        tree = ast.parse(source, name)
        for node in _in_order(tree):
            for line in _never_run(node):
                uncounted.add(line)
            for line in _header(node):
                self.first_line[line] = node.lineno
        code = compile(source, name, "exec", dont_inherit=True)
        for line in _lines(code):
            first = self.first_line.get(line)
            if first is not None:
                self.lines.add(first)
        self.lines -= uncounted


def _in_order(tree: ast.AST) -> Any:
    """Yield the statements, the outer ones first, so that a line is assigned to the
    innermost one.
    """
    waiting = deque([tree])
    while waiting:
        node = waiting.popleft()
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.expr):
                waiting.append(child)
        if isinstance(node, _STATEMENT):
            yield node


def _never_run(node: Any) -> Iterator[int]:
    """Yield the lines of a statement that are not meant to run."""
    if isinstance(node, ast.Expr):
        if isinstance(node.value, ast.Constant):
            yield node.lineno
    elif isinstance(node, ast.If) and _is_for_type_checkers(node):
        for inner in node.body:
            yield inner.lineno


def _is_for_type_checkers(node: ast.If) -> bool:
    """Tell whether only type checkers read a block, and it only imports and names
    things.
    """
    test = node.test
    name = getattr(test, "attr", None)
    name = getattr(test, "id", name)
    if name != "TYPE_CHECKING":
        return False
    return all(isinstance(inner, _HARMLESS) for inner in node.body)


def _header(node: Any) -> range:
    """Return the lines of a statement without the statements in its body."""
    first = _first_line(node)
    end = node.end_lineno + 1
    body = getattr(node, "body", [])
    if body:
        # The body may begin on the line of the header.
        inner = _first_line(body[0])
        next_line = node.lineno + 1
        end = max(inner, next_line)
    return range(first, end)


def _first_line(node: Any) -> int:
    """Return the first line of a statement, its decorators included."""
    first = int(node.lineno)
    decorators = getattr(node, "decorator_list", [])
    for decorator in decorators:
        first = min(first, decorator.lineno)
    return first


def _lines(code: CodeType) -> Numbers:
    """Return the lines for which a code object and all within it have instructions."""
    found = set()
    waiting = [code]
    while waiting:
        each = waiting.pop()
        for _, line in dis.findlinestarts(each):
            # Instructions that belong to no line have None or 0.
            if line:
                found.add(line)
        for constant in each.co_consts:
            if not isinstance(constant, CodeType):
                continue
            waiting.append(constant)
    return found


class LineCoverage(NamedTuple):
    """The declared files and the functions that follow them; an immutable value, so
    that no test can replace a part of it.
    """

    statements: dict[str, Statements]
    unreadable: dict[str, str]
    arm: Switch
    disarm: Switch
    executed: Callable[[], Lines]


def follow_lines(folder: str, files: list[str], children: str) -> LineCoverage:
    """Read the declared files and prepare to record their lines; `children` is the
    folder into which the processes that tests start write theirs.
    """
    statements = {}
    unreadable = {}
    # The lines are in no attribute of any object, and everything that holds them is
    # made before any code is loaded, so that the garbage collector does not return it.
    # Code in the same process can still get at them, which is why sources that access
    # trace functions or foreign objects are refused before they run.
    followers = {}
    readers = {}
    for name in files:
        seen: Numbers = set()
        file = Path(folder, name).resolve()
        path = str(file)
        followers[path] = _make_follower(seen)
        try:
            source = file.read_bytes()
            statements[name] = Statements(source, name)
        except _UNREADABLE as error:
            unreadable[name] = _reason(error)
            continue
        readers[name] = _make_reader(statements[name], seen)

    read_children = _follow_children(children, list(followers))

    def executed() -> Lines:
        found = {}
        elsewhere = read_children()
        for number, name in enumerate(files):
            if name in readers:
                found[name] = readers[name](elsewhere.get(number, ()))
        return found

    arm, disarm = _make_tracer(followers)
    return LineCoverage(
        statements=statements,
        unreadable=unreadable,
        arm=arm,
        disarm=disarm,
        executed=executed,
    )


def _follow_children(folder: str, paths: list[str]) -> Callable[[], Any]:
    """Have the processes that tests start record the lines of some files; return the
    function that reads them, by the number of the file.
    """
    if not paths:
        return dict
    listed = "\n".join(paths)
    Path(folder, FILES).write_text(listed, "utf-8")
    target = str(Path(folder, LINES))
    if hasattr(os, "register_at_fork"):
        # A forked process has no start at which it could load anything.
        os.register_at_fork(after_in_child=lambda: record_lines(folder))
    # Looked up now: a test may replace any of them while it runs.
    open_file = os.open
    read = os.read
    close = os.close

    def read_lines() -> Any:
        try:
            descriptor = open_file(target, os.O_RDONLY)
        except OSError:
            return {}
        data = b""
        try:
            while len(data) < _CHILDREN_LIMIT:
                more = read(descriptor, 1_000_000)
                if not more:
                    break
                data += more
        finally:
            close(descriptor)
        return _parse_lines(data)

    return read_lines


def _parse_lines(data: bytes) -> Any:
    """Return lines by the number of their file, without what is no pair of numbers."""
    found: dict[int, Numbers] = {}
    for entry in set(data.split(b"\n")):
        numbers = entry.split(b" ")
        if len(numbers) != 2 or not all(map(bytes.isdigit, numbers)):
            continue
        if len(entry) > _PAIR_LIMIT:
            continue
        file, line = map(int, numbers)
        found.setdefault(file, set()).add(line)
    return found


def _reason(error: BaseException) -> str:
    reason = getattr(error, "strerror", None)
    if reason:
        return str(reason)
    kind = type(error).__name__
    return f"{kind}: {error}"


def _make_follower(seen: Numbers) -> Any:
    """Return the trace function for the frames of one file."""
    add = seen.add

    def follow(frame: FrameType, event: str, _argument: object) -> Any:
        if event == "line":
            add(frame.f_lineno)
        return follow

    return follow


def _make_tracer(followers: dict[str, Any]) -> tuple[Switch, Switch]:
    """Return the functions that start and stop the recording of some files, given the
    trace function for each path.
    """
    known: dict[str, Any] = {}
    # Looked up now: a test may replace any of them while it runs.
    real_path = os.path.realpath
    get = sys.gettrace
    put = sys.settrace
    put_for_threads = threading.settrace

    def enter(frame: FrameType, _event: str, _argument: object) -> Any:
        name = frame.f_code.co_filename
        try:
            return known[name]
        except KeyError:
            path = real_path(name)
            follower = followers.get(path)
            known[name] = follower
            return follower

    def arm() -> None:
        """Start, also when a test has set a trace function of its own meanwhile."""
        if followers and get() is not enter:
            put(enter)
            put_for_threads(enter)

    def disarm() -> None:
        if followers:
            put(None)
            put_for_threads(None)

    return arm, disarm


def _make_reader(statements: Statements, seen: Numbers) -> Reader:
    """Return a function that lists the first lines of the statements of a file that
    ran.
    """
    # Copied, so that a test cannot change them through the attributes.
    first_line = dict(statements.first_line)
    counted = frozenset(statements.lines)

    def read(elsewhere: Iterable[int]) -> list[int]:
        # Copied, because another thread may still run.
        lines = [*seen, *elsewhere]
        ran = map(first_line.get, lines)
        return sorted(counted.intersection(ran))

    return read
