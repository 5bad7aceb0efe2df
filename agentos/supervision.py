"""See one item through: lock it, recover what a kill left, run it, publish its files, record its end."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agentos import checkpoints, locks
from agentos.artefacts import Publication
from agentos.console import Console
from agentos.errors import BadInput
from agentos.files import remove_tree
from agentos.home import Home, ItemPaths
from agentos.inbox import Inbox, Source
from agentos.records import Record, read_record, write_record
from agentos.report.audit import Audit
from agentos.report.summary import COMPLETE, HELD, Entry
from agentos.task import ENDED, Failure, Outcome, State, Task, failed
from agentos.wording import count, describe_seconds, utc_now
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
    repository: Path
    key: str
    inbox: Inbox
    workers: Workers
    console: Console
    forget_answers: Callable[[Task], None]
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
        outcome = failed(Failure.INFRA, f"cannot be locked: {_explain(error)}")
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
        audit = None
        try:
            audit = Audit(self._run.folder / f"workflow-audit-{self._task.item}.jsonl", self._run.name, self._task)
            outcome = self._roll_forward(audit) or self._run_from_inbox(audit)
        except BadInput as error:
            outcome = failed(Failure.BAD_INPUT, str(error))
        except OSError as error:
            outcome = failed(Failure.INFRA, _explain(error))
        if outcome is None:
            return Entry(self._task, COMPLETE, message="completed by another run meanwhile")
        seconds = time.monotonic() - started
        outcome = self._record(outcome, seconds)
        if audit is not None:
            audit.record("ended", {**outcome.to_json(), "attempts": self._attempts, "seconds": round(seconds, 3)})
            audit.close()
        self._tell(outcome, seconds)
        return Entry(
            self._task,
            outcome.state,
            outcome,
            outcome.message,
            seconds,
            self._attempts,
            str(self._log) if self._log.exists() else "",
            self._artefact,
        )

    def _roll_forward(self, audit: Audit) -> Outcome | None:
        """Finish a publication that a kill cut short; clear one that had not been committed."""
        publication = Publication.find(self._paths.staging, self._run.repository)
        if publication is None:
            remove_tree(self._paths.staging)
            return None
        if not publication.is_committed:
            publication.abandon()
            remove_tree(self._paths.staging)
            return None
        audit.record("started", {"resumed": True})
        audit.record("notice", {"message": "finished a publication that was cut short"})
        self._digest = publication.digest
        publication.publish()
        self._artefact = publication.result
        return publication.outcome

    def _run_from_inbox(self, audit: Audit) -> Outcome | None:
        """Run the item; None when another run has completed it since it was selected."""
        source = self._run.inbox.load(self._task)
        self._digest = source.digest
        if not self._run.redo and self._is_complete():
            return None
        audit.record("started", {"resumed": self._paths.checkpoint.exists(), "input": f"sha256:{source.digest}"})
        outcome = self._attempt(source, audit)
        if outcome.state in ENDED:
            return self._publish(outcome)
        remove_tree(self._paths.staging)
        return outcome

    def _is_complete(self) -> bool:
        record = read_record(self._paths.record)
        if record is None or record.state not in ENDED or record.digest != self._digest:
            return False
        return not record.artefact or (self._run.repository / record.artefact).exists()

    def _attempt(self, source: Source, audit: Audit) -> Outcome:
        """Run the workflow, again after a fault that may pass, each time from its last checkpoint."""
        while True:
            self._attempts += 1
            outcome = self._run_worker(source, audit)
            is_worth_it = outcome.failure in RETRYABLE and self._attempts <= self._run.retries
            if not is_worth_it or self._run.stopping.is_set():
                return outcome
            delay = min(LONGEST_BACKOFF, FIRST_BACKOFF * 2 ** (self._attempts - 1)) * random.uniform(0.8, 1.2)
            audit.record("retry", {"after": outcome.message, "class": outcome.failure, "delay": round(delay, 2)})
            self._run.console.tell(self._task.label, f"{outcome.message}; trying again in {describe_seconds(delay)}")
            if self._run.stopping.wait(delay):
                return outcome

    def _run_worker(self, source: Source, audit: Audit) -> Outcome:
        capture = self._run.console.capture(self._task.label, self._log)

        def note(event: Event) -> None:
            audit.record(str(event["event"]), event)

        try:
            exit = self._run.workers.run(self._assignment(source), self._lock, capture, note, self._run.timeout)
        finally:
            capture.close_write_ends()
            if not capture.wait_drained(OUTPUT_PATIENCE):
                # Something that the worker started has escaped with the pipe in its hands.
                capture.stop()
        audit.record("worker-exited", {"cpu_seconds": exit.cpu_seconds, "peak_memory": exit.peak_memory})
        return _judge(exit)

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
        publication = Publication.find(self._paths.staging, self._run.repository)
        if publication is None:
            return failed(Failure.INFRA, "the worker left no complete results; run again")
        publication.publish()
        self._artefact = publication.result
        return outcome

    def _record(self, outcome: Outcome, seconds: float) -> Outcome:
        """Write down the end; only then may the checkpoint and the staged files go."""
        record = Record(
            workflow=self._task.workflow,
            item=self._task.item,
            digest=self._digest,
            state=outcome.state,
            failure=outcome.failure,
            message=outcome.message,
            rounds=outcome.rounds,
            attempts=self._attempts,
            seconds=round(seconds, 3),
            run=self._run.name,
            updated=utc_now(),
            artefact=self._artefact,
        )
        try:
            write_record(self._paths.record, record, self._run.home.temporary_file())
        except OSError as error:
            return failed(Failure.INFRA, f"its end cannot be recorded: {_explain(error)}")
        if outcome.state in ENDED:
            remove_tree(self._paths.staging)
            checkpoints.discard(self._paths.checkpoint)
            self._run.forget_answers(self._task)
        return outcome

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


def _explain(error: OSError) -> str:
    return f"{error.strerror or error}: {error.filename}" if error.filename else str(error.strerror or error)
