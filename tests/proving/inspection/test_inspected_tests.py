"""Tests that prove nothing are found without being run; honest ones are left alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.proving.inspection import (
    FoundTest,
    condition_of_import,
    conditions,
    inspect_support,
    inspect_tests,
    missing_scenarios,
    scenario_of,
)

HEAD = "import pytest\nfrom unittest.mock import Mock, MagicMock\nfrom shop import cart, Cart\n"


def problems_of(body: str, packages: tuple[str, ...] = ("shop",)) -> str:
    inventory = inspect_tests(HEAD + body, "tests/test_cart.py", packages)
    return "\n".join(
        f"{problem.line}: {problem.text}" for problem in inventory.problems
    )


def function(*lines: str) -> str:
    return "def test_010_it():\n" + "".join(f"    {line}\n" for line in lines)


WORTHLESS = {
    "assert False": "always fails",
    "pytest.fail('later')": "always fails",
    "raise NotImplementedError": "always fails",
    "raise NotImplementedError('x')": "always fails",
    "pass": "stub",
    "...": "stub",
    "'''only words'''": "docstring",
    "assert True": "stub",
    "x = cart(); assert 1": "decided",
    "x = cart(); assert x == x": "with itself",
    "x = cart(); assert x.total == x.total": "with itself",
    "x = cart(); assert 'text'": "decided",
    "x = cart(); assert (x, 'message')": "tuple",
    "x = cart(); assert [x]": "literal",
    "x = cart(); assert not False": "decided",
    "x = cart(); assert len([1, 2]) == 2": "decided",
    "x = cart(); assert len(x) >= 0": "below 0",
    "x = cart(); assert isinstance(x, object)": "object",
    "x = cart(); assert x or True": "always true",
    "x = cart(); assert x is None or x is not None": "opposite",
    "cart(); total = 5; assert total == 5": "decided",
    "cart(); total = 5; other = total; assert 5 == total": "decided",
    "cart(); assert (lambda: 1)": "always true",
    "m = Mock(); m(1); assert m.called; cart()": "calls itself",
    "m = MagicMock(); m.send(1); m.send.assert_called_once(); cart()": "calls itself",
    "cart()": "asserts nothing",
    "print(cart())": "asserts nothing",
    "assert sorted([2, 1]) == [1, 2]": "decided",
    "import math; assert math.floor(2.5) == 2": "never uses the code",
    "return; assert cart()": "asserts nothing",
    "sys = 1; import sys; assert cart(); sys.exit(0)": "end the test run",
    "import os; os.kill(os.getpid(), 9); assert cart()": "end the test run",
    "import os; os._exit(0); assert cart()": "end the test run",
    "pytest.skip('no'); assert cart()": "keeps a test from counting",
    "pytest.importorskip('numpy'); assert cart()": "keeps a test from counting",
    "open('/etc/x', 'w').write('x'); assert cart()": "writes to '/etc/x'",
    "open('here.txt', mode='a'); assert cart()": "writes to 'here.txt'",
    "from pathlib import Path; Path.home().joinpath('x').write_text(''); assert cart()": "writes to '~'",
    "from pathlib import Path; (Path(__file__).parent / 'x').mkdir(); assert cart()": "writes to '__file__'",
    "yield cart(); assert 1 == cart()": "yields",
}

WORTHLESS |= {
    "import sys; sys.exit(0); assert cart()": "end the test run",
    "import os; cart(run=lambda: os._exit(0)); assert cart()": "end the test run",
    "x = cart(); assert x.total <= x.total": "with itself",
    "assert hash(cart(1)) == hash(cart(1))": "with itself",
    "assert cart() == cart()": "with itself",
    "assert cart(1).total == cart(1).total": "with itself",
    "x = cart(); assert x == cart()": "with itself",
    "a = cart(); b = cart(); assert a == b": "with itself",
    "a = cart(); b = a; assert a == b": "with itself",
    "before = cart.total; assert cart.total == before": "with itself",
    "assert not cart() != cart()": "with itself",
    "assert cart() in [cart()]": "with itself",
    "assert (x := cart()) == x": "with itself",
    "assert all(y == y for y in cart())": "with itself",
    "x = cart(); assert x == x == x": "with itself",
    "x = cart(); assert x == x or cart(2)": "always true",
    "assert cart() or not cart()": "opposite",
    "x = cart(); assert len(x) > -1": "below 0",
    "x = cart(); assert 0 <= len(x)": "below 0",
}

WORTHLESS |= {
    "import inspect; assert 'Stands in' not in inspect.getsource(cart)": "reads the text of the code",
    "from inspect import getsourcelines; assert getsourcelines(cart)[0]": "reads the text of the code",
    "import ast, inspect; assert ast.parse(inspect.getsource(cart)).body": "reads the text of the code",
    "assert 'x' in open('shop/cart.py').read(); cart()": "reads the text of `shop/cart.py`",
    "assert 'x' in open(cart.__file__).read()": "reads the text of `the module under test`",
    "from pathlib import Path; p = Path(cart.__file__); assert 'x' in p.read_text()": "reads the text of",
    "from pathlib import Path; assert cart() in Path('src/shop/cart.py').read_text()": "reads the text of",
    "import os; assert cart() in open(os.path.join('shop', 'cart.py')).read()": "reads the text of `shop/cart.py`",
    "from pathlib import Path; assert cart() in (Path(__file__).parents[1] / 'shop/cart.py').read_text()": "the text",
    "assert cart.__code__.co_consts": "compiled code",
    "assert type(cart).__name__ != 'NotWrittenYet'": "stand-in",
    "assert not hasattr(cart, '_make_placeholders')": "stand-in",
}


@pytest.mark.parametrize("line", WORTHLESS)
def test_a_worthless_test_is_named(line: str) -> None:
    assert WORTHLESS[line] in problems_of(function(line))


WORTHLESS_BLOCKS = {
    "with pytest.raises(Exception):\n        cart(-1)": "every mistake",
    "with pytest.raises((ValueError, BaseException)):\n        cart(-1)": "every mistake",
    "with pytest.raises(ValueError):\n        raise ValueError": "itself",
    "try:\n        assert cart() == 1\n    except Exception:\n        pass": "hides",
    "try:\n        assert cart() == 1\n    except:\n        print('failed')": "hides",
    "import contextlib\n    with contextlib.suppress(AssertionError):\n        assert cart() == 1": "hides",
    "if False:\n        assert cart() == 1": "asserts nothing",
    "def inner():\n        assert cart() == 1": "asserts nothing",
}


@pytest.mark.parametrize("block", WORTHLESS_BLOCKS)
def test_a_worthless_block_is_named(block: str) -> None:
    assert WORTHLESS_BLOCKS[block] in problems_of(function(block))


MARKED = (
    "@pytest.mark.skip\n",
    "@pytest.mark.skipif(True, reason='x')\n",
    "@pytest.mark.xfail(strict=True)\n",
    "pytestmark = pytest.mark.skip\n",
    "@pytest.mark.parametrize('x', [pytest.param(1, marks=pytest.mark.xfail)])\n",
)


@pytest.mark.parametrize("mark", MARKED)
def test_a_mark_that_keeps_a_test_from_counting_is_named(mark: str) -> None:
    assert "keeps a test from counting" in problems_of(
        mark + function("assert cart() == 1")
    )


def test_a_mark_that_the_repository_uses_is_allowed_again() -> None:
    mark = "@pytest.mark.skipif(not shop.HAS_DISK, reason='x')\n"
    text = HEAD + mark + function("assert cart() == 1")
    assert inspect_tests(text, "test_x.py", ["shop"]).problems
    known = conditions("import pytest\n" + mark + "def test_old(): assert cart()\n")
    assert not inspect_tests(text, "test_x.py", ["shop"], None, (), known).problems
    marked_before = text + mark + "def test_020_more():\n    assert cart(2) == 2\n"
    assert not inspect_tests(marked_before, "test_x.py", ["shop"], text).problems


def test_a_declared_optional_dependency_may_be_missing_elsewhere() -> None:
    text = f"{HEAD}pandas = pytest.importorskip('pandas')\n"
    text += function("assert cart(pandas) == 1")
    known = {condition_of_import("pandas")}
    assert not inspect_tests(text, "test_x.py", ["shop"], None, (), known).problems
    other = {condition_of_import("numpy")}
    assert inspect_tests(text, "test_x.py", ["shop"], None, (), other).problems


ABOUT_OTHER_THINGS = {
    "documentation": function(
        "from pathlib import Path", "assert 'Usage' in Path('README.md').read_text()"
    ),
    "a constant": "from pathlib import Path\nREADME = Path(__file__).parents[1] / 'README.md'\n"
    "def test_010_it():\n    assert 'Usage' in README.read_text()\n",
    "a command": function(
        "import subprocess", "assert subprocess.run(['till', '--list']).returncode == 0"
    ),
    "a command in a list": "import subprocess\nLIST = ['till', '--list']\ndef test_010_it():\n"
    "    assert subprocess.run(LIST).returncode == 0\n",
    "packaging": function(
        "import tomllib",
        "from pathlib import Path",
        "assert tomllib.loads(Path('pyproject.toml').read_text())['project']['license']",
    ),
}


@pytest.mark.parametrize("kind", ABOUT_OTHER_THINGS)
def test_a_test_of_something_else_that_is_built_is_a_test(kind: str) -> None:
    text = HEAD + ABOUT_OTHER_THINGS[kind]
    subjects = ["README.md", "till", "pyproject.toml"]
    assert inspect_tests(text, "test_x.py", ["shop"], None, subjects).problems == ()
    (problem,) = inspect_tests(text, "test_x.py", ["shop"]).problems
    assert "never uses the code" in problem.text


HONEST = (
    function("assert hash(Cart(1)) == hash(Cart(1))"),
    function("v = cart('1.0')", "assert v <= v", "assert v >= v", "assert not v < v"),
    function(
        "import sys",
        "def fake(*words): sys.exit(3)",
        "cart.run = fake",
        "with pytest.raises(SystemExit): cart.main([])",
    ),
    "import sys\n" + function("assert cart(run=lambda: sys.exit(3)) == 3"),
    "import sys\nclass Program:\n    def run(self):\n        sys.exit(3)\n"
    + function("assert cart(Program()) == 3"),
    "from pathlib import Path\ndef test_010_it(monkeypatch, tmp_path):\n"
    "    monkeypatch.setenv('HOME', str(tmp_path))\n"
    "    (Path.home() / '.rc').write_text('x')\n    assert cart() == 'x'\n",
    "from pathlib import Path\ndef test_010_it(monkeypatch, tmp_path):\n"
    "    monkeypatch.setattr('pathlib.Path.home', lambda: tmp_path)\n"
    "    (Path.home() / '.rc').write_text('x')\n    assert cart() == 'x'\n",
    function("assert cart() == 1"),
    function("assert Cart(1) == Cart(1)"),
    function("assert cart() is cart()"),
    function("a = cart.load()", "cart.save(a)", "assert cart.load() == a"),
    function("a = cart.load()", "b = cart.save(a)", "assert cart.load() == a"),
    function("before = cart.total", "cart.add()", "assert cart.total == before"),
    function(
        "before = cart.read()", "assert cart.add() == 1", "assert cart.read() == before"
    ),
    function("assert cart(1) == 1 == cart(2)"),
    function("x = cart()", "assert len(x) >= 1"),
    "import sys\n@pytest.mark.skipif(sys.platform == 'win32', reason='x')\n"
    + function("assert cart() == 1"),
    "import sys\npytestmark = pytest.mark.skipif(sys.version_info < (3, 8), reason='x')\n"
    + function("assert cart() == 1"),
    function("with pytest.raises(ValueError):", "    cart(-1)"),
    function("with pytest.raises(Exception, match='negative'):", "    cart(-1)"),
    function("expected = 5", "assert cart(2, 3) == expected"),
    function(
        "total = 0", "for item in cart():", "    total += item", "assert total == 0"
    ),
    function("send = Mock()", "cart(send)", "send.assert_called_once_with(1)"),
    function(
        "try:",
        "    cart(-1)",
        "except ValueError:",
        "    return",
        "pytest.fail('no error')",
    ),
    function(
        "try:",
        "    cart(-1)",
        "except Exception:",
        "    pytest.fail('an error')",
        "assert cart() == 1",
    ),
    "def check(x):\n    assert x == 1\n" + function("check(cart())"),
    "@pytest.fixture\ndef full():\n    return cart(3)\n\ndef test_it(full):\n    assert full.total == 3\n",
    "class TestCart:\n    def setup_method(self):\n        self.cart = Cart()\n"
    "    def test_empty(self):\n        assert self.cart.total == 0\n",
    "class TestCart:\n    def check(self, x):\n        assert x == 1\n"
    "    def test_it(self):\n        self.check(cart())\n",
    "import unittest\nclass Carts(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(cart(), 1)\n",
    "import unittest\nclass Base(unittest.TestCase):\n    def check(self, x):\n        self.assertEqual(x, 1)\n"
    "class Carts(Base, unittest.TestCase):\n    def test_it(self):\n        self.check(cart())\n",
    "def test_it(tmp_path):\n    (tmp_path / 'x').write_text('1')\n    assert cart(tmp_path / 'x') == 1\n",
    "def test_it(tmp_path, monkeypatch):\n    monkeypatch.chdir(tmp_path)\n"
    "    open('x', 'w')\n    assert cart('x') == 1\n",
    "import subprocess, sys\n"
    + function("assert subprocess.run([sys.executable, '-m', 'shop']).returncode == 0"),
    "@pytest.mark.parametrize(('given', 'wanted'), [(1, 2)])\n"
    "def test_it(given, wanted):\n    assert cart(given) == wanted\n",
    "CASES = cart.load()\n@pytest.mark.parametrize('case', CASES)\n"
    "def test_it(case):\n    assert case.run() == CASES\n",
    "def test_it(some_fixture_of_conftest):\n    assert some_fixture_of_conftest.total == 1\n",
    function("if cart() != 1:", "    raise AssertionError('not one')"),
    "import os\ndef test_it(child):\n    os.kill(child.pid, 9)\n    assert cart(child) == 1\n",
    "from shop import *\n" + function("assert total() == 1"),
    "import inspect\ndef helper(): ...\n"
    + function("assert cart(helper) == inspect.getsource(helper)"),
    "def test_it(tmp_path):\n    cart(tmp_path)\n    assert (tmp_path / 'shop' / 'cart.py').read_text() == ''\n",
    "def test_it(tmp_path, monkeypatch):\n    monkeypatch.chdir(tmp_path)\n    cart()\n"
    "    assert open('shop/cart.py').read() == ''\n",
    "from pathlib import Path\n"
    + function(
        "assert cart() == (Path(cart.__file__).parent / 'data.json').read_text()"
    ),
    "from pathlib import Path\n"
    + function(
        "assert cart() == (Path(__file__).parent / 'shop' / 'x.py').read_text()"
    ),
    "from pathlib import Path\n"
    + function("assert cart() == Path('shop/golden.txt').read_text()"),
)


HELPERS = """\
def wanted(x):
    '''What is wanted.'''
    return cart(x)


