"""Check that the functions that decide about tests are still those of the start.

Runs inside the interpreter of the repository. Code under test runs in the process that
judges it: nothing here is beyond its reach, and full protection is impossible. So there
are two independent layers. Sources that access the test runner are refused before they
are ever run; and here the functions of the runner are compared with those of the start,
before and after every test. The guard keeps its state in closures, and the garbage
collector is told to return no object that was made before the code was loaded.
Replacements by an installed plugin are accepted when the plugin was loaded first.
"""

from __future__ import annotations

import gc
import os
import sys
import unittest.case  # noqa: F401 - loaded here so that its functions are known before any code of the repository is
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.python import Function

_DECIDING = """
_pytest.runner _pytest.reports _pytest.raises _pytest.python_api _pytest.approx _pytest.skipping _pytest.unittest
_pytest.doctest _pytest.assertion.rewrite unittest.case agentos_child_lines agentos_exceptions agentos_line_coverage
agentos_pytest_report
"""
_DECIDING_IN_PYTHON = ("Function", "pytest_pyfunc_call")
_DECIDING_IN_PYTEST = ("raises", "approx", "fail", "warns")
_DECIDING_IN_REPORTER = ("add", "coverage", "clock", "describer")
_NO_PLUGINS = ("_pytest", "pytest", "pluggy", "unittest", "agentos_")
_NAME_LIMIT = 2_000

# Python 3.8 cannot evaluate these.
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Event = dict[str, Any]
    Add = Callable[[Event], None]
    Tell = Callable[[str, str], None]
    Settle = Callable[[Any], None]
    Verify = Callable[[str], None]
    Hooks = tuple[Any, ...]
    Entries = Iterator[Any]


def make_guard(folder: str, add: Add, reporter: Any) -> ModuleType:
    """Return hooks that report by `add` what was replaced, and at the end how many
    tests were watched.
    """

    def tell(what: str, moment: str) -> None:
        event = {
            "event": "tampered",
            "what": what[:_NAME_LIMIT],
            "moment": moment[:_NAME_LIMIT],
        }
        add(event)

    settle, verify = watch_runner(folder, reporter, tell)
    guard = ModuleType("agentos-guard")
    hooks = hooks_of_session(add, settle, verify)
    hooks += hooks_of_calls(tell)
    for hook in hooks:
        setattr(guard, hook.__name__, hook)
    return guard


def hide_from_collector() -> None:
    """Hide all existing objects from the functions of the garbage collector."""
    if hasattr(gc, "freeze"):
        gc.freeze()


def watch_runner(folder: str, reporter: Any, tell: Tell) -> tuple[Settle, Verify]:
    """Return a function to call once the installed plugins are loaded, and one that
    compares the runner with its state at that time.
    """
    known = list(_entries(reporter))
    trusted = set()

    def settle(pluginmanager: Any) -> None:
        for module in pluginmanager.get_plugins():
            name = getattr(module, "__name__", "")
            name = _top_name(name)
            if not isinstance(module, ModuleType):
                continue
            if name.startswith(_NO_PLUGINS):
                continue
            if _is_within(module, folder):
                continue
            trusted.add(name)
        modules = list(sys.modules.values())
        for module in modules:
            if _is_within(module, folder):
                return
        # No code of the repository is loaded yet, so what the plugins replaced by now
        # is trusted.
        known[:] = _entries(reporter)

    def verify(moment: str) -> None:
        for label, namespace, name, value, function, code in known:
            now = namespace.get(name)
            if now is value:
                if function is None or function.__code__ is code:
                    continue
            elif _is_of_plugin(now, trusted):
                continue
            tell(label, moment)
            return

    return settle, verify


def hooks_of_session(add: Add, settle: Settle, verify: Verify) -> Hooks:
    """Return the hooks that check the runner before the first file is loaded, around
    each test, and at the end.
    """
    watched = 0

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(early_config: Any) -> Any:
        settle(early_config.pluginmanager)
        yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(item: Any) -> Any:
        nonlocal watched
        verify(f"before {item.nodeid}")
        yield
        verify(f"after {item.nodeid}")
        watched += 1

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish() -> Any:
        yield
        verify("after the last test")
        add({"event": "guarded", "tests": watched})

    return (
        pytest_load_initial_conftests,
        pytest_runtest_protocol,
        pytest_sessionfinish,
    )


