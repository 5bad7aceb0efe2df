"""A checkpoint is trusted only as far as its digests reach."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
from pathlib import Path

import pytest

from agentos.errors import CheckpointCorrupt
from agentos.workflows.engine.checkpoints import Identity, discard, examine, verify
from agentos.workflows.engine.stores import SqliteStore

IDENTITY = Identity("lld", 1, "42", "abc")


async def fill(path: Path, rows: int = 5) -> None:
    """Store some checkpoints the way a graph does."""
    async with SqliteStore(path).open(IDENTITY) as checkpoint:
        parent: dict[str, object] = {
            "configurable": {"thread_id": "LLD-42", "checkpoint_ns": ""}
        }
        for number in range(rows):
            state = {
                "v": 4,
                "id": f"{number:08d}",
                "ts": "2026-01-01T00:00:00+00:00",
                "channel_values": {"draft": f"text {number} " * 50},
                "channel_versions": {"draft": number},
                "versions_seen": {},
                "updated_channels": None,
            }
            saver = checkpoint.saver
            metadata = {"source": "loop", "step": number}
            parent = dict(await saver.aput(parent, state, metadata, {}))  # type: ignore[arg-type]
            writes = [("draft", f"write {number}")]
            await saver.aput_writes(parent, writes, f"task-{number}")  # type: ignore[arg-type]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A filled checkpoint database."""
    path = tmp_path / "lld_workflow_42.db"
    asyncio.run(fill(path))
    return path


def test_an_intact_database_is_trusted(database: Path) -> None:
    assert verify(database) == IDENTITY.to_text()
    assert examine(database, IDENTITY) is None
    assert database.exists()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE writes SET value = x'00' WHERE idx = 0",
        "UPDATE writes SET channel = 'drbft'",
        "UPDATE checkpoints SET checkpoint = x'00' || checkpoint",
        "UPDATE checkpoints SET metadata = x'7b7d'",
        "UPDATE checkpoints SET parent_checkpoint_id = '00000000' WHERE checkpoint_id = '00000004'",
        "DELETE FROM checkpoints WHERE checkpoint_id = '00000004'",
        "DELETE FROM writes",
        "DELETE FROM agentos_writes",
        "UPDATE agentos_meta SET value = 'lld/1/43/abc'",
    ],
)
def test_a_change_to_any_stored_row_is_seen(database: Path, damage: str) -> None:
    connection = sqlite3.connect(database)
    connection.execute(damage)
    connection.commit()
    connection.close()
    with pytest.raises(CheckpointCorrupt):
        verify(database)
    notice = examine(database, IDENTITY)
    assert notice is not None
    assert "set aside as lld_workflow_42.db.corrupt-1" in notice
    assert not database.exists()
    assert database.with_name("lld_workflow_42.db.corrupt-1").exists()


def test_random_damage_never_goes_unseen_and_never_crashes(database: Path) -> None:
    whole = database.read_bytes()
    chance = random.Random(20261115)
    rows = (
        sqlite3.connect(database)
        .execute("SELECT checkpoint_id, checkpoint FROM checkpoints")
        .fetchall()
    )
    for _ in range(200):
        data = bytearray(whole)
        if chance.random() < 0.2:
            del data[chance.randrange(len(data)) :]
        else:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        for companion in ("-wal", "-shm"):
            database.with_name(database.name + companion).unlink(missing_ok=True)
        database.write_bytes(data)
        try:
            known = verify(database)
        except CheckpointCorrupt:
            continue
        # What still verifies holds the same rows, or nothing at all.
        if known is not None:
            connection = sqlite3.connect(database)
            assert (
                connection.execute(
                    "SELECT checkpoint_id, checkpoint FROM checkpoints"
                ).fetchall()
                == rows
            )
            connection.close()


def test_a_checkpoint_of_another_input_is_discarded(database: Path) -> None:
    notice = examine(database, Identity("lld", 1, "42", "other input"))
    assert notice is not None
    assert "starting again" in notice
    assert not database.exists()


def test_a_planted_link_is_set_aside_and_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    path = tmp_path / "lld_workflow_42.db"
    path.symlink_to(victim)
    assert examine(path, IDENTITY) is not None
    assert victim.read_bytes() == b"precious"
    assert not os.path.lexists(path)


def test_a_log_without_its_database_is_not_replayed(database: Path) -> None:
    wal = database.with_name(database.name + "-wal")
    wal.write_bytes(b"stale")
    database.unlink()
    assert examine(database, IDENTITY) is None
    assert not wal.exists()


def test_discarding_removes_all_companions(database: Path) -> None:
    discard(database)
    assert list(database.parent.iterdir()) == []
