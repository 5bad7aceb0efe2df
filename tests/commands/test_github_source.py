"""Issues on GitHub as items, with the installed commands against a GitHub on the
loopback interface.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentos.cli.workflow import complete_ids
from agentos.kinds import Kind
from tests.forge import Expire, Hub, Limit, Status, serve
from tests.forge.hub import TOKEN
from tests.stand_in import record_item
from tests.support import BRIEF, ISSUE, SIGINT, World, ended_by, wait_until

SOURCE = ("--source", "github:acme/shop")


@pytest.fixture
def hub() -> Iterator[Hub]:
    """A GitHub with an empty repository."""
    with serve() as hub:
        hub.repo("acme/shop")
        yield hub


@pytest.fixture
def world(make_world: Callable[..., World], hub: Hub) -> World:
    """A repository without items of its own, and a token."""
    made = make_world(issues=0)
    return World(
        made.repo,
        made.home,
        {**made.environ, "GITHUB_API_URL": hub.url, "GITHUB_TOKEN": TOKEN},
    )


def fill(hub: Hub, count: int, *labels: str, milestone: str = "") -> None:
    """Add usable issues."""
    repo = hub.repos["acme/shop"]
    for _ in range(count):
        number = len(repo.issues) + 1
        body = ISSUE.format(number=number).partition("\n")[2].replace("\n", "\r\n")
        repo.add(
            f"Export list {number} as CSV", body, labels=labels, milestone=milestone
        )


def files_below(folder: Path) -> list[Path]:
    """Return all files."""
    return [path for path in folder.rglob("*") if path.is_file()]


def test_issues_become_designs_and_a_rerun_leaves_what_has_not_changed(
    world: World, hub: Hub
) -> None:
    fill(hub, 3)
    hub.repos["acme/shop"].add("A change", is_pull=True)
    hub.repos["acme/shop"].add("Done long ago", "", state="closed")
    ended = world.run("lld-workflow", "--all", "--parallel", "2", *SOURCE)
    assert ended.code == 0, ended.text
    assert "3 skeletons" in ended.stdout
    assert sorted(path.name for path in (world.repo / "docs/lld/active").iterdir()) == [
        "LLD-001.md",
        "LLD-002.md",
        "LLD-003.md",
    ]
    again = world.run("lld-workflow", "--all", *SOURCE)
    assert (again.code, again.stdout) == (
        0,
        "Nothing to do: 3 already complete, 0 resumed, 0 new\n",
    )
    hub.repos["acme/shop"].issues[1]["body"] += "\r\nOne more remark."
    edited = world.run("lld-workflow", "--all", *SOURCE)
    assert (
        "1 item to run, 1 at a time: 2 already complete, 0 resumed, 0 new, 1 restarted"
        in edited.stderr
    )
    assert "1 skeleton" in edited.stdout
    assert world.leftovers() == []


def test_three_hundred_issues_come_through_limits_and_faults_and_the_pauses_are_kept(
    world: World, hub: Hub
) -> None:
    repo = hub.repos["acme/shop"]
    for number in range(1, 343):
        repo.add(f"Export list {number}", "Text.", is_pull=number % 8 == 0)
    hub.fault(Limit(lambda seen: seen.index in (1, 6), times=2, retry_after=1))
    hub.fault(Status(lambda seen: seen.query.get("page") == "3", status=502))
    ended = world.run("lld-workflow", "--all", "--dry-run", "--json", *SOURCE)
    assert ended.code == 0, ended.text
    document = json.loads(ended.stdout)
    assert document["count"] == 300
    assert [int(item["id"]) for item in document["items"]] == [
        n for n in range(1, 343) if n % 8
    ]
    assert document["items"][0]["source"] == "github:acme/shop#1"
    assert ended.stderr.count("GitHub asks for a pause: continuing in 1.0 s") == 2
    assert hub.too_early == []
    # The repository, four pages, two refusals for a limit and a fault.
    assert len(hub.seen) == 1 + 4 + 2 + 1
    assert not world.home.exists()


def test_a_token_that_expires_between_two_pages_ends_the_command_before_anything_runs(
    world: World, hub: Hub
) -> None:
    fill(hub, 250)
    hub.fault(Expire(lambda seen: seen.query.get("page") == "2"))
    ended = world.run("lld-workflow", "--all", *SOURCE)
    assert ended.code == 2
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert "refuses the token of GITHUB_TOKEN: it is wrong, expired or revoked" in line
    assert not list(world.home.rglob("summary.json"))
    assert world.artefacts() == {}


def test_a_limit_that_lasts_longer_than_patience_ends_with_75_and_the_time(
    world: World, hub: Hub
) -> None:
    fill(hub, 1)
    hub.fault(Limit(lambda seen: True, times=9, retry_after=3000))
    ended = world.run("lld-workflow", "--all", *SOURCE)
    assert ended.code == 75
    assert "run again after" in ended.stderr


def test_ctrl_c_ends_a_pause_at_once(world: World, hub: Hub) -> None:
    fill(hub, 1)
    hub.fault(Limit(lambda seen: True, retry_after=300))
    with world.start("lld-workflow", "--all", *SOURCE) as running:
        running.wait_for("continuing in 5 min 0 s")
        running.signal(SIGINT)
        assert ended_by(running.finish().code, SIGINT)


def test_labels_and_milestones_choose(world: World, hub: Hub) -> None:
    fill(hub, 1, "ready")
    fill(hub, 1, "ready", "Big, bad")
    fill(hub, 1, milestone="June")
    fill(hub, 1, "ready", milestone="July")

    def chosen(*flags: str) -> list[str]:
        ended = world.run(
            "lld-workflow", "--all", "--dry-run", "--json", *SOURCE, *flags
        )
        assert ended.code == 0, ended.text
        return [item["id"] for item in json.loads(ended.stdout)["items"]]

    assert chosen("--label", "READY") == ["1", "2", "4"]
    assert chosen("--label", "ready", "--label", "big, bad") == ["2"]
    assert chosen("--label", "ready", "Big, bad") == ["2"]
    assert chosen("--milestone", "June") == ["3"]
    assert chosen("--milestone", "2") == ["4"]
    assert chosen("--label", "ready", "--milestone", "July") == ["4"]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--source", "github:"), "--source: must be github:owner/name"),
        (("--source", "github:acme"), "--source: must be github:owner/name"),
        (("--source", "acme/shop"), "--source: must be github:owner/name"),
        (("--source", "jira:acme/shop"), "--source: unknown scheme 'jira'"),
        (
            ("--source", "github:acme/shup"),
            "acme/shup: not found on 127.0.0.1: misspelled, or private",
        ),
        (
            (*SOURCE, "--label", "redy"),
            "acme/shop has no label 'redy'; did you mean 'ready'?",
        ),
        (
            (*SOURCE, "--milestone", "Jun"),
            "acme/shop has no milestone 'Jun'; did you mean 'June'?",
        ),
        (
            (*SOURCE, "--milestone", "9"),
            "acme/shop has no milestone '9'; there are 'June'",
        ),
        (("--label", "ready"), "--label: needs --source"),
        (("--milestone", "June"), "--milestone: needs --source"),
    ],
)
def test_a_source_that_cannot_be_used_is_one_line_and_exit_2(
    world: World, hub: Hub, flags: tuple[str, ...], words: str
) -> None:
    fill(hub, 1, "ready", milestone="June")
    ended = world.run("lld-workflow", "--all", *flags)
    assert (ended.code, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert words in line
    assert not list(world.home.rglob("summary.json"))


def test_a_label_that_no_open_issue_has_is_nothing_to_do(
    world: World, hub: Hub
) -> None:
    hub.repos["acme/shop"].add("Done", labels=("ready",), state="closed")
    ended = world.run("lld-workflow", "--all", *SOURCE, "--label", "ready")
    assert (ended.code, ended.stdout) == (
        0,
        "Nothing to do: 0 already complete, 0 resumed, 0 new\n",
    )


def test_ids_are_looked_up_without_reading_the_whole_list(
    world: World, hub: Hub
) -> None:
    fill(hub, 130)
    ended = world.run("lld-workflow", "--ids", "129", "--dry-run", *SOURCE)
    assert "LLD-129  github:acme/shop#129" in ended.stdout
    assert [seen.path for seen in hub.seen] == [
        "/repos/acme/shop",
        "/repos/acme/shop/issues/129",
    ]
    missing = world.run("lld-workflow", "--ids", "129", "131", *SOURCE)
    assert missing.code == 2
    assert "no such item in github:acme/shop: 131" in missing.stderr


def test_the_retry_command_names_the_source_again(world: World, hub: Hub) -> None:
    hub.repos["acme/shop"].add("Huge", "x" * 2_100_000, labels=("ready",))
    ended = world.run("lld-workflow", "--all", *SOURCE, "--label", "ready")
    assert ended.code == 1
    assert (
        "Retry: lld-workflow --source github:acme/shop --label ready --ids 1"
        in ended.stdout
    )


def test_hostile_issues_fail_alone_and_no_control_character_reaches_the_terminal(
    world: World, hub: Hub
) -> None:
    fill(hub, 1)
    repo = hub.repos["acme/shop"]
    repo.add("\x1b]0;owned\x07\r\nTwo\u2028lines \u202e", "body \x1b[2J\x00 \r\n" * 3)
    repo.add("Huge", "x" * 2_100_000)
    repo.add("No body", None)
    repo.add("Half \ud800", "of a character \udfff")
    ended = world.run("lld-workflow", "--all", "--parallel", "2", *SOURCE)
    assert ended.code == 1
    assert "1 failed (LLD-3)" in ended.stdout
    assert "acme/shop#3: is 2.1 MB, the limit is 1 MB" in ended.stdout
    assert not set(ended.text) & {"\x1b", "\r", "\0", "\u202e"}


def test_the_token_is_in_no_file_no_output_and_no_worker(
    world: World, hub: Hub
) -> None:
    fill(hub, 2)
    hub.repos["acme/shop"].issues[0]["body"] += f"\nThe token is {TOKEN}.\n"
    slow = ("--drafter", "offline:latency=30")
    with world.start("lld-workflow", "--all", "-vv", *SOURCE, *slow) as running:
        # The item whose issue holds the token has ended by then.
        running.wait_for(r"LLD-2\] >>> Executing: N1_design")
        workers = running.workers()
        assert workers
        for process in workers:
            shown = (
                Path(f"/proc/{process.pid}/environ").read_bytes()
                + Path(f"/proc/{process.pid}/cmdline").read_bytes()
            )
            assert TOKEN.encode() not in shown
            assert b"GITHUB_TOKEN" not in shown
        assert TOKEN.encode() not in Path(f"/proc/{running.pid}/cmdline").read_bytes()
        running.signal(SIGINT)
        assert TOKEN not in running.finish().text
    for path in files_below(world.home / "logs") + files_below(world.home / "items"):
        assert TOKEN.encode() not in path.read_bytes(), path


def test_a_public_repository_is_read_without_a_token_and_with_a_warning(
    world: World, hub: Hub
) -> None:
    fill(hub, 1)
    ended = world.run(
        "lld-workflow",
        "--all",
        "--dry-run",
        *SOURCE,
        environ={"GITHUB_TOKEN": "", "GH_TOKEN": ""},
    )
    assert ended.code == 0
    assert "Warning: no GITHUB_TOKEN" in ended.stderr
    assert "LLD-1" in ended.stdout
    assert {seen.token for seen in hub.seen} == {""}


def test_a_token_of_the_command_line_of_github_is_used(
    world: World, hub: Hub, tmp_path: Path
) -> None:
    fill(hub, 1)
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "gh").write_text(f"#!/bin/sh\necho {TOKEN}\n")
    (folder / "gh").chmod(0o755)
    environ = {"GITHUB_TOKEN": "", "PATH": f"{folder}:{world.environ['PATH']}"}
    ended = world.run("lld-workflow", "--all", "--dry-run", *SOURCE, environ=environ)
    assert ended.code == 0
    assert ended.stderr == ""
    assert {seen.token for seen in hub.seen} == {TOKEN}


def test_issues_are_briefs_for_the_other_workflow_but_not_those_that_it_filed(
    world: World, hub: Hub
) -> None:
    repo = hub.repos["acme/shop"]
    repo.add(
        "Reminders for list 1",
        BRIEF.format(number=1).partition("\n")[2],
        labels=("brief",),
    )
    answers = world.repo.parent / "answers"
    record_item(answers / "1", Kind.ISSUE, "1", BRIEF.format(number=1))
    recorded = ("--drafter", f"offline:answers={answers}")
    flags = ("--file", "--file-label", "brief", "--label", "brief", *SOURCE, *recorded)
    ended = world.run("issue-workflow", "--all", *flags)
    assert ended.code == 0, ended.text
    assert "Filed: ISSUE-1 as acme/shop#2." in ended.stdout
    assert [label["name"] for label in repo.issues[1]["labels"]] == ["brief"]
    assert repo.issues[1]["body"].startswith("Brief: acme/shop#1\n")
    again = world.run("issue-workflow", "--all", *flags)
    assert (again.code, again.stdout) == (
        0,
        "Nothing to do: 1 already complete, 0 resumed, 0 new\n",
    )
    assert len(repo.issues) == 2


def test_help_names_what_can_be_said_about_github(world: World) -> None:
    told = world.run("issue-workflow", "--help").stdout
    for flag in (
        "--source",
        "--label",
        "--milestone",
        "--file",
        "--file-label",
        "GITHUB_TOKEN",
        "GITHUB_API_URL",
    ):
        assert flag in told
    assert (
        "--file "
        not in world.run("lld-workflow", "--help").stdout.partition("exit codes:")[0]
    )


def depend(hub: Hub, number: int, on: str) -> None:
    """Have an issue name what it waits for."""
    hub.repos["acme/shop"].issues[number - 1]["body"] += f"\r\n\r\nDepends on: {on}\r\n"


def test_a_dependency_that_the_filter_leaves_out_is_looked_up_and_warned_of(
    world: World, hub: Hub
) -> None:
    fill(hub, 1)
    fill(hub, 1, "ready")
    depend(hub, 2, "#1")
    for chosen in (("--ids", "2"), ("--all", "--label", "ready")):
        hub.seen.clear()
        ended = world.run("lld-workflow", *chosen, *SOURCE, "--dry-run")
        assert (
            "LLD-2: Depends on #1, which is pending and not selected; continuing without it"
            in ended.stdout
        )
        assert "not known here" not in ended.stdout
        assert [seen.path for seen in hub.seen].count("/repos/acme/shop/issues/1") == 1
        judged = world.run("agentos", "triage", "lld", *chosen, *SOURCE)
        assert (judged.code, judged.stdout) == (0, "1 item, all ready\n")


def test_a_closed_dependency_is_done_and_one_that_does_not_exist_is_unknown(
    world: World, hub: Hub
) -> None:
    hub.repos["acme/shop"].add("Done long ago", "", state="closed")
    fill(hub, 1)
    depend(hub, 2, "#1, #900")
    ended = world.run("lld-workflow", "--all", *SOURCE, "--dry-run")
    assert "Warning" not in ended.stdout
    assert "#900 is not known here" in ended.stdout
    assert "#1 is not known here" not in ended.stdout


def test_more_dependencies_than_are_looked_up_are_said_to_be_unfetched(
    world: World, hub: Hub
) -> None:
    fill(hub, 1)
    depend(hub, 1, ", ".join(f"#{number}" for number in range(101, 126)))
    ended = world.run("lld-workflow", "--all", *SOURCE, "--dry-run", "--json")
    document = json.loads(ended.stdout)
    asked = [
        seen.path
        for seen in hub.seen
        if seen.path.startswith("/repos/acme/shop/issues/")
    ]
    assert len(asked) == len(set(asked)) == 20
    unfetched = "was not fetched, so it is not known whether it is done"
    assert len(document["warnings"]) == 5
    assert all(unfetched in warning for warning in document["warnings"])
    said = [
        complaint["what"]
        for item in document["complaints"]
        for complaint in item["complaints"]
    ]
    assert sum(unfetched in what for what in said) == 5
    assert sum("is not known here" in what for what in said) == 20


def test_a_look_up_that_fails_is_a_warning_and_not_the_end(
    world: World, hub: Hub
) -> None:
    fill(hub, 1)
    fill(hub, 1, "ready")
    depend(hub, 2, "#1")
    hub.fault(Status(lambda seen: seen.path.endswith("/issues/1"), status=403))
    ended = world.run("lld-workflow", "--ids", "2", *SOURCE)
    assert ended.code == 0, ended.text
    assert (
        "LLD-2: Depends on #1, which was not fetched, so it is not known whether it is done"
        in ended.stderr
    )


def test_the_status_knows_the_items_of_a_source_and_completion_their_ids(
    world: World, hub: Hub
) -> None:
    fill(hub, 1)
    hub.repos["acme/shop"].add("Huge", "x" * 2_100_000)
    assert world.run("lld-workflow", "--all", *SOURCE).code == 1
    told = world.run("agentos", "status").stdout
    assert told.startswith("1 failed, 1 skeleton\n")
    skeleton, failed = told.splitlines()[1:]
    assert skeleton.split() == [
        "LLD-1",
        "skeleton",
        "docs/lld/active/LLD-001.md",
        "(github:acme/shop#1)",
    ]
    assert "LLD-2" in failed
    assert failed.endswith("(github:acme/shop#2)")
    items = json.loads(world.run("agentos", "status", "--json").stdout)["items"]
    assert [(item["id"], item["status"], item["source"]) for item in items] == [
        ("1", "skeleton", "github:acme/shop#1"),
        ("2", "failed", "github:acme/shop#2"),
    ]
    parsed = argparse.Namespace(repo=world.repo, source="github:acme/shop")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTOS_HOME", str(world.home))
        assert complete_ids("", parsed, argparse.ArgumentParser()) == ["1", "2"]
    (world.repo / "docs/lld/active/LLD-001.md").unlink()
    assert world.run("agentos", "status").stdout.startswith("1 failed, 1 pending\n")


def test_the_status_shows_an_item_of_a_source_that_waits_for_an_answer_until_it_has_one(
    world: World, hub: Hub
) -> None:
    fill(hub, 1)
    assert (
        world.run(
            "lld-workflow", "--all", *SOURCE, "--reviewer", "offline:fault=discuss@1"
        ).code
        == 0
    )
    told = world.run("agentos", "status").stdout
    assert told.startswith("1 needs-discussion\n")
    assert "(github:acme/shop#1)" in told
    assert world.run("agentos", "answer", "LLD-1", "--text", "Nobody.").code == 0
    assert (
        "edited since it ended as needs-discussion"
        in world.run("agentos", "status").stdout
    )
    assert world.run("lld-workflow", "--all", *SOURCE).code == 0
    assert world.run("agentos", "status").stdout.startswith("1 skeleton\n")


def test_the_status_shows_an_item_of_a_source_that_runs_or_was_cut_off(
    world: World, hub: Hub
) -> None:
    fill(hub, 1)
    with world.start(
        "lld-workflow", "--all", *SOURCE, "--drafter", "offline:latency=30"
    ) as running:
        wait_until(lambda: len(running.workers()) >= 1, "a worker has work")
        assert "LLD-1  running" in world.run("agentos", "status").stdout
        running.signal(SIGINT)
        running.finish()
    assert world.run("agentos", "status").stdout.startswith(
        ("1 interrupted\n", "1 pending\n")
    )


def test_the_status_leaves_out_what_came_from_a_file_that_is_gone(
    make_world: Callable[..., World],
) -> None:
    world = make_world(issues=1)
    assert world.run("lld-workflow", "--all").code == 0
    for path in (world.repo / "docs/issues").iterdir():
        path.unlink()
    assert world.run("agentos", "status").stdout.startswith("Nothing here")
