"""A batch from its first line to its summary: the installed commands in real
processes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from agentos.run.report.audit import read_audit
from tests.support import ROOT, World

REQUIREMENTS = str(ROOT / "tools" / "run_requirements_workflow.py")
COMMANDS = {
    "lld-workflow": ("lld-workflow",),
    "agentos lld": ("agentos", "lld"),
    "run_requirements_workflow.py": ("python", REQUIREMENTS, "--type", "lld"),
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_every_entry_point_runs_a_batch_to_approved_designs(
    world: World, command: tuple[str, ...]
) -> None:
    ended = world.run(*command, "--all", "--parallel", "3")
    assert ended.code == 0, ended.text
    designs = sorted(path.name for path in (world.repo / "docs/lld/active").iterdir())
    assert designs == ["LLD-001.md", "LLD-002.md", "LLD-003.md"]
    assert "3 approved" in ended.stdout
    assert "3/3 workflows complete" in ended.stderr
    assert world.leftovers() == []


def test_a_design_is_complete_approved_and_carries_its_review_log(world: World) -> None:
    world.run("lld-workflow", "--ids", "2")
    text = (world.repo / "docs/lld/active/LLD-002.md").read_text("utf-8")
    for section in range(1, 13):
        assert f"\n## {section}. " in text
    assert re.search(r"\*\*Status:\*\* APPROVED", text)
    assert "Review Log" in text
    assert "no model was asked" in text
    assert "A field with a comma is quoted" in text
    assert not (world.repo / "docs/lld/active/LLD-001.md").exists()


def test_lineage_has_the_numbered_papers_of_every_round(world: World) -> None:
    world.run("lld-workflow", "--issue", "1", "--reviewer", "offline:approve_after=2")
    lineage = sorted(
        path.name for path in (world.repo / "docs/lineage/active/1-lld").iterdir()
    )
    assert lineage == [
        "001-issue.md",
        "002-draft.md",
        "003-verdict.md",
        "004-draft.md",
        "005-verdict.md",
        "006-final.md",
        "findings.json",
    ]


def test_every_line_of_a_workflow_carries_its_prefix(world: World) -> None:
    ended = world.run("lld-workflow", "--all", "--parallel", "3")
    table = ended.stdout.index("ITEM")
    for line in ended.stdout[:table].splitlines():
        assert re.match(r"\[LLD-[123]\] ", line), line
    for line in ended.stderr.splitlines():
        assert re.match(r"\[(LLD-[123]|COORDINATOR|[=> ]{10})\] ", line), line
    assert "[LLD-2] >>> Executing: N1_design" in ended.stdout


def test_parallel_and_sequential_runs_give_the_same_files(
    make_world: Callable[..., World],
) -> None:
    one = make_world(name="one", home="home-one")
    three = make_world(name="three", home="home-three")
    assert one.run("lld-workflow", "--all").code == 0
    assert three.run("lld-workflow", "--all", "--parallel", "3").code == 0
    assert one.artefacts() == three.artefacts()


def test_the_issue_workflow_turns_briefs_into_issues_that_the_next_workflow_takes(
    make_world: Callable[..., World],
) -> None:
    world = make_world(issues=0, briefs=2)
    ended = world.run("issue-workflow", "--all", "--parallel")
    assert ended.code == 0, ended.text
    assert "[ISSUE-1] >>> Executing: N1_draft" in ended.stdout
    assert sorted(path.name for path in (world.repo / "docs/issues").iterdir()) == [
        "1.md",
        "2.md",
    ]
    assert world.run("lld-workflow", "--all", "--parallel", "2").code == 0


def test_a_brief_is_taken_from_anywhere(make_world: Callable[..., World]) -> None:
    world = make_world(issues=0, briefs=1)
    outside = world.repo.parent / "77-outside.md"
    (world.repo / "docs/briefs/1-export.md").rename(outside)
    ended = world.run("issue-workflow", "--brief", str(outside))
    assert ended.code == 0, ended.text
    assert (world.repo / "docs/issues/77.md").exists()


def test_one_failure_is_isolated_listed_and_can_be_retried_by_a_paste(
    make_world: Callable[..., World],
) -> None:
    world = replace(make_world(issues=4), is_recorded=False)
    broken = world.repo / "docs/issues/3-export.md"
    good = broken.read_text("utf-8")
    broken.write_text("\n", "utf-8")
    ended = world.run("lld-workflow", "--all", "--parallel", "3")
    assert ended.code == 1
    assert re.search(
        r"^\[LLD-3\] FAILED: 3-export.md: is empty", ended.stderr, re.MULTILINE
    )
    assert "0 completed, 1 failed (LLD-3), 3 skeletons" in ended.stdout
    line = next(
        line for line in ended.stdout.splitlines() if line.startswith("Failed: ")
    )
    assert line == "Failed: 3. Retry: lld-workflow --parallel 3 --ids 3"
    broken.write_text(good, "utf-8")
    retried = world.run(*line.partition("Retry: ")[2].split())
    assert retried.code == 0, retried.text
    assert (world.repo / "docs/lld/active/LLD-003.md").exists()


def test_designs_that_cannot_be_approved_end_honestly(
    make_world: Callable[..., World],
) -> None:
    world = make_world(issues=3)
    ended = world.run(
        "lld-workflow",
        "--all",
        "--parallel",
        "3",
        "--max-rounds",
        "2",
        "--reviewer",
        "offline:fault=revise@2+discuss@3",
    )
    assert ended.code == 0, ended.text
    assert "1 approved, 1 need revision, 1 need discussion" in ended.stdout
    assert [path.name for path in (world.repo / "docs/lld/active").iterdir()] == [
        "LLD-001.md"
    ]
    lineage = sorted(
        path.name for path in (world.repo / "docs/lineage/active/2-lld").iterdir()
    )
    assert lineage[-3].endswith("-best-draft.md")
    assert lineage[-2].endswith("-open.md")
    assert lineage[-1] == "findings.json"
    again = world.run("lld-workflow", "--all")
    assert "3 already complete" in again.stdout


def test_a_reviewer_that_answers_garbage_never_approves(world: World) -> None:
    ended = world.run(
        "lld-workflow", "--ids", "1", "2", "--reviewer", "offline:fault=malformed@1"
    )
    assert ended.code == 1
    status = json.loads(world.run("agentos", "status", "--json").stdout)
    states = {
        item["label"]: (item["status"], item["class"]) for item in status["items"]
    }
    assert states["LLD-1"] == ("failed", "model-format")
    assert states["LLD-2"] == ("approved", None)
    assert not (world.repo / "docs/lld/active/LLD-001.md").exists()


def test_logs_audit_and_summary_are_left_for_every_workflow(world: World) -> None:
    world.run("lld-workflow", "--all", "--parallel", "3")
    (folder,) = world.run_folders
    for number in (1, 2, 3):
        assert (
            b">>> Executing: N0_load\n" in (folder / f"LLD-{number}.log").read_bytes()
        )
        events = list(read_audit(folder / f"workflow-audit-{number}.jsonl"))
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        assert events[0]["event"] == "started"
        assert (events[-1]["event"], events[-1]["state"]) == ("ended", "approved")
        assert sum(event["event"] == "call" for event in events) == events[-1]["calls"]
    summary = json.loads((folder / "summary.json").read_bytes())
    assert summary["schema"] == 1
    assert summary["counts"] == {"approved": 3}


def test_json_mode_has_one_document_on_stdout_and_the_talk_on_stderr(
    world: World,
) -> None:
    ended = world.run("lld-workflow", "--all", "--parallel", "2", "--json")
    document = json.loads(ended.stdout)
    assert document["schema"] == 1
    assert [item["status"] for item in document["items"]] == ["approved"] * 3
    assert "[LLD-1] >>> Executing: N1_design" in ended.stderr


def test_quiet_prints_one_line_on_success(world: World) -> None:
    ended = world.run("lld-workflow", "--all", "--parallel", "3", "--quiet")
    assert ended.stdout == "3 approved\n"
    assert ended.stderr == ""


def test_checkpoints_exist_while_running_are_isolated_and_are_removed_after_success(
    world: World,
) -> None:
    with world.start(
        "lld-workflow", "--all", "--parallel", "3", "--drafter", "offline:latency=1"
    ) as running:
        running.wait_for(r"Executing: N1_design", times=3)
        names = sorted(path.name for path in (world.home / "checkpoints").rglob("*.db"))
        assert names == ["lld_workflow_1.db", "lld_workflow_2.db", "lld_workflow_3.db"]
        databases = [
            worker.environ().get("AGENTOS_WORKFLOW_DB") for worker in running.workers()
        ]
        assert len(databases) == 3
        assert running.finish().code == 0
    assert list((world.home / "checkpoints").rglob("*.db")) == []


def test_two_repositories_with_the_same_numbers_do_not_share_state(
    make_world: Callable[..., World],
) -> None:
    first, second = make_world(name="first"), make_world(name="second")
    assert first.home == second.home
    assert first.run("lld-workflow", "--all").code == 0
    ended = second.run("lld-workflow", "--all")
    assert "3 approved" in ended.stdout
    assert "0 already complete" in ended.stderr


def test_more_than_ten_is_capped_with_a_warning(world: World) -> None:
    ended = world.run("lld-workflow", "--all", "--parallel", "20")
    assert ended.code == 0
    assert "Warning: parallelism 20 capped at 10" in ended.stderr


def test_credential_exhaustion_pauses_everything_and_goes_on_by_itself(
    make_world: Callable[..., World],
) -> None:
    world = make_world(issues=0, briefs=5)
    ended = world.run(
        "issue-workflow",
        "--all",
        "--parallel",
        "5",
        environ={"AGENTOS_CREDENTIAL_LIMIT": "2", "AGENTOS_SIMULATE_429": "true"},
    )
    assert ended.code == 0, ended.text
    assert (
        "[COORDINATOR] Credential pool exhausted. Pausing all workflows..."
        in ended.stderr
    )
    assert "5 approved" in ended.stdout
    for path in world.run_folders[0].glob("workflow-audit-*.jsonl"):
        assert not [event for event in read_audit(path) if event["event"] == "retry"]


def test_more_workers_than_keys_queue_without_deadlock(
    make_world: Callable[..., World],
) -> None:
    world = make_world(issues=4)
    ended = world.run(
        "lld-workflow",
        "--all",
        "--parallel",
        "4",
        environ={"AGENTOS_CREDENTIAL_LIMIT": "2"},
    )
    assert ended.code == 0, ended.text
    assert "exhausted" not in ended.stderr


def test_retries_take_up_a_workflow_after_a_passing_fault(world: World) -> None:
    # The gateway itself retries three times; the item needs one more attempt of its
    # own.
    ended = world.run(
        "lld-workflow",
        "--issue",
        "1",
        "--drafter",
        "offline:fault=errorx4",
        "--retries",
        "1",
    )
    assert ended.code == 0, ended.text
    assert "trying again in" in ended.stderr


def test_a_workflow_that_takes_too_long_fails_alone(world: World) -> None:
    ended = world.run(
        "lld-workflow",
        "--all",
        "--parallel",
        "3",
        "--drafter",
        "offline:fault=hang@2",
        "--timeout",
        "1",
    )
    assert ended.code == 1
    assert "timed out after 1 s" in ended.stderr
    assert "2 completed, 1 failed (LLD-2)" in ended.stdout


def test_halt_soon_starts_nothing_new_after_a_failure(
    make_world: Callable[..., World],
) -> None:
    world = make_world(issues=5)
    (world.repo / "docs/issues/1-export.md").write_text("\n", "utf-8")
    ended = world.run("lld-workflow", "--all", "--halt", "soon,fail=1")
    assert ended.code == 1
    assert "0 completed, 1 failed (LLD-1), 4 not started" in ended.stdout


def test_halt_now_stops_the_running_ones_too(make_world: Callable[..., World]) -> None:
    world = make_world(issues=3)
    (world.repo / "docs/issues/1-export.md").write_text("\n", "utf-8")
    ended = world.run(
        "lld-workflow",
        "--all",
        "--parallel",
        "3",
        "--halt",
        "now,fail=1",
        "--drafter",
        "offline:latency=60",
    )
    assert ended.code == 1
    assert "1 failed (LLD-1), 2 interrupted" in ended.stdout
