"""Run a batch: run the selected items in parallel and report. Behind every command stands this one runner."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property

from agentos.console import Console
from agentos.console.progress import Eta
from agentos.errors import AgentOSError, UsageError
from agentos.files import write_atomically
from agentos.gateway.budget import Caps, OverBudget
from agentos.gateway.journal import item_key
from agentos.gateway.opening import Means, open_journal, open_pool
from agentos.gateway.server import Gateway, RoleTerms
from agentos.inbox import Reject
from agentos.money import parse_dollars
from agentos.plan.building import workshop_of
from agentos.plan.halt import parse_halt
from agentos.plan.preview import Options, Preview
from agentos.report.entries import NOT_STARTED, Chain, Entries, Entry
from agentos.report.run_file import describe_run
from agentos.report.summary import Summary
from agentos.scratch import Scratch
from agentos.shutdown import Signals, handled
from agentos.spending import BudgetChain
from agentos.supervision import Filer, Run, explain, supervise
from agentos.task import Failure, State, Task, failed
from agentos.turns import Distance, Turns
from agentos.wording import count, utc_now
from agentos.workers.process import ProcessWorkers
from agentos.workflows.parallel.coordinator import Interrupted, ParallelCoordinator, ProgressStats, WorkflowResult

LAST_WORDS = 0.3
"""Seconds that items which were cut off have to end before the run is reported."""


def run_batch(
    options: Options,
    preview: Preview,
    means: Means,
    console: Console,
    environ: Mapping[str, str],
    filer: Filer | None = None,
) -> tuple[Summary, int | None]:
    """Run the selected items; return the summary and the signal that ended the run, if one did."""
    if not os.access(options.repository, os.W_OK):
        raise UsageError(f"{options.repository}: cannot be written to; check its permissions or give another --repo")
    preview.home.prepare(preview.key)
    try:
        batch = _Batch(options, preview, means, console, environ, filer)
    except OSError as error:
        raise UsageError(f"the run cannot be set up: {explain(error)}; set AGENTOS_HOME elsewhere") from error
    try:
        return batch.run()
    finally:
        batch.close()


class _Batch:
    """One run from its first line to its summary."""

    def __init__(
        self,
        options: Options,
        preview: Preview,
        means: Means,
        console: Console,
        environ: Mapping[str, str],
        filer: Filer | None,
    ) -> None:
        self._options = options
        self._preview = preview
        self._means = means
        self._console = console
        self._filer = filer
        self._halt = parse_halt(options.halt)
        self._pool = open_pool(means, environ, preview.home.root, self._announce)
        self._refused: list[Entry] = []
        self._running: dict[str, float] = {}
        self._failures = 0
        self._is_spent_out = False
        self._remedies: dict[str, str] = {}
        """For each cap that stopped a call, the option and the amount with which it would have been sent."""
        self._stopping = threading.Event()
        self._coordinator = ParallelCoordinator(
            options.parallel,
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
        self._entries = Entries(preview.selection.tasks, str(self._folder))
        self._turns = Turns(preview.selection.tasks, preview.order, self._entries, options.repository, self._warn_of)
        self._chain = BudgetChain(preview.home.root, preview.key, options.workflow, self._name, self._scratch.fresh())
        self._journal = open_journal(means, preview.home.root, self._chain.name, self._announce)
        self._gateway = Gateway(
            self._journal,
            self._pool,
            models=(options.drafter, options.reviewer),
            caps=_caps(options),
            price=means.price,
            on_spent_out=self._stop_spending,
            terms=_terms(options),
            announce=self._announce,
        )
        # Runs that were killed could not say it themselves.
        self._gateway.account.repeated = self._journal.repeated(self._chain.name)
        self._workers = ProcessWorkers(
            self._gateway,
            self._scratch,
            environ,
            self._folder / "workers.log",
            options.workflow,
            at_once=self._coordinator.max_workers,
            in_all=len(preview.selection.tasks),
        )
        self._eta = Eta(self._coordinator.max_workers)
        self._distance = Distance(options.delay, self._stopping)
        self._started, self._began = utc_now(), time.monotonic()
        amount = len(preview.selection.tasks)
        told = describe_run(self._name, self._started, options.command, str(options.repository), amount)
        self._write("run.json", [told])

    def _announce(self, text: str) -> None:
        self._console.say(text, important=True)

    def _warn_of(self, label: str, text: str) -> None:
        self._console.tell(label, text, important=True)

    def run(self) -> tuple[Summary, int | None]:
        """Run everything, and report whatever has ended even when the rest could not."""
        console, selection = self._console, self._preview.selection
        amount = count(len(selection.tasks), "item")
        console.say(f"{amount} to run, {self._coordinator.max_workers} at a time: {selection.describe()}")
        for task in selection.edited:
            console.tell(task.label, "its input was edited since it ended; starting again")
        for reject in selection.rejects:
            self._refuse(reject)
        for warning in self._preview.order.warnings:
            console.say(f"Warning: {warning}", important=True)
        self._turns.announce()
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
            summary = self._summarise(signals.ending, trouble)
        if not summary.is_unfinished:
            self._chain.end()
        try:
            self._write("summary.json", summary.to_json_text())
        except OSError as error:
            console.say(f"the summary cannot be kept: {explain(error)}", important=True)
        return summary, signals.ending

    def close(self) -> None:
        """Remove what the run needed only for itself."""
        self._journal.close()
        self._chain.close()
        self._pool.close()
        self._scratch.close()

    def _stop_spending(self, error: OverBudget) -> None:
        """Start nothing more once the money is spent; what needs no more calls may still end."""
        option, amount = error.remedy
        self._remedies[option] = max(amount, self._remedies.get(option, amount), key=parse_dollars)
        if error.is_for_all and not self._is_spent_out:
            self._is_spent_out = True
            self._announce(str(error))
            self._coordinator.drain()

    def _run_items(self) -> str:
        """Run the items; return what went wrong with the batch itself, empty when nothing did."""
        tasks = self._preview.selection.tasks
        try:
            if tasks:
                self._workers.start()
                startup = self._workers.wait_ready(lambda: not self._coordinator.is_stopping)
                if self._console.verbose:
                    self._console.say(f"workers ready after {startup:.2f} s")
                self._coordinator.execute_parallel(
                    range(len(tasks)), self._run_one, lambda at: tasks[at].label, schedule=self._turns
                )
        except (AgentOSError, OSError, RuntimeError) as error:
            return explain(error)
        finally:
            self._stopping.set()
            self._workers.close()
            self._await_the_cut_off()
        return ""

    def _await_the_cut_off(self) -> None:
        deadline = time.monotonic() + LAST_WORDS
        while self._running and time.monotonic() < deadline:
            time.sleep(0.005)

    def _run_one(self, position: int, credential: str | None) -> str:
        """Run the item at a position and return its status."""
        del credential
        task = self._preview.selection.tasks[position]
        if not self._distance.keep():
            raise Interrupted
        self._running[task.label] = time.monotonic()
        try:
            entry = supervise(self._run_context, task)
            entry = replace(entry, cost=self._gateway.take_cost(self._item_key(task)))
            self._entries.put(position, entry)
        except Exception as error:
            # Our own code failed on it, and still it is accounted for.
            entry = _crashed(task, error, time.monotonic() - self._running[task.label])
            self._entries.put(position, entry)
            self._console.tell(task.label, f"FAILED: {entry.message}", important=True)
        finally:
            del self._running[task.label]
        if entry.status == State.INTERRUPTED:
            raise Interrupted
        return entry.status

    def _item_key(self, task: Task) -> str:
        return item_key(self._preview.key, task.workflow, task.item)

    @cached_property
    def _run_context(self) -> Run:
        options, preview = self._options, self._preview
        return Run(
            name=self._name,
            folder=self._folder,
            command=options.command,
            home=preview.home,
            scratch=self._scratch,
            repository=options.repository,
            key=preview.key,
            inbox=preview.inbox,
            workers=self._workers,
            console=self._console,
            forget_answers=lambda task: self._journal.forget_item(preview.key, task.workflow, task.item),
            # Filing is slower than drafting may be: with the slots free, items without end would queue up for it.
            slot_release=self._coordinator.slot_release if self._filer is None else lambda: lambda: None,
            stopping=self._stopping,
            drafter=options.drafter,
            reviewer=options.reviewer,
            max_rounds=options.max_iterations if options.builds else options.max_rounds,
            timeout=options.timeout or None,
            retries=options.retries,
            redo=options.choice.redo,
            filer=self._filer,
            workshop=lambda task: workshop_of(options, preview, task),
        )

    def _take_result(self, result: WorkflowResult, stats: ProgressStats) -> None:
        if not result.success or result.value == State.FAILED:
            self._failures += 1
        self._eta.completed(result.duration, left=stats.total - stats.completed, now=time.monotonic())
        self._show_progress(stats)
        if self._halt is None or self._coordinator.is_stopping:
            return
        if self._halt.is_reached(self._failures, stats.total):
            self._console.say(f"{self._failures} failed: halting as --halt {self._options.halt} says", important=True)
            if self._halt.is_immediate:
                self._coordinator.request_shutdown()
            else:
                self._coordinator.drain()

    def _show_progress(self, stats: ProgressStats) -> None:
        if self._console.is_quiet:
            return
        eta = self._eta.text(left=stats.total - stats.completed, now=time.monotonic())
        self._console.progress(stats.completed, stats.total, running=stats.running, failed=self._failures, eta=eta)

    def _stop_workers(self) -> None:
        """Runs in the coordinator's loop, not in a signal handler."""
        self._stopping.set()
        self._console.say("Press Ctrl+C again to stop immediately")
        self._workers.stop()

    def _stop_soon(self) -> None:
        """Runs in a signal handler: no lock may be taken here."""
        self._workers.hurry()
        self._coordinator.request_shutdown()

    def _stop_now(self) -> None:
        """Runs in a signal handler: no lock may be taken here."""
        self._workers.kill()
        self._coordinator.request_shutdown()

    def _say_running(self) -> None:
        now = time.monotonic()
        running = ", ".join(f"{label} ({now - since:.0f} s)" for label, since in dict(self._running).items())
        self._console.say(f"running: {running or 'nothing'}", important=True)

    def _refuse(self, reject: Reject) -> None:
        outcome = failed(Failure.BAD_INPUT, reject.reason)
        self._console.tell(reject.task.label, f"FAILED: {reject.reason} ({Failure.BAD_INPUT})", important=True)
        self._refused.append(Entry(reject.task, State.FAILED, outcome, reject.reason))

    def _summarise(self, ending: int | None, trouble: str) -> Summary:
        options, tasks = self._options, self._preview.selection.tasks
        cut_off = set(self._running)
        for position in range(len(tasks)) if cut_off else ():
            if tasks[position].label in cut_off and self._entries[position].status == NOT_STARTED:
                self._entries.put(position, Entry(tasks[position], State.INTERRUPTED))
        for position, waiting in self._turns.waiting():
            self._entries.put(position, waiting)
        return Summary(
            run=self._name,
            workflow=options.workflow,
            repository=str(options.repository),
            command=options.command,
            started=self._started,
            finished=utc_now(),
            seconds=time.monotonic() - self._began,
            parallel=self._coordinator.max_workers,
            folder=str(self._folder),
            retry=options.retry,
            entries=Chain((self._entries, self._refused)),
            is_interrupted=ending is not None
            or any(entry.status in (NOT_STARTED, State.INTERRUPTED) for entry in self._entries),
            trouble=trouble,
            account=self._gateway.account,
            asks_models=not self._means.is_offline,
            remedies=self._remedies,
        )

    def _write(self, name: str, texts: Iterable[str]) -> None:
        write_atomically(self._folder / name, (text.encode() for text in texts), temporary=self._scratch.fresh())


def _caps(options: Options) -> Caps:
    given = (options.max_cost, options.max_cost_per_item, options.max_cost_per_day)
    return Caps(*(parse_dollars(text) if text else None for text in given))


def _terms(options: Options) -> dict[str, RoleTerms]:
    timeouts = options.first_byte_timeout, options.idle_timeout
    return {
        "drafter": RoleTerms(options.drafter_output_limit, *timeouts),
        "reviewer": RoleTerms(options.reviewer_output_limit, *timeouts),
    }


def _crashed(task: Task, error: Exception, seconds: float) -> Entry:
    outcome = failed(Failure.INFRA, f"internal error: {str(error) or type(error).__name__}")
    return Entry(task, State.FAILED, outcome, outcome.message, seconds)
