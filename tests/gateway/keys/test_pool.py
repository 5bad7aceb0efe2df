"""Keys are lent in order, within their limits, to every process that shares them."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.errors import FailureCause, ProviderError, RateLimited
from agentos.gateway.keys import Key, Lease
from agentos.gateway.keys.limits import (
    FIRST_CEILING,
    NO_USE,
    QuotaState,
    Use,
    after_fault,
    after_success,
    next_day,
)
from agentos.gateway.keys.pool import EXHAUSTED, Pool, describe_states
from agentos.gateway.keys.store import Store
from agentos.gateway.providers import Completion
from agentos.usage import RateHeaders, Usage
from tests.support import ROOT

ANSWER = Completion("text", "model", Usage(10, 10))
PATIENCE = 20.0


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def key(
    name: str, group: str = "", *, parallel: int = 8, requests: int = 0, tokens: int = 0
) -> Key:
    return Key(
        "gemini",
        f"secret-{name}",
        group or name,
        parallel,
        requests_per_minute=requests,
        tokens_per_minute=tokens,
        source=name,
    )


def make(
    path: Path | str,
    keys: Sequence[Key],
    said: list[str] | None = None,
    **options: float,
) -> Pool:
    announce = (said if said is not None else []).append
    return Pool(Store(path, time.time), lambda: keys, announce, **options)  # type: ignore[arg-type]


async def take(pool: Pool, tokens: int = 10, model: str = "m") -> Lease:
    return await asyncio.wait_for(
        pool.lease("gemini", model, tokens, "LLD-1"), PATIENCE
    )


def test_a_provider_without_keys_is_asked_without_one() -> None:
    assert (
        asyncio.run(make(":memory:", []).lease("offline", "", 1, "LLD-1")).key is None
    )


def test_the_load_is_spread_over_the_groups() -> None:
    async def check() -> None:
        pool = make(":memory:", [key("a"), key("b"), key("c")])
        leases = [await take(pool) for _ in range(6)]
        assert sorted(lease.key.source for lease in leases if lease.key) == [
            "a",
            "a",
            "b",
            "b",
            "c",
            "c",
        ]

    asyncio.run(check())


def test_a_key_is_lent_as_often_as_it_may_be_and_the_next_waits_for_a_return() -> None:
    async def check() -> None:
        pool = make(":memory:", [key("a", parallel=2)])
        first, _second = [await take(pool) for _ in range(2)]
        third = asyncio.create_task(take(pool))
        await asyncio.sleep(0.1)
        assert not third.done()
        pool.succeed(first, ANSWER)
        assert (await third).key is not None

    asyncio.run(check())


def test_those_who_wait_are_served_in_the_order_of_their_arrival() -> None:
    async def check() -> None:
        pool = make(":memory:", [key("a", parallel=1)])
        lease = await take(pool)
        served: list[int] = []

        async def wait(number: int) -> None:
            own = await take(pool)
            served.append(number)
            pool.succeed(own, ANSWER)

        tasks = []
        for number in range(8):
            tasks.append(asyncio.create_task(wait(number)))
            await asyncio.sleep(0)
        pool.succeed(lease, ANSWER)
        await asyncio.gather(*tasks)
        assert served == list(range(8))

    asyncio.run(check())


def test_two_keys_of_one_project_rest_together() -> None:
    async def check() -> None:
        said: list[str] = []
        pool = make(
            ":memory:",
            [key("a", "project"), key("b", "project"), key("c", "other")],
            said,
        )
        lease = await take(pool)
        while lease.key is None or lease.key.group != "project":
            pool.give_back(lease)
            lease = await take(pool)
        pool.fail(lease, RateLimited("429", 60))
        assert {(await take(pool)).key.group for _ in range(4)} == {"other"}  # type: ignore[union-attr]
        assert not any("secret" in line for line in said)

    asyncio.run(check())


def test_when_nothing_is_usable_everybody_pauses_and_goes_on_by_itself() -> None:
    async def check() -> None:
        said: list[str] = []
        pool = make(":memory:", [key("a"), key("b")], said)
        for _ in range(2):
            pool.fail(await take(pool), RateLimited("429", 0.4))

        async def use() -> None:
            pool.succeed(await take(pool), ANSWER)

        await asyncio.gather(*(use() for _ in range(5)))
        assert said.count(EXHAUSTED) == 1
        assert any("continuing at" in line for line in said)

    asyncio.run(check())


def test_a_rest_survives_a_restart(tmp_path: Path) -> None:
    async def check() -> None:
        first = make(tmp_path / "pool.db", [key("a"), key("b")])
        lease = await take(first)
        first.fail(lease, ProviderError("out", cause=FailureCause.QUOTA))
        first.close()
        assert lease.key is not None
        again = make(tmp_path / "pool.db", [key("a"), key("b")])
        given = [(await take(again)).key for _ in range(4)]
        assert {key.source for key in given if key} == {"a", "b"} - {lease.key.source}
        states = describe_states(tmp_path, [key("a"), key("b")])
        assert states[lease.key.fingerprint].startswith("exhausted until ")
        again.close()

    asyncio.run(check())


def test_an_edited_key_file_ends_a_pause() -> None:
    async def check() -> None:
        said: list[str] = []
        keys = [[key("a")]]
        pool = Pool(
            Store(":memory:", time.time),
            lambda: keys.pop() if keys else None,
            said.append,
        )
        pool.fail(await take(pool), RateLimited("429", 3600))
        waiting = asyncio.create_task(take(pool))
        await asyncio.sleep(0.05)
        keys.append([key("a"), key("b")])
        lease = await waiting
        assert lease.key is not None
        assert lease.key.source == "b"
        assert "1 new key found; continuing" in said

    asyncio.run(check())


@pytest.mark.slow
def test_requests_and_tokens_a_minute_are_never_exceeded() -> None:
    async def check() -> None:
        window = 0.5
        pool = make(":memory:", [key("a", requests=5, parallel=100)], window=window)
        times = []
        for _ in range(16):
            lease = await take(pool)
            times.append(lease.started)
            pool.succeed(lease, ANSWER)
        assert all(
            later - earlier >= window
            for earlier, later in zip(times, times[5:], strict=False)
        )
        pool = make(":memory:", [key("b", tokens=100, parallel=100)], window=window)
        times = []
        for _ in range(6):
            lease = await take(pool, tokens=50)
            times.append(lease.started)
            pool.succeed(lease, Completion("text", "model", Usage(25, 25)))
        assert all(
            later - earlier >= window
            for earlier, later in zip(times, times[2:], strict=False)
        )

    asyncio.run(check())


def test_a_call_larger_than_the_limit_is_let_through_alone() -> None:
    async def check() -> None:
        pool = make(":memory:", [key("a", tokens=100)])
        assert (await take(pool, tokens=5_000)).key is not None

    asyncio.run(check())


def test_an_overload_lowers_the_ceiling_of_the_model_and_leaves_the_keys_alone() -> (
    None
):
    async def check() -> None:
        pool = make(":memory:", [key("a"), key("b")])
        pool.fail(
            await take(pool),
            ProviderError("529", cause=FailureCause.OVERLOADED, delay=0.1),
        )
        states = {(await take(pool, model="other")).key.source for _ in range(2)}  # type: ignore[union-attr]
        assert states == {"a", "b"}
        assert (await take(pool)).waited > 0

    asyncio.run(check())


def test_fewer_than_two_usable_groups_reduce_parallelism_and_their_return_restores_it() -> (
    None
):
    async def check() -> None:
        said: list[str] = []
        pool = make(":memory:", [key("a"), key("b")], said)
        assert pool.parallelism(8) == 8
        pool.fail(await take(pool), RateLimited("429", 0.2))
        assert pool.parallelism(8) < 8
        await asyncio.sleep(0.25)
        assert pool.parallelism(8) == 8
        assert sum("fewer than 2" in line for line in said) == 1
        assert sum("back to full" in line for line in said) == 1

    asyncio.run(check())


def test_one_who_gives_up_waiting_does_not_hold_up_the_line() -> None:
    async def check() -> None:
        pool = make(":memory:", [key("a", parallel=1)])
        lease = await take(pool)
        first, second = asyncio.create_task(take(pool)), asyncio.create_task(take(pool))
        await asyncio.sleep(0.05)
        first.cancel()
        pool.succeed(lease, ANSWER)
        assert (await second).key is not None

    asyncio.run(check())


HOLDER = """
import asyncio, sys
from pathlib import Path
from tests.gateway.keys.test_pool import key, make, take

