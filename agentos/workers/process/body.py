"""The body of a worker process: receive one assignment, run it, report and exit."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import socket
import sqlite3
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentos.documents.markdown import load_parser
from agentos.errors import ItemError, ProviderError
from agentos.gateway.client import Asker, GatewayClient
from agentos.gateway.providers import Completion
from agentos.item import Failure, Outcome, State, failed
from agentos.kinds import Kind
from agentos.repository.publish import Artifacts
from agentos.state.files import remove_tree
from agentos.state.variables import set_variable
from agentos.workers import BEGUN_ANEW, DECIDED
from agentos.workers.process.channel import Channel, Message
from agentos.workers.process.checkpoint_link import CHECKPOINT, CheckpointLink
from agentos.workers.process.messages import (
    artifacts_to_message,
    assignment_from_json,
)
from agentos.workers.process.notes import Notes
from agentos.workflows.engine import runner
from agentos.workflows.engine.assignment import Assignment
from agentos.workflows.engine.flow import ItemInterrupted, Paused, Session
from agentos.workflows.engine.stores import CheckpointStore, RemoteStore, SqliteStore

WARMED_UP = b"R"
LONGEST_LOOKED = 300
WORK_DESCRIPTORS = 3
"""Standard output, standard error and the item's lock, which is held by keeping its
descriptor open.
"""


def prepare(kind: str) -> None:
    """Import everything that a kind needs."""
    load_parser()
    set_variable("LANGGRAPH_STRICT_MSGPACK", "true")
    runner.compiled_graph(Kind(kind))


def warm_up(scratch: Path) -> None:
    """Run a small item in a scratch folder and remove the folder."""
    scratch.mkdir(mode=0o700)
    try:
        asyncio.run(runner.warm_up(scratch))
    finally:
        remove_tree(scratch)


def run(channel: socket.socket, scratch: Path) -> None:
    """Run the one assignment that arrives on the channel.

    The worker warms up before that: a forked process copies each memory page when it
    first writes to it, and so these copies are made before the work arrives.
    """
    warm_up(scratch)
    channel.send(WARMED_UP)
    asyncio.run(_run(channel))


async def _adopt_work(channel: socket.socket) -> bool:
    """Wait for the descriptors of the work; return False if there will be none."""
    loop = asyncio.get_running_loop()
    is_readable = loop.create_future()
    loop.add_reader(channel, is_readable.set_result, None)
    await is_readable
    loop.remove_reader(channel)
    begin, descriptors, _, _ = socket.recv_fds(channel, 1, WORK_DESCRIPTORS)
    if not begin:
        return False
    # Received descriptors are inheritable; children must not get the lock and the
    # channel.
    for descriptor in (channel.fileno(), *descriptors):
        os.set_inheritable(descriptor, False)
    for source, target in zip(descriptors, (1, 2), strict=False):
        os.dup2(source, target, inheritable=True)
        os.close(source)
    sys.stdout, sys.stderr = (
        os.fdopen(
            descriptor,
            "w",
            buffering=1,
            encoding="utf-8",
            errors="backslashreplace",
            closefd=False,
        )
        for descriptor in (1, 2)
    )
    return True


async def _run(end: socket.socket) -> None:
    if await _adopt_work(end):
        await serve(end)


async def serve(end: socket.socket) -> None:
    """Run the assignment that arrives on the channel, and report."""
    assigned: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
    channel = Channel(end, assigned.set_result, _kill_own_group)
    channel.send({"op": "ready", "pid": os.getpid()})
    work = await assigned
    assignment = assignment_from_json(work["assignment"])
    notes = Notes(channel.send)
    client = GatewayClient(_asker(assignment), notes.send)
    link = CheckpointLink(channel.send)

    def take_answer(message: Message) -> None:
        taker = link if message["op"] == CHECKPOINT else client
        taker.take_answer(message)

    channel.on_message = take_answer
    store: CheckpointStore = RemoteStore(link.ask)
    if "checkpoint" in work:
        store = SqliteStore(Path(work["checkpoint"]))
        # Commands that a step starts find the database by this variable.
        set_variable("AGENTOS_WORKFLOW_DB", work["checkpoint"])
    outcome, artifacts = await _work(
        assignment, Path(work["root"]), store, client, notes
    )
    sys.stdout.flush()
    sys.stderr.flush()
    _report(notes, outcome, artifacts)
    channel.flush()
    channel.close()


def _report(notes: Notes, outcome: Outcome, artifacts: Artifacts | None) -> None:
    """Send the result of the item."""
    message: Message = {"op": "outcome", "outcome": outcome.to_json(), **_usage()}
    try:
        notes.send(message | artifacts_to_message(artifacts))
    except ValueError as error:
        too_large = failed(Failure.INFRA, f"its results cannot be sent: {error}")
        notes.send(message | {"outcome": too_large.to_json()})


def _asker(assignment: Assignment) -> Asker:
    item = assignment.item
    return Asker(
        assignment.repository,
        item.kind,
        item.id,
        assignment.config.model_of,
    )


def _usage() -> Message:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 4),
        "peak_memory": used.ru_maxrss * 1024,
    }


def _kill_own_group() -> None:
    """Kill this worker and everything it started, because the coordinator is gone."""
    os.killpg(0, signal.SIGKILL)


Result = tuple[Outcome, Artifacts | None]


async def _work(
    assignment: Assignment,
    root: Path,
    store: CheckpointStore,
    client: GatewayClient,
    notes: Notes,
) -> Result:
    async def ask(**question: Any) -> Completion:
        # A call that started after the request to stop would keep the worker running
        # until it is killed.
        if session.is_stopping.is_set():
            raise ItemInterrupted
        return await client.ask(**question)

    def notice(text: str) -> None:
        print(text, flush=True)
        notes.add("notice", message=text)

    session = Session(assignment, root, store, ask, _observer(notes))
    running = asyncio.create_task(runner.run_session(session, notice))

    def stop() -> None:
        # A step that waits for a model is canceled: the gateway stores the answer. So is
        # a step that runs tests. Any other step is short and may end, so that its result
        # is in the checkpoint.
        session.is_stopping.set()
        if client.is_waiting or session.is_waiting:
            running.cancel()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
    try:
        return await running
    # Whatever happens in the item ends as an outcome.
    except (Exception, asyncio.CancelledError) as error:
        return _outcome_of(error, notes), None


def _observer(notes: Notes) -> Callable[[str, str], None]:
    """Return a callback that prints what steps report and adds it to the audit."""
    started: dict[str, float] = {}

    def observe(what: str, name: str) -> None:
        match what:
            case "started" | "continued":
                if what == "started":
                    print(f">>> Executing: {name}", flush=True)
                started[name] = time.monotonic()
                notes.add("node-started", node=name)
            case "finished":
                seconds = round(time.monotonic() - started[name], 4)
                notes.add("node-finished", node=name, seconds=seconds)
            case "gathered":
                notes.add("material-gathered", message=name)
            case "looked":
                print(f"Looked: {name[:LONGEST_LOOKED]}", flush=True)
                notes.add("looked", message=name)
            case "turned":
                print(name, flush=True)
                notes.add("turn", message=name)
            case "noted" | "warned":
                print(name if what == "noted" else f"Warning: {name}", flush=True)
                notes.add("notice", message=name)
            case "anew":
                print(name, flush=True)
                notes.add(BEGUN_ANEW, message=name)
            case "decided":
                notes.add(DECIDED, state=name)
                notes.send()

    return observe


def _outcome_of(error: BaseException, notes: Notes) -> Outcome:
    """Turn an exception of the graph into an outcome."""
    match error:
        case asyncio.CancelledError() | ItemInterrupted():
            return Outcome(State.INTERRUPTED, "stopped at a checkpoint")
        case Paused():
            return error.outcome
        case ItemError() | ProviderError():
            return failed(error.failure, str(error))
        case sqlite3.OperationalError():
            return failed(Failure.INFRA, f"the checkpoint cannot be written: {error}")
        case OSError():
            reason = error.strerror or error
            return failed(
                Failure.INFRA, f"{reason}: {error.filename or 'no file named'}"
            )
    # A bug in our own code fails this item and is logged with its traceback.
    text = "".join(traceback.format_exception(error))
    notes.add("error", traceback=text)
    return failed(Failure.INFRA, f"internal error: {type(error).__name__}: {error}")
