"""Find what code asks about the process and the place that it runs in.

Honest code asks too: a command for its name, a program for its settings. So nothing is
refused for it; the reviewer of a change is told, who sees what the code does with it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from agentos.proving.inspection.parsing import Problems, SourceProblem, last_name
from agentos.proving.inspection.tampering import (
    Origins,
    composed_text,
    full_name,
    read_origins,
)

_ASKED = {
    "sys.orig_argv": "is how the process was started",
    "os.getppid": "is the process that started this one",
    "sys._current_frames": "reaches the callers",
    "inspect.getouterframes": "reaches the callers",
    "atexit.register": "runs code when the process ends, that of the tests too",
    "os._exit": "ends the process at once, that of the tests too",
}
_FRAMES = frozenset({"f_back", "tb_frame"})
_TABLES = frozenset({"os.environ", "sys.modules"})
_PLACES = frozenset({"os.getcwd", "pathlib.Path.cwd", "Path.cwd"})
_HOMES = frozenset({"os.path.expanduser", "pathlib.Path.home", "Path.home"})
_ASKS_FOR_FOLDER = frozenset({"exists", "isdir", "is_dir"})
_VIEWS = frozenset(
    {"keys", "items", "values", "copy", "list", "sorted", "set", "tuple"}
)
_COMPARING = frozenset(
    {"startswith", "endswith", "find", "index", "count", "match", "search", "fnmatch"}
)
_JUDGES = re.compile(
    r"py\.?test|unittest|coverage|agentos|bwrap|sandbox|worktree", re.I
)
"""Words by which code could tell that it is being tested."""
_TEST_FILE = re.compile(r"(?:^|/)(?:tests?/|test_\w{1,100}\.py|conftest\.py)")


def surroundings(module: ast.Module) -> Problems:
    """Yield where a module asks about the process or the place that it runs in."""
    origins = read_origins(module)
    for node in ast.walk(module):
        for what in _asked(node, origins):
            line = getattr(node, "lineno", 1)
            yield SourceProblem(line, what)


def _asked(node: ast.AST, origins: Origins) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(text)):
            yield from _of_text(text)
        case ast.Attribute(attr=name) if name in _FRAMES:
            yield f"`{name}` reaches the callers"
        case ast.Attribute() | ast.Name():
            name = full_name(node, origins)
            if name in _ASKED:
                yield f"`{name}` {_ASKED[name]}"
            if name == "__main__.__file__":
                yield "`__main__` is the program that runs"
        case ast.Subscript(value=value, slice=ast.Constant(value=0)):
            if full_name(value, origins) == "sys.argv":
                yield "`sys.argv[0]` is the program that runs"
        case ast.Call():
            yield from _of_call(node, origins)
        case ast.Compare():
            yield from _of_comparison(node, origins)
        case ast.For(iter=table) | ast.AsyncFor(iter=table):
            yield from _of_loop(table, origins)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            for part in node.generators:
                yield from _of_loop(part.iter, origins)


def _of_text(text: str) -> Iterator[str]:
    if text.startswith("/proc/"):
        yield "`/proc` describes the processes that run"
    elif len(text) < 500 and "\n" not in text and _TEST_FILE.search(text):
        yield f"`{text[:80]}` is a file of tests"


def _of_call(node: ast.Call, origins: Origins) -> Iterator[str]:
    called = last_name(node.func)
    if called == "getattr" and node.args:
        name = full_name(node.args[0], origins)
        if name == "__main__":
            yield "`__main__` is the program that runs"
    if called in _COMPARING:
        yield from _of_words(node.args)
    if called in _ASKS_FOR_FOLDER:
        places = [*node.args]
        if isinstance(node.func, ast.Attribute):
            places.append(node.func.value)
        for place in places:
            if _calls(place, _HOMES, origins):
                yield "it asks whether there is a home"


def _of_comparison(node: ast.Compare, origins: Origins) -> Iterator[str]:
    sides = [node.left, *node.comparators]
    yield from _of_words(sides)
    for side in sides:
        if _calls(side, _PLACES, origins):
            yield "it depends on the folder that it runs in"
    table = full_name(sides[-1], origins)
    is_computed = not isinstance(node.left, ast.Constant)
    if table == "sys.modules" and is_computed:
        yield "it looks into `sys.modules` for a computed name"


def _of_words(sides: list[ast.expr]) -> Iterator[str]:
    for side in sides:
        text = composed_text(_without_join(side))
        found = _JUDGES.search(text)
        if found:
            yield f"it looks for `{found[0]}`"


def _without_join(node: ast.expr) -> ast.expr:
    """Return the sum of the parts that are joined without a text between them."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Constant(value=""), attr="join"),
            args=[ast.List(elts=[first, *others]) | ast.Tuple(elts=[first, *others])],
        ):
            whole = first
            for part in others:
                whole = ast.BinOp(whole, ast.Add(), part)
            return whole
    return node


def _of_loop(table: ast.expr, origins: Origins) -> Iterator[str]:
    """Yield that a loop goes through all variables or modules."""
    while isinstance(table, ast.Call) and last_name(table.func) in _VIEWS:
        match table:
            case ast.Call(func=ast.Attribute(value=inner)):
                table = inner
            case ast.Call(args=[inner, *_]):
                table = inner
            case _:
                return
    name = full_name(table, origins)
    if name in _TABLES:
        yield f"it goes through all of `{name}`"


def _calls(node: ast.expr, names: frozenset[str], origins: Origins) -> bool:
    if not isinstance(node, ast.Call):
        return False
    return full_name(node.func, origins) in names
