"""What goes back to the model."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentos.proving.feedback import write_feedback
from agentos.proving.judging import ProofRefusal
from agentos.proving.runners import CollectionError, TestOutcome, TestResult, TestRun
from agentos.state.terminal_text import clean_text

LINES = st.lists(
    st.sampled_from(
        [
            "E   assert 1 == 2",
            "    return x",
            "",
            "\x1b[2Jwiped",
            "é" * 30,
            "[9 lines left out]",
        ]
    )
)
TEXT = LINES.map("\n".join) | st.text(max_size=60)
RED = [
    TestOutcome.FAILED,
    TestOutcome.ERROR,
    TestOutcome.UNFINISHED,
    TestOutcome.NOT_RUN,
]


@st.composite
def failing_runs(draw: st.DrawFn) -> TestRun:
    tests = []
    for number in range(draw(st.integers(0, 8))):
        name = f"t.py::test_{number}{draw(st.sampled_from(['', '[a::b]', chr(0x1B), 'ü']))}"
        message, text, output = draw(TEXT), draw(TEXT), draw(TEXT)
        outcome = draw(st.sampled_from([*RED, TestOutcome.PASSED]))
        exception = draw(st.sampled_from(["", "ValueError"]))
        tests.append(
            TestResult(
                name,
                name,
                "t.py",
                outcome,
                exception,
                message,
                "",
                text * 9,
                output,
                "t.py",
                1,
            )
        )
    errors = (CollectionError("u.py", "SyntaxError", draw(TEXT), text=draw(TEXT)),)
    return TestRun(
        tuple(tests),
        errors if draw(st.booleans()) else (),
        problem=draw(st.text(max_size=20)),
    )


def cleaned(text: str) -> str:
    return clean_text(text).decode()


@given(failing_runs(), st.integers(0, 4000))
def test_every_failing_test_is_named_within_the_limit(run: TestRun, limit: int) -> None:
    text = write_feedback(run, limit=limit)
    failing = [test.id for test in run.tests if test.outcome is not TestOutcome.PASSED]
    names = [*(error.path for error in run.collection_errors), *failing]
    assert all(cleaned(name) in text for name in names)
    bare = sum(len(f"- {cleaned(name)}\n".encode()) for name in names)
    assert len(text.encode()) <= max(limit, bare, 1)
    assert "\x1b" not in text


@given(failing_runs(), st.integers(0, 4000))
def test_no_line_of_a_traceback_is_cut(run: TestRun, limit: int) -> None:
    known = {
        line
        for test in run.tests
        for part in (test.text, test.output)
        for line in cleaned(part).split("\n")
    }
    known |= {
        line
        for error in run.collection_errors
        for line in cleaned(error.text).split("\n")
    }
    _, _, details = write_feedback(run, limit=limit).partition("\n\n### ")
    for line in details.split("\n")[1:]:
        ours = (
            line.startswith("### ")
            or (line.startswith("[") and line.endswith("]"))
            or not line
        )
        assert ours or line in known


def failed(name: str, text: str, output: str = "", message: str = "no") -> TestResult:
    return TestResult(
        f"t.py::{name}",
        f"t.py::{name}",
        "t.py",
        TestOutcome.FAILED,
        "ValueError",
        message,
        "",
        text,
        output,
    )


def test_what_is_too_much_goes_in_a_fixed_order() -> None:
    explanation = "\n".join(f"E   diff {number}" for number in range(40))
    diff = f"def test():\n>   assert\n{explanation}\nt.py:2: ValueError"
    run = TestRun(
        (
            failed("a", diff, "printed a", "one"),
            failed("b", diff, "printed b", "two"),
            failed("c", diff, "c", "three"),
        )
    )
    whole = write_feedback(run)
    assert whole.count("diff 39") == 3
    assert "printed a" in whole
    assert "printed b" in whole
    size = len(whole.encode())

    without_output = write_feedback(run, limit=size - 11)
    assert "printed a" in without_output
    assert "printed b" not in without_output
    assert without_output.count("diff 39") == 3

    trimmed = write_feedback(run, limit=size - 600)
    assert trimmed.count("diff 39") == 1
    assert "E   diff 11\n[28 lines left out]\nt.py:2: ValueError" in trimmed

    named = write_feedback(run, limit=160)
    assert "###" not in named
    assert "- t.py::c: ValueError: three" in named


def test_one_cause_is_shown_once_within_a_page_with_all_its_tests() -> None:
    text = "\n".join(f"    frame {number}" for number in range(2000))
    run = TestRun(tuple(failed(f"test_{n}", text, "x\n" * 5000) for n in range(15)))
    feedback = write_feedback(run)
    assert "- 15 for one cause: ValueError: no\n  - t.py::test_0\n" in feedback
    assert all(f"  - t.py::test_{number}\n" in feedback for number in range(15))
    assert feedback.count("### ") == 1
    assert "frame 1999" in feedback
    assert len(feedback) < 6_000


def test_what_failed_before_is_marked_and_comes_last_without_its_traceback() -> None:
    run = TestRun((failed("old", "old text"), failed("new", "new text", "", "other")))
    feedback = write_feedback(run, old={"t.py::old"})
    new, _, old = feedback.partition("These failed before any change. They are not")
    assert "- t.py::new: ValueError: other" in new
    assert "t.py::old" not in new
    assert "- t.py::old\n" in old
    assert "old text" not in feedback
    assert "new text" in feedback


def test_refusals_that_no_traceback_shows_are_told() -> None:
    refusals = [
        ProofRefusal("coverage", "a.py", "these lines never ran: 4-9"),
        ProofRefusal("fails", "t.py::a", "told below"),
    ]
    text = write_feedback(TestRun((failed("a", "t.py:1: ValueError"),)), refusals)
    assert "- a.py: these lines never ran: 4-9" in text
    assert "told below" not in text
