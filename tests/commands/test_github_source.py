"""Issues on GitHub as items, with the installed commands against a GitHub on the loopback interface."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("github")

from tests.forge import Expire, Hub, Limit, Status, serve
from tests.forge.hub import TOKEN
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
    return World(made.repo, made.home, {**made.environ, "GITHUB_API_URL": hub.url, "GITHUB_TOKEN": TOKEN})


def fill(hub: Hub, count: int, *labels: str, milestone: str = "") -> None:
    """Add usable issues."""
    repo = hub.repos["acme/shop"]
    for _ in range(count):
        number = len(repo.issues) + 1
        body = ISSUE.format(number=number).partition("\n")[2].replace("\n", "\r\n")
        repo.add(f"Export list {number} as CSV", body, labels=labels, milestone=milestone)


def files_below(folder: Path) -> list[Path]:
    """Return all files."""
    return [path for path in folder.rglob("*") if path.is_file()]


def test_issues_become_designs_and_a_rerun_leaves_what_has_not_changed(world: World, hub: Hub) -> None:
    fill(hub, 3)
    hub.repos["acme/shop"].add("A change", is_pull=True)
    hub.repos["acme/shop"].add("Done long ago", "", state="closed")
    ended = world.run("lld-workflow", "--all", "--parallel", "2", *SOURCE)
    assert ended.code == 0, ended.text
    assert "3 approved" in ended.stdout
    assert sorted(path.name for path in (world.repo / "docs/lld/active").iterdir()) == [
        "LLD-001.md",
        "LLD-002.md",
        "LLD-003.md",
    ]
    again = world.run("lld-workflow", "--all", *SOURCE)
    assert (again.code, again.stdout) == (0, "Nothing to do: 3 already complete, 0 resumed, 0 new\n")
    hub.repos["acme/shop"].issues[1]["body"] += "\r\nOne more remark."
    edited = world.run("lld-workflow", "--all", *SOURCE)
    assert "1 item to run, 1 at a time: 2 already complete, 0 resumed, 0 new, 1 restarted" in edited.stderr
    assert "1 approved" in edited.stdout
    assert world.leftovers() == []


def test_three_hundred_issues_come_through_limits_and_faults_and_the_pauses_are_kept(world: World, hub: Hub) -> None:
    repo = hub.repos["acme/shop"]
    for number in range(1, 343):
        repo.add(f"Export list {number}", "Text.", is_pull=number % 8 == 0)
    hub.fault(Limit(lambda seen: seen.index in (1, 6), times=2, retry_after=1))
    hub.fault(Status(lambda seen: seen.query.get("page") == "3", status=502))
    ended = world.run("lld-workflow", "--all", "--dry-run", "--json", *SOURCE)
    assert ended.code == 0, ended.text
    document = json.loads(ended.stdout)
    assert document["count"] == 300
    assert [int(item["id"]) for item in document["items"]] == [n for n in range(1, 343) if n % 8]
    assert document["items"][0]["source"] == "github:acme/shop#1"
    assert ended.stderr.count("GitHub asks for a pause: going on in 1.0 s") == 2
    assert hub.too_early == []
    # The repository, four pages, two refusals for a limit and a fault.
    assert len(hub.seen) == 1 + 4 + 2 + 1
    assert not world.home.exists()


def test_a_token_that_expires_between_two_pages_ends_the_command_before_anything_runs(world: World, hub: Hub) -> None:
    fill(hub, 250)
    hub.fault(Expire(lambda seen: seen.query.get("page") == "2"))
    ended = world.run("lld-workflow", "--all", *SOURCE)
    assert ended.code == 2
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert "refuses the token of GITHUB_TOKEN: it is wrong, expired or revoked" in line
    assert not list(world.home.rglob("summary.json"))
    assert world.artefacts() == {}


def test_a_limit_that_lasts_longer_than_patience_ends_with_75_and_the_time(world: World, hub: Hub) -> None:
    fill(hub, 1)
    hub.fault(Limit(lambda seen: True, times=9, retry_after=3000))
    ended = world.run("lld-workflow", "--all", *SOURCE)
    assert ended.code == 75
    assert "run again after" in ended.stderr


def test_ctrl_c_ends_a_pause_at_once(world: World, hub: Hub) -> None:
    fill(hub, 1)
    hub.fault(Limit(lambda seen: True, retry_after=300))
    with world.start("lld-workflow", "--all", *SOURCE) as running:
        running.wait_for("going on in 5 min 0 s")
        running.signal(SIGINT)
        assert ended_by(running.finish().code, SIGINT)


def test_labels_and_milestones_choose(world: World, hub: Hub) -> None:
    fill(hub, 1, "ready")
    fill(hub, 1, "ready", "Big, bad")
    fill(hub, 1, milestone="June")
    fill(hub, 1, "ready", milestone="July")

    def chosen(*flags: str) -> list[str]:
        ended = world.run("lld-workflow", "--all", "--dry-run", "--json", *SOURCE, *flags)
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
        (("--source", "github:acme/shup"), "acme/shup: not found on 127.0.0.1: misspelt, or private"),
        ((*SOURCE, "--label", "redy"), "acme/shop has no label 'redy'; did you mean 'ready'?"),
        ((*SOURCE, "--milestone", "Jun"), "acme/shop has no milestone 'Jun'; did you mean 'June'?"),
        ((*SOURCE, "--milestone", "9"), "acme/shop has no milestone '9'; there are 'June'"),
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


def test_a_label_that_no_open_issue_has_is_nothing_to_do(world: World, hub: Hub) -> None:
    hub.repos["acme/shop"].add("Done", labels=("ready",), state="closed")
    ended = world.run("lld-workflow", "--all", *SOURCE, "--label", "ready")
    assert (ended.code, ended.stdout) == (0, "Nothing to do: 0 already complete, 0 resumed, 0 new\n")


def test_ids_are_looked_up_without_reading_the_whole_list(world: World, hub: Hub) -> None:
    fill(hub, 130)
    ended = world.run("lld-workflow", "--ids", "129", "--dry-run", *SOURCE)
    assert "LLD-129  github:acme/shop#129" in ended.stdout
    assert [seen.path for seen in hub.seen] == ["/repos/acme/shop", "/repos/acme/shop/issues/129"]
    missing = world.run("lld-workflow", "--ids", "129", "131", *SOURCE)
    assert missing.code == 2
    assert "no such item in github:acme/shop: 131" in missing.stderr


def test_the_retry_command_names_the_source_again(world: World, hub: Hub) -> None:
    hub.repos["acme/shop"].add("Nothing in it", None, labels=("ready",))
    ended = world.run("lld-workflow", "--all", *SOURCE, "--label", "ready")
    assert ended.code == 1
    assert "Retry: lld-workflow --source github:acme/shop --label ready --ids 1" in ended.stdout


def test_hostile_issues_fail_alone_and_no_control_character_reaches_the_terminal(world: World, hub: Hub) -> None:
    fill(hub, 1)
    repo = hub.repos["acme/shop"]
    repo.add("\x1b]0;owned\x07\r\nTwo\u2028lines \u202e", "body \x1b[2J\x00 \r\n" * 3)
    repo.add("Huge", "x" * 2_100_000)
    repo.add("No body", None)
    repo.add("Half \ud800", "of a character \udfff")
    ended = world.run("lld-workflow", "--all", "--parallel", "2", *SOURCE)
    assert ended.code == 1
    assert "2 failed (LLD-3, LLD-4)" in ended.stdout
    assert "acme/shop#3: is 2.1 MB, the limit is 2 MB" in ended.stdout
    assert not set(ended.text) & {"\x1b", "\r", "\0", "\u202e"}


def test_the_token_is_in_no_file_no_output_and_no_worker(world: World, hub: Hub) -> None:
    fill(hub, 2)
    hub.repos["acme/shop"].issues[0]["body"] += f"\nThe token is {TOKEN}.\n"
    slow = ("--drafter", "offline:latency=30")
    with world.start("lld-workflow", "--all", "-vv", *SOURCE, *slow) as running:
        wait_until(lambda: len(running.workers()) >= 1, "a worker has work")
        for process in running.descendants():
            shown = (
                Path(f"/proc/{process.pid}/environ").read_bytes() + Path(f"/proc/{process.pid}/cmdline").read_bytes()
            )
            assert TOKEN.encode() not in shown
            assert b"GITHUB_TOKEN" not in shown
        assert TOKEN.encode() not in Path(f"/proc/{running.pid}/cmdline").read_bytes()
        running.signal(SIGINT)
        assert TOKEN not in running.finish().text
    for path in files_below(world.home / "logs") + files_below(world.home / "items"):
        assert TOKEN.encode() not in path.read_bytes(), path


def test_a_public_repository_is_read_without_a_token_and_with_a_warning(world: World, hub: Hub) -> None:
    fill(hub, 1)
    ended = world.run("lld-workflow", "--all", "--dry-run", *SOURCE, environ={"GITHUB_TOKEN": "", "GH_TOKEN": ""})
    assert ended.code == 0
    assert "Warning: no GITHUB_TOKEN" in ended.stderr
    assert "LLD-1" in ended.stdout
    assert {seen.token for seen in hub.seen} == {""}


def test_a_token_of_the_command_line_of_github_is_used(world: World, hub: Hub, tmp_path: Path) -> None:
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


def test_without_the_client_library_the_extra_is_named(world: World, tmp_path: Path) -> None:
    (tmp_path / "without/github").mkdir(parents=True)
    (tmp_path / "without/github/__init__.py").write_text("raise ImportError('gone', name='github')\n")
    ended = world.run("lld-workflow", "--all", *SOURCE, environ={"PYTHONPATH": str(tmp_path / "without")})
    assert ended.code == 2
    assert "pip install 'agentos[github]'" in ended.stderr


def test_issues_are_briefs_for_the_other_workflow_but_not_those_that_it_filed(world: World, hub: Hub) -> None:
    repo = hub.repos["acme/shop"]
    repo.add("Reminders for list 1", BRIEF.format(number=1).partition("\n")[2], labels=("brief",))
    flags = ("--file", "--file-label", "brief", "--label", "brief", *SOURCE)
    ended = world.run("issue-workflow", "--all", *flags)
    assert ended.code == 0, ended.text
    assert "Filed: ISSUE-1 as acme/shop#2." in ended.stdout
    assert [label["name"] for label in repo.issues[1]["labels"]] == ["brief"]
    assert repo.issues[1]["body"].startswith("Brief: acme/shop#1\n")
    again = world.run("issue-workflow", "--all", *flags)
    assert (again.code, again.stdout) == (0, "Nothing to do: 1 already complete, 0 resumed, 0 new\n")
    assert len(repo.issues) == 2


def test_help_names_what_can_be_said_about_github(world: World) -> None:
    told = world.run("issue-workflow", "--help").stdout
    for flag in ("--source", "--label", "--milestone", "--file", "--file-label", "GITHUB_TOKEN", "GITHUB_API_URL"):
        assert flag in told
    assert "--file " not in world.run("lld-workflow", "--help").stdout.partition("exit codes:")[0]
