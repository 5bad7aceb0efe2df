"""Tests whose assertions did not run are found by the lines that ran."""

from __future__ import annotations

import pytest

from agentos.proving.inspection import idle_tests

TEXT = """\
import pytest


def check(found):
    assert found


def test_010_loop():
    for each in []:
        assert each


def test_020_helper():
    check(
        1,
    )


def test_030_raises():
    with pytest.raises(ValueError):
        int("x")


class TestMore:
    def test_040_left(self):
        if True:
            return
        assert False
"""
LOOP, HELPER, RAISES, LEFT = 10, 5, 20, 28


@pytest.mark.parametrize(
    ("missing", "idle"),
    [
        ([], []),
        ([LOOP], ["test_010_loop"]),
        ([HELPER], ["test_020_helper"]),
        ([RAISES], ["test_030_raises"]),
        ([LOOP, LEFT], ["test_010_loop", "TestMore::test_040_left"]),
    ],
)
def test_a_test_is_idle_if_none_of_its_assertions_ran(
    missing: list[int], idle: list[str]
) -> None:
    lines = range(1, len(TEXT.splitlines()) + 1)
    executed = [line for line in lines if line not in missing]
    assert idle_tests(TEXT, executed) == idle


def test_one_assertion_is_enough_and_a_test_without_any_is_not_judged() -> None:
    text = "def test_a():\n    assert 1\n    for i in []:\n        assert i\n\n\ndef test_b():\n    print(1)\n"
    assert idle_tests(text, [1, 2, 3, 7, 8]) == []
    assert idle_tests("def broken(", []) == []
