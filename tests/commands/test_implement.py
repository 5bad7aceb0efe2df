"""The implementation workflow as commands: the scenarios of the original documents,
against every entry point.
"""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import time
from collections.abc import Callable
from contextlib import suppress

import psutil
import pytest

from tests.designs import CODE, Item, branches, fill, git
from tests.support import PATIENCE, ROOT, SIGINT, Running, World, ended_by, wait_gone

TOOL = ("python", str(ROOT / "tools/run_implement_from_lld.py"))
ENTRY_POINTS = {
    "implement-workflow": ("implement-workflow",),
    "run_implement_from_lld.py": TOOL,
}
entry_point = pytest.mark.parametrize(
    "command", ENTRY_POINTS.values(), ids=ENTRY_POINTS.keys()
)
COMMAND = ENTRY_POINTS["implement-workflow"]


@pytest.fixture
def shop(make_world: Callable[..., World]) -> Callable[..., World]:
    """Return a maker of repositories with designs to build."""

    def make(*items: Item) -> World:
        return fill(make_world(issues=0), *(items or (Item(1), Item(2))))

    return make


class TestIntegration:
    """Section 10.1 of the integration design: 010 to 120; behind both entry points is
    the same function.
    """

    @entry_point
    def test_010_020_030_and_050_flags_and_dry_run(
        self, shop: Callable[..., World], command: tuple[str, ...]
    ) -> None:
        world = shop()
        four = world.run(*command, "--all", "--parallel", "4", "--dry-run")
        assert "Dry run mode: 2 items would be processed, 4 at a time" in four.stdout
        assert all(f"IMPL-{number}" in four.stdout for number in (1, 2))
        assert "1 at a time" in world.run(*command, "--all", "--dry-run").stdout
        assert not world.home.exists()
        assert branches(world.repo) == {}

    @entry_point
    @pytest.mark.parametrize("value", ["-1", "x"])
    def test_040_an_invalid_parallelism_is_refused(
        self, shop: Callable[..., World], command: tuple[str, ...], value: str
    ) -> None:
        ended = shop().run(*command, "--all", "--parallel", value)
        assert (ended.code, "argument --parallel" in ended.stderr) == (2, True)

    @entry_point
    def test_060_070_090_and_110_four_are_built_two_at_a_time(
        self, shop: Callable[..., World], command: tuple[str, ...]
    ) -> None:
        world = shop(*(Item(number) for number in range(1, 5)))
        ended = world.run(
            *command,
            "--all",
            "--parallel",
            "2",
            environ={"AGENTOS_CREDENTIAL_LIMIT": "2"},
        )
        assert (ended.code, "4 implemented" in ended.stdout) == (0, True), ended.text
        lines = ended.stdout[: ended.stdout.index("ITEM")].splitlines()
        assert lines
        assert all(re.match(r"\[IMPL-\d\] ", line) for line in lines)
        assert len(branches(world.repo)) == 4
        for number in range(1, 5):
            report = (
                world.repo / f"docs/reports/{number}/implementation-report.md"
            ).read_text("utf-8")
            assert report.rstrip().endswith("-->")
        assert world.leftovers() == []
        assert (
            "Nothing to do: 4 already complete" in world.run(*command, "--all").stdout
        )

    def test_080_ctrl_c_ends_cleanly_and_the_same_command_resumes(
        self, shop: Callable[..., World]
    ) -> None:
        world = shop()
        slow = (
            "--drafter",
            f"offline:latency=60,answers={world.repo}/.agentos/recorded",
        )
        with world.start(*COMMAND, "--all", "--parallel", "2", *slow) as running:
            running.wait_for("Executing: N2_scaffold", times=2)
            everyone = running.descendants()
            running.signal(SIGINT)
            ended = running.finish()
        assert ended_by(ended.code, SIGINT)
        assert "FAILED" not in ended.text, ended.text
        assert wait_gone(everyone, 1.0) == []
        again = world.run(*COMMAND, "--all", "--parallel", "2")
        assert again.code == 0, again.text
        assert "0 already complete, 2 resumed, 0 new" in again.stderr, again.stderr
        assert "[IMPL-1] >>> Executing: N0_load" not in again.stdout

    def test_100_and_120_a_failure_among_successes(
        self, shop: Callable[..., World]
    ) -> None:
        stub = CODE.format(number=2).replace(
            "    return number + 2", "    raise NotImplementedError"
        )
        world = shop(Item(1), Item(2, code=[stub, stub]))
        ended = world.run(*COMMAND, "--all", "--parallel", "2", "--max-iterations", "2")
        assert (ended.code, "1 completed, 1 failed (IMPL-2)" in ended.stdout) == (
            1,
            True,
        ), ended.text
        assert "failed: not-green" in ended.stdout
        assert list(world.repo.rglob("*.tmp")) == []
        report = (world.repo / "docs/reports/2/implementation-report.md").read_text(
            "utf-8"
        )
        assert "Failed: not-green" in report
        assert "agentos/2" not in "".join(
            name
            for name, tree in branches(world.repo).items()
            if tree != _tree(world, "main")
        )


