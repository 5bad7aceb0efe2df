"""Ctrl+C, other signals, kills, and the same command again."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import psutil
import pytest

from tests.support import (
    SIGHUP,
    SIGINT,
    SIGKILL,
    SIGTERM,
    World,
    ended_by,
    wait_gone,
    wait_until,
)

SLOW = ("--drafter", "offline:latency=60")
SHUTTING_DOWN = "[COORDINATOR] Shutting down... waiting for workers to checkpoint"


def test_ctrl_c_in_a_long_call_ends_everything_and_the_rerun_goes_on(
    make_world: Callable[..., World],
) -> None:
    world = make_world(issues=4)
    with world.start("lld-workflow", "--all", "--parallel", "3", *SLOW) as running:
        running.wait_for("Executing: N1_design", times=3)
        everyone = running.descendants()
        assert len(running.workers()) == 3
        asked = time.monotonic()
        running.signal(SIGINT)
        ended = running.finish()
    assert time.monotonic() - asked < 30, "the call itself takes 60 s"
    assert ended_by(ended.code, SIGINT)
    assert wait_gone(everyone, 1.0) == []
    assert SHUTTING_DOWN in ended.stderr
    assert "Press Ctrl+C again to stop immediately" in ended.stderr
    assert "3 interrupted, 1 not started" in ended.stdout
    assert "run the same command again" in ended.stdout
    assert "Traceback" not in ended.text

    again = world.run("lld-workflow", "--all", "--parallel", "3")
    assert again.code == 0, again.text
    assert "0 already complete, 3 resumed, 1 new" in again.stderr
    assert "[LLD-1] >>> Executing: N0_load" not in again.stdout
    assert world.leftovers() == []


def test_what_ended_before_ctrl_c_is_reported_and_not_run_again(
    make_world: Callable[..., World],
) -> None:
    world = make_world(issues=4)
    command = ("lld-workflow", "--all", "--parallel", "2")
    with world.start(*command, "--drafter", "offline:fault=hang@3+hang@4") as running:
        running.wait_for(r"\[LLD-[34]\] >>> Executing: N1_design", times=2)
        running.signal(SIGINT)
        ended = running.finish()
    assert "2 approved, 2 interrupted" in ended.stdout
    again = world.run(*command)
    assert "2 already complete, 2 resumed, 0 new" in again.stderr
    assert "2 approved" in again.stdout


def test_a_second_ctrl_c_ends_at_once(world: World) -> None:
    with world.start("lld-workflow", "--all", "--parallel", "3", *SLOW) as running:
        running.wait_for("Executing: N1_design", times=3)
        # A frozen worker cannot answer the first one.
        for worker in running.workers():
            os.kill(worker.pid, signal.SIGSTOP)
        everyone = running.descendants()
        running.signal(SIGINT)
        running.wait_for("Shutting down")
        asked = time.monotonic()
        running.signal(SIGINT)
        ended = running.finish()
    assert time.monotonic() - asked < 2.0
    assert ended_by(ended.code, SIGINT)
    assert wait_gone(everyone, 1.0) == []
    assert world.run("lld-workflow", "--all", "--parallel", "3").code == 0


@pytest.mark.parametrize("number", [SIGTERM, SIGHUP])
def test_termination_and_hangup_are_like_ctrl_c(world: World, number: int) -> None:
    with world.start("lld-workflow", "--all", "--parallel", "3", *SLOW) as running:
        running.wait_for("Executing: N1_design", times=3)
        everyone = running.descendants()
        running.signal(number)
        ended = running.finish()
    assert ended_by(ended.code, number)
    assert SHUTTING_DOWN in ended.stderr
    assert wait_gone(everyone, 1.0) == []
    assert world.run("lld-workflow", "--all", "--parallel", "3").code == 0


def test_a_hangup_that_nohup_ignores_stays_ignored(world: World) -> None:
    with world.start(
        "nohup", "lld-workflow", "--all", "--drafter", "offline:latency=0.5"
    ) as running:
        running.wait_for("Executing: N1_design")
        running.signal(SIGHUP)
        assert running.finish().code == 0


def test_a_closed_stdout_is_a_clean_end(world: World) -> None:
    with world.start(
        "lld-workflow", "--all", "--parallel", "3", "--drafter", "offline:latency=0.3"
    ) as running:
        assert running.process.stdout is not None
        running.wait_for("Executing: N0_load")
        everyone = running.descendants()
        os.dup2(os.open(os.devnull, os.O_RDONLY), running.process.stdout.fileno())
        code = running.process.wait(30)
    assert ended_by(code, signal.SIGPIPE)
    assert "Traceback" not in "".join(running.err)
    assert wait_gone(everyone, 1.0) == []
    assert world.run("lld-workflow", "--all").code == 0


def test_no_worker_outlives_a_killed_coordinator(world: World) -> None:
    with world.start("lld-workflow", "--all", "--parallel", "3", *SLOW) as running:
        running.wait_for("Executing: N1_design", times=3)
        everyone = running.descendants()
        running.signal(SIGKILL)
        running.process.wait()
    assert wait_gone(everyone, 1.0) == []
    again = world.run("lld-workflow", "--all", "--parallel", "3")
    assert "0 already complete, 3 resumed, 0 new" in again.stderr
    assert again.code == 0
    assert world.leftovers() == []


def test_a_killed_worker_costs_its_own_item_only(world: World) -> None:
    with world.start(
        "lld-workflow", "--all", "--parallel", "3", "--drafter", "offline:latency=1"
    ) as running:
        running.wait_for(r"\[LLD-2\] >>> Executing: N1_design")
        victim = next(w for w in running.workers() if w.environ().get("AGENTOS_HOME"))
        victim.kill()
        ended = running.finish()
    assert ended.code == 1
    assert "the worker was killed by SIGKILL" in ended.stderr
    assert "2 completed, 1 failed" in ended.stdout
    assert world.run("lld-workflow", "--all").code == 0


def test_a_killed_fork_server_is_replaced(make_world: Callable[..., World]) -> None:
    world = make_world(issues=4)
    with world.start(
        "lld-workflow",
        "--all",
        "--parallel",
        "2",
        "--retries",
        "1",
        "--drafter",
        "offline:latency=0.5",
    ) as running:
        running.wait_for("Executing: N1_design", times=2)
        (server,) = [p for p in running.descendants() if p.ppid() == running.pid]
        server.kill()
        ended = running.finish()
    assert ended.code == 0, ended.text
    assert "4 approved" in ended.stdout


def test_workers_are_frozen_with_the_coordinator_and_go_on_without_a_false_timeout(
    world: World,
) -> None:
    with world.start(
        "lld-workflow",
        "--issue",
        "1",
        "--drafter",
        "offline:latency=1",
        "--timeout",
        "4",
    ) as running:
        running.wait_for("Executing: N1_design")
        (worker,) = running.workers()
        running.signal(signal.SIGTSTP)
        wait_until(lambda: worker.status() == psutil.STATUS_STOPPED, "worker frozen")
        wait_until(
            lambda: psutil.Process(running.pid).status() == psutil.STATUS_STOPPED,
            "coordinator frozen",
        )
        time.sleep(
            4.5
        )  # longer than the timeout: the passing of time is what is tested
        running.signal(signal.SIGCONT)
        ended = running.finish()
    assert ended.code == 0, ended.text


def test_a_usr1_signal_says_what_is_running(world: World) -> None:
    with world.start(
        "lld-workflow", "--all", "--parallel", "2", "--drafter", "offline:latency=2"
    ) as running:
        running.wait_for("Executing: N1_design", times=2)
        running.signal(signal.SIGUSR1)
        running.wait_for(r"\[COORDINATOR\] running: LLD-1 \(\d+ s\), LLD-2 \(\d+ s\)")
        running.signal(SIGINT)
        running.finish()


def test_an_edited_issue_starts_again_with_a_notice(world: World) -> None:
    assert world.run("lld-workflow", "--all").code == 0
    issue = world.repo / "docs/issues/2-export.md"
    issue.write_text(
        issue.read_text("utf-8").replace("exit code 4", "exit code 5"), "utf-8"
    )
    old = (world.repo / "docs/lld/active/LLD-002.md").read_text("utf-8")
    ended = world.run("lld-workflow", "--all")
    assert (
        "2 already complete, 0 resumed, 0 new, 1 restarted after an edit"
        in ended.stderr
    )
    assert "[LLD-2] it was edited since its last run" in ended.stderr
    assert "exit code 5" in (world.repo / "docs/lld/active/LLD-002.md").read_text(
        "utf-8"
    )
    kept = world.repo / "docs/lineage/superseded/2-lld-1"
    assert (kept / "LLD-002.md").read_text("utf-8") == old
    assert (kept / "001-issue.md").exists()


def test_a_design_written_by_hand_is_kept_when_ours_takes_its_place(
    world: World,
) -> None:
    target = world.repo / "docs/lld/active/LLD-001.md"
    target.parent.mkdir(parents=True)
    target.write_text("by hand\n", "utf-8")
    assert world.run("lld-workflow", "--issue", "1").code == 0
    assert (world.repo / "docs/lineage/superseded/1-lld-1/LLD-001.md").read_text(
        "utf-8"
    ) == "by hand\n"


def test_a_removed_design_is_made_again(world: World) -> None:
    assert world.run("lld-workflow", "--all").code == 0
    (world.repo / "docs/lld/active/LLD-002.md").unlink()
    ended = world.run("lld-workflow", "--all")
    assert "2 already complete, 0 resumed, 1 new" in ended.stderr
    assert (world.repo / "docs/lld/active/LLD-002.md").exists()


def test_failed_items_are_pending_again_unless_skipped(
    make_world: Callable[..., World],
) -> None:
    world = make_world(issues=3)
    (world.repo / "docs/issues/2-export.md").write_text("\n", "utf-8")
    assert world.run("lld-workflow", "--all").code == 1
    skipped = world.run("lld-workflow", "--all", "--skip-failed")
    assert (skipped.code, "Nothing to do" in skipped.stdout) == (0, True)
    retried = world.run("lld-workflow", "--all", "--retry-failed")
    assert retried.code == 1
    assert "1 failed (LLD-2)" in retried.stdout
    assert "1 retried" in world.run("lld-workflow", "--all").stderr


def test_complete_items_run_again_only_when_asked(world: World) -> None:
    assert world.run("lld-workflow", "--all").code == 0
    assert (
        "Nothing to do: 1 already complete"
        in world.run("lld-workflow", "--issue", "1").stdout
    )
    ended = world.run("lld-workflow", "--issue", "1", "--redo")
    assert "1 approved" in ended.stdout


def test_the_second_of_two_commands_names_the_holder_and_goes_on_with_the_rest(
    world: World,
) -> None:
    with world.start("lld-workflow", "--issue", "2", *SLOW) as first:
        first.wait_for("Executing: N1_design")
        second = world.run("lld-workflow", "--all", "--parallel", "3")
        assert f"[LLD-2] locked by pid {first.pid} since " in second.stderr
        assert "2 approved, 1 locked by another run" in second.stdout
        assert second.code == 0
        status = world.run("agentos", "status").stdout
        assert "1 running" in status
        first.signal(SIGINT)
        first.finish()
    assert world.run("lld-workflow", "--all").code == 0


def test_starts_keep_the_wished_distance(world: World) -> None:
    ended = world.run("lld-workflow", "--all", "--parallel", "3", "--delay", "0.4")
    assert ended.code == 0
    assert ended.seconds > 0.8
