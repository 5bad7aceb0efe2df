"""Put the cases before reviewers, by the review step of the design workflow and through the run's gateway."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from agentos.calibration.case_files import Case
from agentos.calibration.scoring import Outcome, findings_about, score
from agentos.documents.verdict import Verdict, parse_verdict
from agentos.errors import ModelFormat, ProviderError, Sign
from agentos.gateway.journal import Journal, request_key
from agentos.gateway.server import Gateway
from agentos.providers import Completion, Request
from agentos.task import Workflow
from agentos.workflows.drafting.nodes import Context, review
from agentos.workflows.drafting.state import RoundState, initial_state
from agentos.workflows.lld import KIND
from agentos.workflows.overrides import Overrides

REPOSITORY = "calibration"
"""In the place of a repository's key, which always ends in a hash: no repository can have this one."""
GRACE = 4.0
"""Seconds that calls under way have to be answered once the calibration is to stop."""


@dataclass(frozen=True, slots=True)
class Question:
    """One case for one reviewer; `repetition` counts from 1."""

    case: Case
    model: str
    repetition: int


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a question; without an outcome it was not answered, and `failure` says why."""

    question: Question
    outcome: Outcome | None = None
    decision: str = ""
    findings: tuple[str, ...] = ()
    """Texts of the findings about the defect."""
    seconds: float = 0.0
    """What its calls took, without the wait for a key."""
    failure: str = ""
    is_for_lack_of_money: bool = False


def make_questions(cases: Sequence[Case], models: Sequence[str], repeat: int) -> list[Question]:
    """Return all questions, reviewers side by side: what is cut short is cut short for all of them."""
    return [
        Question(case, model, repetition) for repetition in range(1, repeat + 1) for case in cases for model in models
    ]


class Examination:
    """Ask questions, some at a time, until all are answered or it is told to stop."""

    def __init__(
        self,
        gateway: Gateway,
        journal: Journal,
        overrides: Overrides,
        questions: Sequence[Question],
        on_result: Callable[[Result], None],
    ) -> None:
        self._gateway = gateway
        self._journal = journal
        self._overrides = overrides
        self._left = deque(questions)
        self._on_result = on_result
        self._is_stopping = asyncio.Event()
        self._is_cut = asyncio.Event()
        self.results: list[Result] = []

    def drain(self) -> None:
        """Ask nothing more, and wait for what is under way."""
        self._left.clear()

    def stop(self) -> None:
        """Ask nothing more, and give what is under way a few seconds."""
        self._left.clear()
        self._is_stopping.set()

    def cut(self) -> None:
        """End at once."""
        self.stop()
        self._is_cut.set()

    async def run(self, parallel: int) -> None:
        """Ask until the end; what had no time to be answered has no result."""
        workers = [asyncio.create_task(self._work()) for _ in range(min(parallel, len(self._left)))]
        watch = asyncio.create_task(self._watch(workers))
        try:
            await asyncio.gather(*workers, return_exceptions=True)
        finally:
            watch.cancel()
            await self._gateway.close()
        for worker in workers:
            if not worker.cancelled() and (error := worker.exception()) is not None:
                raise error

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

    async def _examine(self, question: Question) -> Result:
        asker = _Asker(self._gateway, self._journal, question)
        try:
            verdict = await self._review(question.case, asker)
        except ProviderError as error:
            is_for_lack_of_money = error.sign is Sign.BUDGET
            return Result(question, failure=str(error), is_for_lack_of_money=is_for_lack_of_money)
        result = Result(question, score(question.case, verdict), seconds=asker.seconds)
        if verdict is None:
            return result
        defect = question.case.defect
        about = tuple(finding.text for finding in findings_about(defect, verdict)) if defect else ()
        return replace(result, decision=str(verdict.decision), findings=about)

    async def _review(self, case: Case, asker: _Asker) -> Verdict | None:
        """Return the verdict of the very step that reviews designs in a run, None when it cannot read one."""
        state = initial_state(case.item, case.source)
        entry = RoundState(
            draft=case.draft,
            drafter="",
            problems=[],
            verdict="",
            fates={},
            answer="",
            reviewer="",
            reviewed_on="",
        )
        state["rounds"] = [entry]
        try:
            update = await review(state, self._context(asker))
        except ModelFormat:
            return None
        return parse_verdict(update["rounds"][-1]["verdict"])

    def _context(self, asker: _Asker) -> Context:
        return Context(
            kind=KIND,
            ask=asker,
            prompts=self._overrides,
            gather=lambda _: "",
            check=lambda *_: (),
            max_rounds=1,
            today=str,
            stamp="",
            observe=lambda *_: None,
        )


class _Asker:
    """Ask in the name of a case; the repetition stands for the round, so that the journal keeps them apart."""

    def __init__(self, gateway: Gateway, journal: Journal, question: Question) -> None:
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
        prompt: str,
        inputs: Mapping[str, str],
        schema: str,
    ) -> Completion:
        del round
        request = Request(
            repository=REPOSITORY,
            workflow=Workflow.LLD,
            item=self._question.case.name,
            node=node,
            round=self._question.repetition,
            attempt=attempt,
            purpose=f"{Workflow.LLD}.{role}",
            model=self._question.model,
            prompt=prompt,
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
