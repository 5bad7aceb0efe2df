"""The gateway: every completion of a run passes through it, and only it holds keys."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from agentos.errors import FailureCause, ProviderError
from agentos.gateway import retry_policy
from agentos.gateway.budget import UNLIMITED, Caps, OverBudget
from agentos.gateway.costs import RunCosts
from agentos.gateway.journal import Begun, Journal, RequestKey, request_key
from agentos.gateway.keys import KeyPool, Lease
from agentos.gateway.prices import (
    FREE,
    Price,
    cost_of_answer,
    cost_of_failure,
    saved_by_cache,
    worst_case,
)
from agentos.gateway.providers import (
    Completion,
    ModelSpec,
    Provider,
    Request,
    create_provider,
    on_note,
    on_sending,
    parse_model_spec,
)
from agentos.gateway.providers.complaints import too_long_prompt
from agentos.gateway.providers.registry import find_record
from agentos.gateway.providers.tokens import least_tokens
from agentos.gateway.providers.waiting import Silence, on_silence
from agentos.gateway.roles import RoleTerms
from agentos.gateway.secrets import Origin, refuse_answer, refuse_prompt
from agentos.money import NO_COST, Cost
from agentos.usage import NOTHING

T = TypeVar("T")
CHARACTERS_A_TOKEN = 4
TYPICAL_ANSWER = 4_000
"""Expected tokens of an answer until the first answers have arrived."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A completion and how it was obtained."""

    completion: Completion
    from_journal: bool = False
    was_asked_before: bool = False
    """Whether an earlier run sent the same question and was killed before the answer.
    """
    retries: int = 0
    waited: float = 0.0
    """Seconds spent waiting for a key."""
    cost: Cost = NO_COST
    key: str = ""
    """Fingerprint of the key that was used."""


