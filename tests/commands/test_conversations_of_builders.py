"""What test writer, coder and reviewer say to each other while a design is built."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentos.documents.findings import Basis, Category, Finding, Tier
from agentos.documents.verdict import Decision, Verdict, verdict_json
from agentos.documents.verdict.model import EarlierFinding, EarlierState
from tests.designs import CODE, TESTS, Item, branches, fill, git
from tests.support import World

GOOD_CODE = CODE.format(number=1)
GOOD_TESTS = TESTS.format(number=1)
WRONG_TESTS = GOOD_TESTS.replace("== 2 + 1", "== 4")
MENDED_TESTS = """\
```python
# Edit: tests/test_op1.py
<<<<<<< SEARCH
    assert apply(2) == 4
=======
    assert apply(2) == 3
>>>>>>> REPLACE
```
"""
CONTEST = (
    "contest: test_010_it_works: the design says the number and 1 more, so 3, not 4\n"
)


def finding(tier: Tier, text: str, section: str = "") -> Finding:
    """Return a finding that rests on the text."""
    return Finding("N1", tier, Category.QUALITY, section, text, Basis.TEXT)


def verdict(
    decision: Decision, summary: str, *findings: Finding, **more: object
) -> str:
    """Return the answer of a reviewer."""
    return verdict_json(Verdict(decision, summary, findings, **more))  # type: ignore[arg-type]


APPROVED = verdict(Decision.APPROVED, "It does what the design says.")


@pytest.fixture
def build(make_world: Callable[..., World]) -> Callable[..., World]:
    """Return a maker of a repository with one design and what the models answer."""

    def make(**answers: object) -> World:
        reviews = answers.pop("reviews", {})
        item = Item(1, **answers)  # type: ignore[arg-type]
        world = fill(make_world(issues=0), item)
        folder = world.repo / ".agentos/recorded/1"
        for name, text in reviews.items():  # type: ignore[attr-defined]
            (folder / name).write_text(text, "utf-8")
        return world

    return make


def lineage(world: World) -> list[str]:
    """Return the names of the item's lineage files without their numbers."""
    folder = world.repo / "docs/lineage/active/1-implementation"
    return [path.name.partition("-")[2] for path in sorted(folder.iterdir())]


def report(world: World, name: str = "implementation") -> str:
    """Return a report."""
    path = world.repo / f"docs/reports/1/{name}-report.md"
    return path.read_text("utf-8")


def built(world: World, path: str) -> str:
    """Return a file of the item's branch."""
    (branch,) = branches(world.repo)
    return git(world.repo, "show", f"{branch}:{path}")


