"""Approved issues are filed on GitHub exactly once, whatever is killed or lost on the
way.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentos.errors import BadInput
from agentos.item import Item
from agentos.kinds import Kind
from agentos.repository.forge.filing.paths import FilingPaths
from agentos.state.home import Home
from tests.forge import Cut, Hold, Hub, Limit, Status, serve
from tests.forge.hub import TOKEN
from tests.support import SIGINT, SIGKILL, Finished, World, ended_by, wait_until

FILE = ("--file", "github:acme/shop")
AT_ONCE = 4


@pytest.fixture
def hub() -> Iterator[Hub]:
    """A GitHub with a repository that has one issue already."""
    with serve() as hub:
        hub.repo("acme/shop").add("An issue of somebody else")
        yield hub


def connect(world: World, hub: Hub) -> World:
    """Return a world that knows the GitHub."""
    return World(
        world.repo,
        world.home,
        {**world.environ, "GITHUB_API_URL": hub.url, "GITHUB_TOKEN": TOKEN},
    )


@pytest.fixture
def world(make_world: Callable[..., World], hub: Hub) -> World:
    """A repository with two briefs."""
    return connect(make_world(issues=0, briefs=2), hub)


def file_all(world: World, *flags: str) -> Finished:
    """Run the command."""
    return world.run("issue-workflow", "--all", *(flags or FILE))


def document(world: World, number: int) -> str:
    """Return a finished issue."""
    return (world.repo / f"docs/issues/{number}.md").read_text("utf-8")


def assert_filed_once(world: World, hub: Hub, briefs: int = 2) -> None:
    """Every brief has exactly one issue over there, and its document says which."""
    filed = hub.filed("acme/shop")
    assert sorted(issue["title"] for issue in filed) == [
        f"Reminders for list {n}" for n in range(1, briefs + 1)
    ]
    for issue in filed:
        local = int(issue["title"].rpartition(" ")[2])
        assert f"**Filed:** acme/shop#{issue['number']}\n" in document(world, local)
    assert world.leftovers() == []
    assert not list((world.home / "filings").rglob("*.tmp"))


def test_approved_issues_are_filed_with_title_body_and_labels_and_a_rerun_has_nothing_to_do(
    world: World, hub: Hub
) -> None:
    ended = file_all(
        world, *FILE, "--label", "spec", "--file-label", "from-brief", "--json"
    )
    assert ended.code == 0, ended.text
    items = {item["id"]: item["filed"] for item in json.loads(ended.stdout)["items"]}
    assert items["1"] == {
        "reference": "acme/shop#2",
        "url": f"{hub.url}/acme/shop/issues/2",
        "problem": "",
        "remark": "",
    }
    first = hub.filed("acme/shop")[0]
    assert first["title"] == "Reminders for list 1"
    assert [label["name"] for label in first["labels"]] == ["spec", "from-brief"]
    assert "## Acceptance Criteria" in first["body"]
    for hidden in ("Review Log", "**Status:**", "**Brief:**", "agentos: ", "# 1 -"):
        assert hidden not in first["body"]
    assert "**Status:** APPROVED (recorded)\n**Filed:** acme/shop#2\n" in document(
        world, 1
    )
    assert "input=sha256:" in document(world, 1)[-200:]
    assert_filed_once(world, hub)
    asked = len(hub.seen)
    again = file_all(world)
    assert (again.code, again.stdout) == (
        0,
        "Nothing to do: 2 already complete, 0 resumed, 0 new\n",
    )
    assert len(hub.seen) == asked


def test_issues_that_were_approved_before_are_filed_later_without_asking_a_model(
    world: World, hub: Hub
) -> None:
    assert world.run("issue-workflow", "--all").code == 0
    assert (
        "2 already complete (2 to be filed)"
        in file_all(world, *FILE, "--dry-run").stdout
    )
    assert len(hub.seen) == 0
    ended = file_all(world)
    assert ended.code == 0, ended.text
    assert "Executing" not in ended.text
    assert "Filed: ISSUE-1 as acme/shop#2, ISSUE-2 as acme/shop#3." in ended.stdout
    assert_filed_once(world, hub)


def test_a_colleague_with_a_clone_does_not_file_again_what_its_documents_say_is_filed(
    world: World, hub: Hub, tmp_path: Path
) -> None:
    assert file_all(world).code == 0
    colleague = World(
        world.repo,
        tmp_path / "other-home",
        {**world.environ, "AGENTOS_HOME": str(tmp_path / "other-home")},
    )
    ended = file_all(colleague)
    assert (ended.code, ended.stdout) == (
        0,
        "Nothing to do: 2 already complete, 0 resumed, 0 new\n",
    )
    assert len(hub.filed("acme/shop")) == 2


def test_an_edited_brief_is_drafted_again_and_not_filed_again(
    world: World, hub: Hub
) -> None:
    assert file_all(world).code == 0
    brief = world.repo / "docs/briefs/1-export.md"
    brief.write_text(brief.read_text("utf-8") + "- Say who was reminded\n", "utf-8")
    ended = file_all(world)
    assert ended.code == 0, ended.text
    assert (
        "Already filed: ISSUE-1 as acme/shop#2 (the text there is the earlier one)."
        in ended.stdout
    )
    assert (
        "already filed as acme/shop#2; the text there is the earlier one"
        in ended.stderr
    )
    assert "Filed: ISSUE-1" not in ended.stdout
    assert_filed_once(world, hub)


def test_a_rerun_that_gives_the_same_text_says_that_it_is_filed(
    world: World, hub: Hub
) -> None:
    assert file_all(world).code == 0
    ended = world.run("issue-workflow", "--ids", "1", "--redo", *FILE)
    assert ended.code == 0, ended.text
    assert "Filed: ISSUE-1 as acme/shop#2." in ended.stdout
    assert_filed_once(world, hub)


def test_a_filing_that_kept_no_hash_is_not_said_to_have_the_present_text(
    world: World, hub: Hub
) -> None:
    assert file_all(world).code == 0
    (path,) = (world.home / "filings").glob("*/issue_1.json")
    kept = json.loads(path.read_text("utf-8"))
    del kept["content"]
    path.write_text(json.dumps(kept), "utf-8")
    ended = world.run("issue-workflow", "--ids", "1", "--redo", *FILE)
    assert (
        "Already filed: ISSUE-1 as acme/shop#2 (the text there may be an earlier one)."
        in ended.stdout
    )


def test_a_folder_that_leads_to_itself_is_a_reason_in_words(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/issues").symlink_to(tmp_path / "docs/issues")
    place = FilingPaths(Home(tmp_path / "home"), "key", tmp_path)
    with pytest.raises(BadInput, match=r"docs/issues/1\.md: is a link"):
        place.read_document(Item(Kind.ISSUE, "1", ""))


def test_what_is_not_approved_is_not_filed(world: World, hub: Hub) -> None:
    refusing = ("--reviewer", "offline:fault=revise@2")
    ended = file_all(world, *FILE, "--max-rounds", "1", *refusing)
    assert "1 approved, 1 need revision" in ended.stdout, ended.text
    assert [issue["title"] for issue in hub.filed("acme/shop")] == [
        "Reminders for list 1"
    ]


def test_a_refused_filing_leaves_the_approval_and_the_next_run_files(
    world: World, hub: Hub
) -> None:
    hub.fault(Status(lambda seen: seen.verb == "POST", times=2, status=403))
    ended = file_all(world)
    assert ended.code == 75
    assert "2 approved" in ended.stdout
    assert (
        "ISSUE-1: approved, not filed: acme/shop: 127.0.0.1 does not allow that (Server Error)"
        in ended.stdout
    )
    assert "Not filed: 1, 2. Run the same command again to file them." in ended.stdout
    # What is refused for all is asked for once.
    assert hub.count("POST") == 1
    hub.faults.clear()
    again = file_all(world)
    assert again.code == 0, again.text
    assert "Executing" not in again.text
    assert_filed_once(world, hub)


def test_a_limit_while_filing_is_waited_for_and_nothing_is_asked_too_early(
    world: World, hub: Hub
) -> None:
    hub.fault(Limit(lambda seen: seen.verb == "POST", retry_after=1))
    ended = file_all(world)
    assert ended.code == 0, ended.text
    assert "GitHub asks for a pause: continuing in 1.0 s" in ended.stderr
    assert hub.too_early == []
    assert_filed_once(world, hub)


@pytest.mark.parametrize(
    "after_effect", [False, True], ids=["before its effect", "after its effect"]
)
def test_a_connection_that_is_cut_is_no_second_issue(
    world: World, hub: Hub, after_effect: bool
) -> None:
    hub.fault(Cut(lambda seen: seen.verb == "POST", after_effect=after_effect))
    ended = file_all(world)
    assert ended.code == 0, ended.text
    assert_filed_once(world, hub)
    assert hub.count("POST") == (2 if after_effect else 3)
    assert not any("search" in seen.path for seen in hub.seen)


def test_a_label_that_the_token_may_not_set_is_told(world: World, hub: Hub) -> None:
    hub.repos["acme/shop"].may_push = False
    ended = file_all(world, *FILE, "--label", "spec")
    assert ended.code == 0
    assert "Warning: left out by GitHub: label spec" in ended.stderr


def test_a_link_in_the_place_of_the_document_is_not_published(
    world: World, hub: Hub, tmp_path: Path
) -> None:
    assert world.run("issue-workflow", "--all").code == 0
    secret = tmp_path / "secret"
    secret.write_text("# Secret\n\nNobody may see this.\n")
    (world.repo / "docs/issues/1.md").unlink()
    (world.repo / "docs/issues/1.md").symlink_to(secret)
    ended = file_all(world)
    assert ended.code == 75
    assert "ISSUE-1: approved, not filed: docs/issues/1.md: is a link" in ended.stdout
    assert [issue["title"] for issue in hub.filed("acme/shop")] == [
        "Reminders for list 2"
    ]


@pytest.mark.parametrize(
    "key", [TOKEN, "sk-ant-api03-Zm9vYmFyYmF6cXV4-Zm9vYmFyYmF6cXV4_AA"]
)
def test_an_issue_with_a_key_is_not_published(world: World, hub: Hub, key: str) -> None:
    assert world.run("issue-workflow", "--all").code == 0
    path = world.repo / "docs/issues/1.md"
    head, heading, rest = path.read_text("utf-8").partition("## Objective")
    path.write_text(f"{head}The key is {key}.\n\n{heading}{rest}", "utf-8")
    line = head.count("\n") + 1
    ended = file_all(world)
    assert ended.code == 75
    assert (
        f"docs/issues/1.md, line {line}: holds a key, or what looks like one"
        in ended.stdout
    )
    assert key not in ended.text
    assert [issue["title"] for issue in hub.filed("acme/shop")] == [
        "Reminders for list 2"
    ]


def test_a_damaged_record_of_a_filing_is_not_taken_for_none(
    world: World, hub: Hub
) -> None:
    assert file_all(world).code == 0
    (record,) = (world.home / "filings").rglob("issue_1.json")
    record.write_text("{")
    ended = file_all(world)
    assert ended.code == 75
    assert (
        "issue_1.json: cannot be understood; remove it if the issue is not filed yet"
        in ended.stdout
    )
    assert len(hub.filed("acme/shop")) == 2


def test_an_issue_that_is_too_long_is_told_and_the_others_are_filed(
    world: World, hub: Hub
) -> None:
    assert world.run("issue-workflow", "--all").code == 0
    path = world.repo / "docs/issues/1.md"
    path.write_text(
        path.read_text("utf-8").replace(
            "## Objective", "x" * 70_000 + "\n\n## Objective"
        ),
        "utf-8",
    )
    ended = file_all(world)
    assert ended.code == 75
    assert "characters, GitHub takes 65,536; shorten its document" in ended.stdout
    assert len(hub.filed("acme/shop")) == 1


def git(world: World, *arguments: str) -> None:
    """Run git in the repository."""
    environ = {
        **world.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
    }
    subprocess.run(
        ["git", *arguments],
        cwd=world.repo,
        env=environ,
        check=True,
        capture_output=True,
    )


def test_file_alone_means_the_repository_of_origin(world: World, hub: Hub) -> None:
    git(world, "init", "-q")
    git(world, "remote", "add", "origin", f"{hub.url}/acme/shop.git")
    ended = file_all(world, "--file")
    assert ended.code == 0, ended.text
    assert_filed_once(world, hub)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--file",), "--file: the remote origin of"),
        (("--file", "gitlab:acme/shop"), "--file: unknown scheme 'gitlab'"),
        (("--file", "acme/shop"), "--file: must be github:owner/name"),
        (("--file", "github:acme/shup"), "acme/shup: not found on"),
        (
            ("--file", "github:acme/mute"),
            "--file: acme/mute has its issues switched off",
        ),
        (("--file", "github:acme/old"), "--file: acme/old is archived"),
        (("--label", "x"), "--label: needs --source"),
        (("--file-label", "x"), "--file-label: needs --file"),
    ],
)
def test_a_target_that_cannot_be_used_is_one_line_before_anything_runs(
    world: World, hub: Hub, flags: tuple[str, ...], words: str
) -> None:
    hub.repo("acme/mute", has_issues=False)
    hub.repo("acme/old", is_archived=True)
    ended = file_all(world, *flags)
    assert ended.code == 2
    assert words in ended.stderr
    assert "Executing" not in ended.text
    assert world.artefacts() == {}


def test_origin_and_source_that_differ_have_to_be_told_apart(
    world: World, hub: Hub
) -> None:
    hub.repo("acme/ideas").add("An idea", "Text")
    git(world, "init", "-q")
    git(world, "remote", "add", "origin", f"{hub.url}/acme/shop.git")
    ended = file_all(world, "--file", "--source", "github:acme/ideas")
    assert ended.code == 2
    assert (
        "origin is acme/shop, the source acme/ideas; say which with --file github:owner/name"
        in ended.stderr
    )


def test_filing_without_a_token_is_refused_before_anything_runs(
    world: World, hub: Hub
) -> None:
    ended = world.run("issue-workflow", "--all", *FILE, environ={"GITHUB_TOKEN": ""})
    assert ended.code == 2
    assert "--file: needs a token; set GITHUB_TOKEN" in ended.stderr
    assert world.artefacts() == {}
    assert hub.seen == []


def test_two_commands_at_once_file_each_item_once(world: World, hub: Hub) -> None:
    hold = hub.fault(Hold(lambda seen: seen.verb == "POST"))
    with world.start("issue-workflow", "--all", *FILE) as first:
        assert hold.reached.wait(60), first.text
        with world.start("issue-workflow", "--all", *FILE) as second:
            second.wait_for("locked by pid")
            hold.released.set()
            assert first.finish().code == 0
            second.finish()
    assert_filed_once(world, hub)


def test_ctrl_c_while_an_answer_is_awaited_keeps_the_approval_and_the_next_run_finds_the_issue(
    world: World, hub: Hub
) -> None:
    hold = hub.fault(Hold(lambda seen: seen.verb == "POST", after_effect=True))
    with world.start("issue-workflow", "--all", *FILE) as running:
        assert hold.reached.wait(60), running.text
        running.signal(SIGINT)
        assert running.ends_within(5.0)
        ended = running.finish()
    hold.released.set()
    assert ended_by(ended.code, SIGINT)
    assert (
        "ISSUE-1: approved, not filed: stopped; the next run finds out whether it arrived"
        in ended.stdout
    )
    assert file_all(world).code == 0
    assert_filed_once(world, hub)


@dataclass(frozen=True)
class Kill:
    """Where a command is killed: at which of its requests, and how far that one is."""

    index: int
    stage: str
    """`dropped`: it never has its effect; `late`: afterwards; `done`: before;
    `answered`: its answer is sent too.
    """


def kill_at(world: World, hub: Hub, kill: Kill) -> None:
    """Run the command and kill it there."""
    target = len(hub.seen) + kill.index
    hold = Hold(
        lambda seen: seen.index == target,
        after_effect=kill.stage == "done",
        is_dropped=kill.stage == "dropped",
    )
    if kill.stage != "answered":
        hub.fault(hold)
    with world.start("issue-workflow", "--all", *FILE) as running:
        if kill.stage == "answered":
            assert hub.wait_answered(target), running.text
        else:
            assert hold.reached.wait(60), running.text
        running.signal(SIGKILL)
        running.finish()
    hold.released.set()


def survive(world: World, kills: tuple[Kill, ...]) -> None:
    """Kill one run after the other, then let one end, and look at what was filed."""
    with serve() as hub:
        hub.repo("acme/shop").add("An issue of somebody else")
        connected = connect(world, hub)
        for kill in kills:
            kill_at(connected, hub, kill)
        ended = file_all(connected)
        assert ended.code == 0, f"{kills}\n{ended.text}"
        assert_filed_once(connected, hub)
        assert file_all(connected).stdout.startswith("Nothing to do"), kills


STAGES = ("dropped", "late", "done", "answered")
SINGLE = [(Kill(index, stage),) for index in (0, 1, 2) for stage in STAGES]
# The second kill hits what looks after the first: the repository, the list of issues,
# the next attempt.
DOUBLE = [
    (Kill(1, "dropped"), Kill(1, "done")),
    (Kill(1, "late"), Kill(2, "dropped")),
    (Kill(1, "late"), Kill(0, "done")),
    (Kill(1, "done"), Kill(1, "dropped")),
    (Kill(1, "done"), Kill(2, "done")),
]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("cases", [SINGLE, DOUBLE], ids=["once", "twice"])
def test_a_kill_at_any_request_files_each_issue_exactly_once(
    make_world: Callable[..., World], cases: list[tuple[Kill, ...]]
) -> None:
    worlds = [
        make_world(issues=0, briefs=2, name=f"repo-{n}", home=f"home-{n}")
        for n in range(len(cases))
    ]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for outcome in [
            pool.submit(survive, world, kills)
            for world, kills in zip(worlds, cases, strict=True)
        ]:
            outcome.result()


def test_a_request_that_arrives_while_the_next_run_looks_for_it_is_found(
    world: World, hub: Hub
) -> None:
    hold = hub.fault(Hold(lambda seen: seen.verb == "POST"))
    with world.start("issue-workflow", "--all", *FILE) as first:
        assert hold.reached.wait(60), first.text
        first.signal(SIGKILL)
        first.finish()
    with world.start("issue-workflow", "--all", *FILE) as second:
        listed = "/repos/acme/shop/issues"
        wait_until(
            lambda: any(s.verb == "GET" and s.path == listed for s in hub.seen),
            "the next run looks",
        )
        hold.released.set()
        assert second.finish().code == 0
    assert_filed_once(world, hub)