class Gateway:
    """Answer requests from the journal, from a call under way for the same question, or
    from the provider.

    A call belongs to its request, not to the worker that asked: if the worker dies, the
    call continues, and its answer is in the journal when the item is resumed.
    """

    def __init__(
        self,
        journal: Journal,
        pool: KeyPool,
        *,
        models: Sequence[str] = (),
        caps: Caps = UNLIMITED,
        price: Callable[[ModelSpec], Price] = lambda _: FREE,
        create: Callable[[ModelSpec], Provider] = create_provider,
        on_spent_out: Callable[[OverBudget], None] = lambda _: None,
        terms: Mapping[str, RoleTerms] | None = None,
        announce: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._journal = journal
        self._pool = pool
        self._models = models
        self._caps = caps
        self._price = price
        self._create = create
        self._on_spent_out = on_spent_out
        self._terms = terms or {}
        self._announce = announce
        self._providers: dict[str, Provider] = {}
        self._under_way: dict[RequestKey, asyncio.Task[Reply]] = {}
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="journal")
        self._owed: list[tuple[Callable[..., None], tuple[Any, ...]]] = []
        """Results of calls that could not be written yet, as on a full disk."""
        self._sent = 0
        """Number of sent calls without an answer."""
        self._has_all_answers = asyncio.Event()
        self._has_all_answers.set()
        self._preparation: asyncio.Task[None] | None = None
        self._settlements = asyncio.Event()
        self._usual_answer: dict[str, float] = {}
        self._groups: dict[str, dict[str, str]] = {}
        """Quota group of the last call to each model, by item: its cache has the
        conversation.
        """
        self._given_up: set[RequestKey] = set()
        """Calls that are canceled although the run continues."""
        self._ignored: set[tuple[str, str, str]] = set()
        """Role, provider and name of settings that were said to be ignored."""
        self._costs: dict[str, Cost] = {}
        self.costs = RunCosts()

    async def answer(self, request: Request, origin: Origin | None = None) -> Reply:
        """Return the completion for a request, or raise `ProviderError`; `origin` is
        for its message.
        """
        if refusal := refuse_prompt(request, origin):
            raise refusal
        key = request_key(request)
        await self._catch_up()
        settled = await self._write(self._journal.settled, key)
        # An answer from before a key was known may hold it.
        if settled and not refuse_answer(settled.completion):
            self.costs.from_journal += 1
            return Reply(
                replace(settled.completion, cost=settled.cost.known), from_journal=True
            )
        call = self._under_way.get(key)
        if call is None:
            terms = self._terms.get(request.role)
            if terms:
                self._say_ignored(request, terms)
                request = terms.apply(request)
            call = asyncio.create_task(_Call(self, key, request).run())
            self._under_way[key] = call
            call.add_done_callback(lambda _: self._under_way.pop(key, None))
        return await asyncio.shield(call)

    def _say_ignored(self, request: Request, terms: RoleTerms) -> None:
        """Announce, once for each role, the settings that its provider does not have."""
        provider = parse_model_spec(request.model).provider
        lacks = find_record(provider).lacks
        for name in terms.chosen:
            told = (request.role, provider, name)
            if name not in lacks or told in self._ignored:
                continue
            self._ignored.add(told)
            role = request.role.replace("_", " ")
            self._announce(f"{role}: {provider} has no {name} setting; it is ignored")

    async def prepare(self) -> None:
        """Load all providers before the first call.

        Limits count from the lease of a key, so nothing slow may come between the lease
        and the call; and importing an SDK while another one is working can break its
        calls.
        """
        if self._preparation is None:
            self._preparation = asyncio.create_task(self._prepare())
        if not self._preparation.done():
            await asyncio.shield(self._preparation)

    async def _prepare(self) -> None:
        for model in self._models:
            # A later request to this provider raises the same error.
            with suppress(ProviderError):
                await self.provider(model).prepare(
                    self._pool.credentials(parse_model_spec(model).provider)
                )

    async def finish(self) -> None:
        """Wait for paid answers that no worker waits for any more, so that the next run
        has them.
        """
        if self._journal.waits_for_disk:
            await self._has_all_answers.wait()

    @contextmanager
    def _outstanding(self) -> Iterator[None]:
        """Count a call from sending it until its answer is stored and its cost counted."""
        self._sent += 1
        self._has_all_answers.clear()
        try:
            yield
        finally:
            self._sent -= 1
            if not self._sent:
                self._has_all_answers.set()

    def take_cost(self, item: str) -> Cost:
        """Return the cost of an ended item in this run, and forget the item;
        thread-safe.
        """
        self._groups.pop(item, None)
        return self._costs.pop(item, NO_COST)

    async def give_up(self, item: str) -> None:
        """Cancel the calls of an item that has run out of time, and count their
        possible cost.
        """
        calls = {key: call for key, call in self._under_way.items() if key.item == item}
        self._given_up |= calls.keys()
        for call in calls.values():
            call.cancel()
        await asyncio.gather(*calls.values(), return_exceptions=True)
        self._given_up -= calls.keys()

    def say_outstanding(self) -> None:
        """Announce the items whose answers are still outstanding, if any."""
        items = set()
        for key, call in self._under_way.items():
            if not call.done():
                items.add(key.item.rpartition("/")[2])
        if self._sent and items:
            names = ", ".join(sorted(items))
            self._announce(
                f"waiting for answers that are being paid for ({names});"
                " Ctrl+C gives them up"
            )

    async def close(self) -> None:
        """Cancel all calls and close all connections at the end of the run."""
        calls = list(self._under_way.values())
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await asyncio.gather(
            *(provider.close() for provider in self._providers.values()),
            return_exceptions=True,
        )
        await self._catch_up()
        self._writer.shutdown(wait=False)

    async def _write(self, method: Callable[..., T], *values: Any) -> T:
        """Call a method of the journal, in a thread if it blocks, and never leave it
        halfway.
        """
        if not self._journal.waits_for_disk:
            return method(*values)
        writing = asyncio.get_running_loop().run_in_executor(
            self._writer, method, *values
        )
        try:
            return await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait([writing])
            raise

    async def _write_end(self, method: Callable[..., None], *values: Any) -> None:
        """Write the result of a call to the journal, or keep it for later: no answer is
        lost while this process lives.
        """
        try:
            await self._write(method, *values)
        except ProviderError:
            self._owed.append((method, values))
            raise

    async def _catch_up(self) -> None:
        with suppress(ProviderError):
            while self._owed:
                method, values = self._owed.pop(0)
                await self._write_end(method, *values)

    def provider(self, model: str) -> Provider:
        """Return the provider of a model, created on first use."""
        if model not in self._providers:
            self._providers[model] = self._create(parse_model_spec(model))
        return self._providers[model]