def tripled(x):
    return cart(x) * 3


@pytest.fixture
def given():
    return cart(1)


"""


@pytest.mark.parametrize(
    ("line", "is_refused"),
    [
        ("assert cart(1) == wanted(1)", True),
        ("assert wanted(1) == cart(1)", True),
        ("assert cart(1) == wanted(2)", False),
        ("assert cart(1) == tripled(1)", False),
        ("assert cart(1) == wanted(x=1)", False),
        ("assert cart(1) == given()", False),
    ],
)
def test_a_helper_that_does_what_is_tested_proves_nothing(
    line: str, is_refused: bool
) -> None:
    assert ("with itself" in problems_of(HELPERS + function(line))) == is_refused


@pytest.mark.parametrize("text", HONEST)
def test_an_honest_test_is_left_alone(text: str) -> None:
    assert problems_of(text) == ""


def test_tests_are_named_as_pytest_names_them() -> None:
    text = """\
import pytest
def test_a(): assert f()
if True:
    async def test_b(): assert f()
class TestC:
    @pytest.mark.parametrize("x", [1])
    def test_d(self, x): assert f(x)
    class TestInner:
        def test_e(self): assert f()
    def helper(self): ...
class Other:
    def test_not(self): ...
@pytest.fixture
def test_fixture(): ...
"""
    assert inspect_tests(text, "test_x.py").names == (
        FoundTest("test_a", 2),
        FoundTest("test_b", 4),
        FoundTest("TestC::test_d", 7, True),
        FoundTest("TestC::TestInner::test_e", 9),
    )


def test_a_test_that_is_defined_twice_is_named() -> None:
    assert "defined again" in problems_of(function("assert cart() == 1") * 2)


def test_what_a_file_did_before_is_not_blamed() -> None:
    old = HEAD + function("pass")
    new = old + "def test_020_more():\n    pass\n"
    problems = inspect_tests(new, "test_x.py", ["shop"], old).problems
    assert [problem.text.partition(":")[0] for problem in problems] == ["test_020_more"]


def test_a_file_without_tests_is_a_problem() -> None:
    assert "holds no test" in problems_of("x = 1\n")


def test_scenarios_are_mapped_to_tests() -> None:
    text = "def test_010_a(): assert f()\ndef test_other(): assert f()\n"
    text += "class TestX:\n    def test_t020_b(self): assert f()\n"
    inventory = inspect_tests(text, "test_x.py")
    assert [scenario_of(test.name) for test in inventory.names] == ["010", "", "020"]
    assert missing_scenarios(inventory, ["010", "T020", "030", "100"]) == ("030", "100")
    assert missing_scenarios([inventory], ["10"]) == ()


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("def test_x(:\n", "not valid Python"),
        ("\n\nx = (\n", "not valid Python"),
        ("x = 1\0", "not valid Python"),
        ("x = " + "(" * 5000 + ")" * 5000, ""),
        ("x = " + "-" * 100_000 + "1", ""),
        ("x = " + "a." * 100_000 + "b", ""),
        ("x = " + "1+" * 100_000 + "1", ""),
        ("def test_x():\n    assert " + "not " * 5000 + "x", ""),
        ("a" * 1_000_001, "longer than"),
    ],
)
def test_hostile_text_becomes_a_problem(text: str, word: str) -> None:
    problems = inspect_tests(text, "test_x.py", ["shop"]).problems
    assert problems
    assert word in problems[0].text
    assert all(problem.line >= 1 and "\n" not in problem.text for problem in problems)


def test_the_tests_of_this_product_are_honest() -> None:
    ours = Path(__file__).parents[2]
    for path in [
        *(ours / "documents").glob("test_*.py"),
        *(ours / "codemap").glob("test_*.py"),
    ]:
        inventory = inspect_tests(path.read_text("utf-8"), path.name, ["agentos"])
        serious = [
            problem
            for problem in inventory.problems
            if "never uses" not in problem.text
        ]
        assert serious == [], path.name
        assert inventory.names


@given(st.text(max_size=300))
def test_no_text_raises(text: str) -> None:
    inspect_tests(text, "test_x.py", ["shop"])


LINES = st.sampled_from(
    [
        "def test_a():",
        "    assert x",
        "    pass",
        "class TestB:",
        "    def test_c(self):",
        "        with y: z()",
        "@m",
        "if x:",
    ]
)


@given(st.lists(LINES, max_size=12))
def test_no_arrangement_of_lines_raises(lines: list[str]) -> None:
    inspect_tests("\n".join(lines), "test_x.py", ["shop"])


READING = "import inspect\nfrom shop import cart\n\n\ndef is_written():\n    return 'def' in inspect.getsource(cart)\n"


def test_a_helper_that_reads_the_code_is_refused_unless_it_did_so_before() -> None:
    [problem] = inspect_support(READING, ["shop"])
    assert problem.line == 6
    assert "reads the text of the code" in problem.text
    assert inspect_support(READING + "\n\nOTHER = 1\n", ["shop"], READING) == ()
    assert inspect_support("def broken(:\n", ["shop"])
    assert (
        inspect_support(
            "import pytest\n\n\n@pytest.fixture\ndef cart():\n    return 1\n",
            ["shop"],
            None,
        )
        == ()
    )
