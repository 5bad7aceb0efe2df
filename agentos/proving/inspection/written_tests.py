"""Inspect a test file: which tests pytest would find in it, and which of them prove
nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from string import ascii_letters, digits

from agentos.proving.inspection.assertions import (
    compares_copies,
    immutable_literal,
    tautology,
    unittest_assertion,
)
from agentos.proving.inspection.code_use import uses_code
from agentos.proving.inspection.collection import (
    TestFunction,
    assigned_names,
    build_graph,
    collect_tests,
)
from agentos.proving.inspection.forbidden_actions import (
    forbidden_actions,
    goes_elsewhere,
    is_check,
)
from agentos.proving.inspection.inlining import Helpers, inline_helpers
from agentos.proving.inspection.marks import conditions
from agentos.proving.inspection.parsing import (
    TOO_DEEP,
    Function,
    Names,
    Problems,
    SourceProblem,
    dotted,
    is_bare_constant,
    last_name,
    new_only,
    nodes_of,
    own_nodes,
    parse_base,
    parse_python,
    top_name,
    without_call,
    without_docstrings,
)
from agentos.proving.inspection.source_reading import peeking

_RAISES = frozenset(
    {"pytest.raises", "raises", "self.assertRaises", "self.assertRaisesRegex"}
)
_ANYTHING = frozenset(
    {"Exception", "BaseException", "builtins.Exception", "builtins.BaseException"}
)
_FAILING = frozenset({"pytest.fail", "self.fail"})
_MOCKS = ("Mock", "create_autospec", "mocker.stub")
_MOCK_CLAIMS = frozenset(
    {"called", "call_count", "call_args", "call_args_list", "mock_calls", "called_once"}
)


_REMEDY = "assert what the code must do"
_READING = frozenset(
    ["len", "sorted", "isinstance", "str", "repr", "list", "set", "sum", "min", "max"]
)
"""Functions of Python that only read what they are given."""
_MOCK_ASSERTIONS = ("assert_called", "assert_any_call", "assert_has_calls")

_COPIES_LIMIT = 10
"""How many assignments before an assertion are looked at."""
_PREFIX_LIMIT = 4
"""Maximum number of letters before the number of a scenario."""


@dataclass(frozen=True, slots=True)
class FoundTest:
    """A test under the name that pytest gives it, without the file."""

    name: str
    line: int
    has_parametrize: bool = False


@dataclass(frozen=True, slots=True)
class TestInventory:
    """The tests of a file and their problems."""

    __test__ = False

    path: str
    names: tuple[FoundTest, ...] = ()
    problems: tuple[SourceProblem, ...] = ()


def inspect_tests(
    text: str,
    path: str,
    packages: Collection[str] = (),
    base_text: str | None = None,
    subjects: Collection[str] = (),
    known_conditions: Collection[str] = (),
) -> TestInventory:
    """Return the tests of a file and everything that makes them worthless.

    `packages` are the top-level names of the code under test; without them it is not
    checked that tests use it. `subjects` are words for other things under test:
    commands, documentation, packaging. Problems that `base_text`, the previous version,
    already had are left out. `known_conditions` are those under which other tests of
    the repository are skipped.
    """
    words = frozenset(subjects)
    known = conditions(base_text).union(known_conditions)
    module = parse_python(text)
    if isinstance(module, SourceProblem):
        return TestInventory(path, problems=(module,))
    try:
        found = _inspect(module, path, frozenset(packages), words, known)
        base = parse_base(base_text)
        if base is None:
            return found
        before = _inspect(base, path, frozenset(packages), words, known)
        problems = new_only(found.problems, before.problems)
        return replace(found, problems=tuple(problems))
    except (RecursionError, MemoryError):
        return TestInventory(path, problems=(TOO_DEEP,))


def inspect_support(
    text: str, packages: Collection[str] = (), base_text: str | None = None
) -> tuple[SourceProblem, ...]:
    """Return the problems of a file that supports tests and has none: fixtures,
    helpers, a `conftest.py`.
    """
    module = parse_python(text)
    if isinstance(module, SourceProblem):
        return (module,)
    found = _misuses(module, packages)
    base = parse_base(base_text)
    if base is not None:
        found = new_only(found, _misuses(base, packages))
    return tuple(found)


def scenario_of(name: str) -> str:
    """Return the scenario in the name of a test: "010" for
    `TestExport::test_010_quotes`, empty when there is none.
    """
    function = name.rpartition("::")[2]
    function = function.partition("[")[0]
    words = function.removeprefix("test").lstrip("_")
    first = words.partition("_")[0]
    number = first.lstrip(ascii_letters)
    if not number.isascii() or not number.isdigit():
        return ""
    if len(first) - len(number) > _PREFIX_LIMIT:
        return ""
    return number


def plain_id(scenario: str) -> str:
    """Return the id of a scenario as it stands in the names of its tests: `T010`, `010`
    and `10` are one, `1.1` is `11`.
    """
    number = "".join(letter for letter in scenario if letter in digits)
    if not number:
        return scenario
    return number.lstrip("0").rjust(3, "0")


def missing_scenarios(
    inventory: TestInventory | Iterable[TestInventory], ids: Iterable[str]
) -> tuple[str, ...]:
    """Return the ids of a test plan that are in no test name."""
    files = inventory
    if isinstance(files, TestInventory):
        files = [files]
    found: set[str] = set()
    for file in files:
        for test in file.names:
            scenario = scenario_of(test.name)
            if scenario:
                found.add(plain_id(scenario))
    return tuple(id for id in ids if plain_id(id) not in found)


def _misuses(
    module: ast.Module, packages: Collection[str], known: Names = frozenset()
) -> list[SourceProblem]:
    found = set(forbidden_actions(module, known))
    is_elsewhere = goes_elsewhere(module)
    found.update(peeking(module, frozenset(packages), is_elsewhere))
    return sorted(found)


def _inspect(
    module: ast.Module, path: str, packages: Names, subjects: Names, known: Names
) -> TestInventory:
    tests = collect_tests(module)
    graph = build_graph(module)
    checking = graph.reaching(_has_live_check)
    touching = None
    if packages:
        touching = graph.reaching(uses_code(module, packages, subjects))
    constants = _constants(module)
    problems = set(_misuses(module, packages, known))
    if not tests:
        problems.add(
            SourceProblem(
                1, "holds no test; write functions whose names begin with `test_`"
            )
        )
    problems.update(_repeats(tests))
    names = []
    for test in tests:
        line = test.node.lineno
        has_parametrize = "parametrize" in _called_marks(test)
        names.append(FoundTest(test.name, line, has_parametrize))
        problems.update(_judge(test, constants, checking, touching, graph.functions))
    for node in graph.functions.values():
        if not node.name.startswith("test"):
            found = _worthless_checks(node, constants, node.name, graph.functions)
            problems.update(found)
    return TestInventory(path, tuple(names), tuple(sorted(problems)))


def _judge(
    test: TestFunction,
    constants: Names,
    checking: Names,
    touching: Names | None,
    helpers: Helpers,
) -> Problems:
    line = test.node.lineno
    name = test.name
    why = _stub(test.node)
    if why:
        yield SourceProblem(line, f"{name}: {why}; write the real test")
        return
    if _yields(test.node):
        reason = "yields, so pytest does not run it; assert instead"
        yield SourceProblem(line, f"{name}: {reason}")
    # A Hypothesis property that holds when nothing is raised needs no assertion.
    is_property = "given" in _called_marks(test)
    if test.key not in checking and not is_property:
        reason = "asserts nothing that is ever reached; assert what the code must do"
        yield SourceProblem(line, f"{name}: {reason}")
    elif touching is not None and test.key not in touching:
        yield SourceProblem(line, f"{name}: never uses the code under test; call it")
    yield from _worthless_checks(test.node, constants, name, helpers)


def _yields(function: Function) -> bool:
    for node in own_nodes(function):
        match node:
            case ast.Yield() | ast.YieldFrom():
                return True
    return False


def _stub(node: Function) -> str:
    body = without_docstrings(node.body)
    if not body:
        return "is only a docstring"
    for statement in _before_return(body):
        if _is_sure_failure(statement):
            return "always fails"
    for statement in body:
        if not _is_empty(statement):
            return ""
    return "is a stub"


def _before_return(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that every run reaches, unless one before them raises."""
    for statement in body:
        yield statement
        for part in (statement, *own_nodes(statement)):
            if isinstance(part, ast.Return):
                return


