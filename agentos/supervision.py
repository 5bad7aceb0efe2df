"""See one item through: lock it, recover what a kill left, run it, publish its files, record its end."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from agentos import locks
from agentos.artefacts import Publication
from agentos.console import Console
from agentos.errors import BadInput
from agentos.files import remove_tree
from agentos.home import Home, ItemPaths
from agentos.inbox import Inbox, Source
from agentos.plan.standing import is_complete
from agentos.records import Record, read_record, write_record
from agentos.recovery import forget_work, recover, targets_of
from agentos.report.audit import Audit
from agentos.report.summary import COMPLETE, HELD, Entry
from agentos.scratch import Scratch
from agentos.task import ENDED, Failure, Outcome, State, Task, failed
from agentos.wording import count, describe_seconds
from agentos.workers import Assignment, Event, Exit, Workers

RETRYABLE = frozenset({Failure.INFRA, Failure.PROVIDER, Failure.MODEL_FORMAT})
FIRST_BACKOFF = 0.5
LONGEST_BACKOFF = 30.0
OUTPUT_PATIENCE = 2.0


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
    free_slot: Callable[[], None]
    """Told when an item's process is done and only its files remain to be put in place."""
    stopping: threading.Event
    """Set when the run ends early, so that nothing is tried again."""
    drafter: str
    reviewer: str
    max_rounds: int
    timeout: float | None
    retries: int
    redo: bool = False


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
        return _Item(run, task, paths, lock.descriptor).bring_to_end()
    finally:
        lock.release()
        run.forget_answers(task)


class _Item:
    """One item while its lock is held."""

    def __init__(self, run: Run, task: Task, paths: ItemPaths, lock: int) -> None:
        self._run = run
        self._task = task
        self._paths = paths
        self._lock = lock
        self._log = run.folder / f"{task.label}.log"
        self._attempts = 0
        self._digest = ""
        self._artefact = ""

    def bring_to_end(self) -> Entry:
        """Recover or run the item, then make its end known everywhere."""
        started = time.monotonic()
        try:
            recovered = recover(
                self._task, self._paths, self._run.repository, self._run.name, self._run.scratch.fresh()
            )
            # Taken before the text is read: also an input that cannot be used is known by its hash.
            self._digest = self._run.inbox.digest(self._task)
            if self._is_done_already():
                if recovered is None:
                    return Entry(self._task, COMPLETE, message="completed by another run meanwhile")
                self._artefact = recovered.artefact
                self._tell(recovered.outcome, 0.0)
                return self._entry(recovered.outcome, 0.0)
            audit = Audit(self._run.folder / f"workflow-audit-{self._task.item}.jsonl", self._run.name, self._task)
        except (OSError, BadInput) as error:
            return self._conclude(failed(_class_of(error), explain(error)), time.monotonic() - started)
        with closing(audit):
            outcome = self._run_and_publish(audit)
            seconds = time.monotonic() - started
            entry = self._conclude(outcome, seconds)
            audit.record("ended", {**outcome.to_json(), "attempts": self._attempts, "seconds": round(seconds, 3)})
        return entry

    def _is_done_already(self) -> bool:
        if self._run.redo:
            return False
        return is_complete(self._task, read_record(self._paths.record), self._digest, self._run.repository)

    def _run_and_publish(self, audit: Audit) -> Outcome:
        try:
            source = self._run.inbox.load(self._task)
            self._digest = source.digest
            audit.record("started", {"resumed": self._paths.checkpoint.exists(), "input": f"sha256:{source.digest}"})
            if self._run.redo:
                # From now on it is not complete any more: a kill must not make its new work look like a leftover.
                self._record(Outcome(State.INTERRUPTED, "being done again"), 0.0)
            outcome = self._attempt(source, audit)
            if outcome.state in ENDED:
                return self._publish(outcome)
            remove_tree(self._paths.staging)
            return outcome
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
        capture = console.capture(self._task.label, self._log)

        def note(event: Event) -> None:
            audit.record(str(event["event"]), event)
            if console.verbose > 1 or (console.verbose and event["event"] == "call"):
                told = ", ".join(f"{name} {value}" for name, value in event.items() if name != "traceback")
                console.tell(self._task.label, told)

        try:
            exit = self._run.workers.run(self._assignment(source), self._lock, capture, note, self._run.timeout)
            if exit.outcome is not None and exit.outcome.state in ENDED:
                # Not after a failure: that may be the one that halts the batch.
                self._run.free_slot()
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
            staging=str(self._paths.staging),
            drafter=run.drafter,
            reviewer=run.reviewer,
            max_rounds=run.max_rounds,
        )

    def _publish(self, outcome: Outcome) -> Outcome:
        publication = Publication.find(self._paths.staging, self._run.repository, targets_of(self._task))
        if publication is None:
            return failed(Failure.INFRA, "the worker left no complete results; run again")
        publication.publish()
        self._artefact = publication.result
        return outcome

    def _conclude(self, outcome: Outcome, seconds: float) -> Entry:
        """Write down the end; only then may the checkpoint and the staged files go."""
        if self._run.workers.is_abandoned:
            # The run has been reported; what this thread still learns is for the next one to find out.
            return self._entry(outcome, seconds)
        try:
            self._record(outcome, seconds)
        except OSError as error:
            outcome = failed(Failure.INFRA, f"its end cannot be recorded: {explain(error)}")
        if outcome.state in ENDED:
            forget_work(self._paths)
        self._tell(outcome, seconds)
        return self._entry(outcome, seconds)

    def _record(self, outcome: Outcome, seconds: float) -> None:
        record = Record.of(
            self._task,
            outcome,
            digest=self._digest,
            artefact=self._artefact,
            run=self._run.name,
            attempts=self._attempts,
            seconds=seconds,
        )
        write_record(self._paths.record, record, self._run.scratch.fresh())

    def _entry(self, outcome: Outcome, seconds: float) -> Entry:
        log = str(self._log) if self._log.exists() else ""
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
            case _:
                rounds = count(outcome.rounds, "round")
                tell(self._task.label, f"{outcome.state.upper()} after {rounds}, {took}: {outcome.message}")


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
