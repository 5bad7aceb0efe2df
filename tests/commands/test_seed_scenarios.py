"""The scenarios of the original documents, each against every entry point of the
requirements workflows.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import datetime

import pytest

from tests.faults.evidence import audit_files, read_events
from tests.support import ROOT, SIGINT, World, ended_by, wait_gone

TOOL = ("python", str(ROOT / "tools/run_requirements_workflow.py"), "--type", "lld")
ENTRY_POINTS = {"lld-workflow": ("lld-workflow",), "run_requirements_workflow.py": TOOL}
entry_point = pytest.mark.parametrize(
    "command", ENTRY_POINTS.values(), ids=ENTRY_POINTS.keys()
)


@entry_point
class TestIntegration:
    """Section 10.1 of the integration design: 010 to 120."""

    def test_010_parallel_is_taken(
        self, world: World, command: tuple[str, ...]
    ) -> None:
        assert (
            "3 items to run, 4 at a time"
            in world.run(*command, "--all", "--parallel", "4").stderr
        )

    def test_020_dry_run_is_taken(self, world: World, command: tuple[str, ...]) -> None:
        assert "Dry run mode" in world.run(*command, "--all", "--dry-run").stdout

    def test_030_the_default_is_sequential(
        self, world: World, command: tuple[str, ...]
    ) -> None:
        assert "1 at a time" in world.run(*command, "--all", "--dry-run").stdout

    @pytest.mark.parametrize("value", ["-1", "0", "x", "1.5"])
    def test_040_an_invalid_parallelism_is_refused(
        self, world: World, command: tuple[str, ...], value: str
    ) -> None:
        ended = world.run(*command, "--all", "--parallel", value)
        assert (ended.code, "argument --parallel" in ended.stderr) == (2, True)

    def test_050_a_dry_run_lists_and_executes_nothing(
        self, world: World, command: tuple[str, ...]
    ) -> None:
        ended = world.run(*command, "--all", "--dry-run")
        assert all(f"LLD-{number}" in ended.stdout for number in (1, 2, 3))
        assert not world.home.exists()

    def test_060_parallel_execution_completes(
        self, make_world: Callable[..., World], command: tuple[str, ...]
    ) -> None:
        ended = make_world(issues=4).run(*command, "--all", "--parallel", "2")
        assert (ended.code, "4 approved" in ended.stdout) == (0, True)

    def test_070_every_line_is_prefixed(
        self, world: World, command: tuple[str, ...]
    ) -> None:
        ended = world.run(*command, "--all", "--parallel", "2")
        lines = ended.stdout[: ended.stdout.index("ITEM")].splitlines()
        assert lines
        assert all(re.match(r"\[LLD-\d\] ", line) for line in lines)

    def test_080_ctrl_c_ends_cleanly_within_five_seconds(
        self, world: World, command: tuple[str, ...]
    ) -> None:
        with world.start(
            *command, "--all", "--parallel", "3", "--drafter", "offline:latency=60"
        ) as running:
            running.wait_for("Executing: N1_design", times=3)
            everyone = running.descendants()
            asked = time.monotonic()
            running.signal(SIGINT)
            ended = running.finish()
        assert time.monotonic() - asked < 5
        assert ended_by(ended.code, SIGINT)
        assert wait_gone(everyone, 1.0) == []

    def test_090_two_keys_serve_four_workers(
        self, make_world: Callable[..., World], command: tuple[str, ...]
    ) -> None:
        environ = {"AGENTOS_CREDENTIAL_LIMIT": "2"}
        assert (
            make_world(issues=4)
            .run(*command, "--all", "--parallel", "4", environ=environ)
            .code
            == 0
        )

    def test_100_a_failure_among_successes_is_exit_1_and_in_the_report(
        self, make_world: Callable[..., World], command: tuple[str, ...]
    ) -> None:
        world = make_world(issues=4)
        (world.repo / "docs/issues/2-export.md").write_text("\n", "utf-8")
        ended = world.run(*command, "--all", "--parallel", "2")
        assert (ended.code, "3 completed, 1 failed (LLD-2)" in ended.stdout) == (
            1,
            True,
        )

    def test_110_a_success_leaves_the_whole_file_and_no_temporary_one(
        self, world: World, command: tuple[str, ...]
    ) -> None:
        assert world.run(*command, "--issue", "1").code == 0
        text = (world.repo / "docs/lld/active/LLD-001.md").read_text("utf-8")
        assert text.rstrip().endswith("-->")
        assert world.leftovers() == []

    def test_120_a_failure_leaves_no_file_at_all(
        self, world: World, command: tuple[str, ...]
    ) -> None:
        ended = world.run(
            *command, "--issue", "1", "--reviewer", "offline:fault=malformed"
        )
        assert ended.code == 1
        assert not (world.repo / "docs/lld").exists()
        assert list(world.repo.rglob("*.tmp")) == []


@entry_point
class TestInfrastructure:
    """The infrastructure's own scenarios: 010 to 110."""

    def test_010_three_in_parallel_complete_and_clean_up(
        self, world: World, command: tuple[str, ...]
    ) -> None:
        ended = world.run(*command, "--all", "--parallel", "3")
        assert (ended.code, "3/3 workflows complete" in ended.stderr) == (0, True)
        assert list((world.home / "checkpoints").rglob("*.db")) == []

    def test_030_a_path_as_id_is_refused_without_touching_a_file(
        self, world: World, command: tuple[str, ...]
    ) -> None:
        ended = world.run(*command, "--issue", "../etc/passwd")
        assert (ended.code, "Invalid identifier" in ended.stderr) == (2, True)
        assert not world.home.exists()

    def test_040_and_050_exhaustion_and_429_pause_and_resume(
        self, make_world: Callable[..., World], command: tuple[str, ...]
    ) -> None:
        environ = {"AGENTOS_CREDENTIAL_LIMIT": "2", "AGENTOS_SIMULATE_429": "true"}
        ended = make_world(issues=5).run(
            *command, "--all", "--parallel", "5", environ=environ
        )
        assert ended.code == 0, ended.text
        assert "[COORDINATOR] Credential pool exhausted" in ended.stderr
        assert "rate-limited" in ended.stderr

    def test_090_of_six_items_three_are_under_way_at_a_time(
        self, make_world: Callable[..., World], command: tuple[str, ...]
    ) -> None:
        # What that saves is measured by the benchmarks: beside other tests a clock says
        # nothing.
        slow = ("--drafter", "offline:latency=1", "--reviewer", "offline:latency=1")
        for parallel in (1, 3):
            world = make_world(
                issues=6, name=f"repo-{parallel}", home=f"home-{parallel}"
            )
            assert (
                world.run(*command, "--all", "--parallel", str(parallel), *slow).code
                == 0
            )
            assert _most_at_once(world) == parallel

    def test_100_and_110_the_cap_is_ten_and_the_default_three(
        self, world: World, command: tuple[str, ...]
    ) -> None:
        capped = world.run(*command, "--all", "--parallel", "20")
        assert "Warning: parallelism 20 capped at 10" in capped.stderr
        assert (
            "3 at a time"
            in world.run(*command, "--all", "--redo", "--parallel", "--dry-run").stdout
        )


