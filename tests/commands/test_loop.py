"""Tests and code are written in a loop of edits and commands."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentos.documents.findings import Tier
from agentos.documents.verdict import Decision
from agentos.workflows.implementation.held_out import choose, without_tests
from tests.commands.test_conversations_of_builders import (
    finding,
    report,
    verdict,
)
from tests.designs import (
    CODE,
    CODE_APPROVAL,
    PLAN_APPROVAL,
    TESTS,
    Item,
    branches,
    fill,
    git,
)
from tests.faults import market
from tests.scenario import serve
from tests.support import Finished, World

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("bwrap"), reason="needs bubblewrap"),
]
GOOD_CODE = CODE.format(number=1)
GOOD_TESTS = TESTS.format(number=1)
DONE = "It works.\n\ndone\n"
MORE = "\n".join(
    f"| 0{number}0 | It adds 1 to {number} | Auto | {number} | {number + 1} | Equal | R1 |"
    for number in range(2, 6)
)
"""Scenarios 020 to 050: with 010 there are five, so the tests of one are held out."""


def bash(command: str) -> str:
    """Return a turn with one command."""
    return f"I look.\n\n```bash\n{command}\n```\n"


def turns(world: World, role: str) -> str:
    """Return what a role did, turn by turn."""
    folder = world.repo / "docs/lineage/active/1-implementation"
    found = sorted(folder.glob(f"*-{role}-turns.md"))
    return "\n".join(path.read_text("utf-8") for path in found)


@pytest.fixture
def build(make_world: Callable[..., World]) -> Callable[..., World]:
    """Return a maker of a repository with one design and the turns of its writers."""

    def make(**answers: object) -> World:
        reviews = answers.pop("reviews", {})
        answers.setdefault("tests", [GOOD_TESTS, DONE])
        item = Item(1, in_turns=True, **answers)  # type: ignore[arg-type]
        world = fill(make_world(issues=0), item)
        folder = world.repo / ".agentos/recorded/1"
        for name, text in reviews.items():  # type: ignore[attr-defined]
            (folder / name).write_text(text, "utf-8")
        return world

    return make


def implement(world: World, *arguments: str) -> Finished:
    """Build the item in a loop."""
    return world.run("implement-workflow", "--all", "--writer", "loop", *arguments)


def test_a_role_looks_writes_tries_and_says_that_it_is_done(
    build: Callable[..., World],
) -> None:
    world = build(
        tests=[
            bash("ls; git log --oneline"),
            f"{GOOD_TESTS}\n{bash('run-tests')}",
            DONE,
        ],
        code=[bash("cat tests/test_op1.py"), f"{GOOD_CODE}\n{bash('run-tests')}", DONE],
    )
    ended = implement(world)
    assert ended.code == 0, ended.text
    assert "green in 1 iteration" in ended.text
    assert "coder, turn 2: edited calc/op1.py; ran `run-tests` (exit 0" in ended.text
    assert ended.text.count(">>> Executing: N4_implement") == 1, "once a phase"
    said = turns(world, "code")
    assert "2 passed" in said
    assert "Turn 3 of 40 is next." in said
    assert "code-turns.md](../../lineage/active/1-implementation/" in report(world)


def test_what_is_not_the_coders_gets_its_bytes_back(
    build: Callable[..., World],
) -> None:
    weaken = "sed -i 's/== 2 + 1/== 2/' tests/test_op1.py && echo '[pytest]' >> pyproject.toml"
    wrong = GOOD_CODE.replace("number + 1", "number")
    world = build(
        code=[
            f"{wrong}\n{bash(f'{weaken}; python -m pytest -q tests/test_op1.py; run-tests')}",
            DONE,
            GOOD_CODE,
            DONE,
        ]
    )
    ended = implement(world)
    assert ended.code == 0, ended.text
    said = turns(world, "code")
    assert "2 passed" in said, "it may try what it likes in a command"
    assert "run-tests: tests/test_op1.py was put back" in said
    assert "run-tests: pyproject.toml was put back" in said
    assert "1 failed" in said
    assert "iteration 1: tests/test_op1.py::test_010_it_works" in ended.text
    (branch,) = branches(world.repo)
    assert git(world.repo, "diff", "--name-only", "main", branch).split() == [
        "calc/op1.py",
        "tests/test_op1.py",
    ]
    assert "== 2 + 1" in git(world.repo, "show", f"{branch}:tests/test_op1.py")


def test_work_that_is_refused_is_gone_on_with(build: Callable[..., World]) -> None:
    stub = "\n\ndef later():\n    raise NotImplementedError\n"
    unfinished = GOOD_CODE.replace(
        "    return number + 1\n", f"    return number + 1\n{stub}"
    )
    take_out = bash("sed -i '/def later/,$d' calc/op1.py && run-tests")
    world = build(code=[unfinished, DONE, take_out, DONE])
    ended = implement(world)
    assert ended.code == 0, ended.text
    assert "green in 2 iterations" in ended.text
    (branch,) = branches(world.repo)
    assert "later" not in git(world.repo, "show", f"{branch}:calc/op1.py")


def test_a_contested_test_is_mended_with_the_code_at_hand(
    build: Callable[..., World],
) -> None:
    wrong = GOOD_TESTS.replace("== 2 + 1", "== 4")
    mend = bash("sed -i 's/== 4/== 2 + 1/' tests/test_op1.py && run-tests")
    contest = "contest: test_010_it_works: the design says 1 more, so 3\n"
    ruling = verdict(
        Decision.REVISE,
        "It wants 4.",
        finding(Tier.HIGH, "It has to be 3.", "test_010_it_works"),
    )
    world = build(
        tests=[wrong, DONE, mend, DONE],
        code=[GOOD_CODE, f"{contest}\ndone\n"],
        reviews={"contest-1.json": ruling},
    )
    ended = implement(world)
    assert ended.code == 0, ended.text
    assert "2 passed" in turns(world, "tests"), "it runs with the code"
    (branch,) = branches(world.repo)
    assert "== 2 + 1" in git(world.repo, "show", f"{branch}:tests/test_op1.py")


def test_files_that_nobody_declared_have_to_go_or_be_explained(
    build: Callable[..., World],
) -> None:
    world = build(
        code=[
            f"{GOOD_CODE}\n{bash('echo 1 > try.txt; echo 2 > calc/sums.txt')}",
            DONE,
            "# Delete: try.txt\n\nundeclared: calc/sums.txt: people read it\n",
            DONE,
        ]
    )
    ended = implement(world)
    assert ended.code == 0, ended.text
    assert "not judged: `calc/sums.txt` is not declared" in ended.text
    assert "`try.txt` is not declared in the design" in turns(world, "code")
    assert "calc/sums.txt: changed though not declared" in report(world)
    (branch,) = branches(world.repo)
    names = git(world.repo, "ls-tree", "-r", "--name-only", branch).split()
    assert "calc/sums.txt" in names
    assert "try.txt" not in names


def test_done_beside_a_refused_edit_or_a_failed_command_does_not_count(
    build: Callable[..., World],
) -> None:
    refused = GOOD_CODE.replace("# File:", "# Edit:").replace(
        '"""Operation 1."""', "<<<<<<< SEARCH\nnot there\n=======\nx\n>>>>>>> REPLACE"
    )
    world = build(
        code=[
            f"{refused}\ndone\n",
            f"{bash('false')}\ndone\n",
            f"{GOOD_CODE}\n{bash('run-tests')}\ndone\n",
        ]
    )
    ended = implement(world)
    assert ended.code == 0, ended.text
    said = turns(world, "code")
    assert said.count("`done` does not count beside what was refused") == 2
    assert (
        "coder, turn 3: says `done`; edited calc/op1.py; ran `run-tests`" in ended.text
    )
    assert "green in 1 iteration" in ended.text


def test_what_git_ignores_and_processes_do_not_outlive_a_command(
    build: Callable[..., World],
) -> None:
    world = build(
        code=[
            bash("touch .git/info; echo 1 > a.log; (sleep 60; echo x > b) & echo $!"),
            bash("ls a.log b; ls /root /home 2>&1; env | grep -ic key; git stash"),
            GOOD_CODE,
            DONE,
        ],
    )
    (world.repo / ".gitignore").write_text("*.log\n", "utf-8")
    git(world.repo, "add", "--all")
    git(world.repo, "commit", "--quiet", "--message=Ignore logs")
    ended = implement(world)
    assert ended.code == 0, ended.text
    said = turns(world, "code")
    assert "Read-only file system" in said
    assert "cannot access 'a.log'" in said
    assert "cannot access 'b'" in said


def test_a_command_that_prints_much_is_cut_and_one_that_hangs_is_ended(
    build: Callable[..., World],
) -> None:
    token = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
    world = build(
        code=[
            bash(f"seq 1 20000; printf 'token=ghp_%s' {token}"),
            bash("sleep 600"),
            GOOD_CODE,
            DONE,
        ]
    )
    ended = implement(world, "--command-timeout", "2")
    assert ended.code == 0, ended.text
    said = turns(world, "code")
    assert "characters are left out" in said
    assert f"ghp_{token}" not in said
    assert "(withheld: looks like a credential)" in said
    assert "ran longer than 2.0 s and was ended" in said


def test_turns_are_limited_and_what_is_there_is_judged(
    build: Callable[..., World],
) -> None:
    world = build(code=[bash("true"), GOOD_CODE, bash("true"), bash("true")])
    ended = implement(world, "--turns", "3")
    assert ended.code == 0, ended.text
    assert "3 of 3 turns are left" not in turns(world, "tests")
    assert "1 of 3 turns are left: finish" in turns(world, "code")


def test_an_item_without_code_ends_with_its_turns(build: Callable[..., World]) -> None:
    world = build(code=[bash("true")] * 3)
    ended = implement(world, "--turns", "3")
    assert ended.code == 1
    assert "not green" in ended.text


def test_words_without_a_turn_are_judged_after_a_while(
    build: Callable[..., World],
) -> None:
    world = build(code=[GOOD_CODE, "I am finished.\n", "Really.\n", "Yes.\n"])
    ended = implement(world)
    assert ended.code == 0, ended.text
    assert "no command" in turns(world, "code")


def test_blocked_ends_the_item_with_the_reason(build: Callable[..., World]) -> None:
    world = build(code=[bash("true"), "blocked: section 2 names no operation\n"])
    ended = implement(world)
    assert ended.code == 1
    assert "failed: blocked" in ended.text
    assert "section 2 names no operation" in ended.text


MANY_TESTS = GOOD_TESTS.replace("apply(2) == 2 + 1", "apply(9) == 9 + 1").replace(
    "\n\ndef test_010_refuses_text",
    "".join(
        f"\n\ndef test_0{number}0_it_works():\n    assert apply({number}) == {number} + 1\n"
        for number in range(2, 6)
    )
    + "\n\ndef test_010_refuses_text",
)
KNOWS_VALUES = """\
```python
# File: calc/op1.py
\"\"\"Operation 1.\"\"\"

KNOWN = {values}


def apply(number: int) -> int:
    \"\"\"Return the number and 1 more.\"\"\"
    if not isinstance(number, int):
        raise TypeError("not a number")
    return KNOWN.get(number, number)
```
"""


(HELD,) = choose("1", ("010", "020", "030", "040", "050"))
NUMBERS = {"010": 9, "020": 2, "030": 3, "040": 4, "050": 5}
NUMBER = NUMBERS.pop(HELD)
"""The number that the test of the held-out scenario adds 1 to."""
KNOWN = {number: number + 1 for number in NUMBERS.values()}
CHEATING = KNOWS_VALUES.format(values=KNOWN)
RIGHT = {"contest-1.json": verdict(Decision.APPROVED, "The tests are right.")}


class TestHeldOut:
    """One scenario in five has tests that the coder never sees."""

    def make(self, build: Callable[..., World], **answers: object) -> World:
        """Return a world with five scenarios."""
        answers.setdefault("tests", [MANY_TESTS, DONE])
        return build(scenarios=MORE, **answers)

    def test_the_coder_sees_neither_the_tests_nor_their_names(
        self, build: Callable[..., World]
    ) -> None:
        look = bash(
            "cat tests/test_op1.py; git log --all --oneline; git stash list;"
            " git cat-file --batch-all-objects --batch-check | wc -l; ls -la .. /proc"
        )
        code = [look, f"{GOOD_CODE}\n{bash('run-tests -v')}", DONE]
        world = self.make(build, code=code)
        ended = implement(world)
        assert ended.code == 0, ended.text
        said = turns(world, "code")
        assert f"test_{HELD}" not in said
        for scenario in NUMBERS:
            assert f"test_{scenario}" in said
        (branch,) = branches(world.repo)
        tests = git(world.repo, "show", f"{branch}:tests/test_op1.py")
        assert f"def test_{HELD}" in tests, "the branch has them all"
        text = (world.repo / "docs/reports/1/test-report.md").read_text("utf-8")
        assert f"the tests of the scenarios {HELD}." in text

    def test_code_that_knows_the_values_of_its_tests_is_found(
        self, build: Callable[..., World]
    ) -> None:
        world = self.make(build, code=[CHEATING, DONE, GOOD_CODE, DONE], reviews=RIGHT)
        ended = implement(world)
        assert ended.code == 0, ended.text
        assert "held-out tests: The tests are right." in ended.text
        assert "green in 2 iterations" in ended.text
        said = turns(world, "code")
        assert f"def test_{HELD}" not in said

    def test_the_coder_is_told_once(self, build: Callable[..., World]) -> None:
        again = CHEATING.replace("Operation 1.", "Operation one.")
        world = self.make(build, code=[CHEATING, DONE, again, DONE], reviews=RIGHT)
        ended = implement(world)
        assert ended.code == 1, ended.text
        assert "not-green" in ended.text
        assert f"about the scenarios {HELD}" in ended.text

    def test_a_wrong_test_is_dropped_and_reported(
        self, build: Callable[..., World]
    ) -> None:
        right = f"apply({NUMBER}) == {NUMBER} + 1\n"
        wrong = MANY_TESTS.replace(right, f"apply({NUMBER}) == 99\n")
        assert wrong != MANY_TESTS
        text = "It wants 99."
        ruling = verdict(
            Decision.REVISE, text, finding(Tier.HIGH, text, f"test_{HELD}_it_works")
        )
        world = self.make(
            build,
            tests=[wrong, DONE],
            code=[GOOD_CODE, DONE],
            reviews={"contest-1.json": ruling},
        )
        ended = implement(world)
        assert ended.code == 0, ended.text
        assert "is wrong and is dropped" in ended.text
        report = (world.repo / "docs/reports/1/test-report.md").read_text("utf-8")
        assert "The reviewer found these wrong" in report
        (branch,) = branches(world.repo)
        assert "99" not in git(world.repo, "show", f"{branch}:tests/test_op1.py")


def test_a_class_without_its_only_test_can_still_be_read() -> None:
    text = "class TestA:\n    @mark\n    def test_010_a(self):\n        pass\n\n\ndef test_020_b():\n    pass\n"
    assert without_tests("t.py", text, ["t.py::test_020_b"]).endswith("pass\n\n\n")
    left = without_tests("t.py", text, ["t.py::TestA::test_010_a"])
    assert left.startswith("class TestA:\n    pass\n\n\ndef test_020_b")


def test_a_failed_attempt_is_begun_from_the_base(build: Callable[..., World]) -> None:
    wrong = GOOD_CODE.replace("number + 1", "number")
    world = build(code=[wrong, DONE, DONE])
    folder: Path = world.repo / ".agentos/recorded/1"
    (folder / "code-2.01.md").write_text(GOOD_CODE, "utf-8")
    (folder / "code-2.02.md").write_text(DONE, "utf-8")
    ended = implement(world, "--attempts", "2")
    assert ended.code == 0, ended.text
    assert "attempt 1 has failed; beginning from the base" in ended.text


def test_single_answers_stay_the_way_without_a_model(
    make_world: Callable[..., World],
) -> None:
    world = fill(make_world(issues=0), Item(1))
    ended = world.run("implement-workflow", "--all")
    assert ended.code == 0, ended.text
    assert "turn 1" not in ended.text


def test_a_long_loop_is_read_from_the_cache_and_costs_what_is_billed(
    make_world: Callable[..., World],
) -> None:
    pytest.importorskip("anthropic")
    world = fill(make_world(issues=0), Item(1))
    code = [f"{GOOD_CODE}\n{bash('run-tests')}"]
    code += [bash(f"echo {turn}; cat calc/*.py tests/*.py") for turn in range(2, 40)]
    texts = [PLAN_APPROVAL, GOOD_TESTS, DONE, *code, DONE, CODE_APPROVAL]
    script: dict[str, Any] = {
        "price_input": 3.0,
        "price_output": 15.0,
        "cache_minimum": 1024,
        "answer": [{"purpose": "*", "texts": texts}],
    }
    with serve(script) as server:
        entries = [{"provider": "anthropic", "key": "sk-loop-1"}]
        market.write_keys(world, server.url, entries)
        ended = implement(
            world,
            *("--drafter", "anthropic:m", "--price", "anthropic:*=3/15/0.3/3.75"),
        )
        assert ended.code == 0, ended.text
        calls = server.ledger.admitted()
        bill = sum(entry.cost for entry in calls)
    (folder,) = world.run_folders
    summary = json.loads((folder / "summary.json").read_text("utf-8"))
    assert 0 <= summary["cost"] - bill < len(calls) * 2e-6
    (line,) = [
        line
        for line in summary["calls"]["by_node_and_model"]
        if line["node"] == "N4_implement"
    ]
    assert line["calls"] == 40
    assert line["cached_tokens"] / line["input_tokens"] >= 0.85
