"""Inspect a test file: which tests pytest would find in it, and which of them could never prove anything."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from agentos.inspection.assertions import immutable_literal, tautology, unittest_assertion
from agentos.inspection.collection import TestFunction, assigned_names, build_graph, collect_tests
from agentos.inspection.conduct import goes_elsewhere, is_check, misconduct
from agentos.inspection.parsing import (
    Function,
    Problem,
    dotted,
    is_docstring,
    last_name,
    new_only,
    own_nodes,
    parse_python,
)
from agentos.inspection.peeking import peeking
from agentos.inspection.touching import toucher

_RAISES = frozenset({"pytest.raises", "raises", "self.assertRaises", "self.assertRaisesRegex"})
_ANYTHING = frozenset({"Exception", "BaseException", "builtins.Exception", "builtins.BaseException"})
_FAILING = frozenset({"pytest.fail", "self.fail"})
_MOCKS = ("Mock", "create_autospec", "mocker.stub")
_MOCK_CLAIMS = frozenset({"called", "call_count", "call_args", "call_args_list", "mock_calls", "called_once"})


@dataclass(frozen=True, slots=True)
class FoundTest:
    """A test under the name that pytest gives it, without the file."""

    name: str
    line: int
    has_parametrize: bool = False


@dataclass(frozen=True, slots=True)
class TestInventory:
    """The tests of a file and what is wrong with them."""

    __test__ = False

    path: str
    names: tuple[FoundTest, ...] = ()
    problems: tuple[Problem, ...] = ()


def inspect_tests(text: str, path: str, packages: Collection[str] = (), base_text: str | None = None) -> TestInventory:
    """Return the tests of a file and all that makes them worthless.

    `packages` are the top-level names of the code under test; without them it is not checked that tests use it.
    What the file did before, as `base_text`, is not blamed.
    """
    module = parse_python(text)
    if isinstance(module, Problem):
        return TestInventory(path, problems=(module,))
    try:
        found = _inspect(module, path, frozenset(packages))
        base = parse_python(base_text) if base_text is not None else None
        before = _inspect(base, path, frozenset(packages)).problems if isinstance(base, ast.Module) else ()
        return replace(found, problems=tuple(new_only(found.problems, before)))
    except (RecursionError, MemoryError):
        return TestInventory(path, problems=(Problem(1, "is nested too deeply to be read; make it flatter"),))


def inspect_support(text: str, packages: Collection[str] = (), base_text: str | None = None) -> tuple[Problem, ...]:
    """Return what is wrong with a file that serves tests and holds none: fixtures, helpers, a `conftest.py`."""
    module = parse_python(text)
    if isinstance(module, Problem):
        return (module,)
    base = parse_python(base_text) if base_text is not None else None
    before = _misuses(base, packages) if isinstance(base, ast.Module) else ()
    return tuple(new_only(_misuses(module, packages), before))


def _misuses(module: ast.Module, packages: Collection[str]) -> list[Problem]:
    return sorted({*misconduct(module), *peeking(module, frozenset(packages), goes_elsewhere(module))})


def scenario_of(name: str) -> str:
    """Return the scenario that a test is for: "010" for `TestExport::test_010_quotes`, empty when it names none."""
    first = name.rpartition("::")[2].partition("[")[0].removeprefix("test").lstrip("_").partition("_")[0]
    digits = first.lstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    return digits if digits.isascii() and digits.isdigit() and len(first) - len(digits) <= 4 else ""


def plain_id(scenario: str) -> str:
    """Return the id of a scenario as the names of its tests hold it: `T010`, `010` and `10` are one, `1.1` is `11`."""
    digits = "".join(letter for letter in scenario if letter in "0123456789")
    return f"{digits.lstrip('0'):0>3}" if digits else scenario


def missing_scenarios(inventory: TestInventory | Iterable[TestInventory], ids: Iterable[str]) -> tuple[str, ...]:
    """Return the ids of a test plan that no test is named for."""
    files = [inventory] if isinstance(inventory, TestInventory) else inventory
    found = {plain_id(scenario_of(test.name)) for file in files for test in file.names if scenario_of(test.name)}
    return tuple(id for id in ids if plain_id(id) not in found)


def _inspect(module: ast.Module, path: str, packages: frozenset[str]) -> TestInventory:
    tests = collect_tests(module)
    graph = build_graph(module)
    checking = graph.reaching(lambda node: any(is_check(part) for part in _live_nodes(node)))
    touching = graph.reaching(toucher(module, packages)) if packages else None
    constants = _constants(module)
    problems = set(_misuses(module, packages))
    if not tests:
        problems.add(Problem(1, "holds no test; write functions whose names begin with `test_`"))
    problems |= set(_repeats(tests))
    for test in tests:
        problems |= set(_judge(test, constants, checking, touching))
    for node in graph.functions.values():
        if not node.name.startswith("test"):
            problems |= set(_worthless_checks(node, constants, node.name))
    names = tuple(FoundTest(test.name, test.node.lineno, _has_parametrize(test)) for test in tests)
    return TestInventory(path, names, tuple(sorted(problems)))


def _judge(
    test: TestFunction, constants: frozenset[str], checking: frozenset[str], touching: frozenset[str] | None
) -> Iterator[Problem]:
    node, name = test.node, test.name
    if why := _stub(node):
        yield Problem(node.lineno, f"{name}: {why}; write the real test")
        return
    if any(isinstance(part, ast.Yield | ast.YieldFrom) for part in own_nodes(node)):
        yield Problem(node.lineno, f"{name}: yields, so pytest does not run it; assert instead")
    # A property that holds when nothing is raised needs no assertion.
    is_property = any(last_name(mark.func) == "given" for mark in test.marks if isinstance(mark, ast.Call))
    if test.key not in checking and not is_property:
        yield Problem(node.lineno, f"{name}: asserts nothing that is ever reached; assert what the code must do")
    elif touching is not None and test.key not in touching:
        yield Problem(node.lineno, f"{name}: never uses the code under test; call it")
    yield from _worthless_checks(node, constants, name)


def _stub(node: Function) -> str:
    body = [part for part in node.body if not is_docstring(part)]
    if not body:
        return "is only a docstring"
    if any(_is_sure_failure(part) for part in _before_return(body)):
        return "always fails"
    if all(_is_empty(part) for part in body):
        return "is a stub"
    return ""


def _before_return(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that every run of a body reaches, unless one before them raises."""
    for statement in body:
        yield statement
        if any(isinstance(part, ast.Return) for part in (statement, *own_nodes(statement))):
            return


