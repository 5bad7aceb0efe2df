"""What the progress line says."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import wcswidth

from agentos.run.console.progress import Eta, Progress, bar, describe, duration, fit
from agentos.run.console.style import (
    emphasize_failure,
    prefix_of,
    wants_color,
    wants_live_progress,
)


@pytest.mark.parametrize(
    ("done", "total", "text"),
    [
        (5, 10, "[=====>    ] 5/10 workflows complete"),
        (0, 10, "[>         ] 0/10 workflows complete"),
        (10, 10, "[==========] 10/10 workflows complete"),
        (9, 10, "[=========>] 9/10 workflows complete"),
        (1, 3, "[===>      ] 1/3 workflows complete"),
        (0, 0, "[==========] 0/0 workflows complete"),
    ],
)
def test_the_bar_has_the_agreed_form(done: int, total: int, text: str) -> None:
    assert bar(Progress(done, total)) == text


@given(st.integers(0, 2000), st.integers(0, 2000))
def test_the_bar_is_always_as_wide(done: int, total: int) -> None:
    assert bar(Progress(done, total)).index("]") == 11


def test_skeletons_and_what_waits_for_a_person_are_counted_apart() -> None:
    progress = Progress(3, 10, skeletons=1, undecided=2)
    assert bar(progress) == (
        "[======>   ] 3/10 workflows complete, 1 skeleton, 2 waiting for a person"
    )
    assert not progress.is_complete
    assert Progress(0, 2, skeletons=2).is_complete


def test_the_live_line_starts_with_the_bar() -> None:
    text = describe(
        Progress(5, 10, running=3, failed=1, eta="3-5 min", note="$0.12"), 65.0
    )
    expected = "[=====>    ] 5/10 workflows complete, 3 running, 1 failed, 1:05 elapsed, ETA 3-5 min, $0.12"
    assert text == expected
    assert duration(7209) == "2:00:09"


@given(
    st.text(alphabet=st.sampled_from("a日👩é\u0301"), max_size=60), st.integers(0, 40)
)
def test_text_is_fitted_by_the_cells_it_takes(text: str, columns: int) -> None:
    fitted = fit(text, columns)
    assert text.startswith(fitted)
    assert wcswidth(fitted) <= columns


def test_there_is_no_estimate_before_two_completions() -> None:
    eta = Eta(workers=2)
    assert eta.text(left=9, now=0) == "-"
    eta.completed(60, left=9, now=60)
    assert eta.text(left=9, now=60) == "-"
    eta.completed(60, left=8, now=60)
    assert eta.text(left=8, now=60) == "4 min"
    assert eta.text(left=0, now=60) == "-"


def test_an_uneven_batch_gives_a_range() -> None:
    eta = Eta(workers=2)
    for seconds, left in ((60, 9), (180, 8), (120, 7)):
        eta.completed(seconds, left=left, now=200)
    assert re.fullmatch(r"\d+-\d+ min", eta.text(left=7, now=200))


@given(
    st.lists(st.tuples(st.floats(0, 1e5), st.floats(0, 1e5)), min_size=1, max_size=30),
    st.integers(1, 10),
)
def test_an_estimate_is_never_negative(
    items: list[tuple[float, float]], workers: int
) -> None:
    eta, now = Eta(workers), 0.0
    for number, (seconds, gap) in enumerate(items):
        now += gap
        eta.completed(seconds, left=len(items) - number, now=now)
        text = eta.text(left=len(items) - number, now=now + gap)
        assert text == "-" or re.fullmatch(r"(<1|\d+|\d+-\d+) (min|h)", text)


def test_one_outlier_moves_the_expected_end_only_half_of_the_way() -> None:
    steady, jolted = Eta(1), Eta(1)
    for eta in (steady, jolted):
        for _ in range(10):
            eta.completed(60, left=10, now=0)
    assert steady.text(left=10, now=0) == "10 min"
    jolted.completed(660, left=9, now=0)
    first = re.findall(r"\d+", jolted.text(left=9, now=0))
    assert int(first[0]) <= 12


@pytest.mark.parametrize(
    ("choice", "is_tty", "environ", "expected"),
    [
        ("auto", True, {}, True),
        ("auto", False, {}, False),
        ("auto", True, {"TERM": "dumb"}, False),
        ("auto", False, {"FORCE_COLOR": "1"}, True),
        ("auto", True, {"FORCE_COLOR": "0"}, False),
        ("never", True, {"FORCE_COLOR": "1"}, False),
        ("always", False, {}, True),
        ("always", True, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ("auto", True, {"NO_COLOR": ""}, True),
    ],
)
def test_colour_follows_the_order_of_precedence(
    choice: str, is_tty: bool, environ: dict[str, str], expected: bool
) -> None:
    assert wants_color(choice, is_tty=is_tty, environ=environ) is expected


def test_a_live_line_needs_a_real_terminal() -> None:
    assert wants_live_progress(is_tty=True, environ={"TERM": "xterm"})
    assert not wants_live_progress(is_tty=False, environ={"TERM": "xterm"})
    assert not wants_live_progress(is_tty=True, environ={"TERM": "dumb"})
    assert not wants_live_progress(is_tty=True, environ={"TERM": "xterm", "CI": "true"})


def test_a_label_keeps_its_colour_and_failure_is_red() -> None:
    assert prefix_of("LLD-42", color=True) == prefix_of("LLD-42", color=True)
    assert prefix_of("LLD-42", color=False) == "[LLD-42] "
    assert emphasize_failure(b"FAILED: x", color=True) == b"\x1b[1;31mFAILED\x1b[0m: x"
    assert emphasize_failure(b"FAILED: x", color=False) == b"FAILED: x"
