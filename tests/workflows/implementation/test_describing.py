"""What models and people are told about the base, and about lines that no test runs."""

from __future__ import annotations

from collections.abc import Mapping

from agentos.documents.changes import UnreachableLines
from agentos.proving.runners.runs import (
    CollectionError,
    FileCoverage,
    TestOutcome,
    TestResult,
    TestRun,
)
from agentos.workflows.implementation import proving
from agentos.workflows.implementation.evidence import describe_evidence
from agentos.workflows.implementation.proving import (
    coverage_shortfall,
    describe_base,
    refuse_coverage,
    say_base,
    show_shortfall,
)
from agentos.workflows.implementation.state import Iteration, Scaffold, initial_state

MISSING = "FileNotFoundError"
NAMED = "No such file or directory: 'till'"


def result(name: str, exception: str = "", message: str = "") -> TestResult:
    outcome = TestOutcome.FAILED if exception else TestOutcome.PASSED
    id = f"t.py::{name}"
    return TestResult(
        id,
        id,
        "t.py",
        outcome,
        exception,
        message,
        text=f"trace of {name}",
        file="t.py",
    )


OLD = tuple(result(f"old_{number}", MISSING, NAMED) for number in range(5))
BASE = TestRun((result("fine"), *OLD, result("wrong", "ValueError", "no")))


class Files:
    """The present and the earlier texts of files."""

    def __init__(self, now: Mapping[str, str], base: Mapping[str, str]) -> None:
        self.now = now
        self.base = base

    def read(self, path: str) -> str | None:
        return self.now.get(path)

    def read_base(self, path: str) -> str | None:
        return self.base.get(path)


def test_a_person_reads_the_state_of_the_suite_in_one_line() -> None:
    assert say_base(TestRun()) == "before: the repository has no tests"
    assert say_base(TestRun((result("a"),))) == "before: 1 passed"
    one = TestRun((result("a"), result("b", "KeyError")))
    assert say_base(one) == "before: 1 passed, 1 fails already: t.py::b"
    broken = CollectionError("u.py", "ImportError")
    names = "u.py, t.py::old_0, t.py::old_1 and 1 more"
    run = TestRun(OLD[:3], (broken,))
    assert say_base(run) == f"before: 0 passed, 4 fail already: {names}"


def skipped(name: str, message: str) -> TestResult:
    id = f"t.py::{name}"
    return TestResult(id, id, "t.py", TestOutcome.SKIPPED, "SkipTest", message)


def test_skipped_tests_are_told_with_their_reasons() -> None:
    missing = [skipped(f"zone_{number}", "pytz unavailable") for number in range(3)]
    run = TestRun((result("a"), *missing))
    assert say_base(run) == "before: 1 passed, 3 skipped"
    text = describe_base(run, ["timezone: pytz"])
    assert text.splitlines()[1:] == [
        "3 tests skipped: pytz unavailable",
        "Declared as optional and not installed where the tests run, so that a test that"
        " needs one is skipped: timezone: pytz",
    ]
    both = TestRun(
        (*missing, skipped("net", "")),
        skipped_files=("u.py",),
        file_reasons={"u.py": "could not import 'x'"},
    )
    lines = describe_base(both).splitlines()
    assert lines[1:] == [
        "4 tests skipped; 3 because of: pytz unavailable; 1 because of: no reason is"
        " given",
        "1 whole file skipped: could not import 'x'",
    ]
    assert TestRun.from_data(both.as_data()) == both


def test_a_model_reads_what_fails_already_by_cause_within_a_page() -> None:
    assert describe_base(TestRun()) == "The repository has no tests yet."
    text = describe_base(BASE)
    assert "1 test of the repository passes before any change." in text
    assert "6 fail already" in text
    assert text.count(NAMED) == 1
    assert all(test.id in text for test in OLD)
    many = tuple(result(f"n{n}", "ValueError", f"cause {n}") for n in range(5000))
    long = describe_base(TestRun(many))
    assert len(long) < 4_100
    assert long.endswith("more lines]")


def test_feedback_names_a_failure_once_and_old_ones_as_old() -> None:
    new = result("new", "AssertionError", "assert 1 == 2")
    run = TestRun((*BASE.tests, new))
    refusals = [f"{new.id}: AssertionError: assert 1 == 2 (t.py:0)", "a.py: no lines"]
    text = proving.test_feedback(run, refusals, BASE.as_data())
    assert text.startswith("- a.py: no lines\n\n")
    assert text.count(f"{new.id}: ") == 1
    ours, _, old = text.partition("These failed before any change.")
    assert "old_0" not in ours
    assert old.count("t.py::old_") == 5
    assert NAMED not in text
    assert proving.test_feedback(run, [], {}) == ""


def test_the_reviewer_is_told_what_code_asks_about_where_it_runs() -> None:
    texts = {
        "a.py": "import sys\n\n\nRUNNER = sys.argv[0]\n",
        "tests/test_a.py": "import sys\n\n\nRUNNER = sys.argv[0]\n",
        "README.md": "sys.argv[0]\n",
    }
    state = initial_state("1", "", 0, "")
    state["scaffolds"] = [
        Scaffold(answer="", author="", tests={}, names=[], problems=[])
    ]
    current = Iteration(
        answer="",
        author="",
        snapshot="",
        refusals=[],
        extras={},
        run=TestRun().as_data(),
        suite=TestRun().as_data(),
        feedback="",
    )
    told = describe_evidence(state, current, Files(texts, {}), texts)
    assert told.endswith("- a.py, line 4: `sys.argv[0]` is the program that runs")
    assert "Honest code may do it too" in told
    assert "Honest" not in describe_evidence(state, current, Files(texts, texts), texts)


CODE = "a = 1\nb = 2\nif a:\n    b = 3\n    c = 4\n"
SUITE = TestRun(coverage={"a.py": FileCoverage((1, 3), (2, 4, 5))})


def test_a_shortfall_is_data_and_a_text_with_the_lines() -> None:
    files = Files({"a.py": CODE}, {"a.py": "b = 2\n"})
    shortfall = coverage_shortfall(SUITE, ["a.py"], files, 95.0)
    assert shortfall is not None
    assert shortfall.missing["a.py"].missing == (4, 5), "line 2 was there before"
    assert str(shortfall).startswith("50.0% of the declared files' lines ran, 95%")
    text = show_shortfall(shortfall, files)
    assert text.endswith("a.py:\n    4      b = 3\n    5      c = 4")
    assert coverage_shortfall(SUITE, ["a.py"], files, 50.0) is None
    unmeasured = coverage_shortfall(SUITE, ["a.py", "b.py"], files, 50.0)
    assert unmeasured is not None
    assert unmeasured.unmeasured == {"b.py": ""}


def test_lines_that_cannot_be_reached_do_not_count_once_that_is_accepted() -> None:
    files = Files({"a.py": CODE}, {"a.py": "b = 2\n"})
    other = UnreachableLines("a.py", 1, 3, "no reason")
    assert refuse_coverage(SUITE, ["a.py"], files, 95.0, [other])
    accepted = UnreachableLines("a.py", 4, 5, "only on Windows")
    assert str(accepted) == "a.py, lines 4-5: only on Windows"
    assert refuse_coverage(SUITE, ["a.py"], files, 95.0, [accepted]) == []
    counted = SUITE.coverage["a.py"]
    assert counted.executed == (1, 3), "what ran stays counted"
