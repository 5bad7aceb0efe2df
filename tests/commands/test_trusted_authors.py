"""Whose issues are taken from a source, with the installed commands against a GitHub on
the loopback interface.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from tests.forge import Hub, Repo, serve
from tests.forge.hub import TOKEN
from tests.support import BRIEF, ISSUE, SIGINT, World

SOURCE = ("--source", "github:acme/shop")
LEFT_OUT = (
    "5 issues left out, not by an owner, member or collaborator: #4 by mallory"
    " (contributor), #5 by newcomer (none), #6 by renovate[bot] (bot), #7 by ghost"
    " (none), #8 by plain (unknown); take them with --any-author"
)


@pytest.fixture
def hub() -> Iterator[Hub]:
    """A GitHub with issues of all kinds of authors, the first three of them trusted."""
    with serve() as hub:
        repo = hub.repo("acme/shop")
        add(repo, "ada", "OWNER")
        add(repo, "grace", "MEMBER")
        add(repo, "linus", "COLLABORATOR")
        add(repo, "mallory", "CONTRIBUTOR")
        add(repo, "newcomer", "NONE")
        # A bot is not trusted whatever it is in the repository.
        add(repo, "renovate[bot]", "MEMBER")
        add(repo, "", "NONE")
        repo.issues[6]["user"] = None
        add(repo, "plain", "")
        del repo.issues[7]["author_association"]
        yield hub


def add(repo: Repo, login: str, association: str, *labels: str) -> None:
    """Add a usable issue of an author."""
    number = len(repo.issues) + 1
    body = ISSUE.format(number=number).partition("\n")[2]
    repo.add(
        f"Export list {number} as CSV",
        body,
        login=login,
        association=association,
        labels=labels,
    )


@pytest.fixture
def world(make_world: Callable[..., World], hub: Hub) -> World:
    """A repository without items of its own, and a token."""
    made = make_world(issues=0)
    return World(
        made.repo,
        made.home,
        {**made.environ, "GITHUB_API_URL": hub.url, "GITHUB_TOKEN": TOKEN},
    )


def ids_of(text: str) -> list[str]:
    """Return the ids of the items in a JSON document."""
    return [item["id"] for item in json.loads(text)["items"]]


def test_a_run_takes_the_issues_of_trusted_authors_and_names_the_others(
    world: World,
) -> None:
    ended = world.run("lld-workflow", "--all", *SOURCE)
    assert ended.code == 0, ended.text
    assert "3 skeletons" in ended.stdout
    assert ended.stderr.count(LEFT_OUT) == 1
    designs = sorted(path.name for path in (world.repo / "docs/lld/active").iterdir())
    assert designs == ["LLD-001.md", "LLD-002.md", "LLD-003.md"]
    again = world.run("lld-workflow", "--all", *SOURCE)
    assert again.stdout == "Nothing to do: 3 already complete, 0 resumed, 0 new\n"
    assert again.stderr == f"[COORDINATOR] Warning: {LEFT_OUT}\n"


def test_a_dry_run_names_those_that_are_left_out(world: World) -> None:
    ended = world.run("lld-workflow", "--all", "--dry-run", *SOURCE)
    assert f"\nWarning: {LEFT_OUT}\n" in ended.stdout
    assert "3 items would be processed" in ended.stdout
    assert not world.home.exists()
    document = json.loads(
        world.run("lld-workflow", "--all", "--dry-run", "--json", *SOURCE).stdout
    )
    assert [item["id"] for item in document["items"]] == ["1", "2", "3"]
    assert document["warnings"] == [LEFT_OUT]
    assert document["left_out"][0] == {
        "id": "4",
        "source": "github:acme/shop#4",
        "author": "mallory",
        "role": "contributor",
    }
    assert [each["id"] for each in document["left_out"]] == ["4", "5", "6", "7", "8"]


def test_the_summary_as_json_names_them_too(world: World) -> None:
    for ran in (3, 0):
        document = json.loads(
            world.run("lld-workflow", "--all", "--json", *SOURCE).stdout
        )
        assert len(document["items"]) == ran
        authors = [each["author"] for each in document["left_out"]]
        assert authors == ["mallory", "newcomer", "renovate[bot]", "ghost", "plain"]


def test_any_author_takes_all_and_the_retry_command_says_so(
    world: World, hub: Hub
) -> None:
    hub.repos["acme/shop"].add("Huge", "x" * 2_100_000, association="NONE")
    ended = world.run("lld-workflow", "--all", "--any-author", *SOURCE)
    assert ended.code == 1
    assert "8 skeletons" in ended.stdout
    assert "left out" not in ended.text
    retry = "Retry: lld-workflow --source github:acme/shop --any-author --ids 9"
    assert retry in ended.stdout


@pytest.mark.parametrize("named", [("--ids", "1", "4"), ("--issue", "4")])
def test_naming_an_issue_does_not_make_its_author_trusted(
    world: World, named: tuple[str, ...]
) -> None:
    for more in ((), ("--dry-run",), ("--json",), ("--redo",)):
        ended = world.run("lld-workflow", *named, *SOURCE, *more)
        assert (ended.code, ended.stdout) == (2, "")
        assert ended.stderr == (
            "lld-workflow: github:acme/shop#4 is by mallory (contributor), not by an"
            " owner, member or collaborator; read it, and take it with --any-author\n"
        )
    assert world.artefacts() == {}
    taken = world.run("lld-workflow", *named, *SOURCE, "--any-author")
    assert taken.code == 0, taken.text


def test_naming_one_with_a_label_is_refused_too(world: World, hub: Hub) -> None:
    add(hub.repos["acme/shop"], "mallory", "NONE", "ready")
    ended = world.run("lld-workflow", "--ids", "9", "--label", "ready", *SOURCE)
    assert (ended.code, ended.stdout) == (2, "")
    assert "github:acme/shop#9 is by mallory (none)" in ended.stderr


def test_an_item_that_was_taken_before_follows_the_same_rule(
    world: World, hub: Hub
) -> None:
    any_author = (*SOURCE, "--any-author")
    slow = ("--drafter", "offline:latency=30")
    with world.start("lld-workflow", "--ids", "4", *any_author, *slow) as running:
        running.wait_for(r"LLD-4\] >>> Executing: N1_design")
        running.signal(SIGINT)
        running.finish()
    assert "LLD-4  interrupted" in world.run("agentos", "status").stdout
    refused = world.run("lld-workflow", "--ids", "4", *SOURCE)
    assert (refused.code, refused.stdout) == (2, "")
    ended = world.run("lld-workflow", "--all", *SOURCE)
    assert "3 skeletons" in ended.stdout
    assert LEFT_OUT in ended.stderr
    assert "LLD-4  interrupted" in world.run("agentos", "status").stdout
    assert world.run("lld-workflow", "--ids", "4", *any_author).code == 0
    # Whoever loses the trust loses it for what was taken before.
    hub.repos["acme/shop"].issues[0]["author_association"] = "NONE"
    again = world.run("lld-workflow", "--all", "--redo", "--dry-run", "--json", *SOURCE)
    assert ids_of(again.stdout) == ["2", "3"]


def test_a_brief_follows_the_same_rule(world: World, hub: Hub) -> None:
    ideas = hub.repo("acme/ideas")
    text = BRIEF.format(number=1).partition("\n")[2]
    ideas.add("Reminders for list 1", text, login="mallory", association="NONE")
    source = ("--source", "github:acme/ideas")
    ended = world.run("issue-workflow", "--all", *source)
    assert ended.stdout.startswith("Nothing to do")
    assert "1 issue left out" in ended.stderr
    taken = world.run(
        "issue-workflow", "--all", "--any-author", "--dry-run", "--json", *source
    )
    assert ids_of(taken.stdout) == ["1"]


def test_a_dependency_on_one_that_is_left_out_is_a_warning(
    world: World, hub: Hub
) -> None:
    hub.repos["acme/shop"].issues[0]["body"] += "\n\nDepends on: #4\n"
    ended = world.run("lld-workflow", "--all", "--dry-run", *SOURCE)
    assert "LLD-1: Depends on #4, which is pending and not selected" in ended.stdout


def test_triage_follows_the_same_rule(world: World) -> None:
    told = world.run("agentos", "triage", "lld", *SOURCE)
    assert (told.code, told.stdout) == (0, f"3 items, all ready\n{LEFT_OUT}\n")
    document = json.loads(
        world.run("agentos", "triage", "lld", "--json", *SOURCE).stdout
    )
    assert [each["id"] for each in document["left_out"]] == ["4", "5", "6", "7", "8"]
    everything = world.run("agentos", "triage", "lld", "--any-author", *SOURCE)
    assert everything.stdout == "8 items, all ready\n"


def test_any_author_needs_a_source(world: World) -> None:
    for command in (("lld-workflow", "--all"), ("agentos", "triage")):
        ended = world.run(*command, "--any-author")
        assert (ended.code, ended.stdout) == (2, "")
        assert "--any-author: needs --source github:owner/name" in ended.stderr


def test_many_that_are_left_out_are_one_line_over_all_pages(
    world: World, hub: Hub
) -> None:
    repo = hub.repo("acme/busy")
    for number in range(250):
        add(repo, "ada" if number % 50 == 0 else f"user{number}", "NONE")
        if number % 50 == 0:
            repo.issues[-1]["author_association"] = "OWNER"
    busy = ("--source", "github:acme/busy")
    ended = world.run("lld-workflow", "--all", "--dry-run", *busy)
    assert "5 items would be processed" in ended.stdout
    (line,) = [line for line in ended.stdout.splitlines() if "left out" in line]
    assert line.startswith("Warning: 245 issues left out")
    assert line.endswith(
        "#21 by user20 (none) and 225 more; take them with --any-author"
    )
    # The repository and three pages.
    assert len(hub.seen) == 4


def test_a_hostile_name_of_an_author_reaches_no_terminal(
    world: World, hub: Hub
) -> None:
    repo = hub.repo("acme/odd")
    name = "\x1b]0;owned\x07\x1b[2J\r\n[COORDINATOR] all \u202e fine <!-- x -->"
    add(repo, name, "\x1b[31mOWNER\n")
    add(repo, "x" * 100_000, "NONE")
    odd = ("--source", "github:acme/odd")
    commands = (
        ("lld-workflow", "--all", *odd),
        ("lld-workflow", "--all", "--dry-run", *odd),
        ("lld-workflow", "--all", "--dry-run", "--json", *odd),
        ("lld-workflow", "--all", "--json", *odd),
        ("lld-workflow", "--ids", "1", *odd),
        ("agentos", "triage", "lld", *odd),
        ("agentos", "triage", "lld", "--json", *odd),
    )
    for command in commands:
        ended = world.run(*command)
        assert not set(ended.text) & {"\x1b", "\x07", "\r", "\u202e"}, command
        assert "\n[COORDINATOR] all" not in ended.text
        assert len(ended.text) < 10_000
    refused = world.run("lld-workflow", "--ids", "1", *odd)
    assert refused.code == 2
    assert len(refused.stderr.splitlines()) == 1


def test_a_server_of_a_company_is_asked_below_its_path(world: World, hub: Hub) -> None:
    assert not hub.url.endswith("/")
    ended = world.run(
        "lld-workflow",
        "--all",
        "--dry-run",
        *SOURCE,
        environ={"GITHUB_API_URL": f"{hub.url}/api/v3/"},
    )
    assert LEFT_OUT in ended.stdout, ended.text
    assert {seen.path.split("/repos")[0] for seen in hub.seen} == {"/api/v3"}
