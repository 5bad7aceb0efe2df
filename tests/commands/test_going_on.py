"""What a rerun of an implementation keeps, and how a person steers it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from agentos.documents.findings import Tier
from agentos.documents.verdict import Decision
from tests.commands.test_conversations_of_builders import (
    BETTER,
    CONTEST,
    GOOD_CODE,
    MENDED_TESTS,
    RESOLVED,
    STILL_OPEN,
    WRONG_TESTS,
    finding,
    verdict,
)
from tests.designs import (
    CODE,
    CODE_APPROVAL,
    TESTS,
    Item,
    branches,
    fill,
    git,
    write_files,
)
from tests.plans import APPROVAL, Shop
from tests.support import SIGINT, SIGKILL, World

COMMAND = ("implement-workflow", "--ids", "1")
HALF = """\
```python
# File: calc/op1.py
\"\"\"Operation 1.\"\"\"


def apply(number: int) -> int:
    \"\"\"Return the number and 1 more.\"\"\"
    return number + 1
```
"""
EDIT = """\
```python
# Edit: calc/op1.py
<<<<<<< SEARCH
    return number + 1
=======
    if not isinstance(number, int):
        raise TypeError("not a number")
    return number + 1
>>>>>>> REPLACE
```
"""
"""Applies to the best code alone, not to the base."""
REORDERED = """\
```python
# Edit: calc/op1.py
<<<<<<< SEARCH
    return number + 1
=======
    return 1 + number
>>>>>>> REPLACE
```
"""


@pytest.fixture
def shop(make_world: Callable[..., World]) -> Callable[..., World]:
    """Return a maker of repositories with designs to build."""

    def make(*items: Item) -> World:
        return fill(make_world(issues=0), *items)

    return make


@pytest.fixture
def halfway(shop: Callable[..., World]) -> World:
    """Return a repository whose item ended half green."""
    world = shop(Item(1, code=[HALF]))
    ended = world.run(*COMMAND, "--max-iterations", "1")
    assert "failed: not-green" in ended.stdout, ended.text
    return world


def record(world: World, **answers: str | None) -> None:
    """Replace the recorded answers of item 1: `code_1` is `code-1.md`."""
    folder = world.repo / ".agentos/recorded/1"
    for path in folder.iterdir():
        path.unlink()
    (folder / "diff-1.json").write_text(CODE_APPROVAL, "utf-8")
    for name, text in answers.items():
        if text is not None:
            (folder / f"{name.replace('_', '-')}.md").write_text(text, "utf-8")


def judge(world: World, **verdicts: str) -> None:
    """Add what the reviewer says of item 1: `diff_1` is `diff-1.json`."""
    folder = world.repo / ".agentos/recorded/1"
    for name, text in verdicts.items():
        (folder / f"{name.replace('_', '-')}.json").write_text(text, "utf-8")


def item_of(stdout: str) -> Mapping[str, object]:
    """Return the only item of a summary."""
    (item,) = json.loads(stdout)["items"]
    return dict(item)


def lineage(world: World) -> dict[str, str]:
    """Return the lineage files of item 1 by name, without their numbers."""
    folder = world.repo / "docs/lineage/active/1-implementation"
    return {
        path.name.partition("-")[2]: path.read_text("utf-8")
        for path in sorted(folder.iterdir())
    }


def test_a_failed_item_goes_on_with_plan_tests_and_best_code(halfway: World) -> None:
    record(halfway, code_1=EDIT)
    ended = halfway.run(*COMMAND, "--json", "--max-iterations", "1")
    item = item_of(ended.stdout)
    assert (item["status"], item["calls"]) == ("implemented", 2), ended.text
    said = "it goes on with the reviewed plan, 2 tests and the best code"
    assert said in ended.stderr
    assert "N1_review_plan" not in ended.stderr
    assert "N2_scaffold" not in ended.stderr


def test_what_is_green_by_now_is_not_asked_for(shop: Callable[..., World]) -> None:
    long = CODE.format(number=1).replace(
        "    return number + 1",
        "    if number == 7:\n        return 8\n    return number + 1",
    )
    world = shop(Item(1, tests=[TESTS.format(number=1)] * 3, code=[long]))
    refused = world.run(*COMMAND, "--max-iterations", "1", "--coverage-target", "100")
    assert "failed: not-green" in refused.stdout, refused.text
    record(world)
    ended = world.run(*COMMAND, "--json", "--coverage-target", "50")
    item = item_of(ended.stdout)
    assert (item["status"], item["calls"]) == ("implemented", 1), ended.text


def test_tests_that_were_refused_are_gone_on_with(shop: Callable[..., World]) -> None:
    vague = TESTS.format(number=1).replace("== 2 + 1", "is not None or True")
    empty = "There is nothing to test."
    world = shop(Item(1, tests=[vague, *[empty] * 8]))
    first = world.run(*COMMAND)
    assert "failed: red-invalid" in first.stdout, first.text
    record(world, tests_1=TESTS.format(number=1), code_1=CODE.format(number=1))
    ended = world.run(*COMMAND, "--json")
    item = item_of(ended.stdout)
    assert (item["status"], item["calls"]) == ("implemented", 3), ended.text


def test_another_design_begins_anew_and_another_status_does_not(
    halfway: World,
) -> None:
    path = halfway.repo / "docs/lld/active/LLD-001.md"
    text = path.read_text("utf-8")
    path.write_text(f"{text}\n## Review Log\n\nSigned by Ada.\n", "utf-8")
    record(halfway, code_1=EDIT)
    ended = halfway.run(*COMMAND, "--json", "--max-iterations", "1")
    assert item_of(ended.stdout)["calls"] == 2, ended.text
    path.write_text(text.replace("The result", "A result"), "utf-8")
    again = halfway.run(*COMMAND, "--json")
    assert "N1_review_plan" in again.stderr, again.text


class TestMovedBase:
    """The user's main went on meanwhile."""

    def test_tests_and_code_are_put_onto_the_new_base(self, halfway: World) -> None:
        write_files(halfway.repo, {"calc/other.py": "X = 1\n"})
        git(halfway.repo, "add", "--all")
        git(halfway.repo, "commit", "--quiet", "--message=Other")
        record(halfway, code_1=EDIT)
        ended = halfway.run(*COMMAND, "--json", "--max-iterations", "1")
        item = item_of(ended.stdout)
        assert (item["status"], item["calls"]) == ("implemented", 2), ended.text
        (branch,) = branches(halfway.repo)
        files = git(halfway.repo, "ls-tree", "-r", "--name-only", branch)
        assert "calc/other.py" in files
        assert git(halfway.repo, "rev-list", "--count", f"main..{branch}") == "1\n"

    def test_code_that_conflicts_is_dropped_with_a_line(self, halfway: World) -> None:
        write_files(halfway.repo, {"calc/op1.py": '"""Somebody else."""\n\nY = 2\n'})
        git(halfway.repo, "add", "--all")
        git(halfway.repo, "commit", "--quiet", "--message=Other")
        record(halfway, code_1=CODE.format(number=1))
        ended = halfway.run(*COMMAND, "--json")
        item = item_of(ended.stdout)
        assert (item["status"], item["calls"]) == ("implemented", 2), ended.text
        dropped = "the code that was kept is dropped: the repository has changed since"
        assert dropped in ended.stderr
        assert "has changed since and conflicts in calc/op1.py" in ended.stderr

    def test_tests_that_conflict_are_written_anew(self, halfway: World) -> None:
        write_files(halfway.repo, {"tests/test_op1.py": "def test_mine():\n    pass\n"})
        git(halfway.repo, "add", "--all")
        git(halfway.repo, "commit", "--quiet", "--message=Other")
        ended = halfway.run(*COMMAND)
        assert "the tests that were kept are dropped: the repository" in ended.text
        assert "N1_review_plan" not in ended.text
        assert "Executing: N2_scaffold" in ended.text

    def test_tests_that_pass_by_now_are_refused_as_red(self, halfway: World) -> None:
        code = CODE.format(number=1).removeprefix("```python\n# File: calc/op1.py\n")
        write_files(halfway.repo, {"calc/op1.py": code.removesuffix("```\n")})
        git(halfway.repo, "add", "--all")
        git(halfway.repo, "commit", "--quiet", "--message=By hand")
        ended = halfway.run(*COMMAND)
        assert "the tests that were kept: " in ended.text
        assert "Executing: N2_scaffold" in ended.text


