"""An implementation is built where its worker is, and delivered where the coordinator is:
nothing but data is between them.
"""

from __future__ import annotations

import time
from pathlib import Path
from urllib.parse import quote

import pytest

from agentos.gateway.budget import Caps
from agentos.gateway.journal.memory import MemoryJournal
from agentos.gateway.keys.pool import Pool
from agentos.gateway.keys.store import Store
from agentos.gateway.prices import flat_price
from agentos.gateway.providers import create_provider
from agentos.gateway.server import Gateway
from agentos.item import Item, State
from agentos.kinds import Kind
from agentos.repository.git.delivery import deliver
from agentos.settings import RunConfig
from agentos.state.home import Home
from agentos.workflows.engine.assignment import Assignment
from agentos.workflows.implementation.config import BuildConfig
from tests import designs
from tests.support import build_world
from tests.workers.remote import RemoteWorkers
from tests.workers.test_contract import Printed

pytestmark = pytest.mark.slow

KEY = "repository-key"
BRANCH = "agentos/1-feature-operation-1"


def test_the_work_of_a_worker_elsewhere_arrives_in_the_users_repository(
    tmp_path: Path,
) -> None:
    world = designs.fill(build_world(tmp_path, issues=0), designs.Item(1))
    home = Home(world.home)
    home.prepare(KEY)
    folder = home.worktree(KEY, "1")
    model = f"offline:answers={quote(str(world.repo / '.agentos/recorded'))}"
    assignment = Assignment(
        item=Item(Kind.IMPLEMENTATION, "1", "docs/lld/active/LLD-001.md"),
        text=designs.Item(1).design,
        digest="digest",
        repository=KEY,
        config=RunConfig(drafter=model, reviewer=model),
        build=BuildConfig(str(folder), str(home.root / "environments")),
    )
    gateway = Gateway(
        MemoryJournal(),
        Pool(Store(":memory:", time.time), lambda: (), lambda _: None),
        caps=Caps(),
        price=lambda _: flat_price(0, 0, "free"),
        create=create_provider,
    )
    workers = RemoteWorkers(gateway, world.repo, home, tmp_path / "machines")
    workers.start()
    printed = Printed()
    try:
        exit = workers.run(assignment, printed, lambda _: None, None)
    finally:
        workers.close()
    assert exit.outcome is not None, (exit, printed.streams)
    assert exit.outcome.state is State.IMPLEMENTED, exit
    assert exit.artifacts is not None
    (built,) = (tmp_path / "machines").glob("*/home/agentos/worktrees/*/1")
    assert (built / "calc/op1.py").exists()
    assert not folder.exists()
    assert designs.branches(world.repo) == {}
    deliver(
        world.repo,
        exit.artifacts.bundle,
        exit.artifacts.commit,
        "1",
        folder,
        tmp_path / "delivery",
    )
    tip = designs.git(world.repo, "rev-parse", BRANCH).strip()
    assert tip == exit.artifacts.commit
    assert "number + 1" in designs.git(world.repo, "show", f"{BRANCH}:calc/op1.py")
