"""Compare the tests of a file with its previous version: which are gone, and which
changed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agentos.proving.inspection.collection import (
    TestFunction,
    build_graph,
    collect_tests,
    reachable,
    unfold,
)
from agentos.proving.inspection.forbidden_actions import is_check
from agentos.proving.inspection.parsing import (
    Function,
    SourceProblem,
    last_name,
    names_in,
    parse_python,
    top_name,
    without_docstrings,
)

CodeByName = dict[str, str]


def weakened(before: str, after: str) -> list[str]:
    """Return a line for each test of the old text that is gone or changed, in the order
    of that text.

    A test is changed when its own code differs, or that of a helper, a fixture or a
    constant of the file that it uses. More cases, other words in a docstring and
    another place in the file are no change.
    """
    old = parse_python(before)
    new = parse_python(after)
    if isinstance(old, SourceProblem):
        return []
    if isinstance(new, SourceProblem):
        if not collect_tests(old):
            return []
        change = f"the file {new.text}, so none of its earlier tests is left"
        return [change]
    try:
        earlier = _File(old)
        later = _File(new)
        changes = _compare(earlier, later)
        return list(changes)
    except (RecursionError, MemoryError):
        return ["the file is nested too deeply for its earlier tests to be compared"]


def _compare(old: _File, new: _File) -> Iterator[str]:
    for name, test in old.tests.items():
        now = new.tests.get(name)
        change = "was there and is gone"
        if now is not None:
            change = _change(old, test, new, now)
        if change:
            yield f"{name}: {change}"


def _change(old: _File, test: TestFunction, new: _File, now: TestFunction) -> str:
    """Return what changed in a test, empty when nothing did."""
    old_code = _code(test.node)
    new_code = _code(now.node)
    if old_code != new_code:
        had = old.checks(test)
        has = new.checks(now)
        if has < had:
            return f"was changed, from {had} checks to {has}"
        return "was changed"
    marks = _changed_marks(test, now)
    if marks:
        return f"was changed, in {marks}"
    used_before = old.used(test)
    used_now = new.used(now)
    others = _differing(used_before, used_now)
    if others:
        return f"what it uses was changed: {others}"
    return ""


def _differing(before: CodeByName, after: CodeByName) -> str:
    """Return the names whose code differs."""
    names = []
    for name in before | after:
        old = before.get(name)
        new = after.get(name)
        if old == new:
            continue
        quoted = f"`{name}`"
        names.append(quoted)
    return ", ".join(names)


class _File:
    """The tests of a file, and the code of everything else in it by name."""

    def __init__(self, module: ast.Module) -> None:
        self.tests = {}
        for test in collect_tests(module):
            self.tests[test.name] = test
        graph = build_graph(module)
        self.graph = graph
        self.code = {}
        for key, node in graph.functions.items():
            self.code[key] = _code(node)
        for name, code in _bindings(module):
            before = self.code.get(name, "")
            self.code[name] = before + code

    def used(self, test: TestFunction) -> CodeByName:
        """Return the code of everything in the file that a test uses, directly or
        not.
        """
        reached = self._reached(test)
        reached.remove(test.key)
        used = {}
        for name, code in self.code.items():
            if name not in reached:
                continue
            used[name] = code
        return used

    def checks(self, test: TestFunction) -> int:
        """Return the number of checks in a test and in the helpers that it uses."""
        found = 0
        functions = self.graph.functions
        for key in self._reached(test):
            function = functions.get(key)
            if function is None:
                continue
            for node in ast.walk(function):
                if is_check(node):
                    found += 1
        return found

    def _reached(self, test: TestFunction) -> set[str]:
        start = {test.key}
        return reachable(start, self.graph.uses)


Bindings = Iterator[tuple[str, str]]
"""Names and the code that binds them."""


def _bindings(module: ast.Module) -> Bindings:
    """Yield the names that a module binds outside functions and classes."""
    for node in unfold(module.body):
        names: list[str] = []
        match node:
            case ast.Assign():
                names = list(names_in(*node.targets))
            case ast.AnnAssign() | ast.AugAssign():
                names = list(names_in(node.target))
            case ast.Import() | ast.ImportFrom():
                yield from _imports(node)
        # Once for all names: a statement may bind thousands of them.
        code = ast.dump(node) if names else ""
        for name in names:
            yield name, code


def _imports(node: ast.Import | ast.ImportFrom) -> Bindings:
    origin = ""
    if isinstance(node, ast.ImportFrom):
        dots = "." * node.level
        module = node.module or ""
        origin = f"{dots}{module}."
    for alias in node.names:
        imported = alias.name
        name = alias.asname
        if not name:
            name = top_name(imported)
        yield name, f"import {origin}{imported}"


def _code(node: Function) -> str:
    """Return signature and code of a function, without docstring and, for a test,
    decorators.
    """
    kind = type(node)
    lines = [kind.__name__, ast.dump(node.args)]
    is_test = node.name.startswith("test")
    if not is_test:
        lines += map(ast.dump, node.decorator_list)
    body = without_docstrings(node.body)
    lines += map(ast.dump, body)
    return "\n".join(lines)


def _changed_marks(old: TestFunction, new: TestFunction) -> str:
    """Return what differs in the decorators of a test, empty when it only has more
    cases.
    """
    old_cases, old_marks = _split_marks(old)
    new_cases, new_marks = _split_marks(new)
    if old_marks != new_marks:
        return "its marks"
    if len(old_cases) != len(new_cases):
        return "its cases"
    pairs = zip(old_cases, new_cases, strict=True)
    for earlier, mark in pairs:
        if not _includes(mark, earlier):
            return "its cases"
    return ""


Marks = tuple[list[ast.Call], list[str]]


def _split_marks(test: TestFunction) -> Marks:
    """Return the calls of `parametrize`, and all other marks as text."""
    cases = []
    others = []
    for mark in test.marks:
        match mark:
            case ast.Call(func=func, args=[_, _, *_]) if (
                last_name(func) == "parametrize"
            ):
                cases.append(mark)
            case _:
                text = ast.dump(mark)
                others.append(text)
    return cases, others


def _includes(mark: ast.Call, earlier: ast.Call) -> bool:
    """Tell whether a mark has all cases of an earlier one."""
    names, given = mark.args[:2]
    old_names, wanted = earlier.args[:2]
    if not _is_same(names, old_names):
        return False
    cases = _cases(given)
    old_cases = _cases(wanted)
    if cases is None or old_cases is None:
        return _is_same(given, wanted)
    return cases >= old_cases


def _is_same(value: ast.expr, other: ast.expr) -> bool:
    return ast.dump(value) == ast.dump(other)


def _cases(values: ast.expr) -> set[str] | None:
    """Return the cases of a literal list or tuple, None for any other expression."""
    match values:
        case ast.List(elts=cases) | ast.Tuple(elts=cases):
            texts = map(ast.dump, cases)
            return set(texts)
    return None