class TestRestart:
    """A person chooses what is written anew."""

    def test_code_keeps_plan_and_tests(self, halfway: World) -> None:
        record(halfway, code_1=CODE.format(number=1))
        ended = halfway.run(*COMMAND, "--restart", "code", "--json")
        item = item_of(ended.stdout)
        assert (item["status"], item["calls"]) == ("implemented", 2), ended.text
        assert (
            "it goes on with the reviewed plan and 2 tests; the code of before are"
            in ended.stderr
        )

    def test_the_code_is_written_from_the_base(self, halfway: World) -> None:
        record(halfway, code_1=EDIT, code_2=EDIT, code_3=EDIT, code_4=EDIT)
        ended = halfway.run(*COMMAND, "--restart", "code", "--max-iterations", "1")
        assert "failed: not-green" in ended.stdout, ended.text

    def test_tests_keeps_the_plan(self, halfway: World) -> None:
        answers = {
            "tests_1": TESTS.format(number=1),
            "code_1": CODE.format(number=1),
        }
        record(halfway, **answers)
        ended = halfway.run(*COMMAND, "--restart", "tests", "--json")
        item = item_of(ended.stdout)
        assert (item["status"], item["calls"]) == ("implemented", 3), ended.text
        assert "it goes on with the reviewed plan; the tests and the code" in (
            ended.stderr
        )

    @pytest.mark.parametrize("flags", [("--restart", "all"), ("--redo",)])
    def test_all_keeps_nothing(self, halfway: World, flags: tuple[str, ...]) -> None:
        ended = halfway.run(*COMMAND, *flags, "--max-iterations", "1")
        assert "nothing is kept of what was built before" in ended.text
        assert "Executing: N1_review_plan" in ended.text
        assert "Executing: N4_recall" not in ended.text

    @pytest.mark.parametrize("restart", ["code", "tests", "all"])
    def test_an_interrupted_item_begins_anew_once_and_then_resumes(
        self, shop: Callable[..., World], restart: str
    ) -> None:
        world = shop(Item(1))
        recorded = f"{world.repo}/.agentos/recorded"
        slow = ("--drafter", f"offline:latency=60,answers={recorded}")
        stages = {"code": "N4_implement", "tests": "N2_scaffold", "all": "N1_review"}
        world.run(*COMMAND, "--scaffold-only")
        for said in (True, False):
            with world.start(*COMMAND, "--restart", restart, *slow) as running:
                running.wait_for(f"Executing: {stages[restart]}")
                running.signal(SIGINT)
                ended = running.finish()
            assert ("not resumed" in ended.text) is said, ended.text
        assert "not resumed" not in world.run(*COMMAND, "--restart", restart).text
        assert branches(world.repo)

    def test_wrong_use_is_explained(self, halfway: World) -> None:
        for flags, said in {
            ("--restart", "code", "--redo"): "--redo begins entirely anew",
            ("--restart", "plan"): "invalid choice",
            ("--note", " "): "--note: is empty",
            ("--note-file", "nowhere.md"): "--note-file: nowhere.md cannot be read",
        }.items():
            ended = halfway.run(*COMMAND, *flags)
            assert (ended.code, said in ended.stderr) == (2, True), ended.text
        wrong = halfway.run("lld-workflow", "--all", "--restart", "code")
        assert (wrong.code, "is for implement-workflow" in wrong.stderr) == (2, True)