def _tree(world: World, revision: str) -> str:
    return git(world.repo, "rev-parse", f"{revision}^{{tree}}").strip()


def test_ctrl_c_in_a_run_of_tests_ends_everything_at_once(
    shop: Callable[..., World],
) -> None:
    endless = CODE.format(number=1).replace(
        "    return number + 1", "    import time\n\n    time.sleep(600)\n    return 0"
    )
    world = shop(Item(1, code=[endless]))
    with world.start("implement-workflow", "--all") as running:
        running.wait_for("Executing: N5_green")
        everyone = running.descendants()
        running.signal(SIGINT)
        ended = running.finish()
    assert ended_by(ended.code, SIGINT), ended.text
    assert wait_gone(everyone, 2.0) == []


@pytest.mark.parametrize("place", range(3))
def test_ctrl_c_while_git_is_at_work_is_no_failure(
    shop: Callable[..., World], place: int
) -> None:
    world = shop(*(Item(number) for number in range(1, 4)))
    with world.start("implement-workflow", "--all", "--parallel", "3") as running:
        running.wait_for("Executing: N0_load", times=1 + place)
        time.sleep(0.03 * place)
        running.signal(SIGINT)
        ended = running.finish()
    assert "FAILED" not in ended.text, ended.text
    assert "does not protect" not in ended.text, ended.text
    assert world.run("implement-workflow", "--all", "--parallel", "3").code == 0


def test_what_stood_in_for_the_code_is_not_kept(shop: Callable[..., World]) -> None:
    world = shop(Item(1))
    assert world.run("implement-workflow", "--all").code == 0
    told = json.loads(world.run("agentos", "salvage", "1", "--json").stdout)
    assert {kept["name"] for kept in told["items"][0]["snapshots"]} == {
        "tests",
        "iteration-1",
        "committed-1",
    }


HANGING_WITHOUT_CODE = """\
```python
# File: tests/test_op1.py
import time

import pytest

try:
    from calc.op1 import apply
except ImportError:
    print("hanging", flush=True)
    time.sleep(10_000)


def test_010_it_works():
    assert apply(2) == 3


def test_010_refuses_text():
    with pytest.raises(TypeError, match="number"):
        apply("2")
```
"""


