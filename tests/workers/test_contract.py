"""One contract for all workers: those of this machine, and one in another process tree
with a home of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil
import pytest

from agentos.gateway.budget import Caps
from agentos.gateway.journal.memory import MemoryJournal
from agentos.gateway.keys.pool import Pool
from agentos.gateway.keys.store import Store
from agentos.gateway.prices import flat_price
from agentos.gateway.providers import Completion, Credential, Request
from agentos.gateway.providers.offline import create
from agentos.gateway.server import Gateway
from agentos.item import Item, State
from agentos.kinds import Kind
from agentos.repository.publish import Artifacts
from agentos.settings import RunConfig
from agentos.state.home import Home
from agentos.state.locks import ItemLock, acquire
from agentos.state.scratch import Scratch
from agentos.workers import DECIDED, Event, Exit, Workers
from agentos.workers.process.launcher import ProcessWorkers
from agentos.workflows.engine.assignment import Assignment
from agentos.workflows.engine.checkpoints import input_of
from agentos.workflows.engine.flow import Session
from agentos.workflows.engine.runner import run_session
from agentos.workflows.engine.stores import MemoryStore
from tests.support import ISSUE, wait_until
from tests.workers.remote import RemoteWorkers

pytestmark = pytest.mark.slow

DEADLINE = 60.0
KEY = "repository-key"
MODEL = "offline:approve_after=1"
ITEM = Item(Kind.LLD, "1", "docs/issues/1.md")
TEXT = ISSUE.format(number=1) + "- [ ] Names such as Zoë and 漢 are kept\n"
ASSIGNMENT = Assignment(
    item=ITEM,
    text=TEXT,
    digest="digest",
    repository=KEY,
    config=RunConfig(drafter=MODEL, reviewer=MODEL, max_rounds=2),
)
NODES = ["N0_load", "N1_design", "N2_validate", "N3_review", "N4_finalize"]


class Holding:
    """The offline rules, which can be told to hold back the answers for one role."""

    needs_key = False

    def __init__(self) -> None:
        self._rules = create("approve_after=1")
        self._held = ""
        self._gate: Future[None] = Future()
        self.asked: list[str] = []

    def hold(self, role: str) -> None:
        """Answer no question of a role until `release`."""
        self._gate = Future()
        self._held = role

    def release(self) -> None:
        """Answer everything, also what was held back."""
        self._held = ""
        self._gate.set_result(None)

    async def complete(
        self, request: Request, credential: Credential | None
    ) -> Completion:
        role = request.purpose.rpartition(".")[2]
        self.asked.append(role)
        if role == self._held:
            await asyncio.shield(asyncio.wrap_future(self._gate))
        return await self._rules.complete(request, credential)

    async def check(self, credential: Credential | None) -> str:
        del credential
        return "fine"

    async def prepare(self, credentials: Sequence[Credential]) -> None:
        del credentials

    async def close(self) -> None:
        pass


class Printed:
    """Keeps what a worker prints."""

    is_congested = False

    def __init__(self) -> None:
        self.streams = {False: b"", True: b""}

    def feed(self, chunk: bytes, *, is_error: bool) -> None:
        self.streams[is_error] += chunk


class Bench:
    """Workers with a gateway, and one assignment at a time."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.provider = Holding()
        self.root = folder / "repo"
        (self.root / "shelf").mkdir(parents=True)
        (self.root / "shelf/members.py").write_text("def export() -> None: ...\n")
        self.home = Home(folder / "home")
        self.home.prepare(KEY)
        self.paths = self.home.item(KEY, ITEM)
        self.events: list[Event] = []
        self.printed = Printed()
        lock = acquire(self.paths.lock, "test")
        assert isinstance(lock, ItemLock)
        self._lock = lock
        self._scratch = Scratch(self.home.temporary)
        self._threads = ThreadPoolExecutor()
        gateway = Gateway(
            MemoryJournal(),
            Pool(Store(":memory:", time.time), lambda: (), lambda _: None),
            caps=Caps(),
            price=lambda _: flat_price(0, 0, "free"),
            create=lambda _: self.provider,
        )
        self.workers: Workers
        if kind == "remote":
            self.workers = RemoteWorkers(
                gateway, self.root, self.home, folder / "machines"
            )
        else:
            self.workers = ProcessWorkers(
                gateway,
                self._scratch,
                os.environ,
                folder / "workers.log",
                Kind.LLD,
                self.root,
                self.home,
                {ITEM: lock},
                at_once=1,
                in_all=3,
            )
        self.workers.start()
        self.workers.wait_ready(lambda: True)

    def begin(self, timeout: float | None = None) -> Future[Exit]:
        """Run the assignment on a thread of its own."""
        self.events.clear()
        self.printed = Printed()
        run = self.workers.run
        return self._threads.submit(
            run, ASSIGNMENT, self.printed, self.events.extend, timeout
        )

    def run(self) -> Exit:
        """Run the assignment to its end."""
        return self.begin().result(DEADLINE)

    def begin_and_hold(self, role: str) -> tuple[Future[Exit], int]:
        """Run the assignment until it asks in a role; return its process id too."""
        self.provider.hold(role)
        running = self.begin()
        wait_until(lambda: role in self.provider.asked, f"a question to {role}")
        (ready,) = self.named("worker-ready")
        return running, ready["pid"]

    def named(self, name: str) -> list[Event]:
        """Return the events of a name."""
        return [event for event in self.events if event["event"] == name]

    def started(self) -> list[str]:
        """Return the steps that were started."""
        return [event["node"] for event in self.named("node-started")]

    def close(self) -> None:
        """Stop the workers."""
        self.workers.kill()
        self.workers.close()
        self._threads.shutdown()
        self._scratch.close()
        self._lock.release()