class TestFormalSlips:
    """A formal slip is answered with what was wrong, and is no attempt."""

    def test_the_good_part_of_an_answer_is_kept_and_the_rest_sent_again(
        self, build: Callable[..., World]
    ) -> None:
        half = f"{GOOD_CODE}\n```text\n# File: calc/sums.txt\n1 + 1\n```\n"
        reason = (
            "```text\n# File: calc/sums.txt\n# Reason: people read it\n1 + 1\n```\n"
        )
        world = build(code=[half, reason])
        ended = world.run("implement-workflow", "--all", "--max-iterations", "1")
        assert ended.code == 0, ended.text
        assert "green in 1 iteration" in ended.text
        assert lineage(world).count("code-not-applied.md") == 1
        assert built(world, "calc/sums.txt") == "1 + 1\n"

    def test_what_is_sent_twice_is_made_once(self, build: Callable[..., World]) -> None:
        add = (
            "```python\n# Edit: calc/basic.py\n<<<<<<< SEARCH\n    return a + b\n=======\n"
            "    return a + b\n\n\ndef twice(a):\n    return add(a, a)\n>>>>>>> REPLACE\n```\n"
        )
        wrong = "```python\n# Edit: tests/test_basic.py\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```\n"
        files = {
            "calc/basic.py": "Modify",
            "calc/op1.py": "Add",
            "tests/test_op1.py": "Add",
        }
        tests = GOOD_TESTS.replace(
            "    assert apply(2) == 2 + 1\n",
            "    from calc.basic import twice\n\n    assert twice(apply(2)) == 6\n",
        )
        answer = f"{GOOD_CODE}\n{add}\n{wrong}"
        world = build(files=files, tests=[tests], code=[answer] * 4)
        ended = world.run("implement-workflow", "--all")
        assert ended.code == 0, ended.text
        assert built(world, "calc/basic.py").count("def twice") == 1

    def test_an_answer_without_a_file_is_told_how_to_answer(
        self, build: Callable[..., World]
    ) -> None:
        world = build(code=["I would add an operation.\n", GOOD_CODE])
        ended = world.run("implement-workflow", "--all", "--max-iterations", "1")
        assert "green in 1 iteration" in ended.text, ended.text

    def test_too_many_slips_end_the_item_with_the_reason(
        self, build: Callable[..., World]
    ) -> None:
        world = build(code=["Nothing here.\n"] * 4)
        ended = world.run("implement-workflow", "--all")
        assert ended.code == 1
        assert "names no file" in ended.text, ended.text
        assert lineage(world).count("code-not-applied.md") == 3

    def test_edits_of_tests_apply_to_the_tests_that_were_refused(
        self, build: Callable[..., World]
    ) -> None:
        stub = GOOD_TESTS.replace("    assert apply(2) == 2 + 1\n", "    assert True\n")
        edit = (
            "```python\n# Edit: tests/test_op1.py\n<<<<<<< SEARCH\n    assert True\n"
            "=======\n    assert apply(2) == 3\n>>>>>>> REPLACE\n```\n"
        )
        world = build(tests=[stub, edit])
        ended = world.run("implement-workflow", "--all")
        assert ended.code == 0, ended.text
        assert "assert apply(2) == 3" in built(world, "tests/test_op1.py")


class TestSayingNo:
    """A role can say that it cannot go on, and the user hears why."""

    @pytest.mark.parametrize("role", ["tests", "code"])
    def test_a_blocked_item_ends_with_the_reason(
        self, build: Callable[..., World], role: str
    ) -> None:
        world = build(**{role: ["blocked: the design names no unit for the number\n"]})
        ended = world.run("implement-workflow", "--all")
        assert ended.code == 1
        assert "failed: blocked" in ended.stdout, ended.text
        assert "the design names no unit for the number" in ended.stdout

    def test_an_answer_that_changes_nothing_ends_the_item(
        self, build: Callable[..., World]
    ) -> None:
        wrong = GOOD_CODE.replace("number + 1", "number + 2")
        world = build(code=[wrong, wrong, GOOD_CODE])
        ended = world.run("implement-workflow", "--all")
        assert ended.code == 1, ended.text
        # The cause of the best attempt, not that of the last one.
        assert "test_010_it_works" in ended.stdout.splitlines()[-1] + ended.stdout
        assert "code-3" not in ended.text


class TestContestedTests:
    """The coder may contest a test; the reviewer decides and the test writer mends."""

    def test_a_wrong_test_is_mended_and_the_code_is_kept(
        self, build: Callable[..., World]
    ) -> None:
        ruling = verdict(
            Decision.REVISE,
            "The test expects 4.",
            finding(Tier.HIGH, "2 and 1 more are 3.", "test_010_it_works"),
        )
        world = build(
            tests=[WRONG_TESTS, MENDED_TESTS],
            code=[f"{GOOD_CODE}\n{CONTEST}"],
            reviews={"contest-1.json": ruling},
        )
        ended = world.run("implement-workflow", "--all")
        assert ended.code == 0, ended.text
        assert "green in 1 iteration" in ended.text
        assert "== 3" in built(world, "tests/test_op1.py")

    def test_a_right_test_stands_and_the_coder_is_told_why(
        self, build: Callable[..., World]
    ) -> None:
        ruling = verdict(Decision.APPROVED, "3 is what the design says.")
        world = build(code=[CONTEST, GOOD_CODE], reviews={"contest-1.json": ruling})
        ended = world.run("implement-workflow", "--all")
        assert ended.code == 0, ended.text
        assert "green in 2 iterations" in ended.text

    def test_code_that_was_there_before_a_test_is_contested_is_proven(
        self, build: Callable[..., World]
    ) -> None:
        ruling = verdict(
            Decision.REVISE,
            "The test expects 4.",
            finding(Tier.HIGH, "2 and 1 more are 3.", "test_010_it_works"),
        )
        world = build(
            tests=[WRONG_TESTS, MENDED_TESTS],
            code=[GOOD_CODE, CONTEST],
            reviews={"contest-1.json": ruling},
        )
        ended = world.run("implement-workflow", "--all")
        assert ended.code == 0, ended.text
        assert "green in 2 iterations" in ended.text

    def test_a_question_about_a_test_waits_for_a_person(
        self, build: Callable[..., World]
    ) -> None:
        ruling = verdict(
            Decision.DISCUSS, "It says both.", questions=("Is it 3 or 4?",)
        )
        world = build(code=[CONTEST], reviews={"contest-1.json": ruling})
        ended = world.run("implement-workflow", "--all")
        assert "needs-discussion" in ended.stdout, ended.text
        assert "agentos answer IMPL-1" in ended.stdout


