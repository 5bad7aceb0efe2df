"""The gateway asks each question once, whoever asks and whatever becomes of the
asker.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from agentos.errors import FailureCause, ProviderError, RateLimited
from agentos.gateway import retry_policy
from agentos.gateway.budget import Caps, OverBudget
from agentos.gateway.journal.memory import MemoryJournal
from agentos.gateway.keys import Key
from agentos.gateway.keys.pool import Pool
from agentos.gateway.keys.store import Store
from agentos.gateway.prices import Price, flat_price
from agentos.gateway.providers import Completion, Credential, Request, ask_once
from agentos.gateway.server import Gateway
from agentos.money import NO_COST, Cost
from agentos.state.redaction import register_key
from agentos.usage import Usage
from tests.gateway.providers.test_contract import DRAFT

PAID = replace(DRAFT, model="openai:gpt", max_output_tokens=100)


class Scripted:
    """A provider that plays a list of answers and errors."""

    needs_key = False

    def __init__(self, *script: str | ProviderError) -> None:
        self.script = list(script)
        self.calls = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.secrets: list[str | None] = []

    async def complete(
        self, request: Request, credential: Credential | None
    ) -> Completion:
        self.calls += 1
        self.secrets.append(credential.secret if credential else None)
        await self.gate.wait()
        answer = self.script.pop(0) if self.script else "answer"
        if isinstance(answer, ProviderError):
            raise answer
        return Completion(answer, "scripted", Usage(10, 10))

    async def check(self, credential: Credential | None) -> str:
        return "fine"

    async def prepare(self, credentials: Sequence[Credential]) -> None:
        pass

    async def close(self) -> None:
        pass


def keys(*names: str) -> Sequence[Key]:
    return [
        Key("openai", f"secret of {name}", group=name, source=name) for name in names
    ]


def make(
    provider: Scripted,
    *names: str,
    caps: Caps | None = None,
    price: Price | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Gateway:
    pool = Pool(Store(":memory:", time.time), lambda: keys(*names), say)
    return Gateway(
        MemoryJournal(),
        pool,
        caps=caps or Caps(),
        price=lambda _: price or flat_price(0, 0, "free"),
        create=lambda _: provider,
    )


def test_the_same_question_is_asked_once() -> None:
    async def check() -> None:
        provider = Scripted()
        gateway = make(provider)
        first = await asyncio.gather(*(gateway.answer(PAID) for _ in range(5)))
        again = await gateway.answer(PAID)
        assert provider.calls == 1
        assert {answer.completion.text for answer in first} == {"answer"}
        assert again.from_journal
        await gateway.answer(replace(PAID, round=2))
        assert provider.calls == 2

    asyncio.run(check())


def test_a_call_survives_the_worker_that_asked() -> None:
    async def check() -> None:
        provider = Scripted()
        provider.gate.clear()
        gateway = make(provider)
        asker = asyncio.create_task(gateway.answer(PAID))
        await asyncio.sleep(0.01)
        asker.cancel()
        await asyncio.gather(asker, return_exceptions=True)
        provider.gate.set()
        assert (await gateway.answer(PAID)).completion.text == "answer"
        assert provider.calls == 1

    asyncio.run(check())


def test_a_rate_limit_rests_the_key_and_costs_no_retry() -> None:
    async def check() -> None:
        provider = Scripted(RateLimited("429", 60), "answer")
        answer = await make(provider, "a", "b").answer(PAID)
        assert answer.retries == 0
        assert provider.secrets == ["secret of a", "secret of b"]

    asyncio.run(check())


def test_a_refused_key_is_said_once_and_the_next_is_used() -> None:
    async def check() -> None:
        said: list[str] = []
        provider = Scripted(
            ProviderError("wrong key", cause=FailureCause.AUTH), "answer"
        )
        gateway = make(provider, "a", "b", say=said.append)
        answer = await gateway.answer(PAID)
        await gateway.answer(replace(PAID, round=2))
        assert answer.retries == 0
        assert provider.secrets == ["secret of a", "secret of b", "secret of b"]
        assert sum("is refused" in line for line in said) == 1
        assert not any("secret of" in line for line in said)

    asyncio.run(check())


@pytest.mark.parametrize("cause", [FailureCause.AUTH, FailureCause.BILLING])
def test_an_item_fails_as_auth_when_no_key_can_come(cause: FailureCause) -> None:
    async def check() -> None:
        provider = Scripted(*[ProviderError("no", cause=cause)] * 2)
        with pytest.raises(ProviderError) as caught:
            await make(provider, "a", "b").answer(PAID)
        assert caught.value.failure == "auth"
        assert provider.calls == 2

    asyncio.run(check())


def test_an_error_that_may_pass_is_tried_again_and_then_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retry_policy, "FIRST_DELAY", 0.001)

    async def check() -> None:
        provider = Scripted(*[ProviderError("cut off")] * 9)
        with pytest.raises(ProviderError, match="cut off"):
            await make(provider).answer(PAID)
        assert provider.calls == 1 + retry_policy.MAX_RETRIES

    asyncio.run(check())


def test_a_provider_that_needs_a_key_without_one_is_an_auth_failure() -> None:
    async def check() -> None:
        provider = Scripted()
        provider.needs_key = True
        with pytest.raises(ProviderError) as caught:
            await make(provider).answer(PAID)
        assert caught.value.failure == "auth"

    asyncio.run(check())


def test_a_call_that_a_cap_leaves_no_room_for_is_not_sent() -> None:
    async def check() -> None:
        provider = Scripted()
        gateway = make(
            provider,
            "a",
            caps=Caps(per_run=10),
            price=flat_price(1_000_000, 1_000_000, "test"),
        )
        with pytest.raises(OverBudget) as caught:
            await gateway.answer(PAID)
        assert caught.value.failure == "budget"
        assert provider.calls == 0

    asyncio.run(check())


def test_a_call_waits_for_room_when_others_may_cost_less_than_was_set_aside() -> None:
    async def check() -> None:
        provider = Scripted()
        price = flat_price(0, 1_000_000, "test")
        gateway = make(provider, "a", caps=Caps(per_run=150), price=price)
        answers = await asyncio.gather(
            *(gateway.answer(replace(PAID, round=number)) for number in range(1, 6))
        )
        assert provider.calls == 5
        assert (
            sum((answer.cost for answer in answers), NO_COST)
            == gateway.costs.cost
            == Cost.exactly(50)
        )

    asyncio.run(check())


def test_what_an_item_cost_is_known_at_its_end_and_counted_once() -> None:
    async def check() -> None:
        gateway = make(Scripted(), "a", price=flat_price(0, 1_000_000, "test"))
        await gateway.answer(PAID)
        await gateway.answer(replace(PAID, round=2))
        item = f"{PAID.repository}/{PAID.workflow}/{PAID.item}"
        assert (gateway.take_cost(item), gateway.take_cost(item)) == (
            Cost.exactly(20),
            NO_COST,
        )

    asyncio.run(check())


def test_the_policy_returns_a_decision_for_every_cause() -> None:
    fresh = retry_policy.Record()
    tired = retry_policy.Record(
        retries=retry_policy.MAX_RETRIES, overloads=retry_policy.MOST_OVERLOADS
    )
    expected = {
        FailureCause.RATE_LIMIT: (
            retry_policy.AskAgain(0.0),
            retry_policy.AskAgain(7.0),
            True,
        ),
        FailureCause.QUOTA: (
            retry_policy.AskAgain(0.0),
            retry_policy.AskAgain(7.0),
            True,
        ),
        FailureCause.BILLING: (retry_policy.AskAgain(0.0), retry_policy.GIVE_UP, True),
        FailureCause.AUTH: (retry_policy.AskAgain(0.0), retry_policy.GIVE_UP, True),
        FailureCause.NO_ACCESS: (
            retry_policy.AskAgain(0.0),
            retry_policy.GIVE_UP,
            True,
        ),
        FailureCause.SECRET: (retry_policy.GIVE_UP, retry_policy.GIVE_UP, False),
        FailureCause.OVERLOADED: (
            retry_policy.AskAgain(0.0),
            retry_policy.AskAgain(7.0),
            False,
        ),
        FailureCause.BAD_REQUEST: (retry_policy.GIVE_UP, retry_policy.GIVE_UP, False),
        FailureCause.BAD_ANSWER: (retry_policy.GIVE_UP, retry_policy.GIVE_UP, False),
        FailureCause.BUDGET: (retry_policy.GIVE_UP, retry_policy.GIVE_UP, False),
        FailureCause.SECRET: (retry_policy.GIVE_UP, retry_policy.GIVE_UP, False),
    }
    for cause, (with_key, without, is_endless) in expected.items():
        error = ProviderError("it", cause=cause, delay=7.0)
        assert retry_policy.after(error, fresh, has_key=True) == with_key
        assert retry_policy.after(error, fresh, has_key=False) == without
        assert (
            isinstance(
                retry_policy.after(error, tired, has_key=True), retry_policy.AskAgain
            )
            is is_endless
        )
    for has_key in (True, False):
        decision = retry_policy.after(ProviderError("it"), fresh, has_key=has_key)
        assert isinstance(decision, retry_policy.AskAgain)
        assert decision.costs_retry
        assert (
            retry_policy.after(ProviderError("it"), tired, has_key=has_key)
            == retry_policy.GIVE_UP
        )
    assert {*expected, FailureCause.TRANSIENT} == set(FailureCause)


def test_a_prompt_with_a_key_is_refused_before_anything_is_reserved_or_sent() -> None:
    secret = "prompt-7Qw9Zx0123456789"
    register_key(secret, "openai-prompt")

    async def check() -> None:
        provider = Scripted()
        gateway = make(provider, "a", caps=Caps(per_run=0))
        inputs = {"issue": "# One\n", "findings": f"two\nthree {secret}\n"}
        request = replace(PAID, messages=ask_once(f"a\nb {secret}"), inputs=inputs)
        with pytest.raises(ProviderError) as caught:
            await gateway.answer(request)
        assert (caught.value.failure, caught.value.cause) == (
            "bad-input",
            FailureCause.SECRET,
        )
        assert str(caught.value).startswith(
            "the prompt's part `findings`, line 2, holds the key openai-prompt;"
        )
        with pytest.raises(
            ProviderError, match=r"^the prompt, line 2, holds the key openai-prompt;"
        ):
            await gateway.answer(replace(request, inputs={}))
        assert provider.calls == 0

    asyncio.run(check())


def test_an_answer_with_a_key_is_counted_and_neither_kept_nor_asked_for_again() -> None:
    secret = "answer-7Qw9Zx0123456789"
    register_key(secret, "openai-answer")

    async def check() -> None:
        provider = Scripted(f"it is {secret}", "answer")
        gateway = make(provider, "a", price=flat_price(1_000_000, 1_000_000, "told"))
        with pytest.raises(
            ProviderError, match=r"^the answer held the key openai-answer \(sha256 "
        ) as caught:
            await gateway.answer(PAID)
        assert (caught.value.failure, secret in str(caught.value)) == ("secret", False)
        assert provider.calls == 1
        assert gateway.costs.calls == 1
        assert gateway.costs.cost == gateway._journal.spent() == Cost.exactly(20)
        assert not (await gateway.answer(PAID)).from_journal

    asyncio.run(check())


def test_an_answer_that_was_kept_before_its_key_was_known_is_not_given() -> None:
    secret = "later-7Qw9Zx0123456789"

    async def check() -> None:
        provider = Scripted(f"it is {secret}", "answer")
        gateway = make(provider)
        await gateway.answer(PAID)
        register_key(secret, "openai-later")
        assert (await gateway.answer(PAID)).completion.text == "answer"

    asyncio.run(check())


def test_a_call_that_is_given_up_is_counted_and_blocks_no_cap() -> None:
    async def check() -> None:
        provider = Scripted()
        provider.gate.clear()
        gateway = make(
            provider,
            "a",
            caps=Caps(per_run=150),
            price=flat_price(0, 1_000_000, "test"),
        )
        asking = asyncio.create_task(gateway.answer(PAID))
        await asyncio.sleep(0.05)
        item = f"{PAID.repository}/{PAID.workflow}/{PAID.item}"
        await gateway.give_up(item)
        await asyncio.gather(asking, return_exceptions=True)
        assert gateway.take_cost(item) == gateway.costs.cost == Cost(0, 100)
        with pytest.raises(OverBudget) as caught:
            await gateway.answer(replace(PAID, item="8"))
        assert not caught.value.may_fit_later

    asyncio.run(check())
