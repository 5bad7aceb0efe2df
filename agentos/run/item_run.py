"""Run one item: lock it, recover what a kill left, run a worker, publish the files and
record the result.
"""

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

from agentos.backlog.inbox import Source
from agentos.backlog.preview import Preview, RunOptions, build_config
from agentos.documents.issue_title import with_title
from agentos.errors import BadInput, ItemError
from agentos.gateway.providers import gives_recorded, is_rules
from agentos.item import Failure, Item, Outcome, State, failed
from agentos.repository.completion import is_complete
from agentos.repository.git.delivery import deliver
from agentos.repository.publish import Artifacts
from agentos.run.amending import DesignClaim, DesignInUse
from agentos.run.console import Console
from agentos.run.recovery import publication_of, recover
from agentos.run.report.audit import Audit
from agentos.run.report.lines import describe_event, describe_result
from agentos.run.report.rows import COMPACT, COMPLETE, LOCKED, ResultRow, log_path
from agentos.state import locks
from agentos.state.home import ItemPaths
from agentos.state.records import ItemRecord, read_record, write_record
from agentos.state.scratch import Scratch
from agentos.state.wording import describe_seconds
from agentos.workers import BEGUN_ANEW, DECIDED, Event, Exit, Workers
from agentos.workflows.engine.assignment import Assignment
from agentos.workflows.engine.checkpoints import discard

RETRYABLE = frozenset({Failure.INFRA, Failure.PROVIDER, Failure.MODEL_FORMAT})
FIRST_BACKOFF = 0.5
MAX_BACKOFF = 30.0


