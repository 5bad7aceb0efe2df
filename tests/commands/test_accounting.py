"""Every item is accounted for, whatever cuts a run short; each of these was once a way
to lose or mislabel one.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agentos.item import Item
from agentos.kinds import Kind
from agentos.repository.publish import Artifacts, Publication
from agentos.run.recovery import publication_of
from agentos.run.report.audit import read_audit
from agentos.state.home import Home, repository_key
from tests.commands.asking import key, write_keys
from tests.scenario import serve
from tests.support import (
    SIGINT,
    SIGKILL,
    SIGTERM,
    World,
    ended_by,
    wait_gone,
    wait_until,
)

SLOW = ("--drafter", "offline:latency=60")


def status_of(world: World) -> dict[str, tuple[str, str | None]]:
    document = json.loads(world.run("agentos", "status", "--json").stdout)
    return {
        item["label"]: (item["status"], item["class"]) for item in document["items"]
    }


def test_two_different_signals_leave_interrupted_items_and_the_summary_last(
    world: World,
) -> None:
    with world.start("lld-workflow", "--all", "--parallel", "3", *SLOW) as running:
        running.wait_for("Executing: N1_design", times=3)
        # Frozen, so that the first signal alone cannot end them.
        for worker in running.workers():
            os.kill(worker.pid, signal.SIGSTOP)
        running.signal(SIGINT)
        running.signal(SIGTERM)
        ended = running.finish()
    assert ended_by(ended.code, SIGINT)
    assert "3 interrupted" in ended.stdout
    assert "FAILED" not in ended.text
    assert set(status_of(world).values()) == {("interrupted", None)}


def test_more_workers_than_keys_do_not_deadlock_on_large_issues(
    make_world: Callable[..., World],
) -> None:
    world = make_world(issues=8)
    for path in (world.repo / "docs/issues").iterdir():
        path.write_text(
            path.read_text("utf-8")
            + "\n## Notes\n"
            + "A plain sentence about lists.\n" * 1700,
            "utf-8",
        )
    ended = world.run(
        "lld-workflow",
        "--all",
        "--parallel",
        "8",
        environ={"AGENTOS_CREDENTIAL_LIMIT": "2"},
    )
    assert ended.code == 0, ended.text


def test_a_run_that_finds_its_items_done_by_another_leaks_nothing(
    make_world: Callable[..., World],
) -> None:
    world = make_world(issues=60)
    with world.start("lld-workflow", "--all", "--parallel", "10") as busy:
        busy.wait_for("Executing: N1_design")
        other = world.run("bash", "-c", "ulimit -n 50; lld-workflow --all")
        assert busy.finish().code == 0
    assert "Too many open files" not in other.text
    assert other.code == 0, other.text


def test_a_reviewer_that_answered_garbage_is_asked_again_by_a_retry(
    world: World,
) -> None:
    ended = world.run(
        "lld-workflow",
        "--issue",
        "1",
        "--reviewer",
        "offline:fault=malformedx2",
        "--retries",
        "1",
    )
    assert ended.code == 0, ended.text


def test_a_file_that_cannot_be_used_is_remembered_as_failed(world: World) -> None:
    (world.repo / "docs/issues/2-export.md").write_bytes(b"")
    assert world.run("lld-workflow", "--all").code == 1
    assert status_of(world)["LLD-2"] == ("failed", "bad-input")
    assert "Nothing to do" in world.run("lld-workflow", "--all", "--skip-failed").stdout
    assert (
        "1 failed (LLD-2)"
        in world.run("lld-workflow", "--all", "--retry-failed").stdout
    )


def test_a_failed_item_that_was_mended_is_retried(world: World) -> None:
    issue = world.repo / "docs/issues/2-export.md"
    good = issue.read_text("utf-8")
    issue.write_text("\n", "utf-8")
    assert world.run("lld-workflow", "--all").code == 1
    issue.write_text(good, "utf-8")
    ended = world.run("lld-workflow", "--all", "--retry-failed")
    assert "1 approved" in ended.stdout


def unreveal(world: World, id: str) -> Publication:
    """Bring a finished item into the state that a kill between its record and its
    publication leaves.
    """
    item = Item(Kind.LLD, id, "")
    paths = Home(world.home).item(repository_key(world.repo), item)
    publication = publication_of(item, paths, world.repo)
    for path in (publication.folders[0], publication.document):
        (world.repo / path).rename(publication._hidden(path))
    return publication


def test_what_was_recorded_and_not_yet_visible_becomes_visible(world: World) -> None:
    assert world.run("lld-workflow", "--all").code == 0
    whole = world.artefacts()
    publication = unreveal(world, "1")
    ended = world.run("lld-workflow", "--all")
    assert ended.code == 0, ended.text
    assert "Executing" not in ended.stdout
    assert not publication.is_prepared
    assert world.artefacts() == whole


def test_an_edit_before_what_was_recorded_became_visible_is_still_drafted(
    world: World,
) -> None:
    assert world.run("lld-workflow", "--all").code == 0
    unreveal(world, "1")
    with open(
        next((world.repo / "docs/issues").glob("1-*")), "a", encoding="utf-8"
    ) as issue:
        issue.write("- [ ] The list is sorted by name\n")
    ended = world.run("lld-workflow", "--all")
    assert ended.code == 0, ended.text
    assert "[LLD-1] >>> Executing: N1_design" in ended.stdout
    assert "sorted by name" in (world.repo / "docs/lld/active/LLD-001.md").read_text(
        "utf-8"
    )
    assert world.leftovers() == []


def test_what_was_prepared_and_never_recorded_is_taken_back(world: World) -> None:
    issue = next((world.repo / "docs/issues").glob("1-*"))
    assert world.run("lld-workflow", "--all").code == 0
    with open(issue, "a", encoding="utf-8") as file:
        file.write("- [ ] The list is sorted by name\n")
    with world.start(
        "lld-workflow", "--all", "--drafter", "offline:latency=60"
    ) as running:
        running.wait_for("Executing: N1_design")
        running.signal(SIGKILL)
        running.process.wait()
    item = Item(Kind.LLD, "1", "")
    paths = Home(world.home).item(repository_key(world.repo), item)
    publication_of(item, paths, world.repo).prepare(
        Artifacts([{"001-issue.md": "cut off\n"}], "cut off\n")
    )
    ended = world.run("lld-workflow", "--all")
    assert ended.code == 0, ended.text
    assert "cut off" not in (world.repo / "docs/lld/active/LLD-001.md").read_text(
        "utf-8"
    )
    assert world.leftovers() == []


def test_a_redo_that_was_killed_goes_on_where_it_was(world: World) -> None:
    assert world.run("lld-workflow", "--issue", "1").code == 0
    command = ("lld-workflow", "--issue", "1", "--redo")
    with world.start(*command, "--reviewer", "offline:latency=60") as running:
        running.wait_for("Executing: N3_review")
        everyone = running.descendants()
        running.signal(SIGKILL)
        running.process.wait()
    assert wait_gone(everyone, 1.0) == []
    again = world.run(*command)
    assert again.code == 0
    assert "N1_design" not in again.stdout
    assert "N3_review" in again.stdout


def test_ctrl_c_is_answered_at_once_while_the_fork_server_starts(world: World) -> None:
    with world.start("lld-workflow", "--all", "--parallel", "3", *SLOW) as running:
        running.wait_for("3 items to run")
        running.signal(SIGINT)
        ended = running.finish()
    assert ended_by(ended.code, SIGINT)
    assert "not started" in ended.stdout or "interrupted" in ended.stdout
    assert "Traceback" not in ended.text


def test_a_design_moved_to_done_is_not_made_again(world: World) -> None:
    assert world.run("lld-workflow", "--all").code == 0
    (world.repo / "docs/lld/done").mkdir()
    (world.repo / "docs/lld/active/LLD-002.md").rename(
        world.repo / "docs/lld/done/LLD-002.md"
    )
    assert "3 already complete" in world.run("lld-workflow", "--all").stdout


def test_a_brief_does_not_spoil_an_issue_that_has_its_number(
    make_world: Callable[..., World],
) -> None:
    world = make_world(issues=1, briefs=2)
    ended = world.run("issue-workflow", "--all")
    assert ended.code == 1
    assert "docs/issues/1-export.md has the id 1 already" in ended.stderr
    assert "1 completed, 1 failed (ISSUE-1)" in ended.stdout
    assert world.run("lld-workflow", "--issue", "1").code == 0


def test_an_approved_design_goes_when_its_edited_issue_is_not_approved(
    world: World,
) -> None:
    assert world.run("lld-workflow", "--issue", "1").code == 0
    issue = world.repo / "docs/issues/1-export.md"
    issue.write_text(issue.read_text("utf-8") + "\nMore.\n", "utf-8")
    world.run(
        "lld-workflow",
        "--issue",
        "1",
        "--reviewer",
        "offline:fault=revise",
        "--max-rounds",
        "1",
    )
    assert not (world.repo / "docs/lld/active/LLD-001.md").exists()
    assert (world.repo / "docs/lineage/superseded/1-lld-1/LLD-001.md").exists()


def test_a_failed_brief_is_retried_by_the_command_that_is_printed(
    make_world: Callable[..., World],
) -> None:
    world = make_world(issues=0, briefs=0)
    brief = world.repo.parent / "55-brief.md"
    brief.write_text("\n", "utf-8")
    ended = world.run("issue-workflow", "--brief", str(brief))
    line = next(
        line for line in ended.stdout.splitlines() if line.startswith("Failed: ")
    )
    assert line.endswith(f"Retry: issue-workflow --brief {brief}")
    missing = world.run("issue-workflow", "--brief", "nowhere.md")
    assert (missing.code, "no such file" in missing.stderr) == (2, True)


def test_output_that_is_closed_from_the_start_stops_the_batch(world: World) -> None:
    script = "lld-workflow --all --drafter offline:latency=60 2>&1 | true; echo ${PIPESTATUS[0]}"
    started = time.monotonic()
    ended = world.run("bash", "-c", script)
    assert ended.stdout.strip() == "141"
    assert time.monotonic() - started < 30


@pytest.mark.parametrize(
    "command",
    ["agentos status --json", "agentos config", "lld-workflow --all --dry-run"],
)
def test_a_reader_that_goes_away_gets_no_traceback(world: World, command: str) -> None:
    ended = world.run("bash", "-c", f"{command} | true")
    assert "Traceback" not in ended.stderr


def test_a_link_that_leads_to_itself_fails_alone(world: World) -> None:
    (world.repo / "docs/issues/80.md").symlink_to("80.md")
    ended = world.run("lld-workflow", "--all")
    assert "3 completed, 1 failed (LLD-80)" in ended.stdout


def test_a_lost_fork_server_costs_no_retry(world: World) -> None:
    with world.start(
        "lld-workflow", "--all", "--parallel", "3", "--drafter", "offline:latency=0.5"
    ) as running:
        running.wait_for("Executing: N1_design", times=3)
        (server,) = [
            process
            for process in running.descendants()
            if process.ppid() == running.pid
        ]
        server.kill()
        ended = running.finish()
    assert ended.code == 0, ended.text
    assert "3 approved" in ended.stdout


def test_nothing_to_do_as_json_has_all_the_fields(world: World) -> None:
    first = json.loads(world.run("lld-workflow", "--all", "--json").stdout)
    again = json.loads(world.run("lld-workflow", "--all", "--json").stdout)
    assert again.keys() == first.keys()
    assert again["items"] == []


def test_a_verdict_has_the_reviewers_answer_beside_it(world: World) -> None:
    with serve({}) as server:
        write_keys(world, key("openai", server.url))
        asking = ("--drafter", "openai:gpt-6-luna", "--price", "openai:*=1/1")
        world.run("lld-workflow", "--issue", "1", *asking)
    text = (world.repo / "docs/lineage/active/1-lld/003-verdict.md").read_text("utf-8")
    answer = text.partition("as it came")[2]
    assert '"decision":"APPROVED"' in answer.replace(" ", "").replace("\n", "")


def test_verbose_tells_every_call(world: World) -> None:
    ended = world.run("lld-workflow", "--issue", "1", "-v")
    assert (
        "[LLD-1] event call, node N1_design, round 1, purpose lld.draft" in ended.stderr
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_home_is_refused_or_told_without_an_internal_error(
    world: World, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", str(disk)],
        capture_output=True,
    )
    if mounted.returncode != 0:
        pytest.skip("cannot mount here")
    try:
        ended = world.run("lld-workflow", "--all", environ={"AGENTOS_HOME": str(disk)})
        assert ended.code in (1, 2, 3), ended.text
        assert "No space left" in ended.text or "full" in ended.text
        assert "Traceback" not in ended.text
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_working_directory_that_is_gone_is_explained(
    world: World, tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    ended = world.run("bash", "-c", f"cd {gone} && rmdir {gone} && lld-workflow --all")
    assert ended.code == 2
    assert "working directory no longer exists" in ended.stderr


def test_the_audit_names_the_input_and_every_call(world: World) -> None:
    world.run("lld-workflow", "--issue", "1")
    events = list(read_audit(world.run_folders[0] / "workflow-audit-1.jsonl"))
    assert events[0]["input"].startswith("sha256:")
    assert {event["event"] for event in events} >= {
        "started",
        "worker-ready",
        "call",
        "worker-exited",
        "ended",
    }


def test_a_second_run_right_after_a_kill_takes_the_locks(world: World) -> None:
    with world.start("lld-workflow", "--all", "--parallel", "3", *SLOW) as running:
        running.wait_for("Executing: N1_design", times=3)
        running.signal(SIGKILL)
        again = world.run("lld-workflow", "--all", "--parallel", "3")
    assert again.code == 0, again.text
    assert "locked by pid" not in again.text
    wait_until(lambda: not list((world.home / "locks").rglob("*.lock")), "locks gone")
    shutil.rmtree(world.home)


def test_a_colleague_with_an_empty_home_finds_finished_designs_complete(
    world: World,
) -> None:
    assert world.run("lld-workflow", "--all").code == 0
    shutil.rmtree(world.home)
    assert (
        "Nothing to do: 3 already complete" in world.run("lld-workflow", "--all").stdout
    )
    assert set(status_of(world).values()) == {("approved", None)}
    issue = world.repo / "docs/issues/2-export.md"
    issue.write_text(issue.read_text("utf-8") + "\nMore.\n", "utf-8")
    assert (
        "2 already complete, 0 resumed, 1 new"
        in world.run("lld-workflow", "--all").stderr
    )


@pytest.mark.parametrize(
    "text",
    [
        "# Search is slow\n\nMake search faster.\n",
        "# Refunds\n\nMoney comes back late.\n",
    ],
)
def test_an_issue_without_a_criterion_gets_no_requirement(
    world: World, text: str
) -> None:
    (world.repo / "docs/issues/9-vague.md").write_text(text, "utf-8")
    plain = replace(world, is_recorded=False)
    assert "1 skeleton" in plain.run("lld-workflow", "--issue", "9").stdout
    design = (world.repo / "docs/lld/active/LLD-009.md").read_text("utf-8")
    assert "## 3. Requirements\n1. [GAP: " in design


def test_a_label_names_its_item(world: World) -> None:
    assert "1 approved" in world.run("lld-workflow", "--ids", "LLD-2").stdout


def test_a_redo_that_was_stopped_says_which_items_are_left(world: World) -> None:
    assert world.run("lld-workflow", "--all").code == 0
    with world.start(
        "lld-workflow", "--all", "--redo", "--drafter", "offline:fault=hang@2"
    ) as running:
        running.wait_for(r"\[LLD-2\] >>> Executing: N1_design")
        running.signal(SIGINT)
        ended = running.finish()
    line = next(
        line for line in ended.stdout.splitlines() if line.startswith("Stopped early")
    )
    assert line.endswith("--redo --ids 2 3")


def test_no_key_of_the_environment_reaches_a_worker(world: World) -> None:
    keys = {
        "ANTHROPIC_API_KEY": "canary-one",
        "GEMINI_API_KEY_1": "canary-two",
        "MY_TOKEN": "canary-three",
    }
    with world.start(
        "lld-workflow", "--all", "--parallel", "3", *SLOW, environ=keys
    ) as running:
        running.wait_for("Executing: N1_design", times=3)
        everyone = running.descendants()
        assert len(everyone) >= 4
        for process in everyone:
            assert b"canary" not in Path(f"/proc/{process.pid}/environ").read_bytes()
        running.signal(SIGINT)
        running.finish()