def _is_sure_failure(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assert):
        return isinstance(node.test, ast.Constant) and not node.test.value
    if isinstance(node, ast.Raise) and node.exc is not None:
        kind = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return dotted(kind) in ("NotImplementedError", "AssertionError")
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and dotted(node.value.func) in _FAILING


def _is_empty(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assert):
        return isinstance(node.test, ast.Constant)
    if isinstance(node, ast.Return):
        return node.value is None or isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _worthless_checks(function: Function, outer: frozenset[str], name: str) -> Iterator[Problem]:
    bound = [name for name, _ in assigned_names(function)] + [arg.arg for arg in function.args.args]
    constants = (outer - frozenset(bound)) | _constants(function)
    claim_about_mock = _mock_judge(function)
    for node in ast.walk(function):
        tested = node.test if isinstance(node, ast.Assert) else None
        if isinstance(node, ast.Call):
            tested = unittest_assertion(node)
            if why := _broad_raises(node):
                yield Problem(node.lineno, f"{name}: {why}; name the very exception")
        if isinstance(node, ast.Assert | ast.Call):
            why = (tautology(tested, constants) if tested else "") or claim_about_mock(node)
            if why:
                yield Problem(node.lineno, f"{name}: an assertion {why}; assert what the code must do")
        if isinstance(node, ast.With | ast.AsyncWith) and _raises_by_itself(node):
            yield Problem(node.lineno, f"{name}: raises the expected exception itself; let the code under test do it")


