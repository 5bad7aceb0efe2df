"""Code under test that reaches for what judges it: the test runner, the report, the
count of its lines.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import iniconfig
import pluggy
import pytest

from agentos.proving.inspection.tampering import REPORTERS
from agentos.proving.judging import judge_green
from agentos.proving.runners import TestOutcome
from agentos.proving.runners.pytest_runner import INSIDE
from tests.proving.runners.conftest import Repository

Make = Callable[[Mapping[str, str]], Repository]

WRONG = "def area(side):\n    return side\n"
RUNNER_CHANGES = {
    "the call of a test": "from _pytest.python import Function\nFunction.runtest = lambda self: None\n",
    "the same by a late name": """
        import importlib
        module = importlib.import_module("_py" + "".join(["te", "st"]) + ".python")
        setattr(module.Function, "run" + "test", lambda self: None)
    """,
    "what a function does": """
        from _pytest.python import Function
        Function.runtest.__code__ = (lambda self: None).__code__
    """,
    "a function of pytest's own": """
        from _pytest.nodes import Node
        from _pytest.python import Function
        Function.runtest = Node.setup
    """,
    "what a call came to": """
        from _pytest.runner import CallInfo
        init = CallInfo.__init__
        def forgiving(self, *args, **kwargs):
            init(self, *args, **dict(kwargs, excinfo=None))
        CallInfo.__init__ = forgiving
    """,
    "the expected exception": """
        import pytest
        pytest.raises = lambda *_, **__: __import__("contextlib").suppress(Exception)
    """,
    "the judge of a phase": """
        import sys
        sys.modules["agentos_pytest_report"].judge = lambda report, call: "passed"
    """,
    "the report": """
        import gc, sys
        for frame in sys._current_frames().values():
            while frame:
                for value in list(frame.f_locals.values()):
                    manager = getattr(getattr(value, "config", None), "pluginmanager", None)
                    report = manager.get_plugin("agentos-report") if manager else None
                    if report is not None and not hasattr(report, "bent"):
                        report.bent, add = True, report.add
                        report.add = lambda event: add(dict(event, outcome="passed") if "outcome" in event else event)
                frame = frame.f_back
    """,
    "the assertions of unittest": """
        import unittest
        unittest.TestCase.assertEqual = lambda *_: None
    """,
}


@pytest.mark.parametrize("name", RUNNER_CHANGES)
def test_code_cannot_replace_what_decides_about_its_tests(
    repository: Make, name: str
) -> None:
    made = repository(
        {
            "shapes.py": dedent(RUNNER_CHANGES[name]).lstrip("\n") + WRONG,
            "test_it.py": """
                import unittest, pytest
                from shapes import area

                def test_area(): assert area(3) == 9
                def test_negative():
                    with pytest.raises(ValueError):
                        area(-1)
                class Areas(unittest.TestCase):
                    def test_it(self): self.assertEqual(area(3), 9)
            """,
        }
    )
    run = made.run()
    assert "what decides about the tests was tampered with" in run.problem
    assert judge_green(run, ["test_it.py::test_area"], [])[0].rule == "no-proof"


LATE_CHANGES = {
    "the next test": """
        def area(side):
            import test_it
            test_it.test_second.__code__ = (lambda: None).__code__
            return side
    """,
    "the plugin that watches": """
        def area(side):
            import gc, sys
            frame = sys._getframe()
            while frame:
                manager = getattr(getattr(frame.f_locals.get("item"), "config", None), "pluginmanager", None)
                if manager is not None:
                    manager.unregister(name="agentos-guard")
                    break
                frame = frame.f_back
            return side
    """,
}


@pytest.mark.parametrize("name", LATE_CHANGES)
def test_code_that_changes_the_run_while_it_is_called_proves_nothing(
    repository: Make, name: str
) -> None:
    made = repository(
        {
            "shapes.py": LATE_CHANGES[name],
            "test_it.py": """
                from shapes import area

                def test_first(): assert area(3) == 3
                def test_second(): assert area(3) == 9
            """,
        }
    )
    run = made.run()
    assert run.problem, run.tests


@pytest.mark.slow
def test_tests_that_change_the_runner_for_themselves_and_put_it_back_are_believed(
    repository: Make,
) -> None:
    made = repository(
        {
            "test_it.py": """
                import unittest
                import _pytest.doctest
                import pytest
                from hypothesis import given, strategies as st

                @pytest.fixture
                def bent(monkeypatch):
                    monkeypatch.setattr(_pytest.doctest.DoctestItem, "runtest", None)

                def test_bent(bent): assert _pytest.doctest.DoctestItem.runtest is None
                def test_late():
                    from unittest import mock
                    with mock.patch("_pytest.runner.CallInfo"): pass
                @pytest.mark.parametrize("side", [1, 2])
                def test_sides(side): assert side
                class Areas(unittest.TestCase):
                    def test_it(self): self.assertEqual(3, 3)
                @given(st.integers())
                def test_property(number): assert number + 1 > number
            """,
        }
    )
    run = made.run(has_plugins=True)
    assert run.problem == ""
    assert len(run.passed) == 6, run.tests


def test_what_an_installed_plugin_replaces_while_tests_run_is_its_own_affair(
    repository: Make,
) -> None:
    installed = """
        import pytest

        def quiet(self):
            self._testcase(result=self)

        @pytest.fixture(autouse=True, scope="class")
        def without_debugging(request):
            from _pytest.unittest import TestCaseFunction
            kept, TestCaseFunction.runtest = TestCaseFunction.runtest, quiet
            yield
            TestCaseFunction.runtest = kept
    """
    made = repository(
        {
            "pytest.ini": "[pytest]\naddopts = -p quiet_plugin\npythonpath = site-packages\n",
            "site-packages/quiet_plugin.py": installed,
            "test_it.py": """
                import unittest

                class Areas(unittest.TestCase):
                    def test_a(self): self.assertEqual(3, 3)
                    def test_b(self): self.assertEqual(3, 4)
            """,
        }
    )
    run = made.run()
    assert run.problem == ""
    assert [test.outcome for test in run.tests] == [
        TestOutcome.PASSED,
        TestOutcome.FAILED,
    ]


COVERAGE_FORGERIES = {
    "an object": """
        import gc
        for thing in gc.get_objects():
            if type(thing).__name__ == "LineCoverage":
                for lines in getattr(thing, "_seen", {}).values():
                    lines.update(range(1, 500))
    """,
    "every set of numbers": """
        import gc
        for thing in gc.get_objects():
            if isinstance(thing, set) and all(isinstance(each, int) for each in thing):
                thing.update(range(1, 500))
    """,
    "the method of a set": """
        import gc
        for thing in gc.get_objects():
            if getattr(thing, "__name__", "") == "add" and isinstance(getattr(thing, "__self__", None), set):
                thing.__self__.update(range(1, 500))
    """,
    "what a cell holds": """
        import gc
        for thing in gc.get_objects():
            if type(thing).__name__ == "cell":
                try:
                    held = thing.cell_contents
                except ValueError:
                    continue
                if isinstance(held, dict) and "shapes.py" in held and isinstance(held["shapes.py"], set):
                    held["shapes.py"].update(range(1, 500))
    """,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COVERAGE_FORGERIES)
def test_code_finds_no_count_of_its_lines_among_the_objects(
    repository: Make, name: str
) -> None:
    made = repository(
        {
            "shapes.py": dedent(COVERAGE_FORGERIES[name]).lstrip("\n")
            + "def area(side):\n    return side * side\ndef never():\n    side = 1\n    return side\n",
            "test_it.py": "from shapes import area\ndef test_area(): assert area(3) == 9\n",
        }
    )
    run = made.run(coverage=["shapes.py"])
    assert [test.outcome for test in run.tests] == [TestOutcome.PASSED]
    last = len((made.folder / "shapes.py").read_text("utf-8").splitlines())
    assert {last - 1, last} <= {*run.coverage["shapes.py"].missing}


def test_the_modules_beside_the_tests_are_those_that_code_may_not_reach_for() -> None:
    assert {path.stem for path in INSIDE.glob("*.py")} == REPORTERS


DISGUISE = """
import sys
from types import ModuleType