class TestUserScenarios:
    """The four scenarios that users were promised."""

    def test_1_ten_designs_three_at_a_time(
        self, make_world: Callable[..., World]
    ) -> None:
        world = make_world(issues=10)
        ended = world.run(
            "lld-workflow",
            "--all",
            "--parallel",
            "3",
            "--max-rounds",
            "2",
            "--reviewer",
            "offline:fault=revise@4+revise@9",
        )
        assert ended.code == 0
        assert "8 approved, 2 need revision" in ended.stdout

    def test_2_exhaustion_pauses_all_and_goes_on(
        self, make_world: Callable[..., World]
    ) -> None:
        environ = {"AGENTOS_CREDENTIAL_LIMIT": "2", "AGENTOS_SIMULATE_429": "true"}
        ended = make_world(issues=0, briefs=5).run(
            "issue-workflow", "--all", "--parallel", "5", environ=environ
        )
        assert ended.code == 0
        assert (
            "[COORDINATOR] Credential pool exhausted. Pausing all workflows..."
            in ended.stderr
        )

    def test_3_one_failure_leaves_the_others_alone(
        self, make_world: Callable[..., World]
    ) -> None:
        world = make_world(issues=10)
        (world.repo / "docs/issues/4-export.md").write_text("\n", "utf-8")
        ended = world.run("lld-workflow", "--all", "--parallel", "3")
        assert "[LLD-4] FAILED: 4-export.md: is empty" in ended.stderr
        assert "9 completed, 1 failed (LLD-4)" in ended.stdout

    def test_4_ctrl_c_checkpoints_and_the_same_command_resumes(
        self, make_world: Callable[..., World]
    ) -> None:
        world = make_world(issues=5)
        command = ("lld-workflow", "--all", "--parallel", "3")
        with world.start(*command, "--drafter", "offline:latency=60") as running:
            running.wait_for("Executing: N1_design", times=3)
            running.signal(SIGINT)
            ended = running.finish()
        assert (
            "[COORDINATOR] Shutting down... waiting for workers to checkpoint"
            in ended.stderr
        )
        again = world.run(*command)
        assert "0 already complete, 3 resumed, 2 new" in again.stderr
        assert again.code == 0


def _most_at_once(world: World) -> int:
    """Return how many calls of different items were under way at the same moment."""
    changes = []
    for path in audit_files(world):
        for event in read_events(path):
            if event["event"] == "call":
                ended = datetime.fromisoformat(event["time"]).timestamp()
                changes += [(ended - event["seconds"], 1), (ended, -1)]
    total = most = 0
    for _, change in sorted(changes):
        total += change
        most = max(most, total)
    return most
