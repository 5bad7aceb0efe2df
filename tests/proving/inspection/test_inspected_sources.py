"""What an implementation leaves out, hides or fakes is found; what was there before is
not blamed.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.proving.inspection import extends_pytest, inspect_source


def problems_of(text: str, base: str | None = None) -> str:
    report = inspect_source(text, "shop/cart.py", base)
    return "\n".join(f"{problem.line}: {problem.text}" for problem in report.problems)


FAULTY = {
    "def f(x):\n    pass\n": "`f` has no body but `pass`",
    "def f(x):\n    ...\n": "`f` has no body but `...`",
    'def f(x):\n    """Do it."""\n': "`f` has no body but only a docstring",
    'def f(x):\n    """Do it."""\n    raise NotImplementedError("later")\n': "`raise NotImplementedError`",
    "class A:\n    def f(self):\n        raise NotImplementedError\n": "`A.f` has no body",
    "class A:\n    pass\n": "`A` has no body but an empty class",
    "def f():\n    return 1  # TODO: finish\n": "unfinished work",
    "# FIXME(me) wrong\nx = 1\n": "unfinished work",
    "def f():\n    # implement the rest\n    return 1\n": "unfinished work",
    "# ... existing code ...\nx = 1\n": "left out",
    "# ... rest of the code remains the same\nx = 1\n": "left out",
    "# ...\nx = 1\n": "left out",
    "class A:\n    # (other methods unchanged) ...\n    x = 1\n": "left out",
    "def f(:\n": "not valid Python",
    "x = 1  # pragma: no cover\n": "hides a line",
    "import sys\nif 'pytest' in sys.modules:\n    x = 1\n": "being tested",
    "import os\nx = os.environ.get('PYTEST_CURRENT_TEST')\n": "being tested",
    "import os\nx = 'PYTEST_CURRENT_TEST' in os.environ\n": "being tested",
    "import inspect\ndef f():\n    return inspect.stack()[1]\n": "inspects the caller",
    "import sys\ndef f():\n    return sys._getframe(1)\n": "inspects the caller",
    "import pytest\nx = 1\n": "imports pytest",
    "from pytest import fixture\n": "imports pytest",
    "from _pytest.python import Function\nFunction.runtest = lambda self: None\n": "imports pytest",
    "import _pytest.runner as r\n": "imports pytest",
    "import pluggy\n": "imports pluggy",
    "import importlib\nm = importlib.import_module('_pytest.python')\n": "imports pytest",
    "from importlib import import_module as load\nm = load('_py' + 'test')\n": "imports pytest",
    "m = __import__('pytest')\n": "imports pytest",
    "import sys\nm = sys.modules['_pytest.python']\n": "imports pytest",
    "from sys import modules\nm = modules.pop('pluggy')\n": "imports pluggy",
    "exec('import pytest')\n": "imports pytest",
    "import agentos_pytest_report\n": "reports how the tests went",
    "from agentos_line_coverage import LineCoverage\n": "reports how the tests went",
    "import gc\nfor x in gc.get_objects():\n    print(x)\n": "`gc.get_objects` finds objects",
    "from gc import get_referrers as who\n": "`gc.get_referrers` finds objects",
    "import gc as g\nfind = g.get_objects\n": "`gc.get_objects` finds objects",
    "import gc\nfind = getattr(gc, 'get_' + 'objects')\n": "`gc.get_objects` finds objects",
    "import sys\nsys.settrace(None)\n": "how the lines that ran are counted",
    "import sys\nf = sys.gettrace()\n": "how the lines that ran are counted",
    "import sys\nm = sys.monitoring\n": "how the lines that ran are counted",
    "import threading\nthreading.settrace(None)\n": "how the lines that ran are counted",
    "def f(frame):\n    return frame.f_trace\n": "how the lines that ran are counted",
    "".join(
        f"x{n} = f()  # type: ignore\n" for n in range(9)
    ): "9 more `type: ignore` comments",
    "".join(f"x{n} = f()  # noqa: E501\n" for n in range(9)): "9 more `noqa` comments",
}


@pytest.mark.parametrize("text", FAULTY)
def test_a_fault_is_named(text: str) -> None:
    assert FAULTY[text] in problems_of(text)


@pytest.mark.parametrize(
    "text", [text for text in FAULTY if "not valid" not in FAULTY[text]]
)
def test_what_the_base_does_too_is_not_blamed(text: str) -> None:
    assert problems_of("import math\n\n" + text, text) == ""


FINE = (
    "import gc\ngc.collect()\n",
    "import sys\nme = sys.modules[__name__]\n",
    "import importlib\ndef load(name):\n    return importlib.import_module(name)\n",
    "import unittest\nfrom unittest import mock\n",
    "from . import pytest_tools\nfrom .pluggy import x\n",
    "exec('x = 1')\n",
    "from abc import ABC, abstractmethod\nclass A(ABC):\n    @abstractmethod\n    def f(self): ...\n",
    "from typing import Protocol\nclass A(Protocol):\n    def f(self) -> int: ...\n",
    "from typing import Protocol\nclass A(Protocol[T]):\n    def f(self) -> int:\n        '''Do.'''\n",
    "from typing import overload\n@overload\ndef f(x: int) -> int: ...\ndef f(x):\n    return x\n",
    "class CartError(Exception):\n    '''Wrong cart.'''\n",
    "class CartError(ValueError):\n    pass\n",
    "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\n",
    "# Read the rest of the file.\nx = 1\n",
    "x = 'TODO list'\n",
    "def todo(x):\n    return x + 1\n",
    "x = f()  # type: ignore[misc]\n",
    "def f(x):\n    if x < 0:\n        raise NotImplementedError('negative numbers')\n    return x\n",
)


@pytest.mark.parametrize("text", FINE)
def test_honest_code_is_left_alone(text: str) -> None:
    assert problems_of(text) == ""


PLUGIN = "import pytest\n\n\n@pytest.fixture\ndef cart():\n    return Cart()\n"


def test_a_plugin_of_pytest_may_use_it() -> None:
    grown = (
        PLUGIN
        + "\n\nfrom _pytest.nodes import Item\n\n\ndef pytest_runtest_setup(item: Item):\n    print(item)\n"
    )
    assert problems_of(grown, PLUGIN) == ""
    assert "imports pytest" in problems_of(grown, "x = 1\n")
    assert inspect_source(grown, "shop/plugin.py", extends_pytest=True).problems == ()
    assert inspect_source(
        grown + "import gc\ngc.get_objects()\n", "shop/plugin.py", extends_pytest=True
    ).problems


def test_a_debugger_may_go_on_to_trace() -> None:
    tracer = "import sys\n\n\ndef start(follow):\n    sys.settrace(follow)\n"
    assert (
        problems_of(tracer + "\n\ndef stop():\n    sys.settrace(None)\n", tracer) == ""
    )
    assert "gc.get_objects" in problems_of(
        tracer + "\n\nimport gc\nOBJECTS = gc.get_objects()\n", tracer
    )


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("pyproject.toml", '[project.entry-points.pytest11]\nshop = "shop.plugin"\n'),
        ("setup.cfg", "[options.entry_points]\npytest11 =\n    shop = shop.plugin\n"),
        ("setup.py", "setup(entry_points={'pytest11': ['shop = shop.plugin']})\n"),
    ],
)
def test_a_repository_that_declares_a_plugin_of_pytest_is_one(
    path: str, text: str
) -> None:
    assert extends_pytest({path: text}.get)
    assert not extends_pytest({path: "[project]\nname = 'shop'\n"}.get)


BASE = """\
def read(path):
    if not path:
        raise ValueError("no path")
    try:
        return open(path).read()
    except FileNotFoundError:
        return ""
    except (PermissionError, OSError):
        raise RuntimeError