async def hold():
    pool = make(Path(sys.argv[1]), [key("a", parallel=1)])
    await take(pool)
    print("taken", flush=True)
    await asyncio.sleep(600)

asyncio.run(hold())
"""


@pytest.mark.slow
def test_the_keys_of_a_killed_process_are_free_again(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "pool.db")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"taken\n"

    async def check() -> None:
        pool = make(tmp_path / "pool.db", [key("a", parallel=1)])
        waiting = asyncio.create_task(take(pool))
        await asyncio.sleep(0.2)
        assert not waiting.done()
        process.kill()
        process.communicate()
        assert (await waiting).key is not None
        pool.close()

    asyncio.run(check())


QUOTA_STATES = st.builds(
    QuotaState,
    resting_until=st.floats(0, 2e9),
    ceiling=st.floats(1, 100),
    is_cautious=st.booleans(),
    cut_at=st.floats(0, 2e9),
    strikes=st.integers(0, 50),
    requests_limit=st.integers(0, 10_000),
    is_learned=st.booleans(),
)
ERRORS = st.builds(
    lambda cause, delay: ProviderError("it", cause=cause, delay=delay),
    st.sampled_from(FailureCause),
    st.none() | st.floats(0, 86_400),
)


@given(
    QUOTA_STATES,
    ERRORS,
    st.floats(0, 2e9),
    st.builds(Use, st.integers(0, 1000), st.integers(0, 10**6), st.integers(0, 10**6)),
    st.floats(1e9, 2e9),
)
def test_no_fault_shortens_a_rest_or_closes_a_group_for_good_without_a_reason(
    quota_state: QuotaState,
    error: ProviderError,
    started: float,
    use: Use,
    now: float,
) -> None:
    after = after_fault(quota_state, error, started, use, now)
    assert after.resting_until >= quota_state.resting_until
    assert after.ceiling >= 1
    assert bool(after.dead) == (error.cause is FailureCause.BILLING)
    if (
        error.cause in (FailureCause.RATE_LIMIT, FailureCause.OVERLOADED)
        and error.delay is not None
    ):
        assert after.resting_until >= now + error.delay


@given(QUOTA_STATES, st.integers(1, 100), st.floats(1e9, 2e9))
def test_success_lets_the_ceiling_grow_up_to_what_the_keys_bear(
    quota_state: QuotaState, most: int, now: float
) -> None:
    after = after_success(quota_state, None, most, 60.0, now)
    assert after.ceiling <= max(most, 1)
    assert after.ceiling >= min(quota_state.ceiling, most)


def test_one_episode_of_refusals_cuts_the_ceiling_once() -> None:
    quota_state = QuotaState(ceiling=16.0)
    for _ in range(10):
        quota_state = after_fault(
            quota_state, RateLimited("429", 1.0), started=99.0, use=NO_USE, now=100.0
        )
    assert quota_state.ceiling == pytest.approx(16 * 0.7)


def test_the_limits_that_headers_tell_are_kept() -> None:
    told = RateHeaders(
        requests_limit=50, requests_left=0, requests_reset=12.0, tokens_limit=4000
    )
    quota_state = after_success(QuotaState(), told, 8, 60.0, 1000.0)
    assert (
        quota_state.requests_limit,
        quota_state.tokens_limit,
        quota_state.resting_until,
    ) == (
        50,
        4000,
        1012.0,
    )
    assert quota_state.ceiling > FIRST_CEILING


def test_a_quota_that_our_own_calls_have_used_up_needs_no_rest() -> None:
    told = RateHeaders(
        requests_limit=50, requests_left=0, requests_reset=60.0, tokens_limit=4000
    )
    assert (
        after_success(QuotaState(), told, 8, 60.0, 1000.0, Use(50, 3000)).resting_until
        == 0
    )
    assert (
        after_success(QuotaState(), told, 8, 60.0, 1000.0, Use(30, 3000)).resting_until
        == 1060.0
    )


def test_a_learned_limit_is_tried_after_a_pause_that_grows_while_more_is_refused() -> (
    None
):
    window, now = 60.0, 1_000_000.0
    quota_state = after_fault(
        QuotaState(), RateLimited("429", 1.0), now, Use(21), now, window
    )
    assert (quota_state.requests_limit, quota_state.is_learned) == (20, True)
    pauses = []
    for _ in range(4):
        refused_at = now
        while quota_state.requests_limit == 20:
            now += window / 4
            quota_state = after_success(quota_state, None, 8, window, now)
        pauses.append(now - refused_at)
        for _ in range(2):
            # A probe may have two calls under way.
            quota_state = after_fault(
                quota_state, RateLimited("429", 1.0), now, Use(21), now, window
            )
        assert quota_state.requests_limit == 20
    assert pauses[0] >= 4 * window
    assert all(later >= 2 * earlier for earlier, later in itertools.pairwise(pauses))


def test_few_calls_a_minute_are_seldom_risked_for_a_probe() -> None:
    window, now = 60.0, 1_000_000.0
    refusal = RateLimited("429", 1.0)
    quota_state = after_fault(QuotaState(), refusal, now, Use(5), now, window)
    assert quota_state.requests_limit == 4
    minutes = (quota_state.probe_at - now) / window
    assert minutes * 4 >= 100


def test_the_limits_that_a_refusal_names_hold_and_more_is_tried_after_an_hour() -> None:
    window, now = 60.0, 1_000_000.0
    quota_state = after_fault(
        QuotaState(), RateLimited("429", 1.0), now, Use(21), now, window
    )
    tokens = ProviderError(
        "429", cause=FailureCause.RATE_LIMIT, delay=1.0, tokens_limit=40_000
    )
    quota_state = after_fault(quota_state, tokens, now, Use(21), now, window)
    assert (quota_state.requests_limit, quota_state.tokens_limit) == (0, 40_000), (
        "the count was that of another limit"
    )
    requests = ProviderError(
        "429", cause=FailureCause.RATE_LIMIT, delay=1.0, requests_limit=100
    )
    quota_state = after_fault(quota_state, requests, now, Use(21), now, window)
    quota_state = after_fault(quota_state, tokens, now, Use(21), now, window)
    assert (quota_state.requests_limit, quota_state.tokens_limit) == (100, 40_000)
    assert (
        after_success(quota_state, None, 8, window, now + 59 * window).requests_limit
        == 100
    )
    later = after_success(quota_state, None, 8, window, now + 60 * window)
    assert (later.requests_limit, later.tokens_limit) == (105, 42_000)


def test_the_state_that_an_older_version_left_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "pool.db"
    store = Store(path, time.time)
    with store.exclusively() as transaction:
        transaction.set_quota_state(
            "gemini/a", QuotaState(resting_until=5e9, requests_limit=7)
        )
    store.close()
    with sqlite3.connect(path) as database:
        for column in ("input_limit", "output_limit"):
            database.execute(f"ALTER TABLE standings DROP COLUMN {column}")
        database.execute("ALTER TABLE standings RENAME COLUMN probe_at TO probed_at")
        database.execute("PRAGMA user_version=1")
    database.close()
    store = Store(path, time.time)
    with store.exclusively() as transaction:
        assert transaction.quota_state("gemini/a") == QuotaState(
            resting_until=5e9, requests_limit=7
        )
        apart = QuotaState(input_limit=30_000, output_limit=8_000)
        transaction.set_quota_state("gemini/b", apart)
        assert transaction.quota_state("gemini/b") == apart
    store.close()


@pytest.mark.parametrize("jump", [3600.0, -3600.0])
def test_a_clock_that_is_put_forward_or_back_neither_lengthens_a_rest_nor_takes_a_lent_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    first = Store(tmp_path / "pool.db")
    with first.exclusively() as transaction:
        transaction.set_quota_state(
            "gemini/a", QuotaState(resting_until=transaction.now + 2)
        )
        lease = transaction.lend("key-1", "gemini/a", "gemini:m", 10, 0)
        before = transaction.now
    on_the_wall = time.time
    monkeypatch.setattr(time, "time", lambda: on_the_wall() + jump)
    second = Store(tmp_path / "pool.db")
    with second.exclusively() as transaction:
        assert 0 <= transaction.now - before < 60
        assert transaction.in_window("gemini/a", 60.0).requests == 1
        assert list(transaction._database.execute("SELECT id FROM leases")) == [
            (lease,)
        ]
    with first.exclusively() as transaction:
        assert 0 <= transaction.now - before < 60
    second.close()
    first.close()


def test_a_call_under_way_is_taken_for_larger_than_expected_until_its_size_is_known() -> (
    None
):
    async def check() -> None:
        pool = make(":memory:", [key("a", tokens=100)])
        first = await take(pool, tokens=50)
        second = asyncio.create_task(take(pool, tokens=50))
        await asyncio.sleep(0.05)
        assert not second.done()
        pool.succeed(first, Completion("text", "model", Usage(25, 25)))
        assert (await second).key is not None

    asyncio.run(check())


def test_daily_quotas_are_renewed_at_midnight_on_the_pacific_coast() -> None:
    noon_utc = 1_700_049_600.0  # 2023-11-15 12:00 UTC is 04:00 there.
    assert next_day(noon_utc) - noon_utc == 20 * 3600


@pytest.mark.parametrize("told", [0.0, None])
def test_a_delay_of_nothing_is_a_second_that_doubles(told: float | None) -> None:
    now, rests = 1000.0, []
    quota_state = QuotaState()
    for _ in range(8):
        error = ProviderError("429", cause=FailureCause.RATE_LIMIT, delay=told)
        quota_state = after_fault(quota_state, error, now, Use(1), now)
        rests.append(quota_state.resting_until - now)
        now = quota_state.resting_until
    assert rests == [1, 2, 4, 8, 16, 32, 60, 60]


def test_calls_that_are_refused_together_are_one_episode() -> None:
    quota_state = QuotaState()
    for _ in range(10):
        quota_state = after_fault(
            quota_state, RateLimited("429", 0.0), 1000.0, Use(1), 1000.0
        )
    assert quota_state.resting_until == 1001.0


def test_a_fraction_of_a_second_is_believed_once() -> None:
    first = after_fault(QuotaState(), RateLimited("429", 0.25), 1000.0, Use(1), 1000.0)
    assert first.resting_until == 1000.25
    second = after_fault(first, RateLimited("429", 0.25), 1000.25, Use(1), 1000.25)
    assert second.resting_until == 1002.25


def test_a_limit_on_input_is_not_compared_with_output() -> None:
    """A minute may have 1,000 tokens of input: calls with little input and long answers
    go through.
    """

    async def check() -> None:
        pool = Pool(
            Store(":memory:", time.time),
            lambda: [Key("gemini", "s", group="a", max_parallel=9)],
            print,
        )
        lease = await pool.lease("gemini", "m", 100, "LLD-1", output=90)
        pool.fail(
            lease,
            ProviderError(
                "429", cause=FailureCause.RATE_LIMIT, delay=0.001, input_limit=1000
            ),
        )
        for number in range(3):
            async with asyncio.timeout(5):
                lease = await pool.lease(
                    "gemini", "m", 5_100, f"LLD-{number}", output=5_000
                )
            pool.succeed(lease, Completion("x", "m", Usage(100, 5_000)))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await pool.lease("gemini", "m", 1_000, "LLD-9", output=0)

    asyncio.run(check())


def test_a_key_without_access_to_a_model_is_used_for_others() -> None:
    said: list[str] = []
    keys = [Key("openai", name, group=name, source=name) for name in ("one", "two")]

    async def check() -> None:
        pool = Pool(Store(":memory:", time.time), lambda: keys, said.append)
        for _ in keys:
            lease = await pool.lease("openai", "big", 10, "LLD-1")
            pool.fail(lease, ProviderError("not for you", cause=FailureCause.NO_ACCESS))
        with pytest.raises(
            ProviderError, match="no openai key may use big: not for you"
        ) as caught:
            await pool.lease("openai", "big", 10, "LLD-1")
        assert caught.value.failure == "provider"
        assert (await pool.lease("openai", "big", 10, "LLD-2")).key is not None
        assert (await pool.lease("openai", "small", 10, "LLD-1")).key is not None

    asyncio.run(check())
    assert sum("is not used for big" in line for line in said) == 2


def test_a_refused_key_beside_one_without_access_does_not_speak_for_both() -> None:
    keys = [Key("openai", name, group=name, source=name) for name in ("one", "two")]

    async def check() -> None:
        pool = Pool(Store(":memory:", time.time), lambda: keys, lambda _: None)
        for error in (
            ProviderError("refused", cause=FailureCause.AUTH),
            ProviderError("not for you", cause=FailureCause.NO_ACCESS),
        ):
            pool.fail(await pool.lease("openai", "big", 10, "LLD-1"), error)
        with pytest.raises(
            ProviderError, match="no openai key may use big: not for you"
        ):
            await pool.lease("openai", "big", 10, "LLD-1")
        assert (await pool.lease("openai", "big", 10, "LLD-2")).key is not None

    asyncio.run(check())


def test_limits_that_only_the_headers_of_a_refusal_tell_are_kept() -> None:
    told = RateHeaders(requests_limit=50, input_limit=30_000, output_limit=8_000)
    error = ProviderError(
        "429", cause=FailureCause.RATE_LIMIT, delay=5.0, rate_headers=told
    )
    quota_state = after_fault(QuotaState(), error, 1000.0, Use(30), 1000.0)
    assert (
        quota_state.requests_limit,
        quota_state.input_limit,
        quota_state.output_limit,
    ) == (
        50,
        30_000,
        8_000,
    )
    assert not quota_state.is_learned
