"""Run a batch: select the items, run them in parallel, report. Behind every command stands this one runner."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentos.console import Console
from agentos.console.progress import Eta
from agentos.errors import UsageError
from agentos.files import make_private_directory, write_atomically
from agentos.gateway.journal import MemoryJournal
from agentos.gateway.keys import KeyPool
from agentos.gateway.server import Gateway
from agentos.inbox import Reject
from agentos.plan.halt import parse_halt
from agentos.plan.preview import Options, Preview
from agentos.report.summary import NOT_STARTED, Entry, Summary
from agentos.shutdown import Signals, handled
from agentos.supervision import Run, supervise
from agentos.task import Failure, State, Task, failed
from agentos.tidying import tidy
from agentos.wording import count, file_stamp, utc_now
from agentos.workers.process import ProcessWorkers
from agentos.workflows.parallel.coordinator import (
    Interrupted,
    ParallelCoordinator,
    ProgressStats,
    WorkflowResult,
)
from agentos.workflows.parallel.credential_coordinator import LIMIT_VARIABLE, CredentialCoordinator

REHEARSED_KEYS = 3


def run_batch(
    options: Options, preview: Preview, console: Console, environ: Mapping[str, str]
) -> tuple[Summary, int | None]:
    """Run the selected items; return the summary and the signal that ended the run, if one did."""
    if not os.access(options.repository, os.W_OK):
        raise UsageError(f"{options.repository}: cannot be written to; check its permissions or give another --repo")
    preview.home.prepare(preview.key)
    tidy(preview.home, preview.key, options.repository)
    return _Batch(options, preview, console, environ).run()


class _Batch:
    """One run from its first line to its summary."""

    def __init__(self, options: Options, preview: Preview, console: Console, environ: Mapping[str, str]) -> None:
        self._options = options
        self._preview = preview
        self._console = console
        self._environ = environ
        self._halt = parse_halt(options.halt)
        self._name, self._folder = _make_run_folder(preview.home.logs)
        self._entries: dict[str, Entry] = {}
        self._running: dict[str, float] = {}
        self._stopping = threading.Event()
        self._journal = MemoryJournal()
        self._pool = _make_pool(environ, console)
        self._coordinator = ParallelCoordinator(
            options.parallel,
            announce=lambda text: console.say(text, important=True),
            handle_signals=False,
            capacity=self._pool.parallelism,
            on_start=self._show_progress,
            on_result=self._take_result,
            on_shutdown=self._stop_workers,
        )
        self._workers = ProcessWorkers(
            Gateway(self._journal, self._pool),
            preview.home,
            environ,
            self._folder / "workers.log",
            at_once=self._coordinator.max_workers,
            in_all=len(preview.selection.tasks),
        )
        self._eta = Eta(self._coordinator.max_workers)
        self._failures = 0
        self._next_start = 0.0
        self._start_lock = threading.Lock()

    def run(self) -> tuple[Summary, int | None]:
        """Run everything, and report whatever has ended even when the rest could not."""
        started, began = utc_now(), time.monotonic()
        self._write_run_file(started)
        console, selection = self._console, self._preview.selection
        amount = count(len(selection.tasks), "item")
        console.say(f"{amount} to run, {self._coordinator.max_workers} at a time: {selection.describe()}")
        for task in selection.edited:
            console.tell(task.label, "its input was edited since it ended; starting again")
        for reject in selection.rejects:
            self._refuse(reject)
        signals = Signals(
            stop=self._coordinator.request_shutdown,
            stop_now=self._stop_now,
            suspend=self._workers.suspend,
            resume=self._workers.resume,
            report=self._say_running,
        )
        console.on_stdout_closed = self._coordinator.request_shutdown
        with handled(signals):
            try:
                if selection.tasks:
                    self._workers.start()
                    startup = self._workers.wait_ready()
                    if console.verbose:
                        console.say(f"workers ready after {startup:.2f} s")
                    self._coordinator.execute_parallel(selection.tasks, self._run_one, lambda task: task.label)
            finally:
                self._stopping.set()
                self._pool.close()
                self._workers.close()
        summary = self._summarise(started, time.monotonic() - began, signals.ending)
        self._write("summary.json", summary.to_json())
        return summary, signals.ending

    def _run_one(self, task: Task, credential: str | None) -> Entry:
        del credential
        self._await_turn()
        self._running[task.label] = time.monotonic()
        try:
            entry = supervise(self._shared(), task)
        finally:
            del self._running[task.label]
        self._entries[task.label] = entry
        if entry.is_failed:
            self._failures += 1
        if entry.status == State.INTERRUPTED:
            raise Interrupted
        return entry

    def _shared(self) -> Run:
        options, preview = self._options, self._preview
        return Run(
            name=self._name,
            folder=self._folder,
            command=options.command,
            home=preview.home,
            repository=options.repository,
            key=preview.key,
            inbox=preview.inbox,
            workers=self._workers,
            console=self._console,
            forget_answers=lambda task: self._journal.forget_item(preview.key, task.workflow, task.item),
            stopping=self._stopping,
            drafter=options.drafter,
            reviewer=options.reviewer,
            max_rounds=options.max_rounds,
            timeout=options.timeout or None,
            retries=options.retries,
            redo=options.choice.redo,
        )

    def _await_turn(self) -> None:
        """Keep the wished distance between two starts."""
        if not self._options.delay:
            return
        with self._start_lock:
            now = time.monotonic()
            turn = max(now, self._next_start)
            self._next_start = turn + self._options.delay
        if self._stopping.wait(turn - now):
            raise Interrupted

    def _take_result(self, result: WorkflowResult, stats: ProgressStats) -> None:
        if not result.success:
            # An item ends in an entry even when our own code fails: nothing is ever unaccounted for.
            task = next(t for t in self._preview.selection.tasks if t.label == result.item_id)
            outcome = failed(Failure.INFRA, f"internal error: {result.error}")
            self._entries[task.label] = Entry(task, State.FAILED, outcome, outcome.message, result.duration)
            self._failures += 1
            self._console.tell(task.label, f"FAILED: {outcome.message}", important=True)
        self._eta.completed(result.duration, left=stats.total - stats.completed, now=time.monotonic())
        self._show_progress(stats)
        if self._halt is None or self._stopping.is_set() or self._coordinator.is_stopping:
            return
        if self._halt.is_reached(self._failures, stats.total):
            self._console.say(f"{self._failures} failed: halting as --halt {self._options.halt} says", important=True)
            if self._halt.is_immediate:
                self._coordinator.request_shutdown()
            else:
                self._coordinator.drain()

    def _show_progress(self, stats: ProgressStats) -> None:
        left = stats.total - stats.completed
        eta = self._eta.text(left=left, now=time.monotonic())
        self._console.progress(stats.completed, stats.total, running=stats.running, failed=self._failures, eta=eta)

    def _stop_workers(self) -> None:
        self._stopping.set()
        self._console.say("Press Ctrl+C again to stop immediately")
        self._workers.stop()

    def _stop_now(self) -> None:
        self._stopping.set()
        self._workers.kill()
        self._coordinator.request_shutdown()

    def _say_running(self) -> None:
        now = time.monotonic()
        running = ", ".join(f"{label} ({now - since:.0f} s)" for label, since in dict(self._running).items())
        self._console.say(f"running: {running or 'nothing'}", important=True)

    def _refuse(self, reject: Reject) -> None:
        outcome = failed(Failure.BAD_INPUT, reject.reason)
        self._console.tell(reject.task.label, f"FAILED: {reject.reason} ({Failure.BAD_INPUT})", important=True)
        self._entries[f"{reject.task.label}\0{reject.task.source}"] = Entry(
            reject.task, State.FAILED, outcome, reject.reason
        )

    def _summarise(self, started: str, seconds: float, ending: int | None) -> Summary:
        options, selection = self._options, self._preview.selection
        entries = [self._entries.get(t.label) or Entry(t, NOT_STARTED) for t in selection.tasks]
        refused = [entry for key, entry in self._entries.items() if "\0" in key]
        if len(entries) + len(refused) != len(selection.tasks) + len(selection.rejects):
            raise AssertionError("items in must be items out")
        return Summary(
            run=self._name,
            workflow=options.workflow,
            repository=str(options.repository),
            command=options.command,
            started=started,
            finished=utc_now(),
            seconds=seconds,
            parallel=self._coordinator.max_workers,
            folder=str(self._folder),
            retry=options.retry,
            entries=(*entries, *refused),
            is_interrupted=ending is not None or any(e.status in (NOT_STARTED, State.INTERRUPTED) for e in entries),
        )

    def _write_run_file(self, started: str) -> None:
        data: dict[str, Any] = {
            "schema": 1,
            "run": self._name,
            "pid": os.getpid(),
            "started": started,
            "command": self._options.command,
            "repository": str(self._options.repository),
            "items": len(self._preview.selection.tasks),
        }
        self._write("run.json", data)

    def _write(self, name: str, data: Mapping[str, Any]) -> None:
        text = json.dumps(data, indent=1).encode()
        write_atomically(self._folder / name, text, temporary=self._preview.home.temporary_file())


def _make_run_folder(logs: Path) -> tuple[str, Path]:
    """Create a folder of its own for this run, also when two runs start in the same second."""
    stamp = file_stamp()
    number = 1
    while True:
        name = stamp if number == 1 else f"{stamp}-{number}"
        try:
            make_private_directory(logs)
            (logs / name).mkdir(mode=0o700)
        except FileExistsError:
            number += 1
            continue
        return name, logs / name


def _make_pool(environ: Mapping[str, str], console: Console) -> KeyPool:
    """Return the pool; the rehearsal variables put simulated keys into it."""
    rehearse_429 = environ.get("AGENTOS_SIMULATE_429", "").lower() in ("1", "true", "yes")
    limit = environ.get(LIMIT_VARIABLE, "")
    if not rehearse_429 and not limit:
        return KeyPool(None)
    if limit and (not limit.isdigit() or int(limit) == 0):
        raise UsageError(f"{LIMIT_VARIABLE}: must be a whole number from 1 up, not {limit!r}")
    count = int(limit) if limit else REHEARSED_KEYS
    coordinator = CredentialCoordinator(
        [f"simulated key {number}" for number in range(1, count + 1)],
        announce=lambda text: console.say(text, important=True),
        busy_is_exhausted=False,
    )
    return KeyPool(coordinator, rehearse_429=rehearse_429)