"""


def test_error_handling_that_is_gone_is_named_by_function() -> None:
    found = problems_of("def read(path):\n    return open(path).read()\n", BASE)
    assert (
        "`read` raises less than before: 2 of 2 gone (RuntimeError, ValueError)"
        in found
    )
    assert (
        "`read` catches less than before: 2 of 2 gone (FileNotFoundError, OSError, PermissionError)"
        in found
    )
    assert "`read` checks less than before: 1 of 1 gone" in found


def test_error_handling_that_moved_to_another_function_is_not_lost() -> None:
    moved = BASE.replace(
        '    if not path:\n        raise ValueError("no path")\n', "    check(path)\n"
    )
    moved += (
        "\n\ndef check(path):\n    if not path:\n        raise ValueError('no path')\n"
    )
    assert problems_of(moved, BASE) == ""


def test_a_stub_that_is_written_loses_no_handling() -> None:
    base = "def process(text):\n    raise NotImplementedError\n"
    text = "def process(text):\n    return text.strip()\n"
    assert problems_of(text, base) == ""


def test_a_function_that_is_gone_takes_its_handling_along() -> None:
    assert problems_of("def write(path):\n    return path\n", BASE) == ""


NOTED = {
    "import os\nx = any(k.startswith('PY') for k in os.environ)\n": "all of `os.environ`",
    "import os\nfor k, v in sorted(os.environ.items()):\n    print(k)\n": "all of `os.environ`",
    "import sys\nx = [m for m in list(sys.modules) if m[0] == '_']\n": "all of `sys.modules`",
    "import sys\nx = ''.join(['py', 'test']) in sys.modules\n": "looks for `pytest`",
    "def f(name):\n    return name.startswith('PY' + 'TEST')\n": "looks for `PYTEST`",
    "import sys\ndef f(n):\n    return n in sys.modules\n": "for a computed name",
    "import sys\nx = sys.argv[0]\n": "the program that runs",
    "from sys import argv\nx = argv[0]\n": "the program that runs",
    "import sys\nx = sys.orig_argv\n": "how the process was started",
    "import __main__\nx = __main__.__file__\n": "the program that runs",
    "import __main__\nx = getattr(__main__, '__file__', '')\n": "the program that runs",
    "import os\nx = open(f'/proc/{os.getppid()}/cmdline').read()\n": "the process that started",
    "import os\nx = open(f'/proc/{p}/cmdline').read()\n": "the processes that run",
    "import os\nx = 'worktrees' in os.getcwd()\n": "the folder that it runs in",
    "import os\nx = os.path.exists(os.path.expanduser('~'))\n": "whether there is a home",
    "from pathlib import Path\nx = Path.home().exists()\n": "whether there is a home",
    "from pathlib import Path\nx = Path('tests/test_x.py').read_text()\n": "a file of tests",
    "def f(e):\n    return e.__traceback__.tb_frame\n": "reaches the callers",
    "import atexit\natexit.register(f)\n": "when the process ends",
    "import os\nos._exit(0)\n": "ends the process at once",
}


@pytest.mark.parametrize("text", NOTED)
def test_what_code_asks_about_where_it_runs_is_a_note(text: str) -> None:
    report = inspect_source(text, "shop/cart.py")
    assert report.problems == ()
    assert any(NOTED[text] in note.text for note in report.notes), report.notes
    assert inspect_source(text, "shop/cart.py", text).notes == ()


UNREMARKABLE = """\
import os
import sys
from pathlib import Path