class Filer(Protocol):
    """Files approved items in an issue tracker."""

    def file(self, row: ResultRow, stopping: threading.Event) -> ResultRow:
        """Return the row with the result of filing its item."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """What all items of one run share."""

    name: str
    folder: Path
    options: RunOptions
    preview: Preview
    scratch: Scratch
    workers: Workers
    console: Console
    forget_answers: Callable[[Item], None]
    slot_release: Callable[[], Callable[[], None]]
    """Returns the function that frees the slot of an item for the next one; it is called
    when only publishing is left to do.
    """
    held: dict[Item, locks.ItemLock]
    """The locks of the items that run now."""
    stopping: threading.Event
    """Set when the run ends early, so that nothing is retried."""
    filer: Filer | None = None


def supervise(run: RunContext, item: Item) -> ResultRow:
    """Run one item and return its result."""
    paths = run.preview.home.item(run.preview.key, item)
    try:
        lock = locks.acquire(paths.lock, run.options.command)
    except OSError as error:
        outcome = failed(Failure.INFRA, f"cannot be locked: {explain(error)}")
        message = outcome.message
        run.console.tell(item.label, f"FAILED: {message}", important=True)
        return ResultRow(item, State.FAILED, outcome, message)
    if isinstance(lock, locks.Holder):
        message = (
            f"locked by pid {lock.pid} since {lock.since} ({lock.command}); skipped"
        )
        run.console.tell(item.label, message, important=True)
        return ResultRow(item, LOCKED, message=message)
    try:
        run.held[item] = lock
        row = _ItemRun(run, item, paths).run()
        if row.outcome is not None and _needs_new_answers(row.outcome):
            run.forget_answers(item)
        if run.filer is not None:
            row = run.filer.file(row, run.stopping)
        return row
    finally:
        run.held.pop(item, None)
        lock.release()


def _needs_new_answers(outcome: Outcome) -> bool:
    """Return whether another run must ask again: an item that continues uses the
    answers it has, unless they were unreadable.
    """
    if outcome.is_decided:
        return True
    return outcome.failure is Failure.MODEL_FORMAT


class _ItemRun:
    """One item under its lock."""

    def __init__(self, run: RunContext, item: Item, paths: ItemPaths) -> None:
        self._run = run
        self._config = run.options.config
        self._item = item
        self._paths = paths
        self._publication = publication_of(item, paths, run.options.repository)
        self._log = log_path(str(run.folder), item)
        self._design = DesignClaim(run.preview, item, run.options)
        self._attempts = 0
        self._digest = ""
        self._artefact = ""

    def run(self) -> ResultRow:
        """Recover or run the item, then publish and record its result."""
        started = time.monotonic()
        try:
            recovered = recover(self._publication, self._paths)
            inbox = self._run.preview.inbox
            source = inbox.load(self._item)
            self._digest = source.digest
            earlier = read_record(self._paths.record)
            if self._is_complete(earlier):
                return self._report_complete(recovered)
            name = f"workflow-audit-{self._item.id}.jsonl"
            audit = Audit(self._run.folder / name, self._run.name, self._item)
        except (OSError, BadInput) as error:
            seconds = time.monotonic() - started
            outcome = self._conclude(_fail(error), seconds)
            return self._to_row(outcome, seconds)
        with closing(audit):
            outcome = self._run_once(source, earlier, audit, started)
            if outcome.state is State.REVISED:
                outcome = self._begin_again(outcome, audit, started)
            seconds = time.monotonic() - started
            details = outcome.to_json()
            details["attempts"] = self._attempts
            details["seconds"] = round(seconds, 3)
            audit.record("ended", details)
        return self._to_row(outcome, seconds)

    def _run_once(
        self,
        source: Source,
        earlier: ItemRecord | None,
        audit: Audit,
        started: float,
    ) -> Outcome:
        """Run the worker, and publish and record its result."""
        try:
            outcome = self._run_from(source, earlier, audit)
            seconds = time.monotonic() - started
            return self._conclude(outcome, seconds)
        finally:
            self._design.release()

    def _begin_again(self, outcome: Outcome, audit: Audit, started: float) -> Outcome:
        """Build the design that the item has revised."""
        if self._run.stopping.is_set() or self._run.workers.is_abandoned:
            return outcome
        console = self._run.console
        console.tell(self._item.label, "beginning again with the revised design")
        self._attempts = 0
        try:
            source = self._run.preview.inbox.load(self._item)
            earlier = read_record(self._paths.record)
        except (OSError, BadInput) as error:
            return self._conclude(_fail(error), time.monotonic() - started)
        self._digest = source.digest
        audit.record("design-revised", {"document": self._artefact})
        return self._run_once(source, earlier, audit, started)

    def _is_complete(self, record: ItemRecord | None) -> bool:
        options = self._run.options
        if options.choice.takes_complete:
            return False
        return is_complete(
            self._item,
            record,
            self._digest,
            options.repository,
            redo_skeletons=not is_rules(self._config.drafter),
        )

    def _report_complete(self, recovered: ItemRecord | None) -> ResultRow:
        """Return the result of an item that needs no work."""
        if recovered is None:
            message = "completed by another run meanwhile"
            return ResultRow(self._item, COMPLETE, message=message)
        self._artefact = recovered.artefact
        self._tell(recovered.outcome, 0.0)
        return self._to_row(recovered.outcome, 0.0)

    def _run_from(
        self, source: Source, earlier: ItemRecord | None, audit: Audit
    ) -> Outcome:
        details = {
            "resumed": os.path.lexists(self._paths.checkpoint),
            "input": f"sha256:{source.digest}",
        }
        try:
            audit.record("started", details)
            if source.problem:
                return failed(Failure.BAD_INPUT, source.problem)
            if earlier is not None and earlier.outcome.is_decided:
                # The old result no longer holds: after a kill, new files must not look
                # like those of the old result.
                self._record(Outcome(State.INTERRUPTED, "being done again"), 0.0)
            return self._attempt(source, audit)
        except (OSError, BadInput) as error:
            return _fail(error)

    def _attempt(self, source: Source, audit: Audit) -> Outcome:
        """Run the worker; retry after a transient error, each time from the last
        checkpoint.
        """
        while True:
            self._attempts += 1
            exit = self._run_worker(source, audit)
            outcome = self._prepare(_judge(exit), exit.artifacts)
            if outcome.failure not in RETRYABLE:
                return outcome
            # A lost server process is not the item's fault: that attempt is free.
            attempts = self._config.retries + exit.is_server_lost
            if self._attempts > attempts:
                return outcome
            if self._run.stopping.is_set():
                return Outcome(State.INTERRUPTED, f"stopped after: {outcome.message}")
            if outcome.failure is Failure.MODEL_FORMAT:
                # The same answers would be just as unreadable.
                self._run.forget_answers(self._item)
            backoff = FIRST_BACKOFF * 2 ** (self._attempts - 1)
            delay = min(MAX_BACKOFF, backoff) * random.uniform(0.8, 1.2)
            details = {
                "after": outcome.message,
                "class": outcome.failure,
                "delay": round(delay, 2),
            }
            audit.record("retry", details)
            soon = describe_seconds(delay)
            message = f"{outcome.message}; trying again in {soon}"
            self._run.console.tell(self._item.label, message)
            self._run.stopping.wait(delay)

    def _prepare(self, outcome: Outcome, artifacts: Artifacts | None) -> Outcome:
        """Write the files of a decided item under hidden names; return a failure if they
        cannot be written. The item's checkpoint still has them.
        """
        if not outcome.is_decided:
            return outcome
        try:
            if artifacts is None:
                raise OSError("the worker sent no results; run again")
            artifacts = self._claim_design(artifacts)
            self._publication.prepare(artifacts)
            # Before the record, and again if a kill comes between them.
            if outcome.state is State.IMPLEMENTED:
                self._deliver(artifacts)
        except (OSError, ItemError) as error:
            return _fail(error)
        return outcome

    def _claim_design(self, artifacts: Artifacts) -> Artifacts:
        """Lock the design that the results amend; return the results without what can
        be done without, if the design is in use or has changed.
        """
        amendment = artifacts.amendment
        if amendment is None:
            return artifacts
        refusal = self._design.claim(amendment)
        if not refusal and amendment.document:
            is_same = self._run.preview.inbox.digest(self._item) == self._digest
            if not is_same:
                refusal = f"{self._item.source} was changed meanwhile"
        if not refusal:
            return artifacts
        if amendment.document or not artifacts.files:
            if not self._design.is_locked_elsewhere:
                # What the item began with is no longer there.
                discard(self._paths.checkpoint)
            raise DesignInUse(f"{refusal}; run again")
        self._run.console.tell(
            self._item.label,
            f"{refusal}: what the plan review found is not added to its findings",
        )
        return replace(artifacts, amendment=None)

    def _deliver(self, artifacts: Artifacts) -> None:
        """Put the commits of an implemented item on its branch; raise if they are not
        there afterwards.
        """
        preview = self._run.preview
        folder = preview.home.worktree(preview.key, self._item.id).resolve()
        scratch = Path(self._run.scratch.fresh())
        repository = self._run.options.repository
        deliver(
            repository,
            artifacts.bundle,
            artifacts.commit,
            self._item.id,
            folder,
            scratch,
        )

    def _run_worker(self, source: Source, audit: Audit) -> Exit:
        console = self._run.console
        label = self._item.label
        capture = console.capture(label, Path(self._log))
        release_slot = self._run.slot_release()

        def note(events: Sequence[Event]) -> None:
            if any(map(_is_last, events)):
                release_slot()
            if any(event["event"] == BEGUN_ANEW for event in events):
                self._run.forget_answers(self._item)
            audit.record_all(events)
            for event in events:
                is_call = event["event"] == "call"
                if console.verbose > 1 or (console.verbose and is_call):
                    console.tell(label, describe_event(event))

        try:
            exit = self._run.workers.run(
                self._assignment(source),
                capture,
                note,
                self._config.timeout or None,
            )
        finally:
            capture.close()
        usage = {"cpu_seconds": exit.cpu_seconds, "peak_memory": exit.peak_memory}
        audit.record("worker-exited", usage)
        return exit

    def _assignment(self, source: Source) -> Assignment:
        run = self._run
        text = source.text
        record = self._item.kind.record
        if record.takes_issues or record.takes_briefs:
            text = with_title(text, source.title)
        return Assignment(
            item=self._item,
            text=text,
            digest=source.digest,
            repository=run.preview.key,
            config=self._config,
            is_redo=run.options.choice.redo,
            build=build_config(run.options, run.preview, self._item),
        )

    def _conclude(self, outcome: Outcome, seconds: float) -> Outcome:
        """Record the result and publish the files, then remove the checkpoint."""
        if self._run.workers.is_abandoned:
            # The run has been reported already. What is not recorded has not ended:
            # the next run gets the result from the checkpoint, and needs the answers.
            if outcome.is_decided:
                return Outcome(State.INTERRUPTED, "stopped before it was recorded")
            return outcome
        try:
            if outcome.is_decided:
                outcome = self._publish(outcome, seconds)
            else:
                self._publication.abandon()
                self._record(outcome, seconds)
                if outcome.failure is Failure.BAD_INPUT:
                    # It contains the bad input, which may include a key.
                    discard(self._paths.checkpoint)
        except (OSError, ItemError) as error:
            outcome = self._fail_publication(error, seconds)
        self._tell(outcome, seconds)
        return outcome

    def _publish(self, outcome: Outcome, seconds: float) -> Outcome:
        publication = self._publication
        self._artefact = publication.result
        superseded = publication.name_for_superseded()
        # Recorded before it is revealed: after a kill, the next run completes what was
        # recorded and undoes the rest.
        self._record(outcome, seconds, superseded)
        publication.reveal(self._artefact, superseded)
        discard(self._paths.checkpoint)
        return outcome

    def _fail_publication(self, error: OSError | ItemError, seconds: float) -> Outcome:
        """Return a failure for an item that could not be published or recorded; its
        checkpoint keeps the results.
        """
        outcome = _fail(error, "could not publish the result: ")
        self._artefact = ""
        with suppress(OSError):
            self._record(outcome, seconds)
            self._publication.abandon()
        return outcome

    def _record(self, outcome: Outcome, seconds: float, superseded: str = "") -> None:
        record = ItemRecord.of(
            self._item,
            outcome,
            digest=self._digest,
            artefact=self._artefact,
            run=self._run.name,
            attempts=self._attempts,
            seconds=seconds,
            superseded=superseded,
        )
        temporary = self._run.scratch.fresh()
        write_record(self._paths.record, record, temporary)

    def _to_row(self, outcome: Outcome, seconds: float) -> ResultRow:
        log = ""
        if os.path.lexists(self._log):
            log = self._log
        if outcome.state in COMPACT:
            # The document has the message; for every item it would be most of the run's
            # memory.
            outcome = replace(outcome, message="")
        return ResultRow(
            self._item,
            outcome.state,
            outcome,
            outcome.message,
            seconds,
            self._attempts,
            log,
            self._artefact,
        )

    def _tell(self, outcome: Outcome, seconds: float) -> None:
        is_failed = outcome.state is State.FAILED
        took = describe_seconds(seconds)
        is_recorded = gives_recorded(self._config.reviewer)
        message = describe_result(
            outcome, self._artefact, took, is_recorded=is_recorded
        )
        self._run.console.tell(self._item.label, message, important=is_failed)


def _is_last(event: Event) -> bool:
    """Tell whether only publishing is left to do after an event."""
    return event["event"] == DECIDED and event.get("state") != State.REVISED


def _judge(exit: Exit) -> Outcome:
    """Return the outcome of a worker: what it reported, or what its exit means."""
    outcome = exit.outcome
    has_ended = outcome is not None and outcome.state is not State.INTERRUPTED
    if exit.has_timed_out and not has_ended:
        return failed(Failure.INFRA, exit.reason)
    if outcome is not None:
        return outcome
    if exit.was_stopped:
        return Outcome(
            State.INTERRUPTED,
            "stopped before it could report; it resumes from its last checkpoint",
        )
    return failed(Failure.INFRA, exit.reason)


def _fail(error: OSError | ItemError, prefix: str = "") -> Outcome:
    failure = Failure.INFRA
    if isinstance(error, ItemError):
        failure = Failure(error.failure)
    return failed(failure, prefix + explain(error))


def explain(error: Exception) -> str:
    """Return what went wrong and with which file."""
    if not isinstance(error, OSError):
        return str(error)
    reason = str(error.strerror or error)
    if error.filename:
        return f"{reason}: {error.filename}"
    return reason
