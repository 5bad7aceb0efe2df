"""What every key pool promises to the gateway, held over all that there are."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agentos.errors import FailureCause, ProviderError, RateLimited
from agentos.gateway.journal.memory import MemoryJournal
from agentos.gateway.keys import Key, KeyPool, Lease
from agentos.gateway.keys.pool import Pool
from agentos.gateway.keys.store import Store
from agentos.gateway.providers import (
    Completion,
    Credential,
    ModelSpec,
    Provider,
    Request,
    ask_once,
)
from agentos.gateway.server import Gateway
from agentos.usage import Usage
from tests.gateway.keys.plain_pool import PlainPool

ANSWER = Completion("text", "model", Usage(10, 10))
LONG_REST = 600.0
PATIENCE = 60.0
A, B = (
    Key("gemini", f"secret-{name}", name, max_parallel=1, source=name) for name in "ab"
)

Open = Callable[..., KeyPool]
Steps = Callable[[KeyPool], Awaitable[None]]


@pytest.fixture(params=["file", "memory", "plain"])
def open_pool(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    """Return a function that opens a pool with some keys, inside an event loop."""

    def make(*keys: Key) -> KeyPool:
        if request.param == "plain":
            return PlainPool(keys)
        path: Path | str = ":memory:"
        if request.param == "file":
            path = tmp_path / "pool.db"
        return Pool(Store(path), lambda: keys, lambda _: None)

    return make


def use(open_pool: Open, *keys: Key, steps: Steps) -> None:
    """Do something with a pool of some keys, and close it."""

    async def run() -> None:
        pool = open_pool(*keys)
        try:
            await asyncio.wait_for(steps(pool), PATIENCE)
        finally:
            pool.close()

    asyncio.run(run())


async def take(pool: KeyPool, provider: str = "gemini") -> Lease:
    return await pool.lease(provider, "m", 10, "LLD-1", output=5)


async def see_waiting(*tasks: asyncio.Task[Lease]) -> None:
    """Give tasks every chance to go on, and see that they do not."""
    for _ in range(20):
        await asyncio.sleep(0)
    assert not any(task.done() for task in tasks)


def test_a_provider_without_keys_is_asked_without_one(open_pool: Open) -> None:
    async def steps(pool: KeyPool) -> None:
        lease = await take(pool, "offline")
        assert (lease.key, lease.waited) == (None, 0.0)
        pool.mark_sent(lease)
        pool.succeed(lease, ANSWER)
        pool.fail(lease, ProviderError("it"))
        pool.give_back(lease)
        assert pool.credentials("offline") == []

    use(open_pool, A, steps=steps)


def test_the_credentials_of_a_provider_are_those_of_its_keys(open_pool: Open) -> None:
    async def steps(pool: KeyPool) -> None:
        assert pool.credentials("gemini") == [A.credential, B.credential]

    use(open_pool, A, B, steps=steps)


def test_a_conversation_stays_with_its_group_while_that_has_room(
    open_pool: Open,
) -> None:
    async def steps(pool: KeyPool) -> None:
        for group, key in (("b", B), ("a", A), ("b", B)):
            lease = await pool.lease("gemini", "m", 10, "LLD-1", group=group)
            assert lease.key == key
            pool.succeed(lease, ANSWER)
        busy = await pool.lease("gemini", "m", 10, "LLD-1", group="b")
        other = await pool.lease("gemini", "m", 10, "LLD-2", group="b")
        assert (busy.key, other.key) == (B, A)

    use(open_pool, A, B, steps=steps)


def test_a_key_is_lent_only_for_models_that_it_serves(open_pool: Open) -> None:
    small = replace(A, models=("small", "tiny-*"))
    large = replace(B, models=("large",))

    async def steps(pool: KeyPool) -> None:
        for model, key in (("large", large), ("tiny-2", small), ("small", small)):
            lease = await pool.lease("gemini", model, 10, "LLD-1")
            assert lease.key == key
            pool.succeed(lease, ANSWER)
        with pytest.raises(ProviderError) as refused:
            await pool.lease("gemini", "tiny", 10, "LLD-1")
        assert refused.value.cause is FailureCause.AUTH

    use(open_pool, small, large, steps=steps)


def end_well(pool: KeyPool, lease: Lease) -> None:
    pool.succeed(lease, ANSWER)


def end_unused(pool: KeyPool, lease: Lease) -> None:
    pool.give_back(lease)


def end_badly(pool: KeyPool, lease: Lease) -> None:
    pool.fail(lease, ProviderError("cut off"))


@pytest.mark.parametrize("end", [end_well, end_unused, end_badly])
def test_a_key_is_free_again_when_its_call_has_ended(
    open_pool: Open, end: Callable[[KeyPool, Lease], None]
) -> None:
    async def steps(pool: KeyPool) -> None:
        lease = await take(pool)
        assert lease.key == A
        assert lease.request.provider == "gemini"
        pool.mark_sent(lease)
        waiting = asyncio.create_task(take(pool))
        await see_waiting(waiting)
        end(pool, lease)
        again = await waiting
        assert again.key == A
        assert again.number != lease.number

    use(open_pool, A, steps=steps)


def test_calls_are_served_in_the_order_of_their_arrival(open_pool: Open) -> None:
    async def steps(pool: KeyPool) -> None:
        lease = await take(pool)
        served: list[int] = []

        async def call(number: int) -> None:
            own = await take(pool)
            served.append(number)
            pool.give_back(own)

        async with asyncio.TaskGroup() as calls:
            for number in range(5):
                calls.create_task(call(number))
                await asyncio.sleep(0)
            pool.give_back(lease)
        assert served == [0, 1, 2, 3, 4]

    use(open_pool, A, steps=steps)


def test_who_stops_waiting_holds_up_nobody(open_pool: Open) -> None:
    async def steps(pool: KeyPool) -> None:
        lease = await take(pool)
        impatient = asyncio.create_task(take(pool))
        patient = asyncio.create_task(take(pool))
        await see_waiting(impatient, patient)
        impatient.cancel()
        pool.give_back(lease)
        assert (await patient).key == A
        assert impatient.cancelled()

    use(open_pool, A, steps=steps)


def test_a_limited_group_rests_and_another_is_used(open_pool: Open) -> None:
    async def steps(pool: KeyPool) -> None:
        first = await take(pool)
        pool.fail(first, RateLimited("slow down", LONG_REST))
        second = await take(pool)
        assert {first.key, second.key} == {A, B}
        waiting = asyncio.create_task(take(pool))
        await see_waiting(waiting)
        pool.give_back(second)
        assert (await waiting).key == second.key

    use(open_pool, A, B, steps=steps)


def test_a_refused_key_is_not_lent_again_and_without_any_a_call_fails(
    open_pool: Open,
) -> None:
    async def steps(pool: KeyPool) -> None:
        refusal = ProviderError("wrong key", cause=FailureCause.AUTH)
        used = set()
        for _ in (A, B):
            lease = await take(pool)
            used.add(lease.key)
            pool.fail(lease, refusal)
        assert used == {A, B}
        with pytest.raises(ProviderError) as caught:
            await take(pool)
        assert caught.value.cause is FailureCause.AUTH

    use(open_pool, A, B, steps=steps)


def test_fewer_than_two_usable_groups_carry_fewer_items(open_pool: Open) -> None:
    async def none(pool: KeyPool) -> None:
        assert pool.parallelism(10) == 10

    async def two(pool: KeyPool) -> None:
        assert pool.parallelism(10) == 10
        pool.fail(await take(pool), RateLimited("slow down", LONG_REST))
        assert 1 <= pool.parallelism(10) < 10
        assert pool.parallelism(1) == 1

    use(open_pool, steps=none)
    use(open_pool, A, B, steps=two)


class Echo(Provider):
    """Answer with the key, once the first one was refused."""

    needs_key = True
    refused = ""

    async def complete(
        self, request: Request, credential: Credential | None
    ) -> Completion:
        assert credential is not None
        self.refused = self.refused or credential.secret
        if credential.secret == self.refused:
            raise ProviderError("wrong key", cause=FailureCause.AUTH)
        return Completion(f"{request.prompt} answered", "echo")


def test_the_gateway_needs_no_more_than_this(open_pool: Open) -> None:
    asked = ask_once("it")
    question = Request(
        *("r", "lld", "7", "N1_design", 1, 1, "lld.draft", "gemini:m", asked, {})
    )
    echo = Echo()

    def create(_: ModelSpec) -> Provider:
        return echo

    async def steps(pool: KeyPool) -> None:
        gateway = Gateway(MemoryJournal(), pool, models=("gemini:m",), create=create)
        reply = await gateway.answer(question)
        assert reply.completion.text == "it answered"
        assert reply.key in (A.fingerprint, B.fingerprint)
        await gateway.close()

    use(open_pool, A, B, steps=steps)