def _is_sure_failure(node: ast.stmt) -> bool:
    match node:
        case ast.Assert(test=ast.Constant(value=value)):
            return not value
        case ast.Raise(exc=ast.expr() as raised):
            kind = dotted(without_call(raised))
            return kind in ("NotImplementedError", "AssertionError")
        case ast.Expr(value=ast.Call(func=function)):
            return dotted(function) in _FAILING
    return False


def _is_empty(node: ast.stmt) -> bool:
    match node:
        case ast.Assert(test=ast.Constant()) | ast.Pass():
            return True
        case ast.Return(value=None | ast.Constant()):
            return True
    return is_bare_constant(node)


def _worthless_checks(
    function: Function, outer: Names, name: str, helpers: Helpers
) -> Problems:
    bound: set[str] = set()
    for argument in function.args.args:
        bound.add(argument.arg)
    for local, _ in assigned_names(function):
        bound.add(local)
    constants = outer - bound
    constants |= _constants(function)
    # A parameter of that name is a fixture, and not the function.
    known = {key: node for key, node in helpers.items() if key not in bound}
    for line, reason in _reasons(function, constants, known):
        yield SourceProblem(line, f"{name}: {reason}")


def _reasons(
    function: Function, constants: Names, helpers: Helpers
) -> Iterator[tuple[int, str]]:
    for line, why in _copies(function):
        yield line, f"an assertion {why}; {_REMEDY}"
    own_calls = _mock_calls(function)
    for node in ast.walk(function):
        match node:
            case ast.Assert():
                asserted: ast.expr | None = node.test
            case ast.Call():
                asserted = unittest_assertion(node)
                broad = _broad_raises(node)
                if broad:
                    yield node.lineno, f"{broad}; name the very exception"
            case ast.With() | ast.AsyncWith():
                if _raises_by_itself(node):
                    reason = "raises the expected exception itself"
                    yield node.lineno, f"{reason}; let the code under test do it"
                continue
            case _:
                continue
        why = ""
        if asserted:
            why = tautology(asserted, constants)
            inlined = inline_helpers(asserted, helpers)
            why = why or tautology(inlined, frozenset())
        if not why and own_calls:
            why = _claim_about_own_call(node, own_calls)
        if why:
            yield node.lineno, f"an assertion {why}; {_REMEDY}"


