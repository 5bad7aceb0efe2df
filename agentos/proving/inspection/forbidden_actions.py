"""Find what no test may do: skip itself, end the run, hide its failures, write outside
its temporary folder.
"""

from __future__ import annotations

import ast

from agentos.proving.inspection.marks import allowed_marks
from agentos.proving.inspection.parsing import (
    Names,
    Problems,
    SourceProblem,
    dotted,
    keyword_value,
    last_name,
    literal_text,
    without_call,
)

_CHECKS = frozenset(
    (
        "pytest.raises",
        "pytest.warns",
        "raises",
        "warns",
        "pytest.deprecated_call",
        "pytest.fail",
        "self.fail",
    )
)
_MARKS = frozenset({"skip", "skipif", "xfail"})
_SKIPPING = frozenset(
    {
        "pytest.skip",
        "pytest.xfail",
        "pytest.importorskip",
        "self.skipTest",
        "unittest.SkipTest",
    }
)
_UNITTEST_MARKS = frozenset(
    {
        "unittest.skip",
        "unittest.skipIf",
        "unittest.skipUnless",
        "unittest.expectedFailure",
    }
)
_UNITTEST_MARK_NAMES = frozenset(mark.partition(".")[2] for mark in _UNITTEST_MARKS)
_EXITS = frozenset({"sys.exit", "os._exit", "os.abort", "exit", "quit", "pytest.exit"})
_BROAD = frozenset(
    {"Exception", "BaseException", "AssertionError", "builtins.Exception"}
)
_WRITER_NAMES = (
    "write_text write_bytes mkdir unlink touch rmdir rename replace symlink_to chmod"
)
_WRITERS = frozenset(_WRITER_NAMES.split())
_FILE_CALL_NAMES = """
os.remove os.unlink os.rmdir os.mkdir os.makedirs os.rename os.replace os.symlink os.chmod os.truncate shutil.rmtree
shutil.copy shutil.copyfile shutil.move
"""
_FILE_CALLS = frozenset(_FILE_CALL_NAMES.split())
_ELSEWHERE = frozenset({"chdir", "isolated_filesystem", "makepyfile", "runpytest"})


_OWN_PROCESS = frozenset({"os.getpid", "os.getppid", "os.getpgrp", "os.getpgid"})
_CHECK_PREFIXES = ("assert", "check_", "verify_", "expect_")
_HOMES = frozenset({"Path.home", "pathlib.Path.home", "os.path.expanduser"})


def forbidden_actions(module: ast.Module, known: Names = frozenset()) -> Problems:
    """Yield everything in a test file that makes its result unreliable; `known` are the
    conditions under which tests of the repository are skipped already.
    """
    is_elsewhere = goes_elsewhere(module)
    allowed = allowed_marks(module, known)
    for node in ast.walk(module):
        if node in allowed:
            continue
        match node:
            case ast.Call(func=function) if function in allowed:
                continue
            case ast.Attribute():
                yield from _of_mark(node)
            case ast.Call():
                yield from _of_call(node, is_elsewhere)
            case ast.Try():
                yield from _of_try(node)
            case ast.With() | ast.AsyncWith():
                yield from _of_suppression(node)
            case ast.Assign(targets=targets):
                if "__test__" in map(last_name, targets):
                    yield SourceProblem(
                        node.lineno,
                        "`__test__` keeps pytest from running the tests; remove it",
                    )


def goes_elsewhere(module: ast.Module) -> bool:
    """Tell whether tests leave the folder of the repository, so that relative paths are
    not of its files.
    """
    for node in ast.walk(module):
        if isinstance(node, ast.expr) and last_name(node) in _ELSEWHERE:
            return True
    return False


def holds_check(statements: list[ast.stmt]) -> bool:
    """Tell whether statements assert something."""
    for statement in statements:
        for node in ast.walk(statement):
            if is_check(node):
                return True
    return False


def is_check(node: ast.AST) -> bool:
    """Tell whether a node is an assertion of any kind, or an expected exception."""
    match node:
        case ast.Assert():
            return True
        case ast.Raise(exc=ast.expr() as raised):
            return dotted(without_call(raised)) == "AssertionError"
        case ast.Call(func=function):
            name = last_name(function)
            if name.startswith(_CHECK_PREFIXES) or name == "fnmatch_lines":
                return True
            if dotted(function) in _CHECKS:
                return True
            return keyword_value(node, "check") is True
    return False