def main(argv=None):
    words = sys.argv[1:] if argv is None else argv
    env = {**os.environ, "LANG": "C"}
    home = Path.home() / ".config"
    if home.exists() and "HOME" in os.environ:
        for name in sorted(home.iterdir()):
            print(name, env, words, os.getcwd())
    return "numpy" in sys.modules
"""


def test_usual_code_is_not_remarked_on() -> None:
    assert inspect_source(UNREMARKABLE, "shop/cart.py").notes == ()


def test_running_what_is_given_is_only_a_note() -> None:
    report = inspect_source("def f(x):\n    return eval(x)\n", "a.py")
    assert report.problems == ()
    assert "runs what it is given" in report.notes[0].text
    assert (
        inspect_source(
            "def f(x):\n    return eval(x)\n", "a.py", "def f(x):\n    return eval(x)\n"
        ).notes
        == ()
    )


def test_a_fixed_answer_is_only_a_note() -> None:
    assert (
        "whatever it is given"
        in inspect_source("def f(x):\n    return 42\n", "a.py").notes[0].text
    )


def test_a_base_that_cannot_be_read_blames_as_if_there_were_none() -> None:
    assert "no body" in problems_of("def f(x):\n    pass\n", "def f(:\n")


def test_the_sources_of_this_product_are_honest() -> None:
    for path in (Path(__file__).parents[3] / "agentos" / "documents").rglob("*.py"):
        assert inspect_source(path.read_text("utf-8"), path.name).problems == (), path


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000,
        "x = " + "-" * 100_000 + "1",
        "a" * 1_000_001,
        "x\0",
        "x = " + "a." * 99_999 + "b",
    ],
)
def test_hostile_text_becomes_a_problem(text: str) -> None:
    report = inspect_source(text, "a.py", "x = 1\n")
    assert report.problems
    assert inspect_source("x = 1\n", "a.py", text).problems == ()


@given(st.text(max_size=300), st.text(max_size=100))
def test_no_text_raises(text: str, base: str) -> None:
    assert inspect_source(text, "a.py", base).path == "a.py"


@pytest.mark.slow
def test_a_class_with_thousands_of_stubs_is_looked_at_once() -> None:
    text = "class C:\n" + "".join(f"    def f{n}(s): ...\n" for n in range(30_000))
    assert inspect_source(text, "a.py").problems