def wait_for_tests(running: Running) -> list[psutil.Process]:
    """Return the processes that run generated tests, once there are any."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = []
        for process in running.descendants():
            with suppress(psutil.Error):
                found += (
                    [process]
                    if "agentos_start.py" in " ".join(process.cmdline())
                    else []
                )
        if found:
            return found
    raise AssertionError(running.text)


def test_tests_that_are_run_while_a_model_writes_end_with_the_item(
    shop: Callable[..., World],
) -> None:
    world = shop(Item(1, tests=[HANGING_WITHOUT_CODE]))
    slow = ("--drafter", f"offline:latency=3,answers={world.repo}/.agentos/recorded")
    with world.start(
        "implement-workflow", "--all", "--test-timeout", "600", *slow
    ) as running:
        running.wait_for("Executing: N4_implement")
        hanging = wait_for_tests(running)
        running.signal(SIGINT)
        ended = running.finish()
    assert ended_by(ended.code, SIGINT), ended.text
    assert wait_gone(hanging, 2.0) == []
    # What hangs without the code is told, and ends no item that is green with it.
    again = world.run("implement-workflow", "--all", "--test-timeout", "3")
    assert "[IMPL-1] IMPLEMENTED" in again.text, again.text


def test_in_a_subfolder_the_repository_is_found(shop: Callable[..., World]) -> None:
    world = shop(Item(1))
    (world.repo / "calc" / "deep").mkdir()
    deep = dataclasses.replace(world, repo=world.repo / "calc" / "deep")
    recorded = f"offline:answers={world.repo}/.agentos/recorded"
    command = ("implement-workflow", "--all", "--drafter", recorded)
    assert "docs/lld/active/LLD-001.md" in deep.run(*command, "--dry-run").text
    assert world.run(*command).code == 0
    assert "Nothing to do: 1 already complete" in deep.run(*command).text
    assert "IMPL-1" in deep.run("agentos", "trial-merge").text
    # One that has a backlog of its own is a place of its own.
    (world.repo / "calc" / "docs" / "lld").mkdir(parents=True)
    inner = dataclasses.replace(world, repo=world.repo / "calc")
    assert inner.run(*command).code == 2


@pytest.mark.parametrize("options", [(), ("--dry-run",)])
def test_where_nothing_can_be_built_nothing_starts(
    shop: Callable[..., World], options: tuple[str, ...]
) -> None:
    world = shop(Item(1))
    shutil.rmtree(world.repo / ".git")
    ended = world.run("implement-workflow", "--all", *options)
    assert (ended.code, "is not in a git repository; run git init" in ended.stderr) == (
        2,
        True,
    ), ended.text
    git(world.repo, "init", "--quiet")
    ended = world.run("implement-workflow", "--all", *options)
    assert (ended.code, "has no commit yet" in ended.stderr) == (2, True), ended.text
    assert len(ended.stderr.splitlines()) == 1


def test_malformed_tables_of_a_design_are_told_before_anything_is_paid(
    shop: Callable[..., World],
) -> None:
    world = shop(Item(1, scenarios="| 010 | Again | Auto | A number |"))
    said = world.run("implement-workflow", "--all").text
    assert (
        "Warning: the design, line 28: a table row has more or fewer cells than its header."
        in said
    )
    assert (
        "Warning: the design, line 28: scenario id '010' is empty or used twice."
        in said
    )
    assert said.index("is empty or used twice") < said.index("N1_review_plan")


def test_a_design_may_wear_its_approval_with_a_mark(shop: Callable[..., World]) -> None:
    world = shop(Item(1, status="**APPROVED** \N{WHITE HEAVY CHECK MARK}"))
    assert "[IMPL-1] IMPLEMENTED" in world.run("implement-workflow", "--all").text


def test_only_the_tests_when_only_they_are_asked_for(
    shop: Callable[..., World],
) -> None:
    world = shop(Item(1))
    first = world.run("implement-workflow", "--all", "--scaffold-only")
    assert first.code == 0, first.text
    assert "1 scaffolded" in first.stdout
    assert world.run("agentos", "status").stdout.startswith("1 scaffolded")
    assert "N4_implement" not in first.stdout
    again = world.run("implement-workflow", "--all", "--scaffold-only")
    assert "1 scaffolded" in again.stdout, again.text
    whole = world.run("implement-workflow", "--all")
    assert "1 implemented" in whole.stdout, whole.text
    assert "N2_scaffold" not in whole.stdout


def test_designs_that_are_not_approved_are_left_alone_or_refused_by_name(
    shop: Callable[..., World],
) -> None:
    world = shop(Item(1), Item(2, status="Draft"))
    every = world.run("implement-workflow", "--all", "--dry-run", "--json")
    document = json.loads(every.stdout)
    assert [item["id"] for item in document["items"]] == ["1"]
    assert any("not approved" in warning for warning in document["warnings"])
    named = world.run("implement-workflow", "--ids", "2")
    assert named.code == 1
    assert "only approved designs are built" in named.text


def test_without_a_model_and_recorded_answers_nothing_starts(
    make_world: Callable[..., World],
) -> None:
    world = make_world(issues=0)
    fill(world, Item(1))
    for path in sorted((world.repo / ".agentos/recorded").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    (world.repo / ".agentos/recorded").rmdir()
    ended = world.run("implement-workflow", "--all")
    assert ended.code == 2
    assert "offline has no rules that write code" in ended.stderr


def test_designs_with_a_file_in_common_are_stacked_and_the_others_are_not(
    shop: Callable[..., World],
) -> None:
    old = "    return a + b"
    edit = f"```python\n# Edit: calc/basic.py\n<<<<<<< SEARCH\n{old}\n=======\n{old}\n{{}}\n>>>>>>> REPLACE\n```\n"
    function = (
        '\n\ndef {name}(number):\n    """Return it."""\n    return number + {more}\n'
    )
    tests = (
        "```python\n# File: tests/test_{name}.py\nfrom calc.basic import {name}\n\n\n"
        "def test_010_{name}():\n    assert {name}(1) == 1 + {more}\n```\n"
    )

    def item(number: int, name: str) -> Item:
        return Item(
            number,
            files={"calc/basic.py": "Modify", f"tests/test_{name}.py": "Add"},
            tests=[tests.format(name=name, more=number)],
            code=[edit.format(function.format(name=name, more=number))],
        )

    world = shop(item(1, "first"), item(2, "second"), Item(3))
    plan = world.run("implement-workflow", "--all", "--parallel", "3", "--dry-run")
    assert "IMPL-2 after IMPL-1: both change calc/basic.py" in plan.stdout
    ended = world.run("implement-workflow", "--all", "--parallel", "3")
    assert ended.code == 0, ended.text
    built = {name.split("/")[1].split("-")[0]: name for name in branches(world.repo)}
    assert git(world.repo, "merge-base", "--is-ancestor", built["1"], built["2"]) == ""
    assert git(world.repo, "rev-list", "--count", f"main..{built['3']}").strip() == "1"
    merged = git(world.repo, "merge-tree", "--write-tree", built["2"], built["3"])
    assert merged.strip()


def test_where_the_work_differs_from_its_design_and_what_no_test_notices_is_told(
    shop: Callable[..., World],
) -> None:
    files = {
        "calc/op1.py": "Modify",
        "calc/table.json": "Add",
        "calc/unused.json": "Add",
        "README.md": "Add",
        "tests/test_op1.py": "Add",
    }
    code = """\
