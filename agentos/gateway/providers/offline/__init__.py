"""Provider without key and network.

Its rules fill a template with the words of the issue and mark what is missing: the
result is a skeleton, and they approve nothing. Approvals come from a folder of recorded
answers, `answers=FOLDER`, and so does all code. The other options simulate latency and
faults: `latency=0.2,approve_after=2,fault=error@42x2+hang`.
"""

from __future__ import annotations

import asyncio
from collections import Counter

from agentos.documents.provenance import RECORDED, RULES, SCRIPTED, SIMULATED
from agentos.documents.verdict import verdict_json
from agentos.errors import ProviderError, RateLimited, UsageError
from agentos.gateway.providers import Completion, Credential, Provider, Request
from agentos.gateway.providers.offline.options import (
    Fault,
    FaultKind,
    Options,
    parse_options,
)
from agentos.gateway.providers.offline.recorded import find_answer
from agentos.gateway.providers.offline.rules import write_draft, write_review
from agentos.gateway.providers.offline.simulation import (
    let_pass,
    script_discuss,
    script_revise,
)
from agentos.kinds import Kind

_MALFORMED = '{"decision": "APPROVED", "summary": "cut off in the mid'
_SCRIPTED = frozenset({FaultKind.REVISE, FaultKind.DISCUSS})
_INSTEAD_OF_AN_ANSWER = frozenset(
    {FaultKind.RATE_LIMIT, FaultKind.ERROR, FaultKind.MALFORMED}
)
_LARGE = 50_000


class OfflineProvider(Provider):
    """Answer from records or by rules; the same inputs give the same bytes."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._struck: Counter[tuple[Fault, str]] = Counter()

    async def check(self, credential: Credential | None) -> str:  # noqa: ARG002
        """Return the name of the rules, which are always available."""
        return RULES

    async def complete(
        self,
        request: Request,
        credential: Credential | None,  # noqa: ARG002
    ) -> Completion:
        """Answer a draft in Markdown and a review as verdict JSON."""
        if not _is_known(request.purpose):
            raise ProviderError(
                f"offline: no rule answers {request.purpose!r}", failure="bad-input"
            )
        clock = asyncio.get_running_loop()
        started = clock.time()
        faults = self._strike(request)
        if FaultKind.HANG in faults:
            await asyncio.Event().wait()
        answer = Completion("", RULES)
        if not faults & _INSTEAD_OF_AN_ANSWER:
            answer = await self._answer_soon(request, faults)
        # The time to write the answer is part of the latency, as with a model.
        left = started + self._options.latency - clock.time()
        await asyncio.sleep(max(0.0, left))
        if FaultKind.RATE_LIMIT in faults:
            raise RateLimited(
                f"offline: simulated rate limit for {request.item}", delay=1
            )
        if FaultKind.ERROR in faults:
            raise ProviderError(f"offline: simulated error for {request.item}")
        if FaultKind.MALFORMED in faults:
            return Completion(_MALFORMED, SCRIPTED)
        return answer

    def _strike(self, request: Request) -> frozenset[FaultKind]:
        """Return the faults for this call, and count it against those with a limited
        number.
        """
        hit = set()
        is_review = request.purpose.endswith(".review")
        for fault in self._options.faults:
            if fault.item not in (None, request.item):
                continue
            if fault.kind in _SCRIPTED and not is_review:
                continue
            self._struck[fault, request.item] += 1
            struck = self._struck[fault, request.item]
            if fault.times is None or struck <= fault.times:
                hit.add(fault.kind)
        return frozenset(hit)

    async def _answer_soon(
        self, request: Request, faults: frozenset[FaultKind]
    ) -> Completion:
        size = sum(map(len, request.inputs.values()))
        if size > _LARGE:
            return await asyncio.to_thread(self._answer, request, faults)
        return self._answer(request, faults)

    def _answer(self, request: Request, faults: frozenset[FaultKind]) -> Completion:
        is_review = request.purpose.endswith(".review")
        wants_more = is_review and request.round < self._options.approve_after
        if not wants_more and not faults & _SCRIPTED:
            recorded = find_answer(self._options.answers, request)
            if recorded is not None:
                return Completion(recorded, RECORDED)
        if not is_review:
            draft = write_draft(request.purpose, request.inputs)
            return Completion(draft, RULES)
        model = RULES
        verdict = write_review(request.purpose, request.inputs)
        if FaultKind.DISCUSS in faults:
            model = SCRIPTED
            verdict = script_discuss(verdict)
        elif FaultKind.REVISE in faults or wants_more:
            model = SCRIPTED
            earlier = request.inputs.get("earlier_findings", "")
            verdict = script_revise(verdict, request.round, earlier)
        elif self._options.approve_after:
            model = SIMULATED
            verdict = let_pass(verdict, request.round)
        return Completion(verdict_json(verdict), model)


def _is_known(purpose: str) -> bool:
    """Tell whether a kind of work has this role."""
    kind, _, role = purpose.partition(".")
    try:
        return role in Kind(kind).record.prompts
    except UsageError:
        return False


def create(options: str) -> Provider:
    """Create the provider from the text after `offline:`."""
    return OfflineProvider(parse_options(options))
