"""What runs prove, and what they do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from agentos.proving.inspection import skeletons
from agentos.proving.judging import (
    ProofRefusal,
    best_run,
    judge_claims,
    judge_green,
    judge_red,
    judge_regression,
    judge_reverted,
    name_lines,
    score,
)
from agentos.proving.runners import (
    CollectionError,
    FileCoverage,
    TestOutcome,
    TestResult,
    TestRun,
)
from tests.proving.runners.conftest import Repository

Make = Callable[[Mapping[str, str]], Repository]


def result(
    name: str,
    outcome: TestOutcome = TestOutcome.PASSED,
    exception: str = "",
    message: str = "",
) -> TestResult:
    base = f"t.py::{name.partition('[')[0]}"
    return TestResult(
        f"t.py::{name}", base, "t.py", outcome, exception, message, file="t.py"
    )


def run_of(*tests: TestResult, **fields: object) -> TestRun:
    return TestRun(tests=tests, **fields)  # type: ignore[arg-type]


def rules(refusals: list[ProofRefusal]) -> list[str]:
    return [refusal.rule for refusal in refusals]


FAULTS = {
    "fixture": "def test_it(nothing_of_this_name): pass",
    "name": "def test_it(): undefined_name()",
    "own call": "def helper(): pass\ndef test_it(): helper(1)",
    "other module": "def test_it():\n    import not_planned_at_all",
    "other name": "def test_it():\n    from json import not_there",
    "module attribute": "import json\ndef test_it(): json.not_there",
    "passes": "def test_it(): pass",
    "skipped": "import pytest\n@pytest.mark.skip\ndef test_it(): pass",
    "expected": "import pytest\n@pytest.mark.xfail\ndef test_it(): assert 0",
    "syntax": "def test_it(: pass",
    "collection": "raise ValueError('no')\ndef test_it(): pass",
    "not there": "def test_other(): assert 0",
    "import of another": "import not_planned_at_all\ndef test_it(): pass",
}

MISSING = {
    "module": "from pkg.planned import a\ndef test_it(): pass",
    "package": "from newpkg.deep import a\ndef test_it(): pass",
    "name": "from pkg.present import not_yet\ndef test_it(): pass",
    "late import": "def test_it():\n    from pkg.planned import a",
    "attribute": "from pkg import present\ndef test_it(): present.not_yet()",
    "method": "from pkg.present import Thing\ndef test_it(): Thing().not_yet()",
    "length": "from pkg.present import Thing\ndef test_it(): len(Thing())",
    "order": "from pkg.present import Thing\ndef test_it(): sorted([Thing(), Thing()])",
    "loop": "from pkg.present import Thing\ndef test_it(): list(Thing())",
    "argument": "from pkg.present import work\ndef test_it(): work(times=2)",
    "constructor": "from pkg.present import Thing\ndef test_it(): Thing(2)",
    "not implemented": "from pkg.present import later\ndef test_it(): later()",
    "assertion": "from pkg.present import work\ndef test_it(): assert work() == 2",
    "nothing as yet": "from pkg.present import nothing\ndef test_it(): assert len(nothing()) == 2",
    "stand-in": "import json\nfrom pkg.stood import LIMITS\ndef test_it(): assert json.dumps(LIMITS) == '[]'",
    "other process": "import subprocess, sys\ndef test_it():\n"
    "    done = subprocess.run([sys.executable, '-m', 'pkg.stood'], capture_output=True)\n"
    "    assert done.stdout.split()[0] == b'ready'",
    "did not raise": "import pytest\ndef test_it():\n    with pytest.raises(ValueError): pass",
}

PRESENT = """
class Thing: pass

