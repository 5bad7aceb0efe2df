"""Find tests that look at the text of the code in place of what it does.

Before the code is written, a stand-in is in its place. A test that reads the text, the compiled form or the kind of
that stand-in fails without the code and passes with any code at all, so its change of colour proves nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agentos.inspection.parsing import Function, Problem, dotted, last_name
from agentos.inspection.touching import imported

_SOURCE_NAMES = """
inspect.getsource inspect.getsourcelines inspect.findsource inspect.getcomments inspect.getblock linecache.getline
linecache.getlines
"""
_SOURCES = frozenset(_SOURCE_NAMES.split())
_SOURCE_LAST = frozenset(name.partition(".")[2] for name in _SOURCES)
_READERS = frozenset({"read_text", "read_bytes", "open"})
_OPENERS = frozenset({"open", "io.open", "tokenize.open", "codecs.open", "linecache.getlines", "linecache.getline"})
_PARSERS = frozenset({"ast.parse", "symtable.symtable", "tokenize.tokenize", "tokenize.generate_tokens"})
_COMPILED = frozenset({"__code__", "co_code", "co_consts", "co_names"})
_STAND_IN = ("NotWrittenYet", "_make_placeholder", "_not_written", "not written yet: ")
_ROOTS = ("src", "lib")
_BEHAVIOUR = "call the code and assert what it does"


def peeking(module: ast.Module, packages: frozenset[str], goes_elsewhere: bool) -> Iterator[Problem]:
    """Yield where a test file reads code of the `packages`; one that `goes_elsewhere` names files of other folders."""
    own = _defined(module)
    subjects = _subjects(module, packages)
    places = _Places(module, packages, subjects, goes_elsewhere)
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            yield from _of_call(node, own, places)
        elif isinstance(node, ast.Attribute) and node.attr in _COMPILED and _root(node) in subjects:
            yield Problem(node.lineno, f"`{node.attr}` is the compiled code and not what it does; {_BEHAVIOUR}")
        elif isinstance(node, ast.Constant) and (mark := _stand_in(node.value)):
            yield Problem(node.lineno, f"`{mark}` is of the stand-in for code that is not written yet; {_BEHAVIOUR}")


def _stand_in(value: object) -> str:
    return next((mark.strip(": ") for mark in _STAND_IN if isinstance(value, str) and mark in value), "")


def _of_call(node: ast.Call, own: frozenset[str], places: _Places) -> Iterator[Problem]:
    name = dotted(node.func)
    if name in _SOURCES or (isinstance(node.func, ast.Name) and name in _SOURCE_LAST):
        if node.args and _root(node.args[0]) not in own:
            yield Problem(node.lineno, f"`{name}` reads the text of the code and not what it does; {_BEHAVIOUR}")
        return
    if name in _OPENERS or name in _PARSERS:
        read = node.args[0] if node.args else None
    elif isinstance(node.func, ast.Attribute) and node.func.attr in _READERS:
        read = node.func.value
    else:
        return
    if read is not None and (place := places.source(read)):
        yield Problem(node.lineno, f"reads the text of `{place[:60]}` and not what it does; {_BEHAVIOUR}")


class _Places:
    """Which expressions of a test file lead to a file of the code under test."""

    def __init__(
        self, module: ast.Module, packages: frozenset[str], subjects: frozenset[str], goes_elsewhere: bool
    ) -> None:
        self._tops = sorted({package.partition(".")[0] for package in packages})
        self._subjects = subjects
        self._goes_elsewhere = goes_elsewhere
        self._named: dict[str, str] = {}
        self._anchors: dict[str, list[str]] = {"__file__": []}
        for node in _assignments(module):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self._learn(target.id, node.value)

    def source(self, node: ast.expr) -> str:
        """Return the file of the code under test that an expression leads to, empty when that is none."""
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id in self._named:
                return self._named[part.id]
        is_of_module = self._names_a_module(node)
        if is_of_module and not _literals(node):
            return "" if _steps_up(node) else "the module under test"
        words = [*self._tops[:1], *_literals(node)] if is_of_module else self._words(node)
        return "/".join(words) if words and self._is_source(words) else ""

    def _learn(self, name: str, value: ast.expr) -> None:
        if place := self.source(value):
            self._named[name] = place
        else:
            words = self._tops[:1] if self._names_a_module(value) else self._words(value)
            is_path = any(isinstance(part, ast.Call | ast.BinOp | ast.Attribute) for part in ast.walk(value))
            if words is not None and is_path:
                self._anchors[name] = words

    def _names_a_module(self, node: ast.expr) -> bool:
        """Tell whether an expression begins with the file of a module under test."""
        return any(
            isinstance(part, ast.Attribute) and part.attr == "__file__" and _root(part) in self._subjects
            for part in ast.walk(node)
        )

    def _words(self, node: ast.expr) -> list[str] | None:
        """Return the literal parts of a path of this repository; None for one that begins anywhere else."""
        names = [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]
        anchors = [name for name in names if name in self._anchors]
        strange = [name for name in names if name not in ("Path", "pathlib", "os", "open", "str", *anchors)]
        if strange or (self._goes_elsewhere and not anchors):
            return None
        before = [word for name in anchors for word in self._anchors[name]]
        # One step up from a test file is the folder of the tests, where no code under test is.
        beside = ["tests"] if "__file__" in anchors and _steps_up(node) == 1 and ".." not in _literals(node) else []
        return [*beside, *before, *_literals(node)]

    def _is_source(self, words: list[str]) -> bool:
        parts = [part for word in words for part in word.split("/") if part not in ("", ".", "..")]
        if not parts or not parts[-1].endswith(".py"):
            return False
        inner = parts[1:] if parts[0] in _ROOTS else parts
        return bool(inner) and inner[0].removesuffix(".py") in self._tops


def _steps_up(node: ast.expr) -> int:
    """Return how many folders a path goes up, at least."""
    parts = [part for part in ast.walk(node) if isinstance(part, ast.expr)]
    up = sum(last_name(part) in ("parent", "dirname") for part in parts)
    for part in parts:
        if isinstance(part, ast.Subscript) and last_name(part.value) == "parents":
            index = part.slice.value if isinstance(part.slice, ast.Constant) else 0
            up += 1 + (index if isinstance(index, int) else 0)
    return up


def _literals(node: ast.expr) -> list[str]:
    found = [part for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return [str(part.value) for part in sorted(found, key=lambda part: (part.lineno, part.col_offset))]


def _assignments(module: ast.Module) -> list[ast.Assign]:
    found = [node for node in ast.walk(module) if isinstance(node, ast.Assign)]
    return sorted(found, key=lambda node: node.lineno)


def _subjects(module: ast.Module, packages: frozenset[str]) -> frozenset[str]:
    """Return the names in a test file that stand for code under test."""
    tops = frozenset(package.partition(".")[0] for package in packages)
    found: set[str] = set()
    for node in ast.walk(module):
        found |= {name for name, origin in imported(node) if origin.partition(".")[0] in tops}
    for assignment in _assignments(module):
        value = assignment.value
        is_import = isinstance(value, ast.Call) and last_name(value.func) in ("import_module", "__import__")
        names = [part.value for part in ast.walk(value) if isinstance(part, ast.Constant)]
        if is_import and any(isinstance(name, str) and name.partition(".")[0] in tops for name in names):
            found |= {target.id for target in assignment.targets if isinstance(target, ast.Name)}
    return frozenset(found)


def _defined(module: ast.Module) -> frozenset[str]:
    return frozenset(node.name for node in ast.walk(module) if isinstance(node, Function | ast.ClassDef))


def _root(node: ast.expr) -> str:
    """Return the name that an expression of attributes, items and calls begins with."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
