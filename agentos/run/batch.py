"""Run the selected items of a workflow command in parallel and report."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property

from agentos.backlog.inbox import Reject
from agentos.backlog.preview import Preview, RunOptions
from agentos.errors import AgentOSError, UsageError
from agentos.gateway.access import ModelAccess, open_journal, open_pool
from agentos.gateway.budget import Caps, OverBudget
from agentos.gateway.journal import item_key
from agentos.gateway.roles import ROLES
from agentos.gateway.server import Gateway
from agentos.item import Failure, Item, State, failed
from agentos.money import parse_dollars
from agentos.run.budget_chain import BudgetChain
from agentos.run.console import Console
from agentos.run.console.progress import Eta
from agentos.run.item_run import Filer, RunContext, explain, supervise
from agentos.run.report.rows import NOT_STARTED, Chain, ResultRow, ResultRows
from agentos.run.report.run_file import describe_run
from agentos.run.report.summary import Summary
from agentos.run.schedule import Schedule, StartDelay
from agentos.run.signals import Signals, handled
from agentos.settings import RunConfig, parse_halt
from agentos.state.files import write_atomically
from agentos.state.locks import ItemLock
from agentos.state.scratch import Scratch
from agentos.state.wording import count, utc_now
from agentos.workers import Workers
from agentos.workers.process.launcher import ProcessWorkers
from agentos.workflows.parallel.coordinator import (
    Interrupted,
    ParallelCoordinator,
    ProgressStats,
    WorkflowResult,
)

GRACE_PERIOD = 0.3
"""Seconds that interrupted items have to end before the run is reported."""


def run_batch(
    options: RunOptions,
    preview: Preview,
    access: ModelAccess,
    console: Console,
    environ: Mapping[str, str],
    filer: Filer | None = None,
) -> tuple[Summary, int | None]:
    """Run the selected items; return the summary and the signal that ended the run, if
    any.
    """
    if not os.access(options.repository, os.W_OK):
        raise UsageError(
            f"{options.repository}: cannot be written to; check its permissions or give"
            " another --repo"
        )
    preview.home.prepare(preview.key)
    try:
        batch = _Batch(options, preview, access, console, environ, filer)
    except OSError as error:
        raise UsageError(
            f"the run cannot be set up: {explain(error)}; set AGENTOS_HOME to another"
            " folder"
        ) from error
    try:
        return batch.run()
    finally:
        batch.close()


class _Batch:
    """One run from its first line of output to its summary."""

    def __init__(
        self,
        options: RunOptions,
        preview: Preview,
        access: ModelAccess,
        console: Console,
        environ: Mapping[str, str],
        filer: Filer | None,
    ) -> None:
        self._options = options
        self._preview = preview
        self._access = access
        self._console = console
        self._filer = filer
        self._halt = parse_halt(options.config.halt)
        self._pool = open_pool(access, environ, preview.home.root, self._announce)
        self._rejected: list[ResultRow] = []
        self._running: dict[str, float] = {}
        """Label and start time of each running item."""
        self._failures = 0
        self._skeletons = 0
        self._undecided = 0
        self._is_over_budget = False
        self._remedies: dict[str, str] = {}
        """For each cap that stopped a call, the option and the amount that would have
        allowed it.
        """
        self._held: dict[Item, ItemLock] = {}
        self._stopping = threading.Event()
        self._coordinator = ParallelCoordinator(
            options.config.parallel,
            announce=self._announce,
            handle_signals=False,
            keep_results=False,
            capacity=self._pool.parallelism,
            on_start=self._show_progress,
            on_result=self._take_result,
            on_shutdown=self._stop_workers,
        )
        self._scratch = Scratch(preview.home.temporary)
        self._name, self._folder = preview.home.make_run_folder()
        self._rows = ResultRows(preview.selection.items, str(self._folder))
        self._schedule = Schedule(
            preview.selection.items,
            preview.order,
            self._rows,
            options.repository,
            self._warn_of,
        )
        self._chain = BudgetChain(
            preview.home.root,
            preview.key,
            options.workflow,
            self._name,
            self._scratch.fresh(),
        )
        self._journal = open_journal(
            access, preview.home.root, self._chain.name, self._announce
        )
        self._gateway = Gateway(
            self._journal,
            self._pool,
            models=list(options.models.values()),
            caps=_caps(options.config),
            price=access.price,
            on_spent_out=self._stop_spending,
            terms={role: options.config.terms_of(role) for role in ROLES},
            announce=self._announce,
        )
        # Earlier runs of the chain that were killed could not report these calls.
        self._gateway.costs.repeated = self._journal.repeated(self._chain.name)
        self._workers: Workers = ProcessWorkers(
            self._gateway,
            self._scratch,
            environ,
            self._folder / "workers.log",
            options.workflow,
            options.repository,
            preview.home,
            self._held,
            at_once=self._coordinator.max_workers,
            in_all=len(preview.selection.items),
        )
        self._eta = Eta(self._coordinator.max_workers)
        self._delay = StartDelay(options.config.delay, self._stopping)
        self._started = utc_now()
        self._start_time = time.monotonic()
        description = describe_run(
            self._name,
            self._started,
            options.command,
            str(options.repository),
            len(preview.selection.items),
        )
        self._write("run.json", [description])

    def _announce(self, text: str) -> None:
        self._console.say(text, important=True)

    def _warn_of(self, label: str, text: str) -> None:
        self._console.tell(label, text, important=True)

    def run(self) -> tuple[Summary, int | None]:
        """Run all items; report those that have ended even if the run fails."""
        console = self._console
        self._announce_items()
        signals = Signals(
            stop=self._stop_soon,
            stop_now=self._stop_now,
            suspend=self._workers.suspend,
            resume=self._workers.resume,
            report=self._say_running,
        )
        console.on_stdout_closed = self._coordinator.request_shutdown
        if console.stdout_closed.is_set():
            self._coordinator.request_shutdown()
        with handled(signals):
            trouble = self._run_items()
            summary = self._summarize(signals.ending, trouble)
        if not summary.is_unfinished:
            self._chain.end()
        try:
            self._write("summary.json", summary.to_json_text())
        except OSError as error:
            self._announce(f"cannot save the summary: {explain(error)}")
        return summary, signals.ending

    def _announce_items(self) -> None:
        console, selection = self._console, self._preview.selection
        amount = count(len(selection.items), "item")
        console.say(
            f"{amount} to run, {self._coordinator.max_workers} at a time:"
            f" {selection.describe()}"
        )
        for item in selection.edited:
            console.tell(item.label, "it was edited since its last run")
        for reject in selection.rejects:
            self._refuse(reject)
        for warning in self._preview.order.warnings:
            self._announce(f"Warning: {warning}")
        self._schedule.announce()

    def close(self) -> None:
        """Release locks and keys, and remove temporary files."""
        self._journal.close()
        self._chain.close()
        self._pool.close()
        self._scratch.close()

    def _stop_spending(self, error: OverBudget) -> None:
        """Start no more items when a budget is exhausted; items that need no more calls
        can still end.
        """
        option, amount = error.remedy
        known = self._remedies.get(option, amount)
        self._remedies[option] = max(amount, known, key=parse_dollars)
        if error.is_for_all and not self._is_over_budget:
            self._is_over_budget = True
            self._announce(str(error))
            self._coordinator.drain()

    def _run_items(self) -> str:
        """Run the items; return what went wrong with the run itself, if anything."""
        items = self._preview.selection.items
        try:
            if items:
                self._workers.start()
                startup = self._workers.wait_ready(
                    lambda: not self._coordinator.is_stopping
                )
                if self._console.verbose:
                    self._console.say(f"workers ready after {startup:.2f} s")
                self._coordinator.execute_parallel(
                    range(len(items)),
                    self._run_one,
                    lambda at: items[at].label,
                    schedule=self._schedule,
                )
        except (AgentOSError, OSError, RuntimeError) as error:
            return explain(error)
        finally:
            self._stopping.set()
            self._workers.close()
            self._wait_for_interrupted()
        return ""

    def _wait_for_interrupted(self) -> None:
        deadline = time.monotonic() + GRACE_PERIOD
        while self._running and time.monotonic() < deadline:
            time.sleep(0.005)

    def _run_one(self, position: int, credential: str | None) -> str:
        """Run the item at a position and return its status."""
        del credential
        item = self._preview.selection.items[position]
        if not self._delay.wait():
            raise Interrupted
        started = time.monotonic()
        self._running[item.label] = started
        try:
            row = supervise(self._run_context, item)
            key = item_key(self._preview.key, item.kind, item.id)
            row = replace(row, cost=self._gateway.take_cost(key))
            self._rows.put(position, row)
        except Exception as error:
            # A bug in AgentOS must not lose the item: it counts as failed.
            row = _crashed(item, error, time.monotonic() - started)
            self._rows.put(position, row)
            self._warn_of(item.label, f"FAILED: {row.message}")
        finally:
            del self._running[item.label]
        if row.status == State.INTERRUPTED:
            raise Interrupted
        return row.status

    @cached_property
    def _run_context(self) -> RunContext:
        slot_release = self._coordinator.slot_release
        if self._filer is not None:
            # Filing can be slower than drafting: if an item gave up its slot before it
            # is filed, the queue of items to file would grow without bound.
            slot_release = _keep_slot
        return RunContext(
            name=self._name,
            folder=self._folder,
            options=self._options,
            preview=self._preview,
            scratch=self._scratch,
            workers=self._workers,
            console=self._console,
            forget_answers=self._forget_answers,
            slot_release=slot_release,
            held=self._held,
            stopping=self._stopping,
            filer=self._filer,
        )

    def _forget_answers(self, item: Item) -> None:
        self._journal.forget_item(self._preview.key, item.kind, item.id)

    def _take_result(self, result: WorkflowResult, stats: ProgressStats) -> None:
        if not result.success or result.value == State.FAILED:
            self._failures += 1
        elif result.value == State.SKELETON:
            self._skeletons += 1
        elif result.value == State.NEEDS_DISCUSSION:
            self._undecided += 1
        self._eta.completed(
            result.duration, left=stats.total - stats.completed, now=time.monotonic()
        )
        self._show_progress(stats)
        if self._halt is None or self._coordinator.is_stopping:
            return
        if self._halt.is_reached(self._failures, stats.total):
            rule = self._options.config.halt
            self._announce(f"{self._failures} failed: stopping (--halt {rule})")
            if self._halt.is_immediate:
                self._coordinator.request_shutdown()
            else:
                self._coordinator.drain()

    def _show_progress(self, stats: ProgressStats) -> None:
        if self._console.is_quiet:
            return
        eta = self._eta.text(left=stats.total - stats.completed, now=time.monotonic())
        self._console.progress(
            stats.completed - self._skeletons - self._undecided,
            stats.total,
            running=stats.running,
            failed=self._failures,
            eta=eta,
            skeletons=self._skeletons,
            undecided=self._undecided,
        )

    def _stop_workers(self) -> None:
        """Stop the workers; runs in the coordinator's loop, not in a signal handler."""
        self._stopping.set()
        self._console.say("Press Ctrl+C again to stop immediately")
        self._workers.stop()

    def _stop_soon(self) -> None:
        """Let workers save a checkpoint; runs in a signal handler, so takes no lock."""
        self._workers.hurry()
        self._coordinator.request_shutdown()

    def _stop_now(self) -> None:
        """Kill the workers; runs in a signal handler, so takes no lock."""
        self._workers.kill()
        self._coordinator.request_shutdown()

    def _say_running(self) -> None:
        now = time.monotonic()
        running = []
        for label, started in self._running.copy().items():
            running.append(f"{label} ({now - started:.0f} s)")
        self._announce(f"running: {', '.join(running) or 'nothing'}")

    def _refuse(self, reject: Reject) -> None:
        item, reason = reject.item, reject.reason
        self._warn_of(item.label, f"FAILED: {reason} ({Failure.BAD_INPUT})")
        outcome = failed(Failure.BAD_INPUT, reason)
        self._rejected.append(ResultRow(item, State.FAILED, outcome, reason))

    def _summarize(self, ending: int | None, trouble: str) -> Summary:
        options = self._options
        interrupted = set(self._running)
        if interrupted:
            for position, item in enumerate(self._preview.selection.items):
                if item.label not in interrupted:
                    continue
                if self._rows[position].status == NOT_STARTED:
                    self._rows.put(position, ResultRow(item, State.INTERRUPTED))
        for position, waiting in self._schedule.waiting():
            self._rows.put(position, waiting)
        is_interrupted = ending is not None or self._has_resumable()
        return Summary(
            run=self._name,
            workflow=options.workflow,
            repository=str(options.repository),
            command=options.command,
            started=self._started,
            finished=utc_now(),
            seconds=time.monotonic() - self._start_time,
            parallel=self._coordinator.max_workers,
            folder=str(self._folder),
            retry=options.retry,
            answer_with=options.answer_with,
            rows=Chain((self._rows, self._rejected)),
            is_interrupted=is_interrupted,
            trouble=trouble,
            costs=self._gateway.costs,
            asks_models=not self._access.is_offline,
            remedies=self._remedies,
            left_out=self._preview.collected.left_out_as_json(),
            is_unsandboxed=options.is_unsandboxed,
        )

    def _has_resumable(self) -> bool:
        resumable = (NOT_STARTED, State.INTERRUPTED)
        return any(row.status in resumable for row in self._rows)

    def _write(self, name: str, texts: Iterable[str]) -> None:
        write_atomically(
            self._folder / name,
            (text.encode() for text in texts),
            temporary=self._scratch.fresh(),
        )


def _keep_slot() -> Callable[[], None]:
    return lambda: None


def _caps(config: RunConfig) -> Caps:
    given = (config.max_cost, config.max_cost_per_item, config.max_cost_per_day)
    return Caps(*(parse_dollars(text) if text else None for text in given))


def _crashed(item: Item, error: Exception, seconds: float) -> ResultRow:
    reason = str(error) or type(error).__name__
    outcome = failed(Failure.INFRA, f"internal error: {reason}")
    return ResultRow(item, State.FAILED, outcome, outcome.message, seconds)
