"""Earlier tests that a change took away or made ask for something else are named; more
tests and cases are not.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.proving.inspection import weakened

BEFORE = """\
import pytest
from shop import add

LIMIT = 3


def check(value):
    assert value == LIMIT


@pytest.fixture
def start():
    return 1


def test_add():
    assert add(1, 2) == 3
    assert add(2, 2) == 4


def test_helper(start):
    check(add(start, 2))


@pytest.mark.parametrize(("left", "wanted"), [(1, 2), (2, 3)])
def test_many(left, wanted):
    assert add(left, 1) == wanted


class TestAdd:
    def setup_method(self):
        self.left = 1

    def test_method(self):
        assert add(self.left, 1) == 2
"""


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        (
            "    assert add(1, 2) == 3\n",
            "",
            ["test_add: was changed, from 2 checks to 1"],
        ),
        ("add(1, 2) == 3", "callable(add)", ["test_add: was changed"]),
        ("def test_add", "def test_sum", ["test_add: was there and is gone"]),
        (
            "def test_add():\n",
            "def test_add():\n    return\n",
            ["test_add: was changed"],
        ),
        (
            "LIMIT = 3",
            "LIMIT = add(1, 2)",
            ["test_helper: what it uses was changed: `LIMIT`"],
        ),
        (
            "assert value == LIMIT",
            "assert value",
            ["test_helper: what it uses was changed: `check`, `LIMIT`"],
        ),
        ("return 1", "return 2", ["test_helper: what it uses was changed: `start`"]),
        ("[(1, 2), (2, 3)]", "[(1, 2)]", ["test_many: was changed, in its cases"]),
        (
            "@pytest.mark.param",
            "@pytest.mark.skip\n@pytest.mark.param",
            ["test_many: was changed, in its marks"],
        ),
        (
            "self.left = 1",
            "self.left = 0",
            ["TestAdd::test_method: what it uses was changed: `TestAdd.setup_method`"],
        ),
        (
            "class TestAdd:",
            "class Adding:",
            ["TestAdd::test_method: was there and is gone"],
        ),
    ],
)
def test_an_earlier_test_that_asks_for_less_is_named(
    old: str, new: str, lines: list[str]
) -> None:
    assert weakened(BEFORE, BEFORE.replace(old, new)) == lines


def test_a_name_that_was_put_over_the_code_is_seen_by_every_test_that_uses_it() -> None:
    found = weakened(BEFORE, BEFORE.replace("LIMIT = 3", "LIMIT = 3\nadd = fake"))
    assert [line.partition(":")[0] for line in found] == [
        "test_add",
        "test_helper",
        "test_many",
        "TestAdd",
    ]
    patched = (
        BEFORE
        + "\n\n@pytest.fixture(autouse=True)\ndef bent(monkeypatch):\n    monkeypatch.undo()\n"
    )
    assert len(weakened(BEFORE, patched)) == 4


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def test_add():\n", 'def test_add():\n    """Adds."""\n    # and how\n'),
        ("(2, 3)]", "(2, 3), (5, 6)]"),
        (
            "class TestAdd:",
            "def test_more():\n    assert add(0, 0) == 0\n\n\nclass TestAdd:",
        ),
        ("import pytest\n", "import math\nimport pytest\n"),
    ],
)
def test_more_tests_more_cases_and_other_words_are_no_loss(old: str, new: str) -> None:
    assert weakened(BEFORE, BEFORE.replace(old, new)) == []


def test_a_file_that_cannot_be_read_has_no_tests() -> None:
    assert weakened("def (:", BEFORE) == []
    assert "none of its earlier tests" in weakened(BEFORE, "def (:")[0]
    assert weakened("x = 1\n", "def (:") == []


@given(st.text(max_size=200), st.text(max_size=200))
def test_no_text_raises(before: str, after: str) -> None:
    assert weakened(before, before) == []
    weakened(before, after)
    weakened(BEFORE, after)


def test_a_statement_that_binds_thousands_of_names_is_read_once() -> None:
    names = ", ".join(f"a{number}" for number in range(20_000))
    text = f"{names} = ([0] * 20_000)\n\n\ndef test_it():\n    assert a0 == 0\n"
    assert not weakened(text, text)