def _copies(function: Function) -> Iterator[tuple[int, str]]:
    """Yield the assertions that compare a value with a copy of itself."""
    for node in ast.walk(function):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        assigned: list[tuple[str, ast.expr]] = []
        for statement in body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    assigned.append((name, value))
                    continue
                case ast.Assert(test=test):
                    why = compares_copies(test, assigned[-_COPIES_LIMIT:])
                    if why:
                        yield statement.lineno, why
                    if not _may_change(test):
                        continue
            assigned = []


def _may_change(test: ast.expr) -> bool:
    """Tell whether an assertion calls something that may change what was read before."""
    for call in nodes_of(test, ast.Call):
        name = dotted(call.func)
        if name not in _READING:
            return True
    return False


def _broad_raises(node: ast.Call) -> str:
    if dotted(node.func) not in _RAISES or not node.args:
        return ""
    if last_name(node.func) == "assertRaisesRegex":
        return ""
    for keyword in node.keywords:
        if keyword.arg == "match" and not _matches_all(keyword.value):
            return ""
    kinds = node.args[:1]
    match kinds:
        case [ast.Tuple(elts=several)]:
            kinds = several
    for kind in kinds:
        name = dotted(kind)
        if name in _ANYTHING:
            return f"expects `{name}`, which every mistake satisfies"
    return ""