UNREACHED = GOOD_CODE.replace(
    "    return number + 1\n",
    "    if number > 100:\n        number = 100\n        number -= 0\n        number += 0\n"
    "    return number + 1\n",
)
COVERING = """\
```python
# Edit: tests/test_op1.py
<<<<<<< SEARCH
def test_010_refuses_text():
=======
def test_010_stops_at_a_hundred():
    assert apply(500) == 101


def test_010_refuses_text():
>>>>>>> REPLACE
```
"""


class TestCoverage:
    """Lines that no test runs go to the test writer, not to the coder."""

    def test_a_shortfall_is_covered_by_more_tests(
        self, build: Callable[..., World]
    ) -> None:
        world = build(tests=[GOOD_TESTS, COVERING], code=[UNREACHED])
        ended = world.run("implement-workflow", "--all")
        assert ended.code == 0, ended.text
        assert "green in 1 iteration" in ended.text
        assert "test_010_stops_at_a_hundred" in built(world, "tests/test_op1.py")

    def test_the_code_that_lacks_nothing_but_coverage_is_the_best(
        self, build: Callable[..., World]
    ) -> None:
        wrong = UNREACHED.replace("return number + 1\n", "return number + 2\n")
        right = (
            "```python\n# Edit: calc/op1.py\n<<<<<<< SEARCH\n    return number + 2\n"
            "=======\n    return number + 1\n>>>>>>> REPLACE\n```\n"
        )
        world = build(
            tests=[GOOD_TESTS, "blocked: these lines need another machine\n"],
            code=[wrong, right],
        )
        ended = world.run("implement-workflow", "--all")
        assert "failed: blocked" in ended.stdout, ended.text
        (left,) = world.home.glob("worktrees/*/1/calc/op1.py")
        assert "return number + 1\n" in left.read_text("utf-8")


UNREACHABLE = "unreachable: calc/op1.py 6-12: only another platform has such numbers\n"


def rule(state: EarlierState, reason: str) -> str:
    """Return a review that says what becomes of the lines that no test reaches."""
    decision = Decision.REVISE
    if state is EarlierState.RESOLVED:
        decision = Decision.APPROVED
    return verdict(decision, "Read.", earlier=(EarlierFinding("F1", state, reason),))