class _Call:
    """One request on its way through pool, budget, provider and journal."""

    def __init__(self, gateway: Gateway, key: RequestKey, request: Request) -> None:
        self._gateway = gateway
        self._key = key
        self._spec = parse_model_spec(request.model)
        self._provider = gateway.provider(request.model)
        self._price = gateway._price(self._spec)
        self._request = _fit(request, self._price.context)
        self._reservation = worst_case(self._price, self._request)
        self._record = retry_policy.Record()
        self._waited = 0.0
        self._was_asked_before = False

    async def run(self) -> Reply:
        """Ask until there is an answer or asking again is useless."""
        await self._gateway.prepare()
        while True:
            lease = await self._lease()
            try:
                begun = await self._begin()
            except OverBudget as error:
                self._take_back(lease, None)
                await self._await_settlement(error)
                continue
            except BaseException:
                # The key has to go back also when the item is canceled.
                self._take_back(lease, None)
                raise
            if begun.was_sent_before and not self._was_asked_before:
                self._was_asked_before = True
                self._gateway.costs.repeated += 1
            self._gateway.costs.resent += begun.may_be_paid_before
            try:
                with self._gateway._outstanding():
                    return await self._ask(lease, begun)
            except ProviderError as error:
                await self._decide(error, lease)

    async def _lease(self) -> Lease:
        request, gateway = self._request, self._gateway
        answer = int(gateway._usual_answer.get(request.purpose, TYPICAL_ANSWER))
        tokens = len(request.prompt) // CHARACTERS_A_TOKEN + answer
        spec = self._spec
        groups = gateway._groups.setdefault(self._key.item, {})
        lease = await gateway._pool.lease(
            spec.provider,
            spec.model,
            tokens,
            self._label,
            output=answer,
            group=groups.get(request.model, ""),
        )
        if lease.key is None and self._provider.needs_key:
            raise ProviderError(
                f"no {self._spec.provider} key; add one with: agentos keys add",
                cause=FailureCause.AUTH,
                consumed=NOTHING,
            )
        self._waited += lease.waited
        if lease.key is not None:
            groups[request.model] = lease.key.group
        return lease

    @property
    def _label(self) -> str:
        return f"{self._request.workflow.upper()}-{self._request.item}"

    async def _begin(self) -> Begun:
        """Record the call. If this is canceled while the journal's thread writes, the
        row exists although nothing was sent: `begun` tells, and the row is closed at no
        cost.
        """
        gateway, begun = self._gateway, None

        def begin() -> Begun:
            nonlocal begun
            begun = gateway._journal.begin(
                self._key, self._request, self._reservation, gateway._caps
            )
            return begun

        try:
            return await gateway._write(begin)
        except asyncio.CancelledError:
            if begun is not None:
                gateway._journal.abandon(begun.call_id, "never sent", NO_COST)
            raise

    async def _await_settlement(self, error: OverBudget) -> None:
        """Wait until calls under way cost less than their reservation; raise when that
        cannot help.
        """
        if not error.may_fit_later:
            self._gateway._on_spent_out(error)
            raise error
        self._gateway._settlements.clear()
        await self._gateway._catch_up()
        with suppress(TimeoutError):
            # Other processes settle calls without a notice.
            async with asyncio.timeout(0.2):
                await self._gateway._settlements.wait()

    async def _ask(self, lease: Lease, begun: Begun) -> Reply:
        """Make one call, and account for it once however it ends.

        On every path the journal learns the end, the cost is counted and the key goes
        back; the last two even if the journal cannot be written, because the call is
        billed all the same. A call that is interrupted because the run ends stays in
        the journal as sent, so that the next run knows that it repeats it.
        """
        gateway = self._gateway
        journal = gateway._journal
        pool = gateway._pool
        started = time.monotonic()

        def mark_sent() -> None:
            with suppress(ProviderError):
                pool.mark_sent(lease)

        # Marked here for providers without our HTTP hook, and again by the hook, because
        # an SDK may hold a request back. The hooks are never reset: each call runs in a
        # task of its own.
        mark_sent()
        on_sending.set(mark_sent)
        on_silence.set(self._tell_silence)
        on_note.set(self._tell)
        try:
            completion = await self._provider.complete(
                self._request, lease.key.credential if lease.key else None
            )
        except ProviderError as error:
            consumed = error.consumed or retry_policy.usually_consumed(error)
            cost = cost_of_failure(self._price, self._request, consumed)
            try:
                await gateway._write_end(
                    journal.abandon, begun.call_id, str(error), cost
                )
            finally:
                gateway.costs.add_loss(self._request, cost)
                self._count(cost)
                self._take_back(lease, error)
            raise
        except BaseException:
            # Interrupted during the call. If the run ends with it, the journal keeps it
            # as sent, so that the next run knows. Nobody knows whether it is billed.
            cost = Cost(0, self._reservation)
            try:
                if self._key in gateway._given_up:
                    await gateway._write_end(
                        journal.abandon,
                        begun.call_id,
                        "given up: the item ran out of time",
                        cost,
                    )
            finally:
                gateway.costs.add_loss(self._request, cost)
                self._count(cost)
                self._take_back(lease, ProviderError("cut off"))
            raise
        cost = cost_of_answer(self._price, self._request, completion)
        refusal = refuse_answer(completion)
        try:
            if refusal is None:
                await gateway._write_end(
                    journal.settle,
                    begun.call_id,
                    completion,
                    cost,
                    time.monotonic() - started,
                )
            else:
                await gateway._write_end(
                    journal.abandon, begun.call_id, str(refusal), cost
                )
        finally:
            saved = saved_by_cache(self._price, completion.usage)
            gateway.costs.add(self._request, completion.usage, cost, saved)
            self._count(cost)
            # If the pool cannot be written, its state is soon learned again; the answer
            # must not fail for it.
            with suppress(ProviderError):
                pool.succeed(lease, completion)
        if refusal is not None:
            raise refusal
        purpose = self._request.purpose
        tokens = completion.usage.output_tokens
        usual = gateway._usual_answer.get(purpose, float(tokens))
        gateway._usual_answer[purpose] = 0.8 * usual + 0.2 * tokens
        return Reply(
            replace(completion, cost=cost.known),
            was_asked_before=self._was_asked_before,
            retries=self._record.retries,
            waited=self._waited,
            cost=cost,
            key=lease.key.fingerprint if lease.key else "",
        )

    def _take_back(self, lease: Lease, error: ProviderError | None) -> None:
        """Return a key, unused or after an error.

        Failing to record this must not hide that error.
        """
        with suppress(ProviderError):
            if error is None:
                self._gateway._pool.give_back(lease)
            else:
                self._gateway._pool.fail(lease, error)

    def _tell_silence(self, silence: Silence) -> None:
        self._tell(f"{self._request.model} {silence.describe()}")

    def _tell(self, text: str) -> None:
        self._gateway._announce(f"{self._label}: {text}")

    def _count(self, cost: Cost) -> None:
        costs = self._gateway._costs
        costs[self._key.item] = costs.get(self._key.item, NO_COST) + cost
        self._gateway._settlements.set()

    async def _decide(self, error: ProviderError, lease: Lease) -> None:
        """Wait as the policy says, or raise the error."""
        decision = retry_policy.after(
            error, self._record, has_key=lease.key is not None
        )
        if isinstance(decision, retry_policy.GiveUp):
            raise error
        record = self._record
        is_overload = error.cause is FailureCause.OVERLOADED
        is_limit = error.cause in (FailureCause.RATE_LIMIT, FailureCause.QUOTA)
        self._record = retry_policy.Record(
            record.retries + decision.costs_retry,
            record.overloads + is_overload,
            record.refusals + (is_limit or is_overload),
        )
        await asyncio.sleep(decision.delay)


def _fit(request: Request, context: int) -> Request:
    """Lower the output limit to what the context leaves; refuse a prompt that cannot
    fit.
    """
    if not context:
        return request
    prompt = least_tokens(request.prompt)
    if prompt >= context:
        raise too_long_prompt(request.model, prompt, context)
    limit = min(request.max_output_tokens, context - prompt)
    return replace(request, max_output_tokens=limit)
