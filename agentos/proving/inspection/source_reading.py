"""Find tests that look at the text of the code instead of its behavior.

Before the code is written, a stand-in takes its place. A test that reads the text, the
compiled form or the type of that stand-in fails without the code and passes with any
code at all, so its failing first proves nothing.
"""

from __future__ import annotations

import ast

from agentos.proving.inspection.code_use import imported
from agentos.proving.inspection.parsing import (
    Definition,
    Names,
    Problems,
    SourceProblem,
    dotted,
    last_name,
    literal_text,
    names_in,
    nodes_of,
    top_name,
)

_SOURCE_NAMES = """
inspect.getsource inspect.getsourcelines inspect.findsource inspect.getcomments inspect.getblock linecache.getline
linecache.getlines
"""
_SOURCES = frozenset(_SOURCE_NAMES.split())
_SOURCE_LAST = frozenset(name.partition(".")[2] for name in _SOURCES)
_READERS = frozenset({"read_text", "read_bytes", "open"})
_OPENERS = frozenset(
    {
        "open",
        "io.open",
        "tokenize.open",
        "codecs.open",
        "linecache.getlines",
        "linecache.getline",
    }
)
_PARSERS = frozenset(
    {"ast.parse", "symtable.symtable", "tokenize.tokenize", "tokenize.generate_tokens"}
)
_COMPILED = frozenset({"__code__", "co_code", "co_consts", "co_names"})
_STAND_IN_NAMES = (
    "NotWrittenYet",
    "_make_placeholder",
    "_not_written",
    "not written yet: ",
)
_ROOTS = ("src", "lib")
_PATH_NAMES = frozenset({"Path", "pathlib", "os", "open", "str"})
_REMEDY = "call the code and assert what it does"


def peeking(module: ast.Module, packages: Names, goes_elsewhere: bool) -> Problems:
    """Yield where a test file reads code of the `packages`.

    In a file that `goes_elsewhere`, relative paths are not of the repository.
    """
    tops = sorted(set(map(top_name, packages)))
    own = _defined(module)
    subjects = _subjects(module, tops)
    paths = _SourcePaths(module, tops, subjects, goes_elsewhere)
    for node in ast.walk(module):
        match node:
            case ast.Call():
                yield from _of_call(node, own, paths)
            case ast.Attribute(attr=name):
                if name in _COMPILED and _root(node) in subjects:
                    reason = f"`{name}` is the compiled code and not what it does"
                    yield SourceProblem(node.lineno, f"{reason}; {_REMEDY}")
            case ast.Constant(value=str(text)):
                yield from _of_text(node.lineno, text)


def _of_text(line: int, text: str) -> Problems:
    for name in _STAND_IN_NAMES:
        if name in text:
            shown = name.strip(": ")
            reason = f"`{shown}` is of the stand-in for code that is not written yet"
            yield SourceProblem(line, f"{reason}; {_REMEDY}")
            return


def _of_call(node: ast.Call, own: Names, paths: _SourcePaths) -> Problems:
    name = dotted(node.func)
    first = node.args[0] if node.args else None
    if name in _SOURCES or name in _SOURCE_LAST:
        if first is not None and _root(first) not in own:
            reason = f"`{name}` reads the text of the code and not what it does"
            yield SourceProblem(node.lineno, f"{reason}; {_REMEDY}")
        return
    read = None
    match node.func:
        case _ if name in _OPENERS or name in _PARSERS:
            read = first
        case ast.Attribute(value=value, attr=method) if method in _READERS:
            read = value
    path = ""
    if read is not None:
        path = paths.source(read)
    if path:
        reason = f"reads the text of `{path[:60]}` and not what it does"
        yield SourceProblem(node.lineno, f"{reason}; {_REMEDY}")