class TestUnreachableLines:
    """Lines count unless the reviewer accepts why no test can reach them here."""

    def test_a_reason_that_is_accepted_is_reported(
        self, build: Callable[..., World]
    ) -> None:
        accepted = rule(EarlierState.RESOLVED, "int is bounded there.")
        world = build(
            tests=[GOOD_TESTS, UNREACHABLE],
            code=[UNREACHED],
            reviews={"diff-1.json": accepted},
        )
        ended = world.run("implement-workflow", "--all")
        assert ended.code == 0, ended.text
        line = (
            "- calc/op1.py, lines 9-11: no test can reach this here: only another"
            " platform has such numbers; the reviewer accepts it: int is bounded there."
        )
        assert line in report(world)
        assert line in report(world, "test")

    def test_a_reason_that_is_not_accepted_needs_a_test(
        self, build: Callable[..., World]
    ) -> None:
        refused = rule(EarlierState.OPEN, "apply(500) reaches them.")
        world = build(
            tests=[GOOD_TESTS, UNREACHABLE, COVERING],
            code=[UNREACHED],
            reviews={"diff-1.json": refused, "diff-2.json": APPROVED},
        )
        ended = world.run("implement-workflow", "--all")
        assert ended.code == 0, ended.text
        assert "green in 1 iteration" in ended.text
        assert "a test can reach this: apply(500) reaches them." in ended.text
        assert "test_010_stops_at_a_hundred" in built(world, "tests/test_op1.py")
        assert "another platform" not in report(world)

    def test_without_a_test_and_without_a_reason_that_holds_nothing_is_green(
        self, build: Callable[..., World]
    ) -> None:
        again = rule(EarlierState.OPEN, "No.").replace('"F1"', '"F2"')
        world = build(
            tests=[GOOD_TESTS, UNREACHABLE, UNREACHABLE],
            code=[UNREACHED, UNREACHED],
            reviews={
                "diff-1.json": rule(EarlierState.OPEN, "No."),
                "diff-2.json": again,
            },
        )
        ended = world.run("implement-workflow", "--all")
        assert "failed: not-green" in ended.stdout, ended.text
        assert "calc/op1.py: these lines never ran" in report(world)

    def test_nothing_is_excused_before_anybody_asked(
        self, build: Callable[..., World]
    ) -> None:
        world = build(
            tests=[f"{GOOD_TESTS}\n{UNREACHABLE}", COVERING], code=[UNREACHED]
        )
        ended = world.run("implement-workflow", "--all")
        assert ended.code == 0, ended.text
        assert "test_010_stops_at_a_hundred" in built(world, "tests/test_op1.py")


FOUND = verdict(
    Decision.REVISE,
    "True is taken for a number.",
    finding(Tier.HIGH, "apply(True) returns 2; refuse it.", "calc/op1.py"),
)
BETTER = """\
```python
# Edit: calc/op1.py
<<<<<<< SEARCH
    if not isinstance(number, int):
=======
    if isinstance(number, bool) or not isinstance(number, int):
>>>>>>> REPLACE
```
"""
RESOLVED = verdict(
    Decision.APPROVED,
    "It is refused now.",
    earlier=(EarlierFinding("F1", EarlierState.RESOLVED, "Line 6."),),
)
STILL_OPEN = verdict(
    Decision.REVISE,
    "It is not.",
    earlier=(EarlierFinding("F1", EarlierState.OPEN, "Unchanged."),),
)


