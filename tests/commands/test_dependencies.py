"""Items start after those that they depend on, and wait when these were not
approved.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from agentos.run.report.audit import read_audit
from tests.support import SIGINT, SIGKILL, World, ended_by, wait_gone

MakeWorld = Callable[..., World]


def depend(world: World, **needs: str) -> None:
    """Write into issues, named as `i2`, what they depend on."""
    for name, others in needs.items():
        path = world.repo / f"docs/issues/{name[1:]}-export.md"
        path.write_text(
            f"{path.read_text('utf-8')}\n## Dependencies\n- Depends on: {others}\n",
            "utf-8",
        )


def events(world: World, item: int) -> list[dict[str, Any]]:
    """Return the audit of an item over all runs, oldest first."""
    found = []
    for folder in world.run_folders:
        path = folder / f"workflow-audit-{item}.jsonl"
        found += list(read_audit(path)) if path.exists() else []
    return found


def moments(world: World, item: int) -> tuple[str, str]:
    """Return when an item was first started and when it ended last."""
    trail = events(world, item)
    started = next(event["time"] for event in trail if event["event"] == "started")
    return started, next(
        event["time"] for event in reversed(trail) if event["event"] == "ended"
    )


def statuses(world: World) -> dict[str, str]:
    """Return how the last run says that each item fared."""
    summary = json.loads((world.run_folders[-1] / "summary.json").read_text("utf-8"))
    return {item["id"]: item["status"] for item in summary["items"]}


def test_items_start_after_what_they_depend_on_and_the_others_meanwhile(
    make_world: MakeWorld,
) -> None:
    world = make_world(issues=6)
    depend(world, i1="#5", i2="#1, #6 (soon) and 3", i4="3-export")
    ended = world.run(
        "lld-workflow", "--all", "--parallel", "3", "--drafter", "offline:latency=0.1"
    )
    assert ended.code == 0, ended.text
    assert "6 approved" in ended.stdout
    for item, others in {1: [5], 2: [1, 6, 3], 4: [3]}.items():
        for other in others:
            assert moments(world, item)[0] >= moments(world, other)[1], (item, other)
    # 3, 5 and 6 wait for nobody and fill all three places before 1, 2 and 4 may begin.
    assert max(moments(world, item)[0] for item in (3, 5, 6)) <= min(
        moments(world, item)[1] for item in (3, 5, 6)
    )


@pytest.mark.parametrize("parallel", ["1", "3"])
def test_an_item_whose_dependency_failed_stays_pending_and_says_why(
    make_world: MakeWorld, parallel: str
) -> None:
    world = make_world(issues=4)
    depend(world, i2="#1", i3="#2")
    command = ("lld-workflow", "--all", "--parallel", parallel)
    ended = world.run(*command, "--drafter", "offline:fault=error@1")
    assert ended.code == 1
    assert "[LLD-2] not started: waits for #1, which failed" in ended.stderr
    assert "LLD-2: waits for #1, which failed" in ended.stdout
    assert "LLD-3: waits for #2, which waits itself" in ended.stdout
    assert "1 completed, 1 failed (LLD-1), 2 waiting" in ended.stdout
    assert "Waiting: 2, 3. To run them anyway: lld-workflow" in ended.stdout
    assert "Stopped early" not in ended.stdout
    assert statuses(world) == {
        "1": "failed",
        "2": "waiting",
        "3": "waiting",
        "4": "approved",
    }
    assert events(world, 2) == events(world, 3) == []
    status = json.loads(world.run("agentos", "status", "--json").stdout)
    assert {row["id"]: row["status"] for row in status["items"]}["2"] == "pending"
    again = world.run(*command)
    assert again.code == 0, again.text
    assert statuses(world) == {"1": "approved", "2": "approved", "3": "approved"}


def test_a_dependency_without_approval_holds_until_it_is_mended_or_the_item_is_named(
    make_world: MakeWorld,
) -> None:
    world = make_world(issues=2)
    depend(world, i2="#1")
    discuss = ("--reviewer", "offline:fault=discuss@1")
    for _ in range(2):
        ended = world.run("lld-workflow", "--all", *discuss)
        assert ended.code == 75, ended.text
        assert "LLD-2: waits for #1, which needs discussion" in ended.stdout
    plan = json.loads(world.run("lld-workflow", "--all", "--dry-run", "--json").stdout)
    assert plan["waiting"] == [
        {"id": "2", "reason": "waits for #1, which needs discussion"}
    ]
    named = world.run("lld-workflow", "--ids", "2", *discuss)
    assert (named.code, "1 approved" in named.stdout) == (0, True)
    assert (
        "Warning: LLD-2: Depends on #1, which needs discussion; continuing without it"
        in named.stderr
    )


def test_an_edit_of_the_dependency_lets_both_run(make_world: MakeWorld) -> None:
    world = make_world(issues=2)
    depend(world, i2="#1")
    assert (
        world.run("lld-workflow", "--all", "--reviewer", "offline:fault=discuss@1").code
        == 75
    )
    issue = world.repo / "docs/issues/1-export.md"
    issue.write_text(issue.read_text("utf-8") + "\nMended.\n", "utf-8")
    assert "2 approved" in world.run("lld-workflow", "--all").stdout


def test_the_items_of_a_circle_are_refused_before_anything_runs(
    make_world: MakeWorld,
) -> None:
    world = make_world(issues=6)
    depend(world, i1="#2", i2="#3", i3="#1", i4="#4", i5="#1")
    ended = world.run("lld-workflow", "--all", "--parallel", "3")
    assert ended.code == 1
    assert (
        "depends on itself: #1 -> #2 -> #3 -> #1; take one of these dependencies out (bad-input)"
        in ended.stderr
    )
    assert "depends on itself: #4 -> #4" in ended.stderr
    assert "LLD-5: waits for #1, which was refused" in ended.stdout
    assert (
        "1 completed, 4 failed (LLD-1, LLD-2, LLD-3, LLD-4), 1 waiting" in ended.stdout
    )
    assert sorted(path.name for path in world.run_folders[-1].glob("*.jsonl")) == [
        "workflow-audit-6.jsonl"
    ]
    dry = world.run("lld-workflow", "--all", "--dry-run")
    assert (
        dry.code,
        "refused  4-export.md: depends on itself: #4 -> #4" in dry.stdout,
    ) == (0, True)


def test_dependencies_outside_the_batch_hold_nothing_up(make_world: MakeWorld) -> None:
    world = make_world(issues=3)
    depend(world, i1="#900, other/repository#3", i2="#3", i3="#41")
    (world.repo / "docs/lld/done").mkdir(parents=True)
    (world.repo / "docs/lld/done/LLD-041.md").write_text("long ago\n", "utf-8")
    pending = world.run("lld-workflow", "--ids", "1", "2")
    assert pending.code == 0
    assert (
        "Warning: LLD-2: Depends on #3, which is pending and not selected; continuing without it"
        in pending.stderr
    )
    assert pending.stderr.count("Warning") == 1
    rest = world.run("lld-workflow", "--all")
    assert (rest.code, "Warning" in rest.stderr) == (0, False)


def test_a_dependency_that_is_complete_holds_nothing_up(make_world: MakeWorld) -> None:
    world = make_world(issues=2)
    depend(world, i2="#1")
    assert world.run("lld-workflow", "--ids", "1").code == 0
    ended = world.run("lld-workflow", "--all")
    assert (ended.code, "1 approved" in ended.stdout, "Warning" in ended.stderr) == (
        0,
        True,
        False,
    )


def test_a_dependency_that_another_run_holds_is_no_deadlock(
    make_world: MakeWorld,
) -> None:
    world = make_world(issues=3)
    depend(world, i2="#1")
    with world.start(
        "lld-workflow", "--issue", "1", "--drafter", "offline:latency=60"
    ) as first:
        first.wait_for("Executing: N1_design")
        second = world.run("lld-workflow", "--all", "--parallel", "2")
        assert second.code == 75, second.text
        assert "LLD-2: waits for #1, which another run holds" in second.stdout
        assert "1 approved, 1 locked by another run, 1 waiting" in second.stdout
        first.signal(SIGINT)
        first.finish()
    assert "2 approved" in world.run("lld-workflow", "--all").stdout


def test_ctrl_c_while_an_item_waits_leaves_it_for_the_rerun(
    make_world: MakeWorld,
) -> None:
    world = make_world(issues=3)
    depend(world, i2="#1", i3="#2")
    command = ("lld-workflow", "--all", "--parallel", "3")
    with world.start(*command, "--drafter", "offline:latency=60") as running:
        running.wait_for(r"\[LLD-1\] >>> Executing: N1_design")
        everyone = running.descendants()
        running.signal(SIGINT)
        ended = running.finish()
    assert ended_by(ended.code, SIGINT)
    assert wait_gone(everyone, 1.0) == []
    assert "1 interrupted, 2 not started" in ended.stdout
    assert "[LLD-2] >>>" not in ended.stdout
    again = world.run(*command)
    assert "0 already complete, 1 resumed, 2 new" in again.stderr
    assert (again.code, "3 approved" in again.stdout) == (0, True)


def test_a_chain_that_was_killed_in_its_middle_goes_on_in_its_order(
    make_world: MakeWorld,
) -> None:
    world = make_world(issues=4)
    depend(world, i1="#2", i2="#3", i3="#4")
    command = ("lld-workflow", "--all", "--parallel", "3")
    with world.start(*command, "--drafter", "offline:fault=hang@2") as running:
        running.wait_for(r"\[LLD-2\] >>> Executing: N1_design")
        everyone = running.descendants()
        running.signal(SIGKILL)
        running.process.wait()
    assert wait_gone(everyone, 1.0) == []
    again = world.run(*command)
    assert again.code == 0, again.text
    assert "2 already complete, 1 resumed, 1 new" in again.stderr
    for item in (1, 2, 3):
        assert moments(world, item)[0] >= moments(world, item + 1)[1] or item == 2
    assert (
        sum(
            event["event"] == "ended"
            for item in range(1, 5)
            for event in events(world, item)
        )
        == 4
    )
    assert world.leftovers() == []


def test_a_halt_leaves_what_waits_for_a_failure_and_what_was_not_begun_apart(
    make_world: MakeWorld,
) -> None:
    world = make_world(issues=4)
    depend(world, i2="#1")
    ended = world.run(
        "lld-workflow",
        "--all",
        "--halt",
        "soon,fail=1",
        "--drafter",
        "offline:fault=error@1",
    )
    assert ended.code == 1
    assert statuses(world) == {
        "1": "failed",
        "2": "waiting",
        "3": "not-started",
        "4": "not-started",
    }
    assert world.run("lld-workflow", "--all").code == 0


def test_a_retried_dependency_that_succeeds_lets_the_others_go_on(
    make_world: MakeWorld,
) -> None:
    world = make_world(issues=2)
    depend(world, i1="#2")
    ended = world.run(
        "lld-workflow",
        "--all",
        "--retries",
        "1",
        "--drafter",
        "offline:fault=error@2x1",
    )
    assert ended.code == 0, ended.text
    assert moments(world, 1)[0] >= moments(world, 2)[1]


def test_the_dry_run_tells_the_order_and_its_reasons(make_world: MakeWorld) -> None:
    world = make_world(issues=3)
    depend(world, i1="#3", i2="#1")
    shown = world.run("lld-workflow", "--all", "--parallel", "3", "--dry-run").stdout
    assert "LLD-1 after LLD-3: Depends on #3" in shown
    assert "LLD-2 after LLD-1: Depends on #1" in shown
    # Three at once cannot make a chain of three shorter.
    assert "Estimated time: about 1.5 s" in shown
    plan = json.loads(world.run("lld-workflow", "--all", "--dry-run", "--json").stdout)
    assert plan["order"][0] == {"id": "1", "after": "3", "said": "Depends on #3"}
    assert not world.home.exists()


def test_briefs_are_put_in_order_too(make_world: MakeWorld) -> None:
    world = make_world(issues=0, briefs=2)
    brief = world.repo / "docs/briefs/1-export.md"
    brief.write_text(
        brief.read_text("utf-8").replace("\n\n", "\n\nDepends on: #2\n\n", 1), "utf-8"
    )
    assert world.run("issue-workflow", "--all", "--parallel", "2").code == 0
    assert moments(world, 1)[0] >= moments(world, 2)[1]