import _hashlib


def new(key, text, kind):
    return _hashlib.hmac_new(key, text, kind)


def blind(folder, add, reporter):
    watched = []
    guard = ModuleType("guard")
    guard.pytest_collection_finish = lambda session: watched.extend(session.items)
    guard.pytest_sessionfinish = lambda: add({"event": "guarded", "tests": len(watched)})
    return guard


double = ModuleType("agentos_guard")
double.make_guard = blind
double.hide_from_collector = lambda: None
sys.modules["agentos_guard"] = double
function = sys.modules["_pytest.python"].Function
function.runtest = lambda self: None
"""


@pytest.mark.parametrize("path", ["hmac.py", "src/hmac.py", "hmac/__init__.py"])
def test_a_module_called_like_one_that_judges_is_not_loaded_in_its_place(
    repository: Make, path: str
) -> None:
    made = repository({path: DISGUISE, "test_it.py": "def test_it(): assert False\n"})
    run = made.run()
    assert run.problem == ""
    assert [test.outcome for test in run.tests] == [TestOutcome.FAILED]


CURIOUS = """
import os

folder = os.environ.get("AGENTOS_REPORT_FOLDER", "")
if folder and os.path.exists(os.path.join(folder, "request.json")):
    open("stolen", "w").close()
"""
EARLY = {
    "a plugin's library": {"xml/__init__.py": CURIOUS},
    "the same among sources": {"src/xml.py": CURIOUS},
    "the first import of all": {"src/__future__.py": CURIOUS},
    "the interpreter's own": {
        "src/sitecustomize.py": CURIOUS,
        "src/encodings/__init__.py": CURIOUS,
    },
    "a plugin by configuration": {
        "curious.py": CURIOUS,
        "pytest.ini": "[pytest]\naddopts = -p curious\n",
    },
    "a conftest": {"conftest.py": CURIOUS},
    "the reporter itself": {
        "agentos_pytest_report.py": CURIOUS,
        "agentos_guard.py": CURIOUS,
        "colorama.py": "",
    },
    "what pytest consists of": {
        "iniconfig.py": CURIOUS,
        "src/packaging/__init__.py": CURIOUS,
    },
}


@pytest.mark.parametrize("name", EARLY)
def test_nothing_of_the_repository_is_loaded_while_the_key_lies_there(
    repository: Make, name: str
) -> None:
    made = repository({**EARLY[name], "test_it.py": "def test_it(): assert False\n"})
    run = made.run()
    assert run.problem == ""
    assert [test.outcome for test in run.tests] == [TestOutcome.FAILED]
    assert not (made.folder / "stolen").exists()


@pytest.mark.parametrize("root", ["", "src/"])
@pytest.mark.parametrize("module", [iniconfig, pluggy, shlex])
def test_a_repository_is_tested_with_what_it_develops_also_if_pytest_needs_it(
    repository: Make, root: str, module: ModuleType
) -> None:
    """A part of pytest, what pytest consists of, and a name that the standard library
    has too.
    """
    genuine = Path(str(module.__file__))
    files = genuine.parent.glob("*.py") if genuine.name == "__init__.py" else [genuine]
    folder = f"{root}{module.__name__}/" if genuine.name == "__init__.py" else root
    own = {f"{folder}{path.name}": path.read_text("utf-8") for path in files}
    own[f"{folder}{genuine.name}"] += "\nOWN = True\n"
    name = module.__name__
    test = f"import {name}\nfrom subprocess import run\nimport sys\n\n\ndef test_it(): assert {name}.OWN\n\n\n"
    test += f"def test_child(): run([sys.executable, '-c', 'import {name}; {name}.OWN'], check=True)\n"
    run = repository({**own, "test_it.py": test}).run()
    assert run.problem == ""
    assert {test.outcome for test in run.tests} == {TestOutcome.PASSED}
