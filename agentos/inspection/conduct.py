"""Find what no test may do: skip itself, end the run, hide its failures, write outside its temporary folder."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agentos.inspection.parsing import Problem, dotted, last_name

_CHECKS = frozenset(
    ("pytest.raises", "pytest.warns", "raises", "warns", "pytest.deprecated_call", "pytest.fail", "self.fail")
)
_MARKS = frozenset({"skip", "skipif", "xfail"})
_SKIPPING = frozenset({"pytest.skip", "pytest.xfail", "pytest.importorskip", "self.skipTest", "unittest.SkipTest"})
_UNITTEST_MARKS = frozenset({"unittest.skip", "unittest.skipIf", "unittest.skipUnless", "unittest.expectedFailure"})
_UNITTEST_MARK_NAMES = frozenset(mark.partition(".")[2] for mark in _UNITTEST_MARKS)
_EXITS = frozenset({"sys.exit", "os._exit", "os.abort", "exit", "quit", "pytest.exit"})
_BROAD = frozenset({"Exception", "BaseException", "AssertionError", "builtins.Exception"})
_WRITER_NAMES = "write_text write_bytes mkdir unlink touch rmdir rename replace symlink_to chmod"
_WRITERS = frozenset(_WRITER_NAMES.split())
_REMOVER_NAMES = """
os.remove os.unlink os.rmdir os.mkdir os.makedirs os.rename os.replace os.symlink os.chmod os.truncate shutil.rmtree
shutil.copy shutil.copyfile shutil.move
"""
_REMOVERS = frozenset(_REMOVER_NAMES.split())
_ELSEWHERE = frozenset({"chdir", "isolated_filesystem", "makepyfile", "runpytest"})


def misconduct(module: ast.Module) -> Iterator[Problem]:
    """Yield everything in a test file that would make its result worth less."""
    is_elsewhere = goes_elsewhere(module)
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute):
            yield from _of_mark(node)
        elif isinstance(node, ast.Call):
            yield from _of_call(node, is_elsewhere)
        elif isinstance(node, ast.Try):
            yield from _of_try(node)
        elif isinstance(node, ast.With | ast.AsyncWith):
            yield from _of_suppression(node)
        elif isinstance(node, ast.Assign) and any(last_name(target) == "__test__" for target in node.targets):
            yield Problem(node.lineno, "`__test__` keeps pytest from running the tests; remove it")


def goes_elsewhere(module: ast.Module) -> bool:
    """Tell whether tests leave the folder of the repository, so that relative paths are not of its files."""
    return any(
        isinstance(node, ast.Attribute | ast.Name) and last_name(node) in _ELSEWHERE for node in ast.walk(module)
    )


def holds_check(nodes: list[ast.stmt]) -> bool:
    """Tell whether statements assert something."""
    return any(is_check(node) for statement in nodes for node in ast.walk(statement))


def is_check(node: ast.AST) -> bool:
    """Tell whether a node is an assertion, of whatever kind, or an expected exception."""
    if isinstance(node, ast.Assert):
        return True
    if isinstance(node, ast.Raise) and node.exc is not None:
        return dotted(node.exc.func if isinstance(node.exc, ast.Call) else node.exc) == "AssertionError"
    if not isinstance(node, ast.Call):
        return False
    name = last_name(node.func)
    is_plain = dotted(node.func) in _CHECKS or any(
        word.arg == "check" and isinstance(word.value, ast.Constant) and word.value.value is True
        for word in node.keywords
    )
    return is_plain or name.startswith(("assert", "check_", "verify_", "expect_")) or name == "fnmatch_lines"


def _of_mark(node: ast.Attribute) -> Iterator[Problem]:
    name = dotted(node) if node.attr in _MARKS or node.attr in _UNITTEST_MARK_NAMES else ""
    if (node.attr in _MARKS and last_name(node.value) == "mark") or name in _UNITTEST_MARKS:
        yield Problem(node.lineno, f"`{name or node.attr}` keeps a test from counting; remove the mark")


def _of_call(node: ast.Call, is_elsewhere: bool) -> Iterator[Problem]:
    name = dotted(node.func)
    if name in _SKIPPING:
        yield Problem(node.lineno, f"`{name}` keeps a test from counting; remove it")
    elif name in _EXITS or (name in ("os.kill", "os.killpg") and node.args and _is_oneself(node.args[0])):
        yield Problem(node.lineno, f"`{name}` can end the test run; remove it")
    elif place := _written_place(node, name):
        if place.startswith(("/tmp/", "/dev/null")) or (is_elsewhere and not place.startswith(("/", "~"))):
            return
        yield Problem(node.lineno, f"writes to {place[:60]!r}; write below the fixture `tmp_path`")


def _is_oneself(target: ast.expr) -> bool:
    if isinstance(target, ast.Call):
        return dotted(target.func) in ("os.getpid", "os.getppid", "os.getpgrp", "os.getpgid")
    return isinstance(target, ast.Constant | ast.UnaryOp)


def _written_place(node: ast.Call, name: str) -> str:
    if name in ("open", "io.open") and _is_writing_mode(node, 1):
        return _literal_place(node.args[0]) if node.args else ""
    if name in _REMOVERS:
        return _literal_place(node.args[0]) if node.args else ""
    if not isinstance(node.func, ast.Attribute):
        return ""
    if node.func.attr in _WRITERS or (node.func.attr == "open" and _is_writing_mode(node, 0)):
        return _literal_path(node.func.value)
    return ""


def _is_writing_mode(node: ast.Call, position: int) -> bool:
    modes = [word.value for word in node.keywords if word.arg == "mode"] + node.args[position : position + 1]
    return any(
        isinstance(mode, ast.Constant) and isinstance(mode.value, str) and set(mode.value) & set("wax+")
        for mode in modes
    )


def _literal_place(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return _literal_path(node)


def _literal_path(node: ast.expr) -> str:
    """Return where a path expression begins when that is fixed: a literal, the home, or the test file itself."""
    while isinstance(node, ast.BinOp):
        node = node.left
    while isinstance(node, ast.Attribute):
        node = node.value
    if not isinstance(node, ast.Call):
        return "__file__" if isinstance(node, ast.Name) and node.id == "__file__" else ""
    if dotted(node.func) in ("Path.home", "pathlib.Path.home", "os.path.expanduser"):
        return "~"
    if last_name(node.func) in ("Path", "PosixPath") and node.args:
        return _literal_place(node.args[0])
    return _literal_path(node.func) if isinstance(node.func, ast.Attribute) else ""


def _of_try(node: ast.Try) -> Iterator[Problem]:
    for handler in node.handlers:
        if _is_broad(handler.type) and _says_nothing(handler.body) and holds_check(node.body):
            yield Problem(handler.lineno, "hides failing assertions; let them fail")


def _of_suppression(node: ast.With | ast.AsyncWith) -> Iterator[Problem]:
    for item in node.items:
        call = item.context_expr
        if not isinstance(call, ast.Call) or last_name(call.func) != "suppress":
            continue
        if any(dotted(arg) in _BROAD for arg in call.args) and holds_check(node.body):
            yield Problem(node.lineno, "hides failing assertions; let them fail")


def _is_broad(kind: ast.expr | None) -> bool:
    if isinstance(kind, ast.Tuple):
        return any(_is_broad(part) for part in kind.elts)
    return kind is None or dotted(kind) in _BROAD


def _says_nothing(body: list[ast.stmt]) -> bool:
    return not any(isinstance(node, ast.Raise) for part in body for node in ast.walk(part)) and not holds_check(body)
