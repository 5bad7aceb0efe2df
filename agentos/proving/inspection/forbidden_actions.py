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
    nodes_of,
    own_nodes,
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
_RAISED_EXITS = frozenset({"sys.exit", "exit", "quit"})
"""Exits that a caller can expect, so a stand-in for a program may have them."""
_EXITS = _RAISED_EXITS | {"os._exit", "os.abort", "pytest.exit"}
_RUN_BY_PYTEST = ("test", "pytest_", "setup", "teardown")
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
_HOME_NAMES = frozenset({"HOME", "USERPROFILE", "home", "expanduser"})
_PATCHES = frozenset({"setenv", "setitem", "setattr", "dict", "object", "patch"})


def forbidden_actions(module: ast.Module, known: Names = frozenset()) -> Problems:
    """Yield everything in a test file that makes its result unreliable; `known` are the
    conditions under which tests of the repository are skipped already.
    """
    is_elsewhere = goes_elsewhere(module)
    has_own_home = _has_own_home(module)
    allowed = allowed_marks(module, known) | _exits_of_fakes(module)
    for node in ast.walk(module):
        if node in allowed:
            continue
        match node:
            case ast.Call(func=function) if function in allowed:
                continue
            case ast.Attribute():
                yield from _of_mark(node)
            case ast.Call():
                yield from _of_call(node, is_elsewhere, has_own_home)
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


def _has_own_home(module: ast.Module) -> bool:
    """Tell whether tests put another folder in place of the home."""
    for call in nodes_of(module, ast.Call):
        if last_name(call.func) not in _PATCHES:
            continue
        for part in nodes_of(call, ast.Constant):
            name = str(part.value).rpartition(".")[2]
            if name in _HOME_NAMES:
                return True
    return False


def _exits_of_fakes(module: ast.Module) -> set[ast.expr]:
    """Return the exits in functions that pytest does not run itself: stand-ins for what
    the code under test calls.
    """
    exits = set()
    for scope in ast.walk(module):
        match scope:
            case ast.Lambda():
                pass
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if name.startswith(_RUN_BY_PYTEST):
                    continue
            case _:
                continue
        for node in own_nodes(scope):
            if isinstance(node, ast.Call) and dotted(node.func) in _RAISED_EXITS:
                exits.add(node.func)
    return exits


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


def _of_call(node: ast.Call, is_elsewhere: bool, has_own_home: bool) -> Problems:
    name = dotted(node.func)
    reason = ""
    if name in _SKIPPING:
        reason = f"`{name}` keeps a test from counting; remove it"
    elif name in _EXITS or _kills_itself(node, name):
        reason = f"`{name}` can end the test run; remove it"
    else:
        path = _written_path(node, name)
        if path and not _may_write(path, is_elsewhere, has_own_home):
            reason = f"writes to {path[:60]!r}; write below the fixture `tmp_path`"
    if reason:
        yield SourceProblem(node.lineno, reason)


def _may_write(path: str, is_elsewhere: bool, has_own_home: bool) -> bool:
    if path.startswith(("/tmp/", "/dev/null")):
        return True
    if path.startswith("~"):
        return has_own_home
    return is_elsewhere and not path.startswith("/")


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