@pytest.fixture(params=["local", "remote"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    opened = Bench(request.param, tmp_path)
    yield opened
    opened.close()


def run_here(root: Path) -> Artifacts:
    """Return the results of the same assignment in this process."""
    provider = Holding()

    async def ask(*, role: str, **question: Any) -> Completion:
        request = Request(
            KEY, "lld", "1", purpose=f"lld.{role}", model=MODEL, **question
        )
        return await provider.complete(request, None)

    session = Session(ASSIGNMENT, root, MemoryStore(), ask, lambda *_: None)
    _, artifacts = asyncio.run(run_session(session, lambda _: None))
    return artifacts


def test_results_come_up_as_they_are_and_nothing_is_written_into_the_repository(
    bench: Bench,
) -> None:
    before = sorted(bench.root.rglob("*"))
    exit = bench.run()
    assert exit.outcome is not None, exit
    assert exit.outcome.state is State.SIMULATED
    assert exit.artifacts == run_here(bench.root)
    assert "Zoë and 漢" in exit.artifacts.files[0]["001-issue.md"]
    assert sorted(bench.root.rglob("*")) == before


def test_events_and_questions_come_up_in_order(bench: Bench) -> None:
    bench.run()
    assert bench.started() == NODES
    assert bench.provider.asked == ["draft", "review"]
    assert [event["node"] for event in bench.named("call")] == [
        "N1_design",
        "N3_review",
    ]
    assert [event["state"] for event in bench.named(DECIDED)] == ["simulated"]


def test_both_streams_come_up_byte_for_byte(bench: Bench) -> None:
    running, pid = bench.begin_and_hold("draft")
    raw = b"\xff\x00 no text \r\n half a line"
    Path(f"/proc/{pid}/fd/2").write_bytes(raw)
    bench.provider.release()
    running.result(DEADLINE)
    steps = "".join(f">>> Executing: {node}\n" for node in NODES)
    assert bench.printed.streams == {False: steps.encode(), True: raw}


def test_a_worker_that_dies_is_reported_as_dead(bench: Bench) -> None:
    running, pid = bench.begin_and_hold("draft")
    os.kill(pid, signal.SIGKILL)
    exit = running.result(DEADLINE)
    assert exit.outcome is None
    assert exit.artifacts is None
    assert "the worker was killed by SIGKILL" in exit.reason
    assert not exit.was_stopped
    bench.provider.release()


def test_an_item_resumes_from_the_checkpoint_that_the_coordinator_holds(
    bench: Bench,
) -> None:
    running, pid = bench.begin_and_hold("review")
    os.kill(pid, signal.SIGKILL)
    assert running.result(DEADLINE).outcome is None
    assert input_of(bench.paths.checkpoint) == "digest"
    bench.provider.release()
    exit = bench.run()
    assert bench.started() == ["N3_review", "N4_finalize"]
    assert exit.artifacts == run_here(bench.root)
    assert bench.provider.asked.count("draft") == 1


def test_a_completed_item_returns_its_results_again(bench: Bench) -> None:
    first = bench.run()
    again = bench.run()
    assert bench.started() == []
    assert (again.outcome, again.artifacts) == (first.outcome, first.artifacts)


def test_an_item_that_takes_too_long_is_ended(bench: Bench) -> None:
    bench.provider.hold("draft")
    exit = bench.begin(timeout=0.5).result(DEADLINE)
    assert exit.has_timed_out
    assert "timed out after 0.5 s" in exit.reason
    assert exit.artifacts is None
    bench.provider.release()


def test_a_stopped_worker_saves_its_state_and_says_so(bench: Bench) -> None:
    running, _ = bench.begin_and_hold("review")
    bench.workers.stop()
    exit = running.result(DEADLINE)
    assert exit.was_stopped
    assert exit.outcome is not None
    assert exit.outcome.state is State.INTERRUPTED
    bench.provider.release()


def test_no_item_starts_after_a_stop(bench: Bench) -> None:
    bench.workers.stop()
    exit = bench.run()
    assert exit.was_stopped
    assert exit.outcome is None
    assert bench.started() == []


def test_killed_workers_were_stopped(bench: Bench) -> None:
    running, _ = bench.begin_and_hold("draft")
    bench.workers.kill()
    exit = running.result(DEADLINE)
    assert exit.was_stopped
    assert exit.outcome is None
    bench.provider.release()


def test_a_suspended_worker_freezes_and_goes_on(bench: Bench) -> None:
    running, pid = bench.begin_and_hold("draft")
    worker = psutil.Process(pid)
    bench.workers.suspend()
    wait_until(lambda: worker.status() == psutil.STATUS_STOPPED, "a frozen worker")
    bench.workers.resume()
    bench.provider.release()
    exit = running.result(DEADLINE)
    assert exit.outcome is not None
    assert exit.outcome.state is State.SIMULATED


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="nothing hides folders")
def test_the_remote_worker_sees_no_folder_of_the_coordinator(tmp_path: Path) -> None:
    bench = Bench("remote", tmp_path)
    running, pid = bench.begin_and_hold("draft")
    seen = Path(f"/proc/{pid}/root")
    for folder in (bench.root, bench.home.root):
        assert list(folder.iterdir())
        assert list((seen / folder.relative_to("/")).iterdir()) == []
    bench.provider.release()
    assert running.result(DEADLINE).artifacts == run_here(bench.root)
    bench.close()


def test_an_assignment_is_plain_data_without_a_path() -> None:
    sent = json.loads(json.dumps(asdict(ASSIGNMENT)))
    assert "/" not in {text[:1] for text in texts_of(sent)}


def texts_of(data: Any) -> Iterator[str]:
    """Return every text in JSON data."""
    if isinstance(data, dict):
        data = [*data.values()]
    if isinstance(data, list):
        for each in data:
            yield from texts_of(each)
    elif isinstance(data, str):
        yield data
