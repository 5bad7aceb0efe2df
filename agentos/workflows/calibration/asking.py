"""Have reviewers judge the cases, with the review step of the design kind and the run's
gateway.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from agentos.documents.verdict import Verdict, parse_verdict
from agentos.errors import FailureCause, ModelFormat, ProviderError
from agentos.gateway.journal import Journal, request_key
from agentos.gateway.providers import Completion, Message, Request
from agentos.gateway.server import Gateway
from agentos.kinds import Kind
from agentos.repository.look import Snapshot
from agentos.settings import RunConfig
from agentos.workflows.calibration.case_files import Case
from agentos.workflows.calibration.scoring import CaseOutcome, findings_about, score
from agentos.workflows.drafting.lld import KIND
from agentos.workflows.drafting.memory import Memory
from agentos.workflows.drafting.nodes import DraftingContext, review
from agentos.workflows.drafting.state import initial_state, new_round
from agentos.workflows.prompts.overrides import Overrides

REPOSITORY = "calibration"
"""Stands in for a repository's key; no repository can have this one, since real keys end
in a hash.
"""
GRACE = 4.0
"""Seconds that running calls get after a request to stop."""


@dataclass(frozen=True, slots=True)
class CaseQuestion:
    """One case for one reviewer; `repetition` counts from 1."""

    case: Case
    model: str
    repetition: int


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of a question; without an outcome it was not answered, and `failure`
    says why.
    """

    question: CaseQuestion
    outcome: CaseOutcome | None = None
    decision: str = ""
    findings: tuple[str, ...] = ()
    """Texts of the findings about the defect."""
    seconds: float = 0.0
    """Duration of its calls, without the wait for a key."""
    failure: str = ""
    is_for_lack_of_money: bool = False


def make_questions(
    cases: Sequence[Case], models: Sequence[str], repeat: int
) -> list[CaseQuestion]:
    """Return all questions, alternating between reviewers, so that an interrupted
    calibration is equally far with each.
    """
    return [
        CaseQuestion(case, model, repetition)
        for repetition in range(1, repeat + 1)
        for case in cases
        for model in models
    ]


class Examination:
    """Ask questions concurrently until all are answered or it is stopped."""

    def __init__(
        self,
        gateway: Gateway,
        journal: Journal,
        overrides: Overrides,
        questions: Sequence[CaseQuestion],
        on_result: Callable[[CaseResult], None],
    ) -> None:
        self._gateway = gateway
        self._journal = journal
        self._overrides = overrides
        self._left = deque(questions)
        self._on_result = on_result
        self._is_stopping = asyncio.Event()
        self._is_cut = asyncio.Event()
        self.results: list[CaseResult] = []

    def drain(self) -> None:
        """Ask nothing more, and wait for running calls."""
        self._left.clear()

    def stop(self) -> None:
        """Ask nothing more, and give running calls a few seconds."""
        self._left.clear()
        self._is_stopping.set()

    def cut(self) -> None:
        """Stop immediately."""
        self.stop()
        self._is_cut.set()

    async def run(self, parallel: int) -> None:
        """Ask until all is answered; interrupted questions have no result."""
        workers = [
            asyncio.create_task(self._work())
            for _ in range(min(parallel, len(self._left)))
        ]
        watch = asyncio.create_task(self._watch(workers))
        try:
            await asyncio.gather(*workers, return_exceptions=True)
        finally:
            watch.cancel()
            await self._gateway.close()
        for worker in workers:
            if not worker.cancelled():
                worker.result()

    async def _watch(self, workers: Sequence[asyncio.Task[None]]) -> None:
        await self._is_stopping.wait()
        try:
            async with asyncio.timeout(GRACE):
                await self._is_cut.wait()
        except TimeoutError:
            pass
        for worker in workers:
            worker.cancel()

    async def _work(self) -> None:
        while self._left:
            result = await self._examine(self._left.popleft())
            self.results.append(result)
            self._on_result(result)

    async def _examine(self, question: CaseQuestion) -> CaseResult:
        asker = _Asker(self._gateway, self._journal, question)
        try:
            verdict = await self._review(question.case, asker)
        except ProviderError as error:
            is_for_lack_of_money = error.cause is FailureCause.BUDGET
            return CaseResult(
                question, failure=str(error), is_for_lack_of_money=is_for_lack_of_money
            )
        result = CaseResult(
            question, score(question.case, verdict), seconds=asker.seconds
        )
        if verdict is None:
            return result
        texts = []
        defect = question.case.defect
        if defect:
            texts = [finding.text for finding in findings_about(defect, verdict)]
        decision = str(verdict.decision)
        return replace(result, decision=decision, findings=tuple(texts))

    async def _review(self, case: Case, asker: _Asker) -> Verdict | None:
        """Return the verdict of the step that also reviews designs in a run; None if it
        cannot be read.
        """
        state = initial_state(case.item, case.source)
        round = new_round(case.draft, "")
        state["rounds"] = [round]
        try:
            update = await review(state, self._context(asker))
        except ModelFormat:
            return None
        return parse_verdict(update["rounds"][-1]["verdict"])

    def _context(self, asker: _Asker) -> DraftingContext:
        return DraftingContext(
            kind=KIND,
            ask=asker,
            prompts=self._overrides,
            take_snapshot=lambda: None,
            gather=lambda *_: "",
            open_looker=_look_nowhere,
            recall=lambda _: Memory(),
            check=lambda *_: (),
            config=RunConfig(max_rounds=1),
            today=str,
            provenance="",
            observe=lambda *_: None,
        )


def _look_nowhere(snapshot: Snapshot) -> NoReturn:
    """Refuse to open a snapshot: the cases have no repository."""
    raise AssertionError(snapshot)


class _Asker:
    """Ask on behalf of a case; the repetition replaces the round, so that the journal
    keeps repetitions apart.
    """

    def __init__(
        self, gateway: Gateway, journal: Journal, question: CaseQuestion
    ) -> None:
        self._gateway = gateway
        self._journal = journal
        self._question = question
        self.seconds = 0.0

    async def __call__(
        self,
        *,
        role: str,
        node: str,
        round: int,
        attempt: int,
        messages: Sequence[Message],
        inputs: Mapping[str, str],
        schema: str,
    ) -> Completion:
        del round
        request = Request(
            repository=REPOSITORY,
            workflow=Kind.LLD,
            item=self._question.case.name,
            node=node,
            round=self._question.repetition,
            attempt=attempt,
            purpose=f"{Kind.LLD}.{role}",
            model=self._question.model,
            messages=tuple(messages),
            inputs=dict(inputs),
            schema=schema,
        )
        started = time.monotonic()
        answer = await self._gateway.answer(request)
        took = time.monotonic() - started - answer.waited
        if answer.from_journal:
            known = await asyncio.to_thread(self._journal.settled, request_key(request))
            took = known.seconds if known else took
        self.seconds += took
        return answer.completion