class _SourcePaths:
    """Tells which expressions of a test file are paths of the code under test.

    Assigned names are resolved in the order of their lines: a name is either a path of
    the code, or an anchor, from which such a path can begin.
    """

    def __init__(
        self,
        module: ast.Module,
        tops: list[str],
        subjects: Names,
        goes_elsewhere: bool,
    ) -> None:
        self._tops = tops
        self._subjects = subjects
        self._goes_elsewhere = goes_elsewhere
        self._named: dict[str, str] = {}
        self._anchors: dict[str, list[str]] = {"__file__": []}
        assignments = nodes_of(module, ast.Assign)
        for node in sorted(assignments, key=lambda node: node.lineno):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self._learn(target.id, node.value)

    def source(self, node: ast.expr) -> str:
        """Return the file of the code under test that an expression names, if any."""
        for name in names_in(node):
            if name in self._named:
                return self._named[name]
        words = self._words(node)
        if self._is_of_module(node):
            literals = _literals(node)
            if not literals:
                return "" if _steps_up(node) else "the module under test"
            words = self._tops[:1] + literals
        if words is None or not self._is_source(words):
            return ""
        return "/".join(words)

    def _learn(self, name: str, value: ast.expr) -> None:
        path = self.source(value)
        if path:
            self._named[name] = path
            return
        words = self._words(value)
        if self._is_of_module(value):
            words = self._tops[:1]
        if words is not None and _may_be_path(value):
            self._anchors[name] = words

    def _is_of_module(self, node: ast.expr) -> bool:
        """Tell whether an expression uses the `__file__` of a module under test."""
        for part in nodes_of(node, ast.Attribute):
            if part.attr == "__file__" and _root(part) in self._subjects:
                return True
        return False

    def _words(self, node: ast.expr) -> list[str] | None:
        """Return the literal parts of a path in this repository, None for any other
        path.
        """
        names = list(names_in(node))
        literals = _literals(node)
        words: list[str] = []
        # One step up from a test file is the tests folder, which holds no code under
        # test.
        is_beside_test = "__file__" in names and _steps_up(node) == 1
        if is_beside_test and ".." not in literals:
            words.append("tests")
        is_anchored = False
        for name in names:
            if name in self._anchors:
                is_anchored = True
                words += self._anchors[name]
            elif name not in _PATH_NAMES:
                return None
        if self._goes_elsewhere and not is_anchored:
            return None
        return words + literals

    def _is_source(self, words: list[str]) -> bool:
        parts = "/".join(words).split("/")
        parts = [part for part in parts if part not in ("", ".", "..")]
        if parts and parts[0] in _ROOTS:
            del parts[0]
        if not parts or not parts[-1].endswith(".py"):
            return False
        top = parts[0].removesuffix(".py")
        return top in self._tops


def _may_be_path(value: ast.expr) -> bool:
    for part in ast.walk(value):
        match part:
            case ast.Call() | ast.BinOp() | ast.Attribute():
                return True
    return False


def _steps_up(node: ast.expr) -> int:
    """Return how many folders a path goes up, at least."""
    steps = 0
    for part in ast.walk(node):
        match part:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                steps += name in ("parent", "dirname")
            case ast.Subscript(value=value, slice=index):
                if last_name(value) != "parents":
                    continue
                steps += 1
                match index:
                    case ast.Constant(value=int(number)):
                        steps += number
    return steps


def _literals(node: ast.expr) -> list[str]:
    """Return the strings in an expression in the order of the text."""
    constants = nodes_of(node, ast.Constant)
    ordered = sorted(constants, key=lambda part: (part.lineno, part.col_offset))
    return [part.value for part in ordered if isinstance(part.value, str)]


def _subjects(module: ast.Module, tops: list[str]) -> Names:
    """Return the names in a test file that stand for code under test."""
    found: set[str] = set()
    for node in ast.walk(module):
        for name, origin in imported(node):
            if top_name(origin) in tops:
                found.add(name)
        if isinstance(node, ast.Assign) and _is_import(node.value, tops):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.add(target.id)
    return frozenset(found)


def _is_import(value: ast.expr, tops: list[str]) -> bool:
    """Tell whether an expression imports a module under test by a function."""
    if not isinstance(value, ast.Call):
        return False
    if last_name(value.func) not in ("import_module", "__import__"):
        return False
    for part in ast.walk(value):
        text = literal_text(part)
        if text is not None and top_name(text) in tops:
            return True
    return False


def _defined(module: ast.Module) -> Names:
    found = set()
    for node in ast.walk(module):
        if isinstance(node, Definition):
            found.add(node.name)
    return frozenset(found)


def _root(node: ast.expr) -> str:
    """Return the name at the beginning of a chain of attributes, items and calls."""
    while True:
        match node:
            case ast.Attribute(value=inner) | ast.Subscript(value=inner):
                node = inner
            case ast.Call(func=inner):
                node = inner
            case ast.Name(id=name):
                return name
            case _:
                return ""
