"""Work whose only copy was in the worktrees: when those are gone, nothing passes for done
that is not there, and no answer is paid for again.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentos.item import Item as WorkItem
from agentos.kinds import Kind
from agentos.state.home import Home, repository_key
from tests.commands.asking import PRICES, command, events_of, key, write_keys
from tests.designs import CODE, CODE_APPROVAL, PLAN_APPROVAL, TESTS, Item, fill, git
from tests.scenario import ScenarioProcess
from tests.support import SIGINT, World, ended_by

pytest.importorskip("openai")

ASKING = command("openai", "", "--retries", "0", "--writer", "single")
COMMAND = ("implement-workflow", *ASKING[1:])
WRONG = CODE.format(number=1).replace("number + 1", "number - 1")
ANSWERS = [
    PLAN_APPROVAL,
    TESTS.format(number=1),
    WRONG,
    CODE.format(number=1),
    CODE_APPROVAL,
]
"""What the model says to the five questions of the item, in their order."""
BRANCH = "agentos/1-feature-operation-1"


@dataclass
class Site:
    """A repository with a design, and a model that is paid."""

    world: World
    folder: Path
    server: ScenarioProcess | None = None

    def answer(self, *texts: str) -> None:
        """Have a model answer with these texts from now on."""
        place = self.folder / "server"
        if self.server is not None:
            self.server.stop()
            place = self.folder / "later"
        script = {**PRICES, "latency": 0.5, "answer": [{"texts": list(texts)}]}
        self.server = ScenarioProcess(script, place)
        write_keys(self.world, key("openai", self.server.url))

    @property
    def code(self) -> str:
        """The module on the item's branch in the user's repository."""
        return git(self.world.repo, "show", f"{BRANCH}:calc/op1.py")

    @property
    def asked(self) -> list[bool]:
        """For each question of the last run whether its answer was there already."""
        calls = events_of(self.world.run_folders[-1], "call")
        return [event["from_journal"] for event in calls]

    def lose_worktrees(self) -> None:
        """Remove what a user may take for a cache."""
        shutil.rmtree(self.world.home / "worktrees")


@pytest.fixture
def site(make_world: Callable[..., World], tmp_path: Path) -> Iterator[Site]:
    world = fill(make_world(issues=0), Item(1))
    site = Site(world, tmp_path)
    site.answer(*ANSWERS)
    yield site
    assert site.server is not None
    site.server.stop()


def test_work_that_was_not_delivered_is_built_again_and_never_just_reported(
    site: Site,
) -> None:
    world = site.world
    with world.start(*COMMAND) as running:
        running.wait_for("Executing: N6_regression")
        git(world.repo, "branch", "agentos")
        ended = running.finish()
    assert ended.code == 1, ended.text
    assert "failed: conflict" in ended.stdout, ended.text
    git(world.repo, "branch", "-m", "agentos", "other-name")
    site.lose_worktrees()
    again = world.run(*COMMAND)
    assert again.code == 0, again.text
    assert "starting again" in again.stdout, again.text
    assert "number + 1" in site.code
    # The reviewed plan is in the checkpoint; tests and code were lost.
    assert site.asked == [True] * 4
    assert "Nothing to do: 1 already complete" in world.run(*COMMAND).stdout


def test_work_that_was_delivered_before_the_record_is_not_built_again(
    site: Site,
) -> None:
    world = site.world
    item = WorkItem(Kind.IMPLEMENTATION, "1", "")
    record = Home(world.home).item(repository_key(world.repo), item).record
    with world.start(*COMMAND) as running:
        running.wait_for("Executing: N6_regression")
        record.mkdir(parents=True)
        ended = running.finish()
    assert "could not publish the result" in ended.text, ended.text
    built = git(world.repo, "rev-parse", BRANCH)
    record.rmdir()
    site.lose_worktrees()
    again = world.run(*COMMAND)
    assert again.code == 0, again.text
    assert "Executing" not in again.stdout, again.text
    assert git(world.repo, "rev-parse", BRANCH) == built


def test_an_item_that_was_stopped_starts_again_with_the_answers_that_it_has(
    site: Site,
) -> None:
    world = site.world
    with world.start(*COMMAND) as running:
        running.wait_for("Executing: N4_implement", times=2)
        running.signal(SIGINT)
        ended = running.finish()
    assert ended_by(ended.code, SIGINT), ended.text
    site.lose_worktrees()
    site.answer(CODE.format(number=1), CODE_APPROVAL)
    again = world.run(*COMMAND)
    assert again.code == 0, again.text
    (line,) = [line for line in again.stdout.splitlines() if "starting again" in line]
    assert str(world.home / "worktrees") in line
    assert "number + 1" in site.code
    assert site.asked[:2] == [True] * 2
