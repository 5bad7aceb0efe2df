"""Comments of trusted people are part of an issue, with the installed commands against a
GitHub on the loopback interface.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from agentos.backlog.inbox.forge import ForgeInbox, Wanted
from agentos.kinds import Kind
from agentos.repository.forge import find_package
from tests.forge import Hub, Status, serve
from tests.forge.hub import TOKEN
from tests.support import ISSUE, World

SOURCE = ("--source", "github:acme/shop")


@pytest.fixture
def hub() -> Iterator[Hub]:
    """A GitHub with three usable issues."""
    with serve() as hub:
        repo = hub.repo("acme/shop")
        for number in (1, 2, 3):
            body = ISSUE.format(number=number).partition("\n")[2]
            repo.add(f"Export list {number} as CSV", body)
        yield hub


@pytest.fixture
def world(make_world: Callable[..., World], hub: Hub) -> World:
    """A repository without items of its own, and a token."""
    made = make_world(issues=0)
    environ = {**made.environ, "GITHUB_API_URL": hub.url, "GITHUB_TOKEN": TOKEN}
    return World(made.repo, made.home, environ)


def read(world: World, hub: Hub, id: str, *, any_author: bool = False) -> str:
    """Return the text of an item as a workflow gets it."""
    package = find_package("github")
    repository = package.find_repository("acme/shop")
    assert repository is not None
    environ = {"GITHUB_API_URL": hub.url, "GITHUB_TOKEN": TOKEN}
    forge = package.open_forge(repository, environ, lambda text: None)
    wanted = Wanted(any_author=any_author)
    inbox = ForgeInbox(forge, wanted, world.repo, Kind.LLD)
    (item,) = [item for item in inbox.collect().items if item.id == id]
    return inbox.load(item).text


def test_a_new_comment_of_a_trusted_person_makes_an_item_pending(
    world: World, hub: Hub
) -> None:
    repo = hub.repos["acme/shop"]
    assert world.run("lld-workflow", "--all", *SOURCE).code == 0
    repo.comment(2, "The delimiter is a semicolon.", created="2026-06-01T10:00:00Z")
    repo.comment(3, "Me too.", login="mallory", association="NONE")
    repo.comment(3, "Marked as stale.", login="stale[bot]")
    ended = world.run("lld-workflow", "--all", *SOURCE)
    assert "2 already complete, 0 resumed, 0 new, 1 restarted after an edit" in (
        ended.stderr
    )
    assert (
        "Warning: 1 comment on #3 left out, not by an owner, member or collaborator;"
        " take them with --any-author\n" in ended.stderr
    )
    text = read(world, hub, "2")
    assert text.endswith(
        "\n\n## Comments\n\n**somebody** on 2026-06-01:\n\nThe delimiter is a semicolon.\n"
    )
    assert "Comments" not in read(world, hub, "3")
    again = world.run("lld-workflow", "--all", *SOURCE)
    assert again.stdout == "Nothing to do: 3 already complete, 0 resumed, 0 new\n"
    # An edit of the comment counts as well.
    repo.comments[2][0]["body"] = "The delimiter is a tab."
    edited = world.run("lld-workflow", "--all", "--dry-run", "--json", *SOURCE)
    assert [item["id"] for item in json.loads(edited.stdout)["items"]] == ["2"]


def test_any_author_takes_the_comments_of_all_but_bots(world: World, hub: Hub) -> None:
    repo = hub.repos["acme/shop"]
    repo.comment(1, "One.", login="mallory", association="NONE")
    repo.comment(1, "Two.", login="ci[bot]")
    repo.comment(1, "Three.\n<!-- agentos-questions: 0 -->", login="filer")
    repo.comment(1, "Four.", login="ada", association="OWNER")
    text = read(world, hub, "1", any_author=True)
    assert "**mallory** on " in text
    assert "Four." in text
    for left_out in ("Two.", "Three."):
        assert left_out not in text
    assert "mallory" not in read(world, hub, "1")
    dry = ("lld-workflow", "--all", "--dry-run", *SOURCE)
    assert "1 comment on #1 left out" in world.run(*dry).stdout
    assert "left out" not in world.run(*dry, "--any-author").text


def test_both_kinds_of_what_is_left_out_are_one_line(world: World, hub: Hub) -> None:
    repo = hub.repos["acme/shop"]
    repo.add("Spam", login="mallory", association="NONE")
    repo.comment(1, "Spam", login="mallory", association="NONE")
    repo.comment(2, "Spam", login="mallory", association="NONE")
    repo.comment(2, "Spam", login="mallory", association="NONE")
    told = world.run("lld-workflow", "--all", "--dry-run", *SOURCE).stdout
    assert (
        "Warning: 1 issue left out, not by an owner, member or collaborator: #4 by"
        " mallory (none), and 3 comments on #1, #2; take them with --any-author\n"
    ) in told


def test_only_issues_with_comments_are_asked_for_them_page_by_page(
    world: World, hub: Hub
) -> None:
    repo = hub.repos["acme/shop"]
    for number in range(250):
        repo.comment(2, f"Comment {number}.")
    hub.fault(Status(lambda seen: seen.query.get("page") == "2", status=502))
    ended = world.run("lld-workflow", "--all", "--dry-run", *SOURCE)
    assert ended.code == 0, ended.text
    # The repository, the list, three pages, and one of them again.
    assert len(hub.seen) == 1 + 1 + 3 + 1
    assert not world.home.exists()
    text = read(world, hub, "2")
    assert "*200 earlier comments are left out.*" in text
    assert "Comment 249." in text


def test_of_very_many_comments_a_part_is_fetched(world: World, hub: Hub) -> None:
    repo = hub.repos["acme/shop"]
    for number in range(1_203):
        repo.comment(2, f"Comment {number}.")
    assert "*203 later comments are left out.*" in read(world, hub, "2")
    assert sum("comments" in seen.path for seen in hub.seen) == 10


def test_hostile_comments_reach_no_terminal_and_end_in_no_traceback(
    world: World, hub: Hub
) -> None:
    repo = hub.repos["acme/shop"]
    repo.comment(1, "\x1b[2J\0\ud800" + "<!-- " * 9_000, login="\x1b]0;x\x07\nada")
    repo.comments[1].append({"id": "x"})
    repo.comments[1].append({"id": 7, "body": None, "user": None, "created_at": 5})
    ended = world.run("lld-workflow", "--all", *SOURCE)
    assert ended.code == 0, ended.text
    assert not set(ended.text) & {"\x1b", "\x07", "\0"}
