"""What was recorded by this version and by every earlier one gives the same documents,
or is refused in words.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from agentos import __version__
from agentos.gateway.journal import request_key
from agentos.gateway.journal.sqlite import SqliteJournal
from agentos.gateway.providers import Completion
from agentos.gateway.wire import request_from_json
from agentos.item import Item
from agentos.kinds import DRAFTING, Kind
from agentos.money import Cost
from agentos.state.home import Home, repository_key
from agentos.usage import Usage
from tests.faults import market
from tests.faults.scene import make_world
from tests.replay import midflight
from tests.replay.record import HERE, MODELS, write_input
from tests.scenario import ScenarioProcess
from tests.support import World

pytestmark = pytest.mark.slow

COMMANDS = {Kind.LLD: "lld-workflow", Kind.ISSUE: "issue-workflow"}
NOWHERE = "http://127.0.0.1:9"
"""A port at which nobody listens: a question that is not in the transcript cannot be
answered.
"""
RECORDED = [
    (folder.name, workflow)
    for folder in sorted(HERE.glob("v*"))
    for workflow in DRAFTING
]
KILLED = [
    (
        path.parent.name,
        Kind(path.name.removeprefix("midflight-").removesuffix(".tar.xz")),
    )
    for path in sorted(HERE.glob("v*/midflight-*.tar.xz"))
]


def undisturbed(tmp_path: Path, workflow: Kind) -> dict[str, str]:
    """Return the documents that recorded answers give for the same input."""
    world = make_world(tmp_path / "undisturbed", 0)
    write_input(world.repo, workflow)
    assert world.run(COMMANDS[workflow], "--all").code == 0
    return documents(world)


def documents(world: World) -> dict[str, str]:
    """Return all artefacts but the verdicts, which name the model that gave them."""
    return {
        path: digest
        for path, digest in world.artefacts().items()
        if "-verdict" not in path
    }


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path / "replayed", 0)


def test_this_version_is_recorded() -> None:
    assert (f"v{__version__}", Kind.LLD) in RECORDED


@pytest.mark.parametrize("workflow", list(DRAFTING))
def test_a_transcript_gives_the_same_documents_and_asks_nobody(
    world: World, tmp_path: Path, workflow: Kind
) -> None:
    item = write_input(world.repo, workflow)
    key = repository_key(world.repo)
    Home(world.home).prepare(key)
    journal = SqliteJournal(world.home / "journal.db", "recorded")
    exchanges = json.loads(
        (HERE / f"v{__version__}" / f"{workflow}-transcript.json").read_text("utf-8")
    )
    for exchange in exchanges:
        request = request_from_json({**exchange["request"], "repository": key})
        begun = journal.begin(request_key(request), request, 0)
        journal.settle(
            begun.call_id,
            Completion(exchange["text"], request.model, Usage(1, 1)),
            Cost(),
            0.0,
        )
    journal.close()
    environ = {
        "OPENAI_API_KEY": "recorded-key-1",
        "ANTHROPIC_API_KEY": "recorded-key-2",
    }
    environ |= {"OPENAI_BASE_URL": NOWHERE, "ANTHROPIC_BASE_URL": NOWHERE}
    models = (
        "--drafter",
        MODELS[0],
        "--reviewer",
        MODELS[1],
        "--price",
        "openai:*=0/0",
        "--price",
        "anthropic:*=0/0",
    )
    ended = world.run(COMMANDS[workflow], "--all", *models, environ=environ)
    assert ended.code == 0, ended.text
    assert f"{len(exchanges)} answers from the journal" in ended.stdout
    assert documents(world).keys() == undisturbed(tmp_path, workflow).keys()
    assert Item(workflow, item.id, "").label in ended.stdout


@pytest.mark.parametrize(("version", "workflow"), RECORDED)
def test_a_checkpoint_of_any_version_is_resumed_or_refused_in_words(
    world: World, tmp_path: Path, version: str, workflow: Kind
) -> None:
    item = write_input(world.repo, workflow)
    home = Home(world.home)
    home.prepare(repository_key(world.repo))
    checkpoint = home.item(repository_key(world.repo), item).checkpoint
    shutil.copy(HERE / version / f"{workflow}-checkpoint.db", checkpoint)
    checkpoint.chmod(0o600)
    ended = world.run(COMMANDS[workflow], "--all")
    assert ended.code == 0, ended.text
    if "set aside" not in ended.text:
        assert "N3_review" in ended.stdout
        assert "N1_" not in ended.stdout
    assert documents(world).keys() == undisturbed(tmp_path, workflow).keys()
    assert world.leftovers() == []


@pytest.mark.parametrize(("version", "workflow"), KILLED)
def test_a_killed_run_of_any_version_goes_on_and_asks_nothing_again(
    tmp_path: Path, version: str, workflow: Kind
) -> None:
    if workflow is Kind.IMPLEMENTATION and shutil.which("bwrap") is None:
        pytest.skip("no bubblewrap: generated code is not run")
    moment = midflight.MOMENTS[workflow]
    world = midflight.unpack(version, workflow, tmp_path)
    with ScenarioProcess({"answer": list(moment.later)}, tmp_path / "server") as server:
        market.write_keys(world, server.url, [midflight.KEY])
        ended = world.run(*midflight.command_of(workflow))
        asked = server.ledger.admitted()
    assert ended.code == 0, ended.text
    assert len(asked) == moment.left_to_ask, ended.text
    assert world.leftovers() == []
    assert "1 already complete" in ended.text
