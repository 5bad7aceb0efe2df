"""An open checkpoint: the graph library's saver on a SQLite database, and our rows with
its identity and its completion.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.sqlite import SqliteSaver

from agentos.state.databases import digest_row
from agentos.workflows.engine.checkpoints import (
    Identity,
    Row,
    clear_rows,
    create_digest_tables,
    insert_rows,
)

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        ChannelVersions,
        CheckpointMetadata,
        CheckpointTuple,
    )
    from langgraph.checkpoint.base import Checkpoint as StoredState


class InlineSaver(SqliteSaver):
    """The library's SQLite saver with asynchronous methods that block.

    The library's own asynchronous saver hands every statement to a thread. A worker runs
    one item only, so a commit of a tenth of a millisecond may block its loop, and costs
    less than two thread switches.
    """

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a stored state."""
        return self.get_tuple(config)

    async def alist(
        self, config: RunnableConfig | None, **kwargs: Any
    ) -> AsyncIterator[CheckpointTuple]:
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
        """Store and commit a state."""
        return self.put(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store and commit the writes of a step."""
        self.put_writes(config, writes, task_id, task_path)

    async def put_meta(self, row: Row) -> None:
        """Store and commit a row of our own."""
        insert_rows(self.conn, "agentos_meta", [row])

    async def clear(self) -> None:
        """Remove everything that is stored."""
        clear_rows(self.conn)


class OpenCheckpoint:
    """The checkpoint of an item while it runs."""

    def __init__(
        self, saver: InlineSaver, identity: Identity, notice: str | None
    ) -> None:
        self.saver = saver
        self._identity = identity
        self.notice = notice
        """Why an earlier checkpoint is not resumed."""
        self.is_fresh = self._get("identity") is None
        """Whether nothing was stored in it before."""

    @classmethod
    async def begin(
        cls, saver: InlineSaver, identity: Identity, notice: str | None
    ) -> OpenCheckpoint:
        """Create the tables if there are none, and store whose checkpoint it is."""
        create_tables(saver)
        checkpoint = cls(saver, identity, notice)
        if checkpoint.is_fresh:
            await checkpoint._put_identity()
        return checkpoint

    async def restart(self) -> None:
        """Remove what is stored, of a state that cannot be resumed."""
        await self.saver.clear()
        await self._put_identity()
        self.is_fresh = True

    @property
    def is_completed(self) -> bool:
        """Whether the graph completed, which the library's tables do not show
        reliably.
        """
        return self._get("completed") is not None

    async def complete(self, outcome: dict[str, Any]) -> None:
        """Record that the graph completed, with its outcome."""
        await self._put("completed", json.dumps(outcome))
        # The database is removed as soon as the results are published, so closing it
        # does not have to wait for the disk.
        self.saver.conn.execute("PRAGMA synchronous=OFF")

    async def _put_identity(self) -> None:
        await self._put("identity", self._identity.to_text())

    def _get(self, key: str) -> str | None:
        row = self.saver.conn.execute(
            "SELECT value FROM agentos_meta WHERE key = ?", (key,)
        ).fetchone()
        return None if row is None else str(row[0])

    async def _put(self, key: str, value: str) -> None:
        await self.saver.put_meta((key, value, digest_row(key, value)))


def create_tables(saver: InlineSaver) -> None:
    """Create the tables of the library and ours, if there are none."""
    query = "SELECT 1 FROM sqlite_master WHERE name = 'agentos_meta'"
    if saver.conn.execute(query).fetchone() is not None:
        saver.is_setup = True
        return
    saver.setup()
    create_digest_tables(saver.conn)


def make_blank(path: Path) -> bytes:
    """Return the bytes of an empty database with all tables."""
    with closing(sqlite3.connect(path)) as connection:
        create_tables(InlineSaver(connection))
    return path.read_bytes()