def work(): return 1
def nothing(): return None
def later(): raise NotImplementedError
"""


def test_a_fault_of_the_test_is_told_from_missing_behaviour(repository: Make) -> None:
    stood = skeletons({"pkg/stood.py": "Add"}, lambda _: None)
    files = {"pkg/__init__.py": "", "pkg/present.py": PRESENT, **stood}
    for group, texts in (("fault", FAULTS), ("missing", MISSING)):
        files |= {
            f"test_{group}_{name.replace(' ', '_')}.py": text
            for name, text in texts.items()
        }
    run = repository(files).run()
    assert run.problem == ""
    names = [name for name in files if name.startswith("test_")]
    planned = ["pkg.planned", "newpkg.deep", "pkg.present", "pkg.stood"]
    refusals = judge_red(run, [f"{name}::test_it" for name in names], planned)
    refused = {refusal.subject.partition("::")[0] for refusal in refusals}
    assert refused == {name for name in names if name.startswith("test_fault")}
    assert all(refusal.reason for refusal in refusals)


def test_red_needs_tests() -> None:
    assert rules(judge_red(run_of(), ["t.py::a"], [])) == ["no-tests"]
    assert rules(judge_red(run_of(result("a")), [], [])) == ["no-tests"]


def test_a_run_with_a_problem_is_neither_red_nor_green() -> None:
    run = run_of(
        result("a", TestOutcome.FAILED, "AssertionError"), problem="it was stopped"
    )
    assert [str(each) for each in judge_red(run, ["t.py::a"], [])] == ["it was stopped"]
    assert [str(each) for each in judge_green(run, ["t.py::a"], [])] == [
        "it was stopped"
    ]


def test_a_test_that_may_pass_does_but_not_all_of_them() -> None:
    run = run_of(result("a"), result("b", TestOutcome.FAILED, "AssertionError"))
    assert judge_red(run, ["t.py::a", "t.py::b"], [], may_pass=["t.py::a"]) == []
    assert rules(
        judge_red(run_of(result("a")), ["t.py::a"], [], may_pass=["t.py::a"])
    ) == ["no-red"]


def test_a_claim_needs_a_test_that_failed() -> None:
    run = run_of(
        result("a[1]", TestOutcome.FAILED, "AssertionError"),
        result("a[2]"),
        result("b"),
        collection_errors=(CollectionError("u.py", "ImportError"),),
    )
    claims = {"R1": ["t.py::a"], "R2": ["t.py::b"], "R3": ["u.py::c"], "R4": []}
    (refusal,) = judge_claims(run, claims)
    assert (refusal.rule, refusal.subject) == ("no-red", "R2")
    assert "t.py::b" in refusal.reason


OLD_CAUSES = """
import subprocess
from pkg import present
from helping import ask
def test_a(): subprocess.run(["no-such-command"])
def test_b(): assert 1 == 2
def test_c(): present.not_yet()
def test_d(): ask()
"""


def test_what_failed_for_the_same_cause_before_proves_nothing(repository: Make) -> None:
    helping = {"helping.py": "def ask(): raise LookupError('no server')\n"}
    files = {"pkg/__init__.py": "", "pkg/present.py": PRESENT, **helping}
    made = repository({**files, "test_old.py": OLD_CAUSES})
    base = made.run()
    made.write({"test_new.py": "\n\n" + OLD_CAUSES})
    run = made.run("test_new.py")
    names = [f"test_new.py::test_{letter}" for letter in "abcd"]
    refusals = judge_red(run, names, ["pkg.present"], base=base)
    assert [refusal.subject[-1] for refusal in refusals] == ["a", "d"]
    assert all("before anything was built" in each.reason for each in refusals)
    assert judge_red(run, names, ["pkg.present"]) == []


def test_green_needs_every_expected_test_to_have_passed() -> None:
    expected = [f"t.py::{name}" for name in "abcd"]
    run = run_of(
        result("a[1]"),
        result("a[2]", TestOutcome.FAILED, "ValueError", message="no\nsecond line"),
        result("b", TestOutcome.SKIPPED),
        result("c", TestOutcome.XPASSED),
    )
    assert [str(refusal) for refusal in judge_green(run, expected, [])] == [
        "t.py::d: was not collected; another definition or a hook hides it",
        "t.py::a[2]: ValueError: no (t.py:0)",
        "t.py::b: is skipped; a test that does not run proves nothing",
        "t.py::c: is marked as expected to fail; remove the mark",
    ]


def test_coverage_is_of_the_declared_files_together() -> None:
    coverage = {
        "a.py": FileCoverage((1, 2, 3), ()),
        "b.py": FileCoverage((1,), (4, 6, 9)),
    }
    run = run_of(result("a"), coverage=coverage)
    assert judge_green(run, ["t.py::a"], ["a.py", "README.md"]) == []
    assert judge_green(run, ["t.py::a"], ["a.py", "b.py"], 57.0) == []
    assert [
        str(refusal)
        for refusal in judge_green(run, ["t.py::a"], ["a.py", "b.py", "c.py"])
    ] == [
        "c.py: its coverage was not measured",
        "57.1% of the declared files' lines ran, 95% are asked for",
        "b.py: these lines never ran: 4-9",
    ]


@pytest.mark.parametrize(
    ("executed", "missing", "words"),
    [
        ((), (1, 5), "1-5"),
        ((3,), (1, 5), "1, 5"),
        ((1, 8), (2, 4, 9), "2-4, 9"),
        ((1,), (), ""),
    ],
)
def test_missing_lines_are_named_as_ranges(
    executed: tuple[int, ...], missing: tuple[int, ...], words: str
) -> None:
    assert name_lines(FileCoverage(executed, missing)) == words


def test_what_failed_before_may_not_be_put_out_of_sight() -> None:
    failed = TestOutcome.FAILED
    unreadable = CollectionError("u.py", "SyntaxError", "wrong")
    other = CollectionError("v.py", "ImportError", "no x", module="x")
    before = run_of(
        result("gone", failed),
        result("deselected", failed),
        result("still", failed),
        result("mended", failed),
        collection_errors=(unreadable, other),
    )
    after = run_of(
        result("deselected", TestOutcome.DESELECTED),
        result("still", failed),
        result("mended"),
        skipped_files=("v.py",),
    )
    hidden = "failed before, now it is not run; leave it in the suite as it is"
    found = judge_regression(before, after)
    assert [str(refusal) for refusal in found.refusals] == [
        f"t.py::deselected: {hidden}",
        f"t.py::gone: {hidden}",
        f"u.py: {hidden}",
    ]
    assert judge_regression(before, after, ["t.py", "u.py"]).refusals == ()


def test_a_regression_is_what_passed_before_and_does_not_now() -> None:
    failed = TestOutcome.FAILED
    before = run_of(
        result("a"),
        result("b"),
        result("c", failed),
        result("d", failed),
        result("e"),
        result("g"),
    )
    error = CollectionError("u.py", "SyntaxError", "wrong", file="u.py", line=1)
    after = run_of(
        result("a"),
        result("b", failed, "KeyError"),
        result("c", failed),
        result("d"),
        result("g", TestOutcome.SKIPPED),
        collection_errors=(error,),
    )
    found = judge_regression(before, after)
    assert [str(refusal) for refusal in found.refusals] == [
        "u.py: SyntaxError: wrong (u.py:1)",
        "t.py::b: passed before, now KeyError (t.py:0)",
        "t.py::e: passed before, now it is not collected",
        "t.py::g: passed before, now skipped",
    ]
    assert (found.known, found.mended) == (("t.py::c",), ("t.py::d",))
    assert [
        each.rule
        for each in judge_regression(before, run_of(), may_vanish=["t.py"]).refusals
    ] == []
    assert [
        each.rule for each in judge_regression(run_of(problem="no"), after).refusals
    ] == ["no-proof"]


def test_a_file_that_no_test_needs_and_a_test_that_needs_no_file_are_named() -> None:
    green = run_of(result("a"), result("b"), result("c"))
    reverted = {
        "x.py": run_of(result("a", TestOutcome.FAILED), result("b"), result("c")),
        "y.py": run_of(result("a"), result("b"), result("c")),
        "z.py": run_of(problem="it was stopped"),
    }
    refusals, vacuous = judge_reverted(green, reverted, may_pass=["t.py::c"])
    assert [(each.rule, each.subject) for each in refusals] == [
        ("not-needed", "y.py"),
        ("no-proof", "z.py"),
    ]
    assert vacuous == ["t.py::b"]


def test_the_best_run_is_valid_passes_most_fails_least_covers_most_and_is_the_last_of_equals() -> (
    None
):
    covered = {"a.py": FileCoverage((1,), ())}
    runs = [
        run_of(*[result(f"n{number}") for number in range(9)], problem="stopped"),
        run_of(result("a"), result("b", TestOutcome.FAILED)),
        run_of(result("a"), coverage={"a.py": FileCoverage((), (1,))}),
        run_of(result("a"), coverage=covered),
        run_of(result("a"), coverage=covered),
    ]
    assert [score(run) for run in runs] == sorted(score(run) for run in runs)
    assert best_run(runs) == 4
    assert best_run(runs[::-1]) == 1


@pytest.mark.slow
def test_a_real_change_goes_from_red_to_green_and_needs_its_file(
    repository: Make,
) -> None:
    made = repository(
        {
            "pkg/__init__.py": "",
            "test_it.py": "from pkg.shapes import area\ndef test_it(): assert area(3) == 9\n",
        }
    )
    expected = ["test_it.py::test_it"]
    assert judge_red(made.run(), expected, ["pkg.shapes"]) == []
    made.write({"pkg/shapes.py": "def area(x):\n    return x * x\n"})
    green = made.run(coverage=["pkg/shapes.py"])
    assert judge_green(green, expected, ["pkg/shapes.py"]) == []
    made.write({"pkg/shapes.py": "def area(x):\n    return x + x\n"})
    assert judge_reverted(green, {"pkg/shapes.py": made.run()}) == ([], [])
