"""Tell what became of the tests that a file held before: which are gone, and which ask for something else now."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from agentos.inspection.collection import FileGraph, TestFunction, build_graph, collect_tests, unfold
from agentos.inspection.conduct import is_check
from agentos.inspection.parsing import Function, Problem, is_docstring, last_name, parse_python


def weakened(before: str, after: str) -> list[str]:
    """Return a line for each test of the earlier text that is gone or was changed, in the order of that text.

    A test is changed when it reads differently itself, or when a helper, a fixture or a constant of the file does
    that it uses. More cases, other words in a docstring and another place in the file are no change.
    """
    old, new = parse_python(before), parse_python(after)
    if isinstance(old, Problem):
        return []
    if isinstance(new, Problem):
        return [f"the file {new.text}, so none of its earlier tests is left"] if collect_tests(old) else []
    try:
        return list(_compare(_File(old), _File(new)))
    except (RecursionError, MemoryError):
        return ["the file is nested too deeply for its earlier tests to be compared"]


def _compare(old: _File, new: _File) -> Iterator[str]:
    for name, test in old.tests.items():
        if name not in new.tests:
            yield f"{name}: was there and is gone"
            continue
        now = new.tests[name]
        if _body(test.node) != _body(now.node):
            had, has = old.checks(test), new.checks(now)
            less = f", from {had} checks to {has}" if has < had else ""
            yield f"{name}: was changed{less}"
        elif lost := _lost_marks(test, now):
            yield f"{name}: was changed, in {lost}"
        elif others := _differing(old.used(test), new.used(now)):
            yield f"{name}: what it uses was changed: {', '.join(f'`{key}`' for key in others)}"


def _differing(before: dict[str, str], after: dict[str, str]) -> list[str]:
    return [key for key in dict.fromkeys((*before, *after)) if before.get(key) != after.get(key)]


@dataclass(slots=True)
class _File:
    """The tests of a file, and by name the text of all else in it that they may use."""

    tests: dict[str, TestFunction]
    graph: FileGraph
    texts: dict[str, str]

    def __init__(self, module: ast.Module) -> None:
        self.tests = {test.name: test for test in collect_tests(module)}
        self.graph = build_graph(module)
        self.texts = {key: _body(node) for key, node in self.graph.functions.items()}
        for name, text in _bindings(module):
            self.texts[name] = f"{self.texts.get(name, '')}{text}"

    def used(self, test: TestFunction) -> dict[str, str]:
        """Return what a test uses of its file, directly and through what it uses, without other tests."""
        reached = self._reached(test) - {test.key}
        return {key: text for key, text in self.texts.items() if key in reached}

    def checks(self, test: TestFunction) -> int:
        """Return how many checks a test makes, those of the helpers that it uses included."""
        functions = [self.graph.functions[key] for key in self._reached(test) if key in self.graph.functions]
        return sum(is_check(node) for function in functions for node in ast.walk(function))

    def _reached(self, test: TestFunction) -> set[str]:
        found, waiting = {test.key}, [test.key]
        while waiting:
            for name in self.graph.uses.get(waiting.pop(), ()):
                if name not in found:
                    found.add(name)
                    waiting.append(name)
        return found


def _bindings(module: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the names that a module binds outside functions and classes, with what they are bound to."""
    for node in unfold(module.body):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            text = ast.dump(node)
            names = [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
            yield from ((name, text) for name in names)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            origin = f"{'.' * node.level}{node.module or ''}." if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0], f"import {origin}{alias.name}"


def _body(node: Function) -> str:
    """Return what a function takes and does, without its docstring and its decorators."""
    does = [ast.dump(part) for part in node.body if not is_docstring(part)]
    marks = [ast.dump(mark) for mark in node.decorator_list] if not node.name.startswith("test") else []
    return "\n".join([type(node).__name__, ast.dump(node.args), *marks, *does])


def _lost_marks(old: TestFunction, new: TestFunction) -> str:
    """Return in what the decorators of a test differ, empty when it only has more cases than before."""
    was, now = _cases(old), _cases(new)
    if _plain_marks(old) != _plain_marks(new):
        return "its marks"
    if len(was) != len(now) or not all(_holds(each, earlier) for each, earlier in zip(now, was, strict=True)):
        return "its cases"
    return ""


def _cases(test: TestFunction) -> list[ast.Call]:
    return [
        mark
        for mark in test.marks
        if isinstance(mark, ast.Call) and last_name(mark.func) == "parametrize" and len(mark.args) >= 2
    ]


def _plain_marks(test: TestFunction) -> list[str]:
    cases = _cases(test)
    return [ast.dump(mark) for mark in test.marks if mark not in cases]


def _holds(mark: ast.Call, earlier: ast.Call) -> bool:
    """Tell whether all cases of an earlier mark are among those of another."""
    given, wanted = mark.args[1], earlier.args[1]
    if ast.dump(mark.args[0]) != ast.dump(earlier.args[0]):
        return False
    if isinstance(given, ast.List | ast.Tuple) and isinstance(wanted, ast.List | ast.Tuple):
        return {ast.dump(case) for case in wanted.elts} <= {ast.dump(case) for case in given.elts}
    return ast.dump(given) == ast.dump(wanted)
