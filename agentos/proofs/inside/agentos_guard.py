"""See whether what decides about tests is still what it was at the start; runs inside the target's own interpreter.

Code under test runs in the process that judges it: nothing here is beyond its reach, and full protection is
impossible. So there are two layers that know nothing of each other. Sources are read for what reaches for the test
runner before they are ever run; and here the functions of the runner are held against those of the start, before and
after every test. All that the guard knows is in closures, and the garbage collector is told to hand out nothing that
was made before the code was loaded. What an installed plugin replaces is accepted, when the plugin was loaded first.
"""

from __future__ import annotations

import gc
import os
import sys
import unittest.case  # noqa: F401 - loaded here so that its functions are known before any code of the repository is
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest
from _pytest.python import Function

_DECIDING = """
_pytest.runner _pytest.reports _pytest.raises _pytest.python_api _pytest.approx _pytest.skipping _pytest.unittest
_pytest.doctest _pytest.assertion.rewrite unittest.case agentos_exceptions agentos_line_coverage agentos_pytest_report
"""
_DECIDING_IN_PYTHON = ("Function", "pytest_pyfunc_call")
_DECIDING_IN_PYTEST = ("raises", "approx", "fail", "warns")
_DECIDING_IN_REPORTER = ("add", "coverage", "clock", "describer")
_NO_PLUGINS = ("_pytest", "pytest", "pluggy", "unittest", "agentos_")
_NAME_LIMIT = 2_000

Tell = Callable[[str, str], None]


def make_guard(folder: str, add: Callable[[dict[str, Any]], None], reporter: Any) -> ModuleType:
    """Return hooks that say by `add` what was replaced, and at the end how many tests were watched."""

    def tell(what: str, moment: str) -> None:
        add({"event": "tampered", "what": what[:_NAME_LIMIT], "moment": moment[:_NAME_LIMIT]})

    settle, verify = watch_runner(folder, reporter, tell)
    guard = ModuleType("agentos-guard")
    vars(guard).update(hooks_of_session(add, settle, verify))
    vars(guard).update(hooks_of_calls(tell))
    return guard


def hide_from_collector() -> None:
    """Keep all that exists by now out of what the garbage collector hands out."""
    if hasattr(gc, "freeze"):
        gc.freeze()


def watch_runner(folder: str, reporter: Any, tell: Tell) -> tuple[Callable[[Any], None], Callable[[str], None]]:
    """Return what to call once the installed plugins are loaded, and what holds the runner against its beginning."""
    known = list(_entries(reporter))
    trusted: set[str] = set()

    def settle(pluginmanager: Any) -> None:
        for module in pluginmanager.get_plugins():
            name = str(getattr(module, "__name__", "")).partition(".")[0]
            if isinstance(module, ModuleType) and not name.startswith(_NO_PLUGINS) and not _is_within(module, folder):
                trusted.add(name)
        if not any(_is_within(module, folder) for module in list(sys.modules.values())):
            known[:] = _entries(reporter)

    def verify(moment: str) -> None:
        for label, place, name, value, function, code in known:
            if place.get(name) is value and (function is None or function.__code__ is code):
                continue
            if place.get(name) is value or not _is_of_plugin(place.get(name), trusted):
                tell(label, moment)
                return

    return settle, verify


def hooks_of_session(
    add: Callable[[dict[str, Any]], None], settle: Callable[[Any], None], verify: Callable[[str], None]
) -> dict[str, Any]:
    """Return the hooks that look at the runner: before the first file is loaded, around each test, and at the end."""
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

    hooks = (pytest_load_initial_conftests, pytest_runtest_protocol, pytest_sessionfinish)
    return {hook.__name__: hook for hook in hooks}


