"""Run a calibration: open the gateway that all runs use, ask, and leave behind what a rerun needs."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from agentos import locks, scratch
from agentos.calibration.asking import REPOSITORY, Examination, Question, Result, make_questions
from agentos.calibration.case_files import Case, DefectClass
from agentos.calibration.report import Report, Spending
from agentos.console import Console
from agentos.errors import UsageError
from agentos.gateway.budget import Caps, OverBudget
from agentos.gateway.journal import Journal
from agentos.gateway.opening import Means, open_journal, open_pool
from agentos.gateway.server import Gateway, RoleTerms
from agentos.home import Home
from agentos.scratch import Scratch
from agentos.shutdown import Signals, handled
from agentos.spending import BudgetChain
from agentos.task import Workflow
from agentos.wording import count, file_stamp
from agentos.workflows.overrides import Overrides
from agentos.workflows.parallel.coordinator import ParallelCoordinator

MOST_AT_ONCE = ParallelCoordinator.MAX_PARALLELISM


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be calibrated, and how."""

    models: tuple[str, ...]
    classes: tuple[DefectClass, ...]
    cases: tuple[Case, ...]
    repeat: int
    parallel: int
    caps: Caps
    overrides: Overrides
    terms: RoleTerms

    @property
    def prompt(self) -> str:
        """Return which review prompt is calibrated."""
        own = next((path for path in self.overrides.paths if path.endswith("-review.md")), "")
        return own or "built-in"


def calibrate(
    plan: Plan, means: Means, home: Home, console: Console, environ: Mapping[str, str]
) -> tuple[Report, int | None]:
    """Ask all questions of the plan; return the report and the signal that ended it, if one did."""
    home.prepare(REPOSITORY)
    scratch.sweep(home.temporary)
    with _alone(home), _scratch(home) as folder:
        session = _Session(plan, means, home, console, environ, folder)
        try:
            return session.run()
        finally:
            session.close()


class _Session:
    """One calibration from its first question to its report."""

    def __init__(
        self, plan: Plan, means: Means, home: Home, console: Console, environ: Mapping[str, str], folder: Scratch
    ) -> None:
        self._plan = plan
        self._at_once = min(plan.parallel, MOST_AT_ONCE)
        self._console = console
        name = f"{REPOSITORY}-{file_stamp()}-{os.getpid()}"
        self._chain = BudgetChain(home.root, REPOSITORY, Workflow.LLD, name, folder.fresh())
        self._pool = open_pool(means, environ, home.root, self._announce)
        self._journal: Journal = open_journal(means, home.root, self._chain.name, self._announce)
        self._price = means.price
        self._loop: asyncio.AbstractEventLoop | None = None
        self._examination: Examination | None = None
        self._is_spent_out = False
        self._done = 0

    def run(self) -> tuple[Report, int | None]:
        """Ask, and report whatever was answered even when the rest could not be."""
        questions = make_questions(self._plan.cases, self._plan.models, self._plan.repeat)
        if self._plan.parallel > MOST_AT_ONCE:
            self._announce(f"Warning: parallelism {self._plan.parallel} capped at {MOST_AT_ONCE}")
        self._console.say(f"{count(len(questions), 'question')} to ask, {self._at_once} at a time")
        signals = Signals(
            stop=lambda: self._call(Examination.stop),
            stop_now=lambda: self._call(Examination.cut),
            suspend=lambda: None,
            resume=lambda: None,
            report=lambda: self._announce(f"{self._done} of {len(questions)} answered"),
        )
        self._console.on_stdout_closed = lambda: self._call(Examination.stop)
        began = time.monotonic()
        with handled(signals):
            examination, gateway = asyncio.run(self._ask(questions, signals))
        report = self._report(questions, examination, gateway, time.monotonic() - began)
        if report.is_complete:
            self._forget()
        return report, signals.ending

    def close(self) -> None:
        """Let go of the journal and the keys."""
        self._journal.close()
        self._chain.close()
        self._pool.close()

    async def _ask(self, questions: list[Question], signals: Signals) -> tuple[Examination, Gateway]:
        plan = self._plan
        gateway = Gateway(
            self._journal,
            self._pool,
            models=plan.models,
            caps=plan.caps,
            price=self._price,
            on_spent_out=self._stop_spending,
            terms={"reviewer": plan.terms},
            announce=self._announce,
        )
        self._loop = asyncio.get_running_loop()
        self._examination = Examination(gateway, self._journal, plan.overrides, questions, self._tell)
        if signals.ending is not None or self._console.stdout_closed.is_set():
            self._examination.stop()
        await self._examination.run(self._at_once)
        return self._examination, gateway

    def _call(self, method: Callable[[Examination], None]) -> None:
        """Hand an order to the event loop; runs in a signal handler or on the console's thread."""
        if method is Examination.stop:
            self._console.say("Stopping: calls under way have 4 seconds to be answered. Ctrl+C again stops at once")
        if self._loop is not None and self._examination is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(method, self._examination)

    def _stop_spending(self, error: OverBudget) -> None:
        if error.is_for_all and not self._is_spent_out and self._examination is not None:
            self._is_spent_out = True
            self._announce(str(error))
            self._examination.drain()

    def _tell(self, result: Result) -> None:
        self._done += result.outcome is not None
        question = result.question
        again = f" ({question.repetition})" if self._plan.repeat > 1 else ""
        said = result.outcome or f"no answer: {result.failure}"
        self._console.tell(question.case.name, f"{question.model}{again}: {said}", important=bool(result.failure))

    def _announce(self, text: str) -> None:
        self._console.say(text, important=True)

    def _report(self, questions: list[Question], examination: Examination, gateway: Gateway, seconds: float) -> Report:
        plan = self._plan
        spending: dict[str, Spending] = {}
        for call in self._journal.costs(self._chain.name):
            before = spending.get(call.model, Spending())
            spending[call.model] = Spending(before.calls + call.calls, before.cost + call.cost)
        place = {question: at for at, question in enumerate(questions)}
        return Report(
            models=plan.models,
            classes=plan.classes,
            planned=len(questions),
            repeat=plan.repeat,
            prompt=plan.prompt,
            results=tuple(sorted(examination.results, key=lambda result: place[result.question])),
            spending=spending,
            from_journal=gateway.account.from_journal,
            seconds=seconds,
        )

    def _forget(self) -> None:
        """Let the next calibration ask anew, with a purse of its own."""
        for case in self._plan.cases:
            self._journal.forget_item(REPOSITORY, Workflow.LLD, case.name)
        self._chain.end()


@contextmanager
def _alone(home: Home) -> Iterator[None]:
    """Keep a second calibration away: both would ask under the same names, and the first to end would forget them."""
    lock = locks.acquire(home.root / "locks" / REPOSITORY / "calibration.lock", "agentos calibrate")
    if isinstance(lock, locks.Holder):
        raise UsageError(f"another calibration runs as pid {lock.pid} since {lock.since}; wait for it or stop it")
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _scratch(home: Home) -> Iterator[Scratch]:
    folder = Scratch(home.temporary)
    try:
        yield folder
    finally:
        folder.close()