def hooks_of_calls(tell: Tell) -> Hooks:
    """Return hooks that check that a test reported as passed was really called, as it
    was collected, and returned.
    """
    collected: dict[int, Any] = {}
    returned: dict[int, bool] = {}
    reported: dict[int, bool] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(session: Any) -> None:
        for item in session.items:
            test = getattr(item, "obj", None)
            function = _plain(test)
            if isinstance(function, FunctionType):
                key = id(item)
                collected[key] = (function, function.__code__)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_pyfunc_call(pyfuncitem: Any) -> Any:
        key = id(pyfuncitem)
        unknown = (None, None)
        function, code = collected.get(key, unknown)
        if _code(function) is not code:
            tell(f"the test {pyfuncitem.nodeid}", "when it was called")
        outcome = yield
        returned[key] = outcome.excinfo is None

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(item: Any, call: Any) -> Any:
        outcome = yield
        key = id(item)
        if call.when == "setup":
            returned.pop(key, None)
            reported.pop(key, None)
        elif call.when == "call":
            # Parts of a test may be reported while it still runs; the last report is
            # that of the test itself.
            report = outcome.get_result()
            reported[key] = report.outcome == "passed"
        elif type(item) is Function:
            has_returned = returned.get(key)
            if reported.get(key) and not has_returned:
                tell(f"the call of {item.nodeid}", "after it was reported as passed")

    return pytest_collection_finish, pytest_pyfunc_call, pytest_runtest_makereport


def _entries(reporter: Any) -> Entries:
    """Yield an entry for each function, class and attribute that decides an outcome."""
    names = _DECIDING.split()
    for name in sorted(sys.modules):
        if _top_name(name) == "pluggy":
            names.append(name)
    for module_name in names:
        module = sys.modules.get(module_name)
        if isinstance(module, ModuleType):
            inner_names = list(vars(module))
            yield from _entries_of(module, inner_names)
    python = sys.modules["_pytest.python"]
    yield from _entries_of(python, _DECIDING_IN_PYTHON)
    yield from _entries_of(pytest, _DECIDING_IN_PYTEST)
    attributes = vars(reporter)
    for name in _DECIDING_IN_REPORTER:
        label = f"`{name}` of the report"
        yield _entry(label, attributes, name)


def _entries_of(module: ModuleType, names: Iterable[str]) -> Entries:
    namespace = vars(module)
    module_name = module.__name__
    for name in names:
        value = namespace.get(name)
        label = f"{module_name}.{name}"
        if isinstance(value, (FunctionType, type)):
            yield _entry(label, namespace, name)
        if not isinstance(value, type):
            continue
        if value.__module__ == module_name:
            yield from _entries_of_class(label, value)


def _entries_of_class(label: str, owner: type) -> Entries:
    members = vars(owner)
    for name in list(members):
        value = members[name]
        if _code(value) is not None:
            inner_label = f"{label}.{name}"
            yield _entry(inner_label, members, name)


def _entry(label: str, namespace: Any, name: str) -> Any:
    """Return a label, where a value is, its name there, the value, its function and its
    code.
    """
    value = namespace[name]
    code = _code(value)
    function = None
    if code is not None:
        function = _plain(value)
    return label, namespace, name, value, function, code


def _plain(value: Any) -> Any:
    """Return the function of a method, a class method, a static method or a
    property.
    """
    if isinstance(value, property):
        return value.fget
    return getattr(value, "__func__", value)


def _code(value: Any) -> object:
    function = _plain(value)
    if isinstance(function, FunctionType):
        return function.__code__
    return None


def _is_of_plugin(value: Any, trusted: set[str]) -> bool:
    """Tell whether a function is from a module of an installed plugin."""
    function = _plain(value)
    if not isinstance(function, FunctionType):
        return False
    namespace = function.__globals__
    name = str(namespace.get("__name__", ""))
    module = sys.modules.get(name)
    if module is None:
        return False
    if _top_name(name) not in trusted:
        return False
    return vars(module) is namespace


def _top_name(name: object) -> str:
    top, _, _ = str(name).partition(".")
    return top


def _is_within(module: Any, folder: str) -> bool:
    """Tell whether a module is the repository's own, and not installed in one of its
    folders.
    """
    if not isinstance(module, ModuleType):
        return False
    # Read directly: an ordinary access would load a lazy module.
    namespace = object.__getattribute__(module, "__dict__")
    path = namespace.get("__file__")
    if not isinstance(path, str):
        return False
    path = str(Path(folder, path))
    if "site-packages" + os.sep in path:
        return False
    prefix = folder + os.sep
    return path.startswith(prefix)
