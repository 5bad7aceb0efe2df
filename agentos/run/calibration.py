"""Run a calibration: ask reviewers through the gateway, and keep what a rerun needs."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass

from agentos.errors import UsageError
from agentos.gateway.access import ModelAccess, open_journal, open_pool
from agentos.gateway.budget import Caps, OverBudget
from agentos.gateway.journal import Journal
from agentos.gateway.roles import RoleTerms
from agentos.gateway.server import Gateway
from agentos.kinds import Kind
from agentos.run.budget_chain import BudgetChain
from agentos.run.console import Console
from agentos.run.signals import Signals, handled
from agentos.state import locks, scratch
from agentos.state.home import Home
from agentos.state.scratch import Scratch
from agentos.state.wording import count, file_timestamp
from agentos.workflows.calibration.asking import (
    REPOSITORY,
    CaseQuestion,
    CaseResult,
    Examination,
    make_questions,
)
from agentos.workflows.calibration.case_files import Case, DefectClass
from agentos.workflows.calibration.report import CalibrationCost, CalibrationReport
from agentos.workflows.parallel.coordinator import ParallelCoordinator
from agentos.workflows.prompts.overrides import Overrides

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
        """The review prompt that is calibrated."""
        for path in self.overrides.paths:
            if path.endswith("-review.md"):
                return path
        return "built-in"


def calibrate(
    plan: Plan,
    access: ModelAccess,
    home: Home,
    console: Console,
    environ: Mapping[str, str],
) -> tuple[CalibrationReport, int | None]:
    """Ask all questions of the plan; return the report and the signal that ended it, if
    any.
    """
    home.prepare(REPOSITORY)
    scratch.sweep(home.temporary)
    with _lock(home), closing(Scratch(home.temporary)) as folder:
        session = _Session(plan, access, home, console, environ, folder)
        try:
            return session.run()
        finally:
            session.close()


class _Session:
    """One calibration from its first question to its report."""

    def __init__(
        self,
        plan: Plan,
        access: ModelAccess,
        home: Home,
        console: Console,
        environ: Mapping[str, str],
        folder: Scratch,
    ) -> None:
        self._plan = plan
        self._at_once = min(plan.parallel, MOST_AT_ONCE)
        self._console = console
        name = f"{REPOSITORY}-{file_timestamp()}-{os.getpid()}"
        self._chain = BudgetChain(home.root, REPOSITORY, Kind.LLD, name, folder.fresh())
        self._pool = open_pool(access, environ, home.root, self._announce)
        self._journal: Journal = open_journal(
            access, home.root, self._chain.name, self._announce
        )
        self._price = access.price
        self._loop: asyncio.AbstractEventLoop | None = None
        self._examination: Examination | None = None
        self._is_over_budget = False
        self._done = 0

    def run(self) -> tuple[CalibrationReport, int | None]:
        """Ask, and report what was answered."""
        questions = make_questions(
            self._plan.cases, self._plan.models, self._plan.repeat
        )
        if self._plan.parallel > MOST_AT_ONCE:
            self._announce(
                f"Warning: parallelism {self._plan.parallel} capped at {MOST_AT_ONCE}"
            )
        self._console.say(
            f"{count(len(questions), 'question')} to ask, {self._at_once} at a time"
        )
        signals = Signals(
            stop=lambda: self._call(Examination.stop),
            stop_now=lambda: self._call(Examination.cut),
            suspend=lambda: None,
            resume=lambda: None,
            report=lambda: self._announce(f"{self._done} of {len(questions)} answered"),
        )
        self._console.on_stdout_closed = lambda: self._call(Examination.stop)
        started = time.monotonic()
        with handled(signals):
            examination, gateway = asyncio.run(self._ask(questions, signals))
        seconds = time.monotonic() - started
        report = self._report(questions, examination, gateway, seconds)
        if report.is_complete:
            self._forget()
        return report, signals.ending

    def close(self) -> None:
        """Release the journal and the keys."""
        self._journal.close()
        self._chain.close()
        self._pool.close()

    async def _ask(
        self, questions: list[CaseQuestion], signals: Signals
    ) -> tuple[Examination, Gateway]:
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
        self._examination = Examination(
            gateway, self._journal, plan.overrides, questions, self._tell
        )
        if signals.ending is not None or self._console.stdout_closed.is_set():
            self._examination.stop()
        await self._examination.run(self._at_once)
        return self._examination, gateway

    def _call(self, method: Callable[[Examination], None]) -> None:
        """Call a method in the event loop, from a signal handler or the thread of the
        console.
        """
        if method is Examination.stop:
            self._console.say(
                "Stopping: calls under way have 4 seconds to be answered. Press Ctrl+C"
                " again to stop immediately"
            )
        if self._loop is None or self._examination is None:
            return
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(method, self._examination)

    def _stop_spending(self, error: OverBudget) -> None:
        if not error.is_for_all or self._is_over_budget:
            return
        if self._examination is not None:
            self._is_over_budget = True
            self._announce(str(error))
            self._examination.drain()

    def _tell(self, result: CaseResult) -> None:
        self._done += result.outcome is not None
        question = result.question
        again = f" ({question.repetition})" if self._plan.repeat > 1 else ""
        said = result.outcome or f"no answer: {result.failure}"
        self._console.tell(
            question.case.name,
            f"{question.model}{again}: {said}",
            important=bool(result.failure),
        )

    def _announce(self, text: str) -> None:
        self._console.say(text, important=True)

    def _report(
        self,
        questions: list[CaseQuestion],
        examination: Examination,
        gateway: Gateway,
        seconds: float,
    ) -> CalibrationReport:
        plan = self._plan
        spending: dict[str, CalibrationCost] = {}
        for call in self._journal.costs(self._chain.name):
            before = spending.get(call.model, CalibrationCost())
            calls = before.calls + call.calls
            cost = before.cost + call.cost
            spending[call.model] = CalibrationCost(calls, cost)
        order = {question: number for number, question in enumerate(questions)}
        results = sorted(examination.results, key=lambda result: order[result.question])
        return CalibrationReport(
            models=plan.models,
            classes=plan.classes,
            planned=len(questions),
            repeat=plan.repeat,
            prompt=plan.prompt,
            results=tuple(results),
            spending=spending,
            from_journal=gateway.costs.from_journal,
            seconds=seconds,
        )

    def _forget(self) -> None:
        """Let the next calibration ask all questions again, with a new budget."""
        for case in self._plan.cases:
            self._journal.forget_item(REPOSITORY, Kind.LLD, case.name)
        self._chain.end()


@contextmanager
def _lock(home: Home) -> Iterator[None]:
    """Allow one calibration at a time: two would share answers, and the first to end
    would forget those of the other.
    """
    path = home.root / "locks" / REPOSITORY / "calibration.lock"
    lock = locks.acquire(path, "agentos calibrate")
    if isinstance(lock, locks.Holder):
        raise UsageError(
            f"another calibration runs as pid {lock.pid} since {lock.since}; wait for"
            " it or stop it"
        )
    try:
        yield
    finally:
        lock.release()
