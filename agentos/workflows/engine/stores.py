"""Where the state of an item is kept between its steps: the `CheckpointStore` protocol,
with a SQLite file, memory, and the coordinator at the other end of a channel.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from agentos.errors import CheckpointCorrupt
from agentos.workflows.engine.checkpoints import (
    COLUMNS,
    Identity,
    Row,
    connect,
    examine,
    insert_rows,
    verify_connection,
)
from agentos.workflows.engine.saver import InlineSaver, OpenCheckpoint, create_tables

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig


class CheckpointStore(Protocol):
    """Keeps the checkpoint of one item."""

    def open(self, identity: Identity) -> AbstractAsyncContextManager[OpenCheckpoint]:
        """Open the checkpoint, to resume the item or to start it.

        What is stored after a step is kept when the saver returns. A checkpoint that is
        damaged or of another identity is not resumed: the opened one is fresh, and its
        `notice` says why.
        """


class SqliteStore:
    """A checkpoint in a SQLite file of this machine."""

    def __init__(
        self, path: Path, make_saver: Callable[..., InlineSaver] = InlineSaver
    ) -> None:
        self._path = path
        self._make_saver = make_saver

    @asynccontextmanager
    async def open(self, identity: Identity) -> AsyncIterator[OpenCheckpoint]:
        """Open the file; create it if it does not exist."""
        notice = examine(self._path, identity)
        with closing(connect(str(self._path))) as connection:
            # With a write-ahead log, a kill loses nothing in this mode. A power loss may
            # lose the last steps, which then run again; it never damages the database.
            connection.execute("PRAGMA synchronous=NORMAL")
            saver = self._make_saver(connection)
            yield await OpenCheckpoint.begin(saver, identity, notice)


class MemoryStore:
    """A checkpoint that lives as long as this object."""

    def __init__(self) -> None:
        self._kept: bytes = b""

    @asynccontextmanager
    async def open(self, identity: Identity) -> AsyncIterator[OpenCheckpoint]:
        """Open what is kept, or an empty checkpoint."""
        with closing(connect(":memory:")) as connection:
            notice = self._load(connection, identity)
            try:
                saver = InlineSaver(connection)
                yield await OpenCheckpoint.begin(saver, identity, notice)
            finally:
                self._kept = connection.serialize()

    def _load(self, connection: sqlite3.Connection, identity: Identity) -> str | None:
        if not self._kept:
            return None
        connection.deserialize(self._kept)
        notice = None
        try:
            known = verify_connection(connection)
            if known == identity.to_text():
                return None
            if known:
                notice = "checkpoint is of an earlier input or version; starting again"
        except CheckpointCorrupt as error:
            notice = f"checkpoint is damaged ({error}); starting again"
        connection.deserialize(_empty())
        return notice


Ask = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
"""Send a message about the checkpoint to the coordinator and return its answer."""


class RemoteStore:
    """A checkpoint that the coordinator keeps, for a worker on another machine.

    The worker has a copy in memory. Each row that a step stores is sent, and the next
    step begins when the coordinator has acknowledged it.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    @asynccontextmanager
    async def open(self, identity: Identity) -> AsyncIterator[OpenCheckpoint]:
        """Get what the coordinator has stored."""
        answer = await self._ask({"do": "open", "identity": identity.to_json()})
        with closing(connect(":memory:")) as connection:
            saver = _SendingSaver(connection, self._ask)
            create_tables(saver)
            for table, rows in answer["tables"].items():
                insert_rows(connection, table, rows)
            yield await OpenCheckpoint.begin(saver, identity, answer["notice"])


class _SendingSaver(InlineSaver):
    """Stores in memory and sends each row to the coordinator."""

    def __init__(self, connection: sqlite3.Connection, ask: Ask) -> None:
        super().__init__(connection)
        self._ask = ask

    async def aput(self, config: RunnableConfig, *args: Any) -> RunnableConfig:
        """Store a state, here and there."""
        stored = self.put(config, *args)
        await self._send("checkpoints", stored["configurable"]["checkpoint_id"])
        return stored

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store the writes of a step, here and there."""
        self.put_writes(config, writes, task_id, task_path)
        await self._send("writes", config["configurable"]["checkpoint_id"])

    async def put_meta(self, row: Row) -> None:
        """Store a row of our own, here and there."""
        await super().put_meta(row)
        await self._ask({"do": "store", "table": "agentos_meta", "rows": [row]})

    async def clear(self) -> None:
        """Remove everything that is stored, here and there."""
        await super().clear()
        await self._ask({"do": "clear"})

    async def _send(self, table: str, checkpoint: str) -> None:
        columns = COLUMNS[table]
        rows = self.conn.execute(
            f"SELECT {columns} FROM {table} WHERE checkpoint_id = ?", (checkpoint,)
        ).fetchall()
        await self._ask({"do": "store", "table": table, "rows": rows})


def _empty() -> bytes:
    with closing(connect(":memory:")) as connection:
        create_tables(InlineSaver(connection))
        return connection.serialize()