def hooks_of_calls(tell: Tell) -> dict[str, Any]:
    """Return the hooks that see each test function called, and hold what is reported against it."""
    written: dict[int, tuple[Any, object]] = {}
    ended_well: dict[int, bool] = {}
    reported: dict[int, bool] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(session: Any) -> None:
        for item in session.items:
            function = _plain(getattr(item, "obj", None))
            if isinstance(function, FunctionType):
                written[id(item)] = (function, function.__code__)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_pyfunc_call(pyfuncitem: Any) -> Any:
        function, code = written.get(id(pyfuncitem), (None, None))
        if _code(function) is not code:
            tell(f"the test {pyfuncitem.nodeid}", "when it was called")
        outcome = yield
        ended_well[id(pyfuncitem)] = outcome.excinfo is None

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(item: Any, call: Any) -> Any:
        outcome = yield
        if call.when == "setup":
            ended_well.pop(id(item), None)
            reported.pop(id(item), None)
        elif call.when == "call":
            # Parts of a test may be reported while it still runs; the last report is that of the test itself.
            reported[id(item)] = outcome.get_result().outcome == "passed"
        elif reported.get(id(item)) and not ended_well.get(id(item)) and type(item) is Function:
            tell(f"the call of {item.nodeid}", "after it was reported as passed")

    hooks = (pytest_collection_finish, pytest_pyfunc_call, pytest_runtest_makereport)
    return {hook.__name__: hook for hook in hooks}


def _entries(reporter: Any) -> Iterator[Any]:
    """Yield all that decides: a name for people, where it is, its name there, what it is, its function and its code."""
    modules = [*_DECIDING.split(), *sorted(name for name in sys.modules if name.partition(".")[0] == "pluggy")]
    for module_name in modules:
        module = sys.modules.get(module_name)
        if isinstance(module, ModuleType):
            yield from _entries_of(module, list(vars(module)))
    yield from _entries_of(sys.modules["_pytest.python"], _DECIDING_IN_PYTHON)
    yield from _entries_of(pytest, _DECIDING_IN_PYTEST)
    for name in _DECIDING_IN_REPORTER:
        yield _entry(f"`{name}` of the report", vars(reporter), name)


def _entries_of(module: ModuleType, names: Iterable[str]) -> Iterator[Any]:
    place = vars(module)
    for name in names:
        value = place.get(name)
        label = f"{module.__name__}.{name}"
        if isinstance(value, (FunctionType, type)):
            yield _entry(label, place, name)
        if isinstance(value, type) and value.__module__ == module.__name__:
            members = vars(value)
            yield from (
                _entry(f"{label}.{inner}", members, inner)
                for inner in list(members)
                if _code(members[inner]) is not None
            )


def _entry(label: str, place: Any, name: str) -> tuple[str, Any, str, object, Any, object]:
    value = place[name]
    code = _code(value)
    return label, place, name, value, None if code is None else _plain(value), code


def _plain(value: Any) -> Any:
    """Return the function within a method, a class method, a static method or a property."""
    if isinstance(value, property):
        return value.fget
    return getattr(value, "__func__", value)


def _code(value: Any) -> object:
    function = _plain(value)
    return function.__code__ if isinstance(function, FunctionType) else None


def _is_of_plugin(value: Any, trusted: set[str]) -> bool:
    """Tell whether a function is one of a module of an installed plugin."""
    function = _plain(value)
    if not isinstance(function, FunctionType):
        return False
    name = str(function.__globals__.get("__name__", ""))
    module = sys.modules.get(name)
    return name.partition(".")[0] in trusted and module is not None and vars(module) is function.__globals__


def _is_within(module: Any, folder: str) -> bool:
    """Tell whether a module is of the repository itself and not installed, also not in a folder of the repository."""
    # Asked in this way, a module that is loaded on its first use is not loaded now.
    path = object.__getattribute__(module, "__dict__").get("__file__") if isinstance(module, ModuleType) else None
    if not isinstance(path, str):
        return False
    path = str(Path(folder, path))
    return path.startswith(folder + os.sep) and "site-packages" + os.sep not in path