class TestReviewers:
    """What a reviewer asks or finds costs no plan, no tests and no code."""

    def test_an_answer_keeps_plan_tests_and_code(
        self, shop: Callable[..., World]
    ) -> None:
        world = shop(Item(1, tests=[WRONG_TESTS], code=[f"{GOOD_CODE}\n{CONTEST}"]))
        question = verdict(Decision.DISCUSS, "Both.", questions=("Is it 3 or 4?",))
        judge(world, contest_1=question)
        asked = world.run(*COMMAND)
        assert "needs-discussion" in asked.stdout, asked.text
        said = world.run("agentos", "answer", "IMPL-1", "--text", "It is 3.")
        assert said.code == 0, said.text
        record(world, tests_1=MENDED_TESTS, code_1=CONTEST)
        wrong = finding(Tier.HIGH, "The person says 3.", "test_010_it_works")
        judge(world, contest_1=verdict(Decision.REVISE, "It expects 4.", wrong))
        ended = world.run(*COMMAND, "--json")
        item = item_of(ended.stdout)
        # The coder contests, the reviewer agrees, the test is mended, the change read.
        assert (item["status"], item["calls"]) == ("implemented", 4), ended.text
        assert "the reviewed plan, 2 tests and the best code" in ended.stderr

    def test_what_the_review_found_is_there_in_the_next_run(
        self, make_world: Callable[..., World]
    ) -> None:
        built = Shop(make_world(issues=0))
        built.design_it()
        harm = finding(Tier.BLOCKING, "It only knows the values of the tests.")
        found = verdict(Decision.REVISE, "It is not general.", harm)
        command = "implement-workflow"
        built.run(
            command,
            plans=[APPROVAL],
            code=[GOOD_CODE, BETTER],
            diffs=[found, STILL_OPEN],
        )
        assert built.status == "needs-revision"
        ended = built.run(
            command, "--ids", "1", "--note", "Add.", code=[REORDERED], diffs=[RESOLVED]
        )
        assert built.counts == {"code": 1, "diff": 1}, ended.text
        (code,) = built.roles.prompts("code")
        assert "F1 (blocking): It only knows the values of the tests." in code
        (diff,) = built.roles.prompts("diff")
        assert "F1 (blocking): It only knows the values of the tests." in diff
        assert built.status == "implemented"


