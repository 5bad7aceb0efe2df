"""The fuzzer finds what it is there for, and its targets hold for a moment."""

from __future__ import annotations

import pytest

from tests.fuzz.fuzzer import Superlinear, check_growth, run_hypothesis
from tests.fuzz.targets import TARGETS, Target

pytestmark = pytest.mark.slow


def _break_on_a_box(text: str) -> None:
    if "[x]" in text:
        raise KeyError(text)


def _compare_all(text: str) -> int:
    few = text[::700]
    return sum(one == other == third for one in few for other in few for third in few)


def test_an_exception_of_another_kind_is_found() -> None:
    with pytest.raises(KeyError):
        run_hypothesis(Target(_break_on_a_box, ValueError), 30, lambda _: None)


def test_a_parser_with_loops_in_loops_is_found() -> None:
    with pytest.raises(Superlinear):
        check_growth(Target(_compare_all, ValueError), "a")


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_a_target_holds(name: str) -> None:
    assert run_hypothesis(TARGETS[name], 0, lambda _: None) > 0
