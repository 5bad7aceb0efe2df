"""The gateway asks each question once, whoever asks and whatever becomes of the asker."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from agentos.errors import ProviderError, RateLimited
from agentos.gateway import policy
from agentos.gateway.journal import MemoryJournal
from agentos.gateway.keys import KeyPool
from agentos.gateway.server import Gateway
from agentos.providers import Completion, Request
from agentos.workflows.parallel import CredentialCoordinator
from tests.contracts.test_provider import DRAFT


class Scripted:
    """A provider that plays a list of answers and errors."""

    needs_key = False

    def __init__(self, *script: str | ProviderError) -> None:
        self.script = list(script)
        self.calls = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.keys: list[str | None] = []

    async def complete(self, request: Request, key: str | None) -> Completion:
        self.calls += 1
        self.keys.append(key)
        await self.gate.wait()
        answer = self.script.pop(0) if self.script else "answer"
        if isinstance(answer, ProviderError):
            raise answer
        return Completion(answer, "scripted")


def make(provider: Scripted, pool: KeyPool | None = None) -> Gateway:
    return Gateway(MemoryJournal(), pool or KeyPool(None), lambda _: provider)


def test_the_same_question_is_asked_once() -> None:
    async def check() -> None:
        provider = Scripted()
        gateway = make(provider)
        first = await asyncio.gather(*(gateway.answer(DRAFT) for _ in range(5)))
        again = await gateway.answer(DRAFT)
        assert provider.calls == 1
        assert {answer.completion.text for answer in first} == {"answer"}
        assert again.from_journal
        await gateway.answer(replace(DRAFT, round=2))
        assert provider.calls == 2

    asyncio.run(check())


def test_a_call_survives_the_worker_that_asked() -> None:
    async def check() -> None:
        provider = Scripted()
        provider.gate.clear()
        gateway = make(provider)
        asker = asyncio.create_task(gateway.answer(DRAFT))
        await asyncio.sleep(0.01)
        asker.cancel()
        await asyncio.gather(asker, return_exceptions=True)
        provider.gate.set()
        assert (await gateway.answer(DRAFT)).completion.text == "answer"
        assert provider.calls == 1

    asyncio.run(check())


def test_a_rate_limit_rests_the_key_and_costs_no_retry() -> None:
    async def check() -> None:
        provider = Scripted(RateLimited("429", 60), "answer")
        pool = KeyPool(CredentialCoordinator(["a", "b"], announce=lambda _: None))
        answer = await make(provider, pool).answer(DRAFT)
        assert (answer.retries, provider.keys) == (0, ["a", "b"])

    asyncio.run(check())


def test_an_error_that_may_pass_is_tried_again_and_then_told() -> None:
    async def check() -> None:
        provider = Scripted(*[ProviderError("overloaded")] * 3)
        with pytest.raises(ProviderError, match="overloaded"):
            await make(provider).answer(DRAFT)
        assert provider.calls == 3

    asyncio.run(check())


def test_a_provider_that_needs_a_key_without_one_is_an_auth_failure() -> None:
    async def check() -> None:
        provider = Scripted()
        provider.needs_key = True
        with pytest.raises(ProviderError) as caught:
            await make(provider).answer(DRAFT)
        assert caught.value.failure == "auth"

    asyncio.run(check())


def test_the_policy_returns_a_decision_for_every_kind_of_error() -> None:
    assert policy.after(RateLimited("429", 7), 5) == policy.Rest(7)
    assert policy.after(ProviderError("502"), 0) == policy.Retry(0.5)
    assert policy.after(ProviderError("502"), 1) == policy.Retry(1.0)
    assert policy.after(ProviderError("502"), 2) == policy.GiveUp()
    assert policy.after(ProviderError("bad key", "auth"), 0) == policy.GiveUp()
