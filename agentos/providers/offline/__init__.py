"""The provider that needs no key and no network: a drafter and a reviewer made of rules.

Its options make it the simulator too: `latency=0.2,approve_after=2,fault=error@42x2+hang`. Code is beyond rules: what
an implementation asks for is answered from a folder of recorded answers, `answers=FOLDER`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

from agentos.documents.verdict import verdict_json
from agentos.errors import ProviderError, RateLimited
from agentos.providers import Completion, Credential, Provider, Request
from agentos.providers.offline.drafter import write_draft
from agentos.providers.offline.options import Fault, FaultKind, Options, parse_options
from agentos.providers.offline.recorded import WITHOUT_RULES, find_answer
from agentos.providers.offline.reviewer import script_discuss, script_revise, write_review

MODEL = "offline rules (no model was asked)"
RECORDED = "recorded answer (no model was asked)"
PURPOSES = frozenset(
    {
        *("lld.draft", "lld.review", "issue.draft", "issue.review"),
        *("implementation.review", "implementation.tests", "implementation.code"),
    }
)
_MALFORMED = '{"decision": "APPROVED", "summary": "cut off in the mid'
_SCRIPTED = frozenset({FaultKind.REVISE, FaultKind.DISCUSS})
_INSTEAD_OF_AN_ANSWER = frozenset({FaultKind.RATE_LIMIT, FaultKind.ERROR, FaultKind.MALFORMED})
_LARGE = 50_000


class OfflineProvider:
    """Answers by rules; the same inputs give the same bytes."""

    needs_key = False

    def __init__(self, options: Options) -> None:
        self._options = options
        self._struck: Counter[tuple[Fault, str]] = Counter()

    async def check(self, credential: Credential | None) -> str:  # noqa: ARG002
        """Say that rules are always there."""
        return MODEL

    async def prepare(self, credentials: Sequence[Credential]) -> None:
        """Do nothing: it is ready."""

    async def close(self) -> None:
        """Do nothing: there is nothing to let go of."""

    async def complete(self, request: Request, credential: Credential | None) -> Completion:  # noqa: ARG002
        """Answer a draft in Markdown and a review as verdict JSON."""
        if request.purpose not in PURPOSES:
            raise ProviderError(f"offline: no rule answers {request.purpose!r}", failure="bad-input")
        started = asyncio.get_running_loop().time()
        faults = self._strike(request)
        if FaultKind.HANG in faults:
            await asyncio.Event().wait()
        answer = "" if faults & _INSTEAD_OF_AN_ANSWER else await self._answer_soon(request, faults)
        # Thinking is part of the time that a call takes, as it is with a model.
        await asyncio.sleep(max(0.0, started + self._options.latency - asyncio.get_running_loop().time()))
        if FaultKind.RATE_LIMIT in faults:
            raise RateLimited(f"offline: simulated rate limit for {request.item}", delay=1)
        if FaultKind.ERROR in faults:
            raise ProviderError(f"offline: simulated error for {request.item}")
        if FaultKind.MALFORMED in faults:
            return Completion(_MALFORMED, MODEL)
        return Completion(answer, RECORDED if request.purpose in WITHOUT_RULES else MODEL)

    def _strike(self, request: Request) -> frozenset[FaultKind]:
        """Return the faults that hit this call, counting it against those that strike a few times only."""
        hit = set()
        is_review = request.purpose.endswith(".review")
        for fault in self._options.faults:
            if fault.item not in (None, request.item) or (fault.kind in _SCRIPTED and not is_review):
                continue
            self._struck[fault, request.item] += 1
            if fault.times is None or self._struck[fault, request.item] <= fault.times:
                hit.add(fault.kind)
        return frozenset(hit)

    async def _answer_soon(self, request: Request, faults: frozenset[FaultKind]) -> str:
        if sum(len(value) for value in request.inputs.values()) > _LARGE:
            return await asyncio.to_thread(self._answer, request, faults)
        return self._answer(request, faults)

    def _answer(self, request: Request, faults: frozenset[FaultKind]) -> str:
        if (recorded := find_answer(self._options.answers, request)) is not None:
            return recorded
        if request.purpose.endswith(".draft"):
            return write_draft(request.purpose, request.inputs)
        verdict = write_review(request.purpose, request.inputs)
        if FaultKind.DISCUSS in faults:
            verdict = script_discuss(verdict)
        elif FaultKind.REVISE in faults or request.round < self._options.approve_after:
            verdict = script_revise(verdict, request.round)
        return verdict_json(verdict)


def create(options: str) -> Provider:
    """Make the provider from the text after `offline:`."""
    return OfflineProvider(parse_options(options))
