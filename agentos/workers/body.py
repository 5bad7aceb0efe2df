"""What a worker process does: take one assignment, run its workflow, report, end."""

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

from agentos.errors import ItemError, ProviderError
from agentos.files import remove_tree
from agentos.gateway.client import Asker, GatewayClient
from agentos.providers import Completion
from agentos.task import Failure, Outcome, State, Workflow, failed
from agentos.workers import DECIDED, Assignment
from agentos.workers.channel import Channel, Message
from agentos.workers.messages import assignment_from_json
from agentos.workers.notes import Notes
from agentos.workflows import runner
from agentos.workflows.flow import Drained, Job, Paused

REHEARSED = b"R"
WORK_DESCRIPTORS = 3
"""Standard output, standard error and the item's lock, which this process only has to hold."""


def prepare(workflow: str) -> None:
    """Import all that a workflow needs."""
    os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")
    runner.compiled_graph(Workflow(workflow))


def warm_up(scratch: Path) -> None:
    """Exercise what every workflow needs before the first fork; leaves nothing in the scratch folder."""
    scratch.mkdir(mode=0o700)
    try:
        asyncio.run(runner.warm_up(scratch))
    finally:
        remove_tree(scratch)


def run(channel: socket.socket, scratch: Path) -> None:
    """Run the one assignment that comes over the channel.

    Until it comes there is time to go through the motions once: a forked process pays for each page of memory when
    it first touches it, and so has paid when the work arrives.
    """
    warm_up(scratch)
    channel.send(REHEARSED)
    asyncio.run(_run(channel))


async def _adopt_work(channel: socket.socket) -> bool:
    """Wait, with everything else ready, for the descriptors of the work; False when there will be none."""
    loop = asyncio.get_running_loop()
    is_there = loop.create_future()
    loop.add_reader(channel, is_there.set_result, None)
    await is_there
    loop.remove_reader(channel)
    begin, descriptors, _, _ = socket.recv_fds(channel, 1, WORK_DESCRIPTORS)
    if not begin:
        return False
    # Descriptors that arrive are inheritable; the lock and the channel are for this process alone.
    for descriptor in (channel.fileno(), *descriptors):
        os.set_inheritable(descriptor, False)
    for source, target in zip(descriptors, (1, 2), strict=False):
        os.dup2(source, target, inheritable=True)
        os.close(source)
    sys.stdout, sys.stderr = (
        os.fdopen(descriptor, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
        for descriptor in (1, 2)
    )
    return True


async def _run(end: socket.socket) -> None:
    if not await _adopt_work(end):
        return
    assigned: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
    channel = Channel(end, assigned.set_result, _leave_with_the_coordinator)
    channel.send({"op": "ready", "pid": os.getpid()})
    assignment = assignment_from_json(await assigned)
    # Commands that a workflow starts find the database where the seeds of this tool expect it.
    os.environ["AGENTOS_WORKFLOW_DB"] = assignment.checkpoint
    notes = Notes(channel.send)
    client = GatewayClient(_asker(assignment), notes.send)
    channel.on_message = client.take_answer
    outcome = await _work(assignment, client, notes)
    sys.stdout.flush()
    sys.stderr.flush()
    notes.send({"op": "outcome", "outcome": outcome.to_json(), **_usage()})
    channel.flush()
    channel.close()


def _asker(assignment: Assignment) -> Asker:
    task = assignment.task
    return Asker(assignment.repository, task.workflow, task.item, assignment.drafter, assignment.reviewer)


def _usage() -> Message:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {"cpu_seconds": round(used.ru_utime + used.ru_stime, 4), "peak_memory": used.ru_maxrss * 1024}


def _leave_with_the_coordinator() -> None:
    """End this worker and all it started."""
    os.killpg(0, signal.SIGKILL)


async def _work(assignment: Assignment, client: GatewayClient, notes: Notes) -> Outcome:
    job = Job(
        task=assignment.task,
        text=assignment.text,
        digest=assignment.digest,
        checkpoint=Path(assignment.checkpoint),
        publication=assignment.publication,
        max_rounds=assignment.max_rounds,
        workshop=assignment.workshop,
    )

    async def ask(**question: Any) -> Completion:
        # Asked to stop between two steps: a call that begins now would keep the worker until it is killed.
        if job.is_draining.is_set():
            raise Drained
        return await client.ask(**question)

    def notice(text: str) -> None:
        print(text, flush=True)
        notes.add("notice", message=text)

    workflow = asyncio.create_task(runner.run_job(job, ask, _observer(notes), notice))

    def stop() -> None:
        # A step that waits for a model is given up at once: its answer is kept by the gateway. So is one that runs
        # tests. Any other step is short, and is let end so that its result is in the checkpoint.
        job.is_draining.set()
        if client.is_waiting or job.is_waiting:
            workflow.cancel()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
    return await _outcome_of(workflow, notes)


def _observer(notes: Notes) -> Callable[[str, str], None]:
    """Return what the steps tell: the line that people see, and the events of the audit."""
    started: dict[str, float] = {}

    def observe(what: str, name: str) -> None:
        match what:
            case "started":
                print(f">>> Executing: {name}", flush=True)
                started[name] = time.monotonic()
                notes.add("node-started", node=name)
            case "finished":
                seconds = round(time.monotonic() - started[name], 4)
                notes.add("node-finished", node=name, seconds=seconds)
            case "gathered":
                notes.add("material-gathered", message=name)
            case "noted" | "warned":
                print(name if what == "noted" else f"Warning: {name}", flush=True)
                notes.add("notice", message=name)
            case "decided":
                notes.add(DECIDED, state=name)
                notes.send()

    return observe


async def _outcome_of(workflow: asyncio.Task[Outcome], notes: Notes) -> Outcome:
    """Wait for the workflow and give whatever it raises its name."""
    try:
        return await workflow
    except (asyncio.CancelledError, Drained):
        return Outcome(State.INTERRUPTED, "stopped at a checkpoint")
    except Paused as pause:
        return pause.outcome
    except (ItemError, ProviderError) as error:
        return failed(error.failure, str(error))
    except sqlite3.OperationalError as error:
        return failed(Failure.INFRA, f"the checkpoint cannot be written: {error}")
    except OSError as error:
        return failed(Failure.INFRA, f"{error.strerror or error}: {error.filename or 'no file named'}")
    except Exception as error:
        notes.add("error", traceback=traceback.format_exc())
        return failed(Failure.INFRA, f"internal error: {type(error).__name__}: {error}")