def _broad_raises(node: ast.Call) -> str:
    if dotted(node.func) not in _RAISES or not node.args:
        return ""
    kinds = node.args[0].elts if isinstance(node.args[0], ast.Tuple) else [node.args[0]]
    has_message = any(
        word.arg == "match" and not (isinstance(word.value, ast.Constant) and word.value.value in ("", ".*", None))
        for word in node.keywords
    )
    broad = next((dotted(kind) for kind in kinds if dotted(kind) in _ANYTHING), "")
    is_message_given = has_message or last_name(node.func) == "assertRaisesRegex"
    return f"expects `{broad}`, which every mistake satisfies" if broad and not is_message_given else ""


def _raises_by_itself(node: ast.With | ast.AsyncWith) -> bool:
    expects = any(
        isinstance(item.context_expr, ast.Call) and dotted(item.context_expr.func) in _RAISES for item in node.items
    )
    return expects and all(isinstance(part, ast.Raise | ast.Assert | ast.Pass) for part in node.body)


def _mock_judge(function: Function) -> Callable[[ast.AST], str]:
    """Return a judge of claims that a mock was called, for a function that calls that mock itself."""
    mocks = {
        name
        for name, value in assigned_names(function)
        if isinstance(value, ast.Call) and last_name(value.func).endswith(_MOCKS)
    }
    called = {dotted(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)} if mocks else set()

    def judge(node: ast.AST) -> str:
        claims = _claimed_mocks(node) if mocks else ()
        own = [claim for claim in claims if claim in called and claim.partition(".")[0] in mocks]
        return f"is about `{own[0]}`, which the test calls itself" if own else ""

    return judge


def _claimed_mocks(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Assert):
        parts = [part for part in ast.walk(node.test) if isinstance(part, ast.Attribute) and part.attr in _MOCK_CLAIMS]
        return [dotted(part.value) for part in parts]
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return []
    is_claim = node.func.attr.startswith(("assert_called", "assert_any_call", "assert_has_calls"))
    return [dotted(node.func.value)] if is_claim else []


def _constants(scope: ast.AST) -> frozenset[str]:
    """Return the names that a scope binds once, to a literal that nothing can change."""
    bound: dict[str, list[ast.expr | None]] = {}
    for name, value in assigned_names(scope):
        bound.setdefault(name, []).append(value)
    return frozenset(name for name, values in bound.items() if len(values) == 1 and immutable_literal(values[0]))


def _live_nodes(function: Function) -> Iterator[ast.AST]:
    """Yield the nodes of a function without what can never run."""
    used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    waiting: list[ast.AST] = list(_live(function.body))
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, Function):
            waiting.extend(_live(node.body) if node.name in used else ())
        elif isinstance(node, ast.If | ast.While) and isinstance(node.test, ast.Constant) and not node.test.value:
            waiting.extend(_live(node.orelse))
        else:
            for _, value in ast.iter_fields(node):
                if isinstance(value, list):
                    parts = [part for part in value if isinstance(part, ast.AST)]
                    waiting.extend(_live(parts))
                elif isinstance(value, ast.AST):
                    waiting.append(value)


def _live(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    for node in nodes:
        yield node
        if isinstance(node, ast.Return | ast.Raise | ast.Continue | ast.Break):
            return


def _repeats(tests: list[TestFunction]) -> Iterator[Problem]:
    seen: dict[str, int] = {}
    for test in tests:
        if test.name in seen:
            yield Problem(seen[test.name], f"{test.name}: is defined again below and never runs; rename one")
        seen[test.name] = test.node.lineno


def _has_parametrize(test: TestFunction) -> bool:
    return any(last_name(mark.func) == "parametrize" for mark in test.marks if isinstance(mark, ast.Call))