class TestNote:
    """A person's words for the models."""

    def test_it_reaches_the_models_and_is_recorded(self, halfway: World) -> None:
        record(halfway, code_1=EDIT)
        words = "# Use isinstance\nIt refuses text."
        ended = halfway.run(*COMMAND, "--note", words, "--note", "Please.")
        assert "1 implemented" in ended.stdout, ended.text
        assert "the note is for IMPL-1" in ended.stderr
        assert lineage(halfway)["note.md"] == f"{words}\n\nPlease.\n"
        path = halfway.repo / "docs/reports/1/implementation-report.md"
        report = path.read_text("utf-8")
        assert "## What a person said\n\n> # Use isinstance\n> It refuses" in report

    def test_a_finished_item_is_written_on_with_it(
        self, shop: Callable[..., World], tmp_path: Path
    ) -> None:
        world = shop(Item(1))
        assert world.run(*COMMAND).code == 0
        assert "Nothing to do" in world.run(*COMMAND).text
        (before,) = branches(world.repo).values()
        better = EDIT.replace("number + 1\n>>>", "1 + number\n>>>")
        better = better.replace(
            "    return number + 1\n=======\n    if not", "    if not"
        ).replace(
            '        raise TypeError("not a number")\n    return 1 + number',
            '        raise TypeError("not a number")\n    return number + 1\n=======\n'
            '    if not isinstance(number, int):\n        raise TypeError("not a number")\n'
            "    return 1 + number",
        )
        record(world, code_1=better)
        note = tmp_path / "note.md"
        note.write_text("Put the constant first.\n", "utf-8")
        ended = world.run(*COMMAND, "--note-file", str(note), "--json")
        item = item_of(ended.stdout)
        assert (item["status"], item["calls"]) == ("implemented", 2), ended.text
        ((branch, after),) = branches(world.repo).items()
        assert after != before
        assert "return 1 + number" in git(world.repo, "show", f"{branch}:calc/op1.py")
        assert git(world.repo, "rev-list", "--count", f"main..{branch}") == "2\n"
        again = world.run(*COMMAND, "--note-file", str(note), "--json")
        # Only the finished change is reviewed again.
        assert item_of(again.stdout)["calls"] == 1, again.text

    def test_several_items_share_it(self, shop: Callable[..., World]) -> None:
        world = shop(Item(1), Item(2))
        ended = world.run("implement-workflow", "--all", "--note", "Be brief.")
        assert "the note is for all 2 items: IMPL-1 and IMPL-2" in ended.stderr

    def test_a_prompt_without_a_place_for_it_is_refused(self, halfway: World) -> None:
        own = "inputs: design, declared, files, tests, feedback\n\n{{design}}"
        own += "{{declared}} {{files}} {{tests}} {{feedback}}\n"
        path = halfway.repo / ".agentos/prompts/implementation-code.md"
        write_files(path.parent, {path.name: own})
        ended = halfway.run(*COMMAND, "--note", "Be brief.")
        assert ended.code == 2
        assert "has no place for a note" in ended.stderr


def test_a_kill_loses_nothing_that_was_kept(halfway: World) -> None:
    record(halfway, code_1=EDIT)
    recorded = f"{halfway.repo}/.agentos/recorded"
    slow = ("--drafter", f"offline:latency=1,answers={recorded}")
    steps = ("N0_recall", "N3_red", "N4_recall", "N5_green", "N4_implement")
    for step in steps:
        with halfway.start(*COMMAND, *slow) as running:
            running.wait_for(f"Executing: {step}")
            running.signal(SIGKILL)
            running.finish()
    ended = halfway.run(*COMMAND, "--json")
    item = item_of(ended.stdout)
    assert (item["status"], item["calls"]) == ("implemented", 2), ended.text
    assert halfway.leftovers() == []


def test_a_damaged_memory_is_said_and_not_used(halfway: World) -> None:
    (path,) = (halfway.home / "worktrees").rglob(".1.memory")
    path.with_name(".1.memory-new").write_text("{", "utf-8")
    path.write_text(path.read_text("utf-8")[:-100], "utf-8")
    record(halfway)
    ended = halfway.run(*COMMAND)
    assert "what was kept of it is damaged; it begins anew" in ended.text
    assert "Executing: N1_review_plan" in ended.text
