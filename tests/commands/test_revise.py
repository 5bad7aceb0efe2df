"""`agentos pr --revise` builds on an item with what reviewers said about it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.commands.test_going_on import lineage, record
from tests.commands.test_pull_request import Place, connect
from tests.designs import Item, fill
from tests.forge import Hub, serve
from tests.forge.hub import moment
from tests.repository.git.ground import git
from tests.support import Finished, World

BRANCH = "agentos/1-feature-operation-1"
BETTER = """\
```python
# Edit: calc/op1.py
<<<<<<< SEARCH
    return number + 1
=======
    return 1 + number
>>>>>>> REPLACE
```
"""
LATER = 3600.0
"""Seconds after the commit at which somebody reviews it."""


@pytest.fixture
def hub() -> Iterator[Hub]:
    """An empty GitHub."""
    with serve() as hub:
        yield hub


@pytest.fixture
def place(make_world: Callable[..., World], hub: Hub, tmp_path: Path) -> Place:
    """A clone with an item that was built, and its open pull request."""
    world = fill(make_world(issues=0), Item(1))
    origin = tmp_path / "origin.git"
    git(tmp_path, "clone", "-q", "--bare", str(world.repo), str(origin))
    git(origin, "config", "http.receivepack", "true")
    assert world.run("implement-workflow", "--all").code == 0
    place = connect(world, hub, origin)
    ended = place.run("--push", item="1")
    assert ended.code == 0, ended.text
    return place


def review(place: Place, body: str, *, later: float = LATER, **facts: object) -> None:
    """Have somebody review the item's pull request."""
    (pull,) = place.pulls
    written = moment(time.time() + later)
    place.shop.review(pull["number"], body, written=written, **facts)  # type: ignore[arg-type]


def revise(place: Place, *flags: str) -> Finished:
    """Revise the item with recorded answers."""
    recorded = f"offline:answers={place.world.repo}/.agentos/recorded"
    return place.run("--revise", *flags, "--", "--drafter", recorded, item="1")


def tip(place: Place) -> str:
    """Return the commit of the item's branch here."""
    return git(place.world.repo, "rev-parse", BRANCH).strip()


def test_the_branch_gets_a_revision_with_what_reviewers_said(place: Place) -> None:
    first = tip(place)
    review(place, "The constant comes first.", path="calc/op1.py", line=9)
    review(place, "Fine but for that.", login="ada", association="OWNER")
    record(place.world, code_1=BETTER)
    ended = revise(place)
    assert ended.code == 0, ended.text
    assert "IMPL-1: 2 new comments on acme/shop#2" in ended.stderr
    assert f"Look at {BRANCH}, then update acme/shop#2" in ended.stdout
    note = lineage(place.world)["note.md"]
    assert "- somebody (member) about calc/op1.py, line 9:\n  The constant" in note
    assert "- ada (owner):\n  Fine but for that." in note
    assert git(place.world.repo, "rev-parse", f"{BRANCH}^").strip() == first
    assert "1 + number" in git(place.world.repo, "show", f"{BRANCH}:calc/op1.py")
    pushed = place.run("--push", item="1")
    assert pushed.code == 0, pushed.text
    assert git(place.origin, "rev-parse", BRANCH).strip() == tip(place)


def test_without_new_comments_nothing_is_run(place: Place) -> None:
    review(place, "Before it was built.", later=-LATER)
    review(place, "", path="calc/op1.py", line=9)
    review(place, "Mine is better!", login="mallory", association="NONE")
    record(place.world)
    ended = revise(place)
    assert ended.code == 0, ended.text
    assert "IMPL-1: no new comments on acme/shop#2 (1 comment of people who" in (
        ended.stdout
    )
    assert "there is nothing to revise" in ended.stdout
    dry = revise(place, "--any-author", "--dry-run", "--json")
    told = json.loads(dry.stdout)
    assert (told["did"], "Mine is better!" in told["note"]) == ("nothing", True)


def test_a_revision_that_fails_leaves_the_branch_and_can_be_repeated(
    place: Place,
) -> None:
    first = tip(place)
    review(place, "The constant comes first.")
    broken = BETTER.replace("1 + number", "2 + number")
    record(place.world, code_1=broken)
    failed = revise(place, "--json")
    assert failed.code == 1, failed.text
    assert tip(place) == first
    review(place, "And it must stay right.")
    record(place.world, code_1=BETTER)
    ended = revise(place)
    assert ended.code == 0, ended.text
    assert "2 new comments" in ended.stderr
    assert tip(place) != first


def test_wrong_use_is_explained(place: Place) -> None:
    for flags, said in {
        ("--revise", "--push"): "--revise and --push exclude each other",
        ("--any-author",): "--any-author: needs --revise",
        ("extra",): "unexpected argument 'extra'",
        ("--", "--retries", "1"): "options of implement-workflow need --revise",
        ("--revise", "--", "--note", "x"): "--note and --revise exclude each other",
    }.items():
        ended = place.run(*flags, item="1")
        assert (ended.code, said in ended.stderr) == (2, True), ended.text
    place.pulls[0]["state"] = "closed"
    ended = revise(place)
    assert (ended.code, "has no open pull request on acme/shop" in ended.stderr) == (
        2,
        True,
    ), ended.text