def _matches_all(pattern: ast.expr) -> bool:
    match pattern:
        case ast.Constant(value="" | ".*" | None):
            return True
    return False


def _raises_by_itself(node: ast.With | ast.AsyncWith) -> bool:
    for statement in node.body:
        match statement:
            case ast.Raise() | ast.Assert() | ast.Pass():
                continue
        return False
    for item in node.items:
        match item.context_expr:
            case ast.Call(func=function) if dotted(function) in _RAISES:
                return True
    return False


def _mock_calls(function: Function) -> set[str]:
    """Return the mocks, or their attributes, that a function makes and calls itself."""
    mocks = set()
    for name, value in assigned_names(function):
        if not isinstance(value, ast.Call):
            continue
        if last_name(value.func).endswith(_MOCKS):
            mocks.add(name)
    found: set[str] = set()
    if not mocks:
        return found
    for call in nodes_of(function, ast.Call):
        name = dotted(call.func)
        if top_name(name) in mocks:
            found.add(name)
    return found


def _claim_about_own_call(node: ast.AST, own_calls: set[str]) -> str:
    for claim in _claimed_mocks(node):
        if claim in own_calls:
            return f"is about `{claim}`, which the test calls itself"
    return ""


def _claimed_mocks(node: ast.AST) -> Iterator[str]:
    """Yield the mocks of which an assertion says that they were called."""
    match node:
        case ast.Assert(test=test):
            for part in nodes_of(test, ast.Attribute):
                if part.attr in _MOCK_CLAIMS:
                    yield dotted(part.value)
        case ast.Call(func=ast.Attribute(value=mock, attr=name)):
            if name.startswith(_MOCK_ASSERTIONS):
                yield dotted(mock)


def _constants(scope: ast.AST) -> Names:
    """Return the names that a scope binds once, to a literal that nothing can
    change.
    """
    constants: set[str] = set()
    bound: set[str] = set()
    for name, value in assigned_names(scope):
        if name in bound:
            constants.discard(name)
        elif immutable_literal(value):
            constants.add(name)
        bound.add(name)
    return frozenset(constants)


def _has_live_check(function: Function) -> bool:
    return any(is_check(part) for part in _live_nodes(function))


def _live_nodes(function: Function) -> Iterator[ast.AST]:
    """Yield the nodes of a function without what can never run."""
    used = {node.id for node in nodes_of(function, ast.Name)}
    waiting: list[ast.AST] = list(_live(function.body))
    while waiting:
        node = waiting.pop()
        yield node
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if node.name in used:
                    waiting.extend(_live(node.body))
                continue
            case ast.If(test=ast.Constant(value=test), orelse=orelse) if not test:
                waiting.extend(_live(orelse))
                continue
            case ast.While(test=ast.Constant(value=test), orelse=orelse) if not test:
                waiting.extend(_live(orelse))
                continue
        for _, value in ast.iter_fields(node):
            if isinstance(value, list):
                waiting.extend(_live(value))
            elif isinstance(value, ast.AST):
                waiting.append(value)


def _live(nodes: Iterable[object]) -> Iterator[ast.AST]:
    """Yield nodes up to the first statement that leaves the block."""
    for node in nodes:
        if isinstance(node, ast.AST):
            yield node
        match node:
            case ast.Return() | ast.Raise() | ast.Continue() | ast.Break():
                return


def _repeats(tests: list[TestFunction]) -> Problems:
    seen: dict[str, int] = {}
    for test in tests:
        name = test.name
        if name in seen:
            reason = "is defined again below and never runs; rename one"
            yield SourceProblem(seen[name], f"{name}: {reason}")
        seen[name] = test.node.lineno


def _called_marks(test: TestFunction) -> set[str]:
    """Return the names of the decorators that are called."""
    names = set()
    for mark in test.marks:
        if isinstance(mark, ast.Call):
            names.add(last_name(mark.func))
    return names
