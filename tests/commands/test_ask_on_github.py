"""Questions are asked on GitHub once, whatever is killed on the way, and what trusted
people reply is taken as the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.forge import Cut, Hold, Hub, Status, serve
from tests.forge.hub import TOKEN, Seen
from tests.support import ISSUE, SIGKILL, Finished, World

SOURCE = ("--source", "github:acme/shop")
ASK = ("--ask-on-github", "--reviewer", "offline:fault=discuss@1")
QUESTION = "Scripted by a simulation: shall this item be built at all?"


@pytest.fixture
def hub() -> Iterator[Hub]:
    """A GitHub with two usable issues."""
    with serve() as hub:
        fill(hub)
        yield hub


def fill(hub: Hub) -> None:
    """Add two usable issues."""
    repo = hub.repo("acme/shop")
    for number in (1, 2):
        body = ISSUE.format(number=number).partition("\n")[2]
        repo.add(f"Export list {number} as CSV", body)


def connect(world: World, hub: Hub) -> World:
    """Return a world that knows the GitHub."""
    environ = {**world.environ, "GITHUB_API_URL": hub.url, "GITHUB_TOKEN": TOKEN}
    return World(world.repo, world.home, environ)


@pytest.fixture
def world(make_world: Callable[..., World], hub: Hub) -> World:
    """A repository without items of its own, and a token."""
    return connect(make_world(issues=0), hub)


def run(world: World, *flags: str) -> Finished:
    """Run the command."""
    return world.run("lld-workflow", "--all", *SOURCE, *flags)


def bodies(hub: Hub, number: int = 1) -> list[str]:
    """Return the comments on an issue."""
    comments = hub.repos["acme/shop"].comments.get(number, [])
    return [comment["body"] for comment in comments]


def is_post(seen: Seen) -> bool:
    """Tell whether a request posts something."""
    return seen.verb == "POST"


def test_a_question_is_asked_once_and_a_reply_is_its_answer(
    world: World, hub: Hub
) -> None:
    repo = hub.repos["acme/shop"]
    ended = run(world, *ASK)
    assert ended.code == 0, ended.text
    (comment,) = repo.comments[1]
    assert f"\n1. {QUESTION}\n" in comment["body"]
    assert "reply with a comment" in comment["body"]
    assert f"[COORDINATOR] LLD-1: asked in {comment['html_url']}\n" in ended.stderr
    assert 2 not in repo.comments
    again = run(world, *ASK)
    assert again.stdout == "Nothing to do: 2 already complete, 0 resumed, 0 new\n"
    assert "asked in" not in again.text
    repo.comment(1, "No!", login="mallory", association="NONE")
    repo.comment(1, "Stale.", login="stale[bot]")
    assert "2 already complete" in run(world, *ASK).stdout
    repo.comment(1, "Yes, build it.", login="ada", created="2026-06-01T10:00:00Z")
    answered = run(world, "--ask-on-github")
    assert answered.code == 0, answered.text
    assert (
        "[COORDINATOR] LLD-1: answered (2026-06-01, ada on acme/shop#1); saved in"
        " docs/answers/1-lld.md\n" in answered.stderr
    )
    assert (world.repo / "docs/answers/1-lld.md").read_text("utf-8") == (
        "# Answers for LLD-1\n\n## Answer, 2026-06-01, ada on acme/shop#1\n\n"
        f"> {QUESTION}\n\nYes, build it.\n"
    )
    assert "1 restarted after an edit" in answered.stderr
    source = (world.repo / "docs/lineage/active/1-lld/001-issue.md").read_text("utf-8")
    assert f"- [x] {QUESTION} **Answer:** Yes, build it." in source
    assert "## Comments" not in source
    for flags in ((), ("--ask-on-github",)):
        last = run(world, *flags)
        assert last.stdout == "Nothing to do: 2 already complete, 0 resumed, 0 new\n"
    assert len(repo.comments[1]) == 4


def test_another_question_is_another_comment_and_earlier_replies_are_not_its_answer(
    world: World, hub: Hub
) -> None:
    repo = hub.repos["acme/shop"]
    run(world, *ASK)
    repo.comment(1, "Yes, build it.")
    ended = run(world, *ASK)
    # The simulation asks the same question again: its comment is there already.
    assert ended.code == 0, ended.text
    assert len(bodies(hub)) == 2
    assert "answered" in ended.stderr
    again = run(world, *ASK)
    assert "Nothing to do" in again.stdout
    repo.comment(1, "I said yes.")
    run(world, *ASK)
    answers = (world.repo / "docs/answers/1-lld.md").read_text("utf-8")
    assert answers.count("## Answer") == 1
    assert "Yes, build it." in answers
    assert "I said yes." in answers


def test_without_the_flag_nothing_is_posted_and_a_dry_run_changes_nothing(
    world: World, hub: Hub
) -> None:
    assert run(world, *ASK[1:]).code == 0
    dry = run(world, *ASK, "--dry-run")
    assert dry.code == 0, dry.text
    assert hub.count("POST") == 0
    # An item that waits since an earlier run is asked about, too.
    ended = run(world, *ASK)
    assert ended.stdout.startswith("Nothing to do")
    assert len(bodies(hub)) == 1
    hub.repos["acme/shop"].comment(1, "Yes.")
    assert run(world, *ASK, "--dry-run").code == 0
    assert not (world.repo / "docs/answers").exists()


def test_only_named_items_are_asked_about(world: World, hub: Hub) -> None:
    assert run(world, "--reviewer", "offline:fault=discuss").code == 0
    flags = (*SOURCE, "--ask-on-github")
    assert world.run("lld-workflow", "--ids", "2", *flags).code == 0
    assert (len(bodies(hub, 1)), len(bodies(hub, 2))) == (0, 1)


def test_the_flag_needs_a_source_and_a_token(world: World, hub: Hub) -> None:
    ended = world.run("lld-workflow", "--all", "--ask-on-github")
    assert (ended.code, ended.stdout) == (2, "")
    assert "--ask-on-github: needs --source github:owner/name" in ended.stderr
    bare = {**world.environ, "GITHUB_TOKEN": "", "GH_TOKEN": ""}
    ended = World(world.repo, world.home, bare).run(
        "lld-workflow", "--all", *SOURCE, *ASK
    )
    assert ended.code == 2
    assert "--ask-on-github: needs a token; set GITHUB_TOKEN" in ended.stderr
    hub.repos["acme/shop"].is_archived = True
    assert "is archived and takes no comments" in run(world, *ASK).stderr


def test_a_question_that_cannot_be_asked_now_is_asked_by_the_next_run(
    world: World, hub: Hub
) -> None:
    fault = hub.fault(Status(is_post, status=403))
    ended = run(world, *ASK)
    assert ended.code == 75, ended.text
    assert "Warning: LLD-1: NOT ASKED: acme/shop: " in ended.stderr
    assert "1 need discussion" in ended.stdout or "needs-discussion" in ended.stdout
    assert fault.struck == 1
    assert run(world, *ASK).code == 0
    assert len(bodies(hub)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("after_effect", [False, True])
def test_a_response_that_is_lost_makes_no_second_comment(
    world: World, hub: Hub, *, after_effect: bool
) -> None:
    hub.fault(Cut(is_post, after_effect=after_effect))
    ended = run(world, *ASK)
    assert ended.code == 0, ended.text
    assert len(bodies(hub)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["dropped", "done", "answered"])
def test_a_kill_while_it_is_asked_makes_no_second_comment(
    make_world: Callable[..., World], stage: str
) -> None:
    with serve() as hub:
        fill(hub)
        world = connect(make_world(issues=0), hub)
        hold = Hold(
            is_post, after_effect=stage != "dropped", is_dropped=stage == "dropped"
        )
        if stage != "answered":
            hub.fault(hold)
        with world.start("lld-workflow", "--all", *SOURCE, *ASK) as running:
            if stage == "answered":
                running.wait_for("LLD-1: asked in")
            else:
                assert hold.reached.wait(60), running.text
            running.signal(SIGKILL)
            running.finish()
        hold.released.set()
        ended = run(world, *ASK)
        assert ended.code == 0, ended.text
        assert len(bodies(hub)) == 1
        assert not list(world.home.rglob("*.tmp"))


def test_hostile_replies_are_one_answer_and_reach_no_terminal(
    world: World, hub: Hub
) -> None:
    repo = hub.repos["acme/shop"]
    run(world, *ASK)
    name = "\x1b]0;x\x07\n# ada"
    text = "## Answer\n> quoted\n```\nopen <!-- x\0\ud800" + "x" * 30_000
    repo.comment(1, text, login=name, created="\x1b[2J")
    ended = run(world, "--ask-on-github")
    assert ended.code == 0, ended.text
    assert not set(ended.text) & {"\x1b", "\x07", "\0"}
    answers = (world.repo / "docs/answers/1-lld.md").read_text("utf-8")
    assert len(answers) < 25_000
    assert answers.count("\n## Answer") == 1
    assert "*The rest is left out.*" in answers