```python
# File: calc/op1.py
import json
from pathlib import Path


def apply(number: int) -> int:
    if not isinstance(number, int):
        raise TypeError("not a number")
    return number + json.loads(Path(__file__).with_name("table.json").read_text())["more"]
```

```json
// File: calc/table.json
{"more": 1}
```

```json
// File: calc/unused.json
{"more": 2}
```

```markdown
<!-- File: README.md -->
It calculates.
```
"""
    world = shop(Item(1, files=files, code=[code]))
    own = "inputs: design, declared, files, tests, feedback\n\nOur own words.\n"
    path = world.repo / ".agentos/prompts/implementation-code.md"
    path.parent.mkdir()
    path.write_text(own, "utf-8")
    refused = world.run("implement-workflow", "--all")
    assert (refused.code, f"{path.name}: lacks {{{{design}}}}" in refused.stderr) == (
        2,
        True,
    ), refused.text
    path.write_text(
        own + "{{design}} {{declared}} {{files}} {{tests}} {{feedback}}\n", "utf-8"
    )
    ended = world.run("implement-workflow", "--all")
    assert (ended.code, "1 implemented" in ended.stdout) == (0, True), ended.text
    report = (world.repo / "docs/reports/1/implementation-report.md").read_text("utf-8")
    assert (
        "calc/op1.py: declared as a change of a file, but there was none; it was added"
        in report
    )
    assert (
        "calc/unused.json: with the file put back to its old state, every test passes"
        in report
    )
    assert "calc/table.json: with the file" not in report
    assert "README.md: with the file" not in report
