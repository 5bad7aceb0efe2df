"""See one item through: lock it, recover what a kill left, run it, publish its files, record its end."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from agentos import locks
from agentos.checkpoints import discard
from agentos.console import Console
from agentos.errors import BadInput
from agentos.home import Home, ItemPaths
from agentos.inbox import Inbox, Source
from agentos.plan.standing import is_complete
from agentos.records import Record, read_record, write_record
from agentos.recovery import publication_of, recover
from agentos.report.audit import Audit
from agentos.report.entries import COMPLETE, HELD, Entry, log_path
from agentos.scratch import Scratch
from agentos.task import Failure, Outcome, State, Task, failed
from agentos.wording import count, describe_seconds
from agentos.workers import DECIDED, Assignment, Event, Exit, Workers
from agentos.workshop import Workshop

RETRYABLE = frozenset({Failure.INFRA, Failure.PROVIDER, Failure.MODEL_FORMAT})
FIRST_BACKOFF = 0.5
LONGEST_BACKOFF = 30.0
OUTPUT_PATIENCE = 2.0


class Filer(Protocol):
    """Brings approved items to a tracker."""

    def file(self, entry: Entry, stopping: threading.Event) -> Entry:
        """Return the entry with where its item was filed, or why not."""


@dataclass(frozen=True, slots=True)
class Run:
    """What all items of one run have in common."""

    name: str
    folder: Path
    command: str
    home: Home
    scratch: Scratch
    repository: Path
    key: str
    inbox: Inbox
    workers: Workers
    console: Console
    forget_answers: Callable[[Task], None]
    slot_release: Callable[[], Callable[[], None]]
    """Gives what lets the next item start when only the files of this one remain to be put in place."""
    stopping: threading.Event
    """Set when the run ends early, so that nothing is tried again."""
    drafter: str
    reviewer: str
    max_rounds: int
    timeout: float | None
    retries: int
    redo: bool = False
    filer: Filer | None = None
    workshop: Callable[[Task], Workshop | None] = lambda _: None
    """Says where and how an item is built, if it is."""


def supervise(run: Run, task: Task) -> Entry:
    """Bring one item to its end and say how it ended."""
    paths = run.home.item(run.key, task)
    try:
        lock = locks.acquire(paths.lock, run.command)
    except OSError as error:
        outcome = failed(Failure.INFRA, f"cannot be locked: {explain(error)}")
        run.console.tell(task.label, f"FAILED: {outcome.message}", important=True)
        return Entry(task, State.FAILED, outcome, outcome.message)
    if isinstance(lock, locks.Holder):
        message = f"held by pid {lock.pid} since {lock.since} ({lock.command}); left to it"
        run.console.tell(task.label, message, important=True)
        return Entry(task, HELD, message=message)
    try:
        entry = _Item(run, task, paths, lock.descriptor).bring_to_end()
        ended = entry.outcome
        if ended is not None and (ended.is_decided or ended.failure is Failure.MODEL_FORMAT):
            # Of an item that goes on later every answer is kept; but answers that could not be read must be new ones.
            run.forget_answers(task)
        return entry if run.filer is None else run.filer.file(entry, run.stopping)
    finally:
        lock.release()


class _Item:
    """One item while its lock is held."""

    def __init__(self, run: Run, task: Task, paths: ItemPaths, lock: int) -> None:
        self._run = run
        self._task = task
        self._paths = paths
        self._lock = lock
        self._publication = publication_of(task, paths, run.repository)
        self._log = log_path(str(run.folder), task)
        self._attempts = 0
        self._digest = ""
        self._artefact = ""

    def bring_to_end(self) -> Entry:
        """Recover or run the item, then make its end known everywhere."""
        started = time.monotonic()
        try:
            recovered = recover(self._publication, self._paths)
            source = self._run.inbox.load(self._task)
            self._digest = source.digest
            earlier = read_record(self._paths.record)
            if not self._run.redo and is_complete(self._task, earlier, source.digest, self._run.repository):
                return self._acknowledge(recovered)
            audit = Audit(f"{self._run.folder}/workflow-audit-{self._task.item}.jsonl", self._run.name, self._task)
        except (OSError, BadInput) as error:
            seconds = time.monotonic() - started
            return self._entry(self._conclude(failed(_class_of(error), explain(error)), seconds), seconds)
        with closing(audit):
            outcome = self._run_from(source, earlier, audit)
            seconds = time.monotonic() - started
            outcome = self._conclude(outcome, seconds)
            audit.record("ended", {**outcome.to_json(), "attempts": self._attempts, "seconds": round(seconds, 3)})
        return self._entry(outcome, seconds)

    def _acknowledge(self, recovered: Record | None) -> Entry:
        """Return how an item ended that is complete without any work of this run."""
        if recovered is None:
            return Entry(self._task, COMPLETE, message="completed by another run meanwhile")
        self._artefact = recovered.artefact
        self._tell(recovered.outcome, 0.0)
        return self._entry(recovered.outcome, 0.0)

    def _run_from(self, source: Source, earlier: Record | None, audit: Audit) -> Outcome:
        try:
            is_resumed = os.path.lexists(self._paths.checkpoint)
            audit.record("started", {"resumed": is_resumed, "input": f"sha256:{source.digest}"})
            if source.problem:
                return failed(Failure.BAD_INPUT, source.problem)
            if earlier is not None and earlier.outcome.is_decided:
                # From now on it has not ended any more: a kill must not make new work look like that of the old end.
                self._record(Outcome(State.INTERRUPTED, "being done again"), 0.0)
            return self._attempt(source, audit)
        except (OSError, BadInput) as error:
            return failed(_class_of(error), explain(error))

    def _attempt(self, source: Source, audit: Audit) -> Outcome:
        """Run the workflow, again after a fault that may pass, each time from its last checkpoint."""
        while True:
            self._attempts += 1
            exit = self._run_worker(source, audit)
            outcome = _judge(exit)
            if outcome.failure not in RETRYABLE or self._attempts > self._run.retries + exit.is_server_lost:
                return outcome
            if self._run.stopping.is_set():
                return Outcome(State.INTERRUPTED, f"stopped after: {outcome.message}")
            if outcome.failure is Failure.MODEL_FORMAT:
                # The same answers would be read in the same way.
                self._run.forget_answers(self._task)
            delay = min(LONGEST_BACKOFF, FIRST_BACKOFF * 2 ** (self._attempts - 1)) * random.uniform(0.8, 1.2)
            audit.record("retry", {"after": outcome.message, "class": outcome.failure, "delay": round(delay, 2)})
            self._run.console.tell(self._task.label, f"{outcome.message}; trying again in {describe_seconds(delay)}")
            self._run.stopping.wait(delay)

    def _run_worker(self, source: Source, audit: Audit) -> Exit:
        console = self._run.console
        capture = console.capture(self._task.label, Path(self._log))
        release_slot = self._run.slot_release()

        def note(events: Sequence[Event]) -> None:
            if any(event["event"] == DECIDED for event in events):
                release_slot()
            audit.record_all(events)
            for event in events if console.verbose else ():
                if console.verbose > 1 or event["event"] == "call":
                    hidden = ("traceback", "time")
                    told = ", ".join(f"{name} {value}" for name, value in event.items() if name not in hidden)
                    console.tell(self._task.label, told)

        try:
            exit = self._run.workers.run(self._assignment(source), self._lock, capture, note, self._run.timeout)
        finally:
            capture.close_write_ends()
            if not capture.wait_drained(OUTPUT_PATIENCE):
                # Something that the worker started has escaped with the pipe in its hands.
                capture.stop()
        audit.record("worker-exited", {"cpu_seconds": exit.cpu_seconds, "peak_memory": exit.peak_memory})
        return exit

    def _assignment(self, source: Source) -> Assignment:
        run = self._run
        return Assignment(
            task=self._task,
            text=source.text,
            digest=source.digest,
            repository=run.key,
            checkpoint=str(self._paths.checkpoint),
            publication=self._publication,
            drafter=run.drafter,
            reviewer=run.reviewer,
            max_rounds=run.max_rounds,
            workshop=run.workshop(self._task),
        )

    def _conclude(self, outcome: Outcome, seconds: float) -> Outcome:
        """Write down the end and make the results visible; only then may the checkpoint go."""
        if self._run.workers.is_abandoned:
            # The run has been reported; what this thread still learns is for the next one to find out.
            return outcome
        try:
            if outcome.is_decided:
                outcome = self._publish(outcome, seconds)
            else:
                self._publication.abandon()
                self._record(outcome, seconds)
                if outcome.failure is Failure.BAD_INPUT:
                    # It holds the input that has to change first, and the key if there is one in it.
                    discard(self._paths.checkpoint)
        except (OSError, BadInput) as error:
            outcome = self._take_back(error, seconds)
        self._tell(outcome, seconds)
        return outcome

    def _publish(self, outcome: Outcome, seconds: float) -> Outcome:
        publication = self._publication
        if not publication.is_prepared:
            raise OSError("the worker left no complete results; run again")
        self._artefact = publication.result
        superseded = publication.name_for_superseded()
        self._record(outcome, seconds, superseded)
        publication.reveal(self._artefact, superseded)
        discard(self._paths.checkpoint)
        return outcome

    def _take_back(self, error: OSError | BadInput, seconds: float) -> Outcome:
        """Have an item that could not be published or recorded count as failed; its checkpoint has the results."""
        outcome = failed(_class_of(error), f"its end cannot be made known: {explain(error)}")
        self._artefact = ""
        with suppress(OSError):
            self._record(outcome, seconds)
            self._publication.abandon()
        return outcome

    def _record(self, outcome: Outcome, seconds: float, superseded: str = "") -> None:
        record = Record.of(
            self._task,
            outcome,
            digest=self._digest,
            artefact=self._artefact,
            run=self._run.name,
            attempts=self._attempts,
            seconds=seconds,
            superseded=superseded,
        )
        write_record(self._paths.record, record, self._run.scratch.fresh())

    def _entry(self, outcome: Outcome, seconds: float) -> Entry:
        log = self._log if os.path.lexists(self._log) else ""
        if outcome.state is State.APPROVED:
            # Praise is in the document; kept for every item it would be most of the run's memory.
            outcome = replace(outcome, message="")
        return Entry(self._task, outcome.state, outcome, outcome.message, seconds, self._attempts, log, self._artefact)

    def _tell(self, outcome: Outcome, seconds: float) -> None:
        took = describe_seconds(seconds)
        tell = self._run.console.tell
        match outcome.state:
            case State.FAILED:
                tell(self._task.label, f"FAILED: {outcome.message} ({outcome.failure})", important=True)
            case State.INTERRUPTED:
                tell(self._task.label, "stopped, its checkpoint is kept")
            case State.APPROVED:
                tell(self._task.label, f"APPROVED in round {outcome.rounds}, {took}: {self._artefact}")
            case State.IMPLEMENTED | State.SCAFFOLDED:
                tell(self._task.label, f"{outcome.state.upper()}, {took}: {outcome.message}")
            case _:
                after = f" after {count(outcome.rounds, 'round')}" if outcome.rounds else ""
                tell(self._task.label, f"{outcome.state.upper()}{after}, {took}: {outcome.message}")


def _judge(exit: Exit) -> Outcome:
    """Turn a worker's exit into an outcome: what it reported, or what its silence means."""
    if exit.has_timed_out and (exit.outcome is None or exit.outcome.state is State.INTERRUPTED):
        return failed(Failure.INFRA, exit.reason)
    if exit.outcome is not None:
        return exit.outcome
    if exit.was_stopped:
        return Outcome(State.INTERRUPTED, "stopped before it could report; it goes on from its last checkpoint")
    return failed(Failure.INFRA, exit.reason)


def _class_of(error: OSError | BadInput) -> Failure:
    return Failure.BAD_INPUT if isinstance(error, BadInput) else Failure.INFRA


def explain(error: Exception) -> str:
    """Say what went wrong and with which file."""
    if isinstance(error, OSError):
        return f"{error.strerror or error}: {error.filename}" if error.filename else str(error.strerror or error)
    return str(error)