class TestReviewOfTheCode:
    """The reviewer reads the finished change; what it finds goes back once."""

    def test_what_is_put_right_is_not_reported(
        self, build: Callable[..., World]
    ) -> None:
        world = build(
            code=[GOOD_CODE, BETTER],
            reviews={"diff-1.json": FOUND, "diff-2.json": RESOLVED},
        )
        ended = world.run("implement-workflow", "--all")
        assert ended.code == 0, ended.text
        assert "isinstance(number, bool)" in built(world, "calc/op1.py")
        assert "apply(True)" not in report(world)

    def test_what_stays_open_is_reported_and_holds_up_nothing(
        self, build: Callable[..., World]
    ) -> None:
        world = build(
            code=[GOOD_CODE, BETTER],
            reviews={"diff-1.json": FOUND, "diff-2.json": STILL_OPEN},
        )
        ended = world.run("implement-workflow", "--all")
        assert ended.code == 0, ended.text
        assert "apply(True) returns 2" in report(world)

    def test_a_new_finding_in_the_words_of_a_resolved_one_is_not_lost(
        self, build: Callable[..., World]
    ) -> None:
        text = "apply(2.5) returns 3.5; refuse it."
        another = verdict(
            Decision.REVISE,
            "Floats are taken.",
            finding(Tier.BLOCKING, text, "calc/op1.py"),
            earlier=(EarlierFinding("F1", EarlierState.RESOLVED, "Refused now."),),
        )
        world = build(
            code=[GOOD_CODE, BETTER],
            reviews={"diff-1.json": FOUND, "diff-2.json": another},
        )
        ended = world.run("implement-workflow", "--all")
        assert "needs-revision" in ended.stdout, ended.text
        assert text in report(world)
        assert branches(world.repo) == {}

    def test_a_reason_that_stands_in_the_summary_goes_back_too(
        self, build: Callable[..., World]
    ) -> None:
        found = verdict(Decision.REVISE, "True is taken for a number.")
        world = build(
            code=[GOOD_CODE, BETTER],
            reviews={"diff-1.json": found, "diff-2.json": STILL_OPEN},
        )
        ended = world.run("implement-workflow", "--all")
        assert ended.code == 0, ended.text
        assert "isinstance(number, bool)" in built(world, "calc/op1.py")
        assert "F1 (high): True is taken for a number." in report(world)

    def test_a_question_waits_for_a_person_and_the_work_is_kept(
        self, build: Callable[..., World]
    ) -> None:
        question = "May apply() take floats?"
        asked = verdict(Decision.DISCUSS, "It depends.", questions=(question,))
        world = build(reviews={"diff-1.json": asked})
        ended = world.run("implement-workflow", "--all")
        assert "needs-discussion" in ended.stdout, ended.text
        assert question in ended.stdout
        assert f"- the reviewer asks: {question}" in report(world)
        assert branches(world.repo) == {}
        said = world.run("agentos", "answer", "IMPL-1", "--text", "No, never.")
        assert said.code == 0, said.text
        folder = world.repo / ".agentos/recorded/1"
        for path in folder.iterdir():
            path.unlink()
        (folder / "diff-1.json").write_text(APPROVED, "utf-8")
        ended = world.run("implement-workflow", "--all")
        assert "1 implemented" in ended.stdout, ended.text

    def test_what_can_be_put_right_is_before_a_person_is_asked(
        self, build: Callable[..., World]
    ) -> None:
        true = finding(Tier.HIGH, "apply(True) returns 2; refuse it.", "calc/op1.py")
        asked = verdict(
            Decision.DISCUSS, "It depends.", true, questions=("Take floats?",)
        )
        world = build(
            code=[GOOD_CODE, BETTER],
            reviews={"diff-1.json": asked, "diff-2.json": RESOLVED},
        )
        ended = world.run("implement-workflow", "--all")
        assert "needs-discussion" in ended.stdout, ended.text
        assert "Take floats?" in ended.stdout
        assert lineage(world).count("code.md") == 2

    def test_a_question_waits_also_if_the_repair_fails(
        self, build: Callable[..., World]
    ) -> None:
        true = finding(Tier.HIGH, "apply(True) returns 2; refuse it.", "calc/op1.py")
        asked = verdict(
            Decision.DISCUSS, "It depends.", true, questions=("Take floats?",)
        )
        broken = BETTER.replace("not isinstance(number, int):\n>>>", "True:\n>>>")
        world = build(
            code=[GOOD_CODE, broken, GOOD_CODE], reviews={"diff-1.json": asked}
        )
        ended = world.run("implement-workflow", "--all")
        assert "needs-discussion" in ended.stdout, ended.text
        assert "Take floats?" in ended.stdout

    def test_a_repair_that_breaks_the_code_is_dropped(
        self, build: Callable[..., World]
    ) -> None:
        broken = BETTER.replace("not isinstance(number, int):\n>>>", "True:\n>>>")
        world = build(
            code=[GOOD_CODE, broken, GOOD_CODE], reviews={"diff-1.json": FOUND}
        )
        ended = world.run("implement-workflow", "--all")
        assert ended.code == 0, ended.text
        assert "isinstance(number, bool)" not in built(world, "calc/op1.py")
        assert "apply(True) returns 2" in report(world)

    def test_what_does_harm_is_not_delivered(self, build: Callable[..., World]) -> None:
        harm = finding(Tier.BLOCKING, "It only knows the values of the tests.")
        found = verdict(Decision.REVISE, "It is not general.", harm)
        world = build(
            code=[GOOD_CODE, BETTER],
            reviews={"diff-1.json": found, "diff-2.json": STILL_OPEN},
        )
        ended = world.run("implement-workflow", "--all")
        assert "needs-revision" in ended.stdout, ended.text
        assert "only knows the values of the tests" in ended.stdout
        assert branches(world.repo) == {}