def _of_mark(node: ast.Attribute) -> Problems:
    name = ""
    if node.attr in _MARKS or node.attr in _UNITTEST_MARK_NAMES:
        name = dotted(node)
    is_pytest_mark = node.attr in _MARKS and last_name(node.value) == "mark"
    if is_pytest_mark or name in _UNITTEST_MARKS:
        shown = name or node.attr
        yield SourceProblem(
            node.lineno, f"`{shown}` keeps a test from counting; remove the mark"
        )


def _of_call(node: ast.Call, is_elsewhere: bool) -> Problems:
    name = dotted(node.func)
    reason = ""
    if name in _SKIPPING:
        reason = f"`{name}` keeps a test from counting; remove it"
    elif name in _EXITS or _kills_itself(node, name):
        reason = f"`{name}` can end the test run; remove it"
    else:
        path = _written_path(node, name)
        if path and not _may_write(path, is_elsewhere):
            reason = f"writes to {path[:60]!r}; write below the fixture `tmp_path`"
    if reason:
        yield SourceProblem(node.lineno, reason)


def _may_write(path: str, is_elsewhere: bool) -> bool:
    if path.startswith(("/tmp/", "/dev/null")):
        return True
    return is_elsewhere and not path.startswith(("/", "~"))


def _kills_itself(node: ast.Call, name: str) -> bool:
    if name not in ("os.kill", "os.killpg"):
        return False
    match node.args:
        case [ast.Call(func=function), *_]:
            return dotted(function) in _OWN_PROCESS
        case [ast.Constant() | ast.UnaryOp(), *_]:
            return True
    return False


def _written_path(node: ast.Call, name: str) -> str:
    """Return the fixed part of the path that a call writes to, if there is one."""
    opens_to_write = name in ("open", "io.open") and _is_writing_mode(node, 1)
    if opens_to_write or name in _FILE_CALLS:
        return _literal_path(node.args[0]) if node.args else ""
    match node.func:
        case ast.Attribute(value=path, attr="open") if _is_writing_mode(node, 0):
            return _path_start(path)
        case ast.Attribute(value=path, attr=method) if method in _WRITERS:
            return _path_start(path)
    return ""


def _is_writing_mode(node: ast.Call, position: int) -> bool:
    modes = [keyword.value for keyword in node.keywords if keyword.arg == "mode"]
    modes += node.args[position : position + 1]
    letters = "".join(literal_text(mode) or "" for mode in modes)
    return not set("wax+").isdisjoint(letters)


def _literal_path(node: ast.expr) -> str:
    return literal_text(node) or _path_start(node)


def _path_start(node: ast.expr) -> str:
    """Return the fixed beginning of a path expression: a literal, the home folder, or
    the test file itself.
    """
    while isinstance(node, ast.BinOp):
        node = node.left
    while isinstance(node, ast.Attribute):
        node = node.value
    match node:
        case ast.Name(id="__file__"):
            return "__file__"
        case ast.Call(func=function) if dotted(function) in _HOMES:
            return "~"
        case ast.Call(func=function, args=[first, *_]) if last_name(function) in (
            "Path",
            "PosixPath",
        ):
            return _literal_path(first)
        case ast.Call(func=ast.Attribute() as method):
            return _path_start(method)
    return ""


def _of_try(node: ast.Try) -> Problems:
    for handler in node.handlers:
        if not _is_broad(handler.type) or _speaks_up(handler.body):
            continue
        if holds_check(node.body):
            yield SourceProblem(
                handler.lineno, "hides failing assertions; let them fail"
            )


def _of_suppression(node: ast.With | ast.AsyncWith) -> Problems:
    for item in node.items:
        call = item.context_expr
        if not isinstance(call, ast.Call) or last_name(call.func) != "suppress":
            continue
        suppressed = set(map(dotted, call.args))
        if suppressed & _BROAD and holds_check(node.body):
            yield SourceProblem(node.lineno, "hides failing assertions; let them fail")


def _is_broad(kind: ast.expr | None) -> bool:
    if isinstance(kind, ast.Tuple):
        return any(_is_broad(part) for part in kind.elts)
    return kind is None or dotted(kind) in _BROAD


def _speaks_up(body: list[ast.stmt]) -> bool:
    """Tell whether a handler raises or asserts something itself."""
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Raise) or is_check(node):
                return True
    return False
