"""One contract for every place in which a checkpoint is kept."""

from __future__ import annotations

import asyncio
import socket
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agentos.gateway.providers import Completion, Request
from agentos.gateway.providers.offline import create
from agentos.item import Item, Outcome
from agentos.kinds import Kind
from agentos.repository.publish import Artifacts
from agentos.settings import RunConfig
from agentos.workers.process.channel import Channel, Message
from agentos.workers.process.checkpoint_link import CheckpointLink, answer
from agentos.workflows.engine.assignment import Assignment
from agentos.workflows.engine.checkpoints import CheckpointFile, Identity, verify
from agentos.workflows.engine.flow import Session
from agentos.workflows.engine.runner import run_session
from agentos.workflows.engine.saver import OpenCheckpoint
from agentos.workflows.engine.stores import (
    CheckpointStore,
    MemoryStore,
    RemoteStore,
    SqliteStore,
)
from tests.support import ISSUE

IDENTITY = Identity("lld", 1, "1", "digest")
ROUNDS = 2


class Died(Exception):
    """Stands for a kill of the worker."""


class Linked:
    """A `RemoteStore` whose coordinator is at the other end of a real socket."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @asynccontextmanager
    async def open(self, identity: Identity) -> AsyncIterator[OpenCheckpoint]:
        ours, theirs = socket.socketpair()
        file = CheckpointFile(self._path)

        def keep(message: Message) -> None:
            keeper.send(answer(file, message))

        keeper = Channel(ours, keep, lambda: None)
        worker = Channel(
            theirs, lambda message: link.take_answer(message), lambda: None
        )
        link = CheckpointLink(worker.send)
        try:
            async with RemoteStore(link.ask).open(identity) as checkpoint:
                yield checkpoint
        finally:
            worker.close()
            keeper.close()
            file.close()


class DyingStore:
    """A store whose saver dies before so many states are put."""

    def __init__(self, store: CheckpointStore, puts: int) -> None:
        self._store = store
        self._left = puts

    @asynccontextmanager
    async def open(self, identity: Identity) -> AsyncIterator[OpenCheckpoint]:
        async with self._store.open(identity) as checkpoint:
            put = checkpoint.saver.aput

            async def aput(*args: Any) -> Any:
                self._left -= 1
                if self._left < 0:
                    # Writes that were begun before may still be stored.
                    await asyncio.sleep(0)
                    raise Died
                return await put(*args)

            checkpoint.saver.aput = aput  # type: ignore[method-assign, assignment]
            yield checkpoint


@pytest.fixture(params=["sqlite", "memory", "remote"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> CheckpointStore:
    path = tmp_path / "checkpoint.db"
    stores: Mapping[str, Callable[[], CheckpointStore]] = {
        "sqlite": lambda: SqliteStore(path),
        "memory": MemoryStore,
        "remote": lambda: Linked(path),
    }
    return stores[request.param]()


def make_session(
    folder: Path, store: CheckpointStore, nodes: list[str], asked: list[str]
) -> Session:
    """Return a session of an issue that the simulated reviewer approves."""
    provider = create(f"approve_after={ROUNDS}")

    async def ask(*, role: str, **question: Any) -> Completion:
        asked.append(role)
        request = Request(
            "repo", "lld", "1", purpose=f"lld.{role}", model="offline", **question
        )
        return await provider.complete(request, None)

    def observe(what: str, name: str) -> None:
        if what == "started":
            nodes.append(name)

    assignment = Assignment(
        item=Item(Kind.LLD, "1", "docs/issues/1.md"),
        text=ISSUE.format(number=1),
        digest="digest",
        repository="",
        config=RunConfig(max_rounds=ROUNDS),
    )
    return Session(assignment, folder, store, ask, observe)


def run(
    folder: Path,
    store: CheckpointStore,
    nodes: list[str] | None = None,
    asked: list[str] | None = None,
) -> tuple[Outcome, Artifacts]:
    """Run the issue to its end."""
    nodes = [] if nodes is None else nodes
    asked = [] if asked is None else asked
    session = make_session(folder, store, nodes, asked)
    return asyncio.run(run_session(session, lambda _: None))


async def look(store: CheckpointStore, identity: Identity) -> tuple[bool, bool, str]:
    """Return whether a checkpoint is fresh and completed, and the notice."""
    async with store.open(identity) as checkpoint:
        return checkpoint.is_fresh, checkpoint.is_completed, checkpoint.notice or ""


def test_a_new_checkpoint_is_fresh_and_the_next_is_not(store: CheckpointStore) -> None:
    assert asyncio.run(look(store, IDENTITY)) == (True, False, "")
    assert asyncio.run(look(store, IDENTITY)) == (False, False, "")


def test_a_completed_item_returns_its_results_without_asking(
    store: CheckpointStore, tmp_path: Path
) -> None:
    asked: list[str] = []
    first = run(tmp_path, store, asked=asked)
    assert len(asked) == 2 * ROUNDS
    nodes: list[str] = []
    again: list[str] = []
    assert run(tmp_path, store, nodes, again) == first
    assert nodes == again == []


def test_a_worker_that_dies_between_the_two_writes_of_any_step_resumes(
    store: CheckpointStore, tmp_path: Path
) -> None:
    """The library first stores what a step wrote, then the state after it."""
    whole: list[str] = []
    expected = run(tmp_path, MemoryStore(), whole)
    nodes: list[str] = []
    deaths = 0
    # Each run gets one step further than the one before.
    for puts in (1, *[2] * 20):
        try:
            result = run(tmp_path, DyingStore(store, puts), nodes)
            break
        except Died:
            deaths += 1
    assert deaths > 3
    assert result == expected
    assert len(nodes) - len(whole) <= deaths


@pytest.mark.parametrize(
    "other",
    [Identity("lld", 2, "1", "digest"), Identity("lld", 1, "1", "another digest")],
    ids=["version", "input"],
)
def test_a_checkpoint_of_another_version_or_input_is_not_resumed(
    store: CheckpointStore, tmp_path: Path, other: Identity
) -> None:
    run(tmp_path, store)
    is_fresh, is_completed, notice = asyncio.run(look(store, other))
    assert is_fresh
    assert not is_completed
    assert "of an earlier input or version; starting again" in notice


def test_a_state_that_cannot_be_resumed_is_removed_and_the_item_starts_again(
    store: CheckpointStore, tmp_path: Path
) -> None:
    expected = run(tmp_path, store)

    async def restart() -> bool:
        async with store.open(IDENTITY) as checkpoint:
            assert checkpoint.is_completed
            await checkpoint.restart()
            return checkpoint.is_fresh

    assert asyncio.run(restart())
    assert asyncio.run(look(store, IDENTITY)) == (False, False, "")
    nodes: list[str] = []
    assert run(tmp_path, store, nodes) == expected
    assert nodes


def test_a_damaged_checkpoint_is_not_resumed(
    store: CheckpointStore, tmp_path: Path
) -> None:
    expected = run(tmp_path, store)
    damage(store, tmp_path / "checkpoint.db")
    is_fresh, is_completed, notice = asyncio.run(look(store, IDENTITY))
    assert is_fresh
    assert not is_completed
    assert "damaged" in notice
    nodes: list[str] = []
    assert run(tmp_path, store, nodes) == expected
    assert nodes


def damage(store: CheckpointStore, path: Path) -> None:
    """Change one stored value."""
    if isinstance(store, MemoryStore):
        connection = sqlite3.connect(":memory:")
        connection.deserialize(store._kept)
    else:
        connection = sqlite3.connect(path)
    connection.execute("UPDATE writes SET channel = 'drbft'")
    connection.commit()
    if isinstance(store, MemoryStore):
        store._kept = connection.serialize()
    connection.close()


def test_the_coordinator_stores_the_same_file_as_a_local_worker(tmp_path: Path) -> None:
    local, remote = tmp_path / "local.db", tmp_path / "remote.db"
    run(tmp_path, SqliteStore(local))
    run(tmp_path, Linked(remote))
    assert schema(local) == schema(remote)
    assert verify(local) == verify(remote)


def test_each_takes_over_from_the_other(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.db"
    whole: list[str] = []
    expected = run(tmp_path, MemoryStore(), whole)
    nodes: list[str] = []
    for store in (SqliteStore(path), Linked(path)):
        with pytest.raises(Died):
            run(tmp_path, DyingStore(store, 3), nodes)
    assert run(tmp_path, SqliteStore(path), nodes) == expected
    assert len(nodes) - len(whole) <= 2


def test_a_step_waits_for_the_acknowledgement(tmp_path: Path) -> None:
    held: list[asyncio.Future[None]] = []
    file = CheckpointFile(tmp_path / "checkpoint.db")
    nodes: list[str] = []

    async def ask(message: Message) -> Message:
        gate = asyncio.get_running_loop().create_future()
        held.append(gate)
        await gate
        return file.answer(message)

    async def play() -> None:
        session = make_session(tmp_path, RemoteStore(ask), nodes, [])
        running = asyncio.create_task(run_session(session, lambda _: None))
        while not nodes:
            await asyncio.sleep(0)
            for gate in held:
                if not gate.done():
                    gate.set_result(None)
        # The first step has begun, and what it stores is not acknowledged.
        held.clear()
        for _ in range(200):
            await asyncio.sleep(0)
        assert held
        assert len(nodes) == 1
        while not running.done():
            for gate in held:
                if not gate.done():
                    gate.set_result(None)
            await asyncio.sleep(0)
        assert len(nodes) > 1

    asyncio.run(play())
    file.close()


def test_a_checkpoint_that_cannot_be_stored_fails_the_item(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").write_text("not a folder", "utf-8")
    with pytest.raises(sqlite3.OperationalError, match="Not a directory"):
        run(tmp_path, Linked(tmp_path / "checkpoints" / "checkpoint.db"))


def schema(path: Path) -> set[tuple[str, str, str]]:
    """Return the tables and triggers of a database, without their layout."""
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT type, name, coalesce(sql, '') FROM sqlite_master")
    found = {(kind, name, " ".join(sql.split())) for kind, name, sql in rows}
    connection.close()
    return found
