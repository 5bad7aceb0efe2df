"""An open checkpoint database: the graph library's saver, and our rows of what it belongs to and that it is done."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.sqlite import SqliteSaver

from agentos.checkpoints import Identity, create_digest_tables, digest_row

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import ChannelVersions, CheckpointMetadata, CheckpointTuple
    from langgraph.checkpoint.base import Checkpoint as StoredState


class InlineSaver(SqliteSaver):
    """The library's SQLite saver for a process that has nothing else to do meanwhile.

    Its asynchronous sibling hands every statement to a thread and back. A worker runs one item: a commit of a tenth
    of a millisecond may block its loop, and costs less than the two changes of thread.
    """

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a stored state."""
        return self.get_tuple(config)

    async def alist(self, config: RunnableConfig | None, **kwargs: Any) -> AsyncIterator[CheckpointTuple]:
        """Return stored states, newest first."""
        for stored in self.list(config, **kwargs):
            yield stored

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: StoredState,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a state; it is committed when this returns."""
        return self.put(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a step has written; it is committed when this returns."""
        self.put_writes(config, writes, task_id, task_path)


class OpenCheckpoint:
    """A checkpoint database while an item runs."""

    def __init__(self, saver: InlineSaver, identity: Identity) -> None:
        self.saver = saver
        self.is_fresh = self._get("identity") is None
        """Whether nothing was ever stored in it."""
        if self.is_fresh:
            self._put("identity", identity.to_text())

    @property
    def is_completed(self) -> bool:
        """Whether the graph has finished, which its own tables cannot tell for certain."""
        return self._get("completed") is not None

    def complete(self, outcome: dict[str, Any]) -> None:
        """Record that the graph has finished, and how."""
        self._put("completed", json.dumps(outcome))
        # It will be removed as soon as its results are in place: closing it need not wait for the disk.
        self.saver.conn.execute("PRAGMA synchronous=OFF")

    def _get(self, key: str) -> str | None:
        row = self.saver.conn.execute("SELECT value FROM agentos_meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def _put(self, key: str, value: str) -> None:
        row = (key, value, digest_row(key, value))
        self.saver.conn.execute("INSERT OR REPLACE INTO agentos_meta VALUES (?, ?, ?)", row)
        self.saver.conn.commit()


@contextmanager
def open_checkpoint(
    path: Path, identity: Identity, make_saver: type[InlineSaver] = InlineSaver
) -> Iterator[OpenCheckpoint]:
    """Open the item's database, ready to be resumed from or empty."""
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        # With a write-ahead log a kill loses nothing in this mode. A power loss may take back the last steps, which
        # are then done again; it never damages the database.
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.create_function("agentos_digest", -1, digest_row, deterministic=True)
        saver = make_saver(connection)
        if _has_tables(connection):
            saver.is_setup = True
        else:
            saver.setup()
            create_digest_tables(connection)
        yield OpenCheckpoint(saver, identity)


def make_blank(path: Path) -> bytes:
    """Return the bytes of a database with all its tables and nothing in them."""
    with closing(sqlite3.connect(path)) as connection:
        InlineSaver(connection).setup()
        create_digest_tables(connection)
    return path.read_bytes()


def _has_tables(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'agentos_meta'").fetchone() is not None
