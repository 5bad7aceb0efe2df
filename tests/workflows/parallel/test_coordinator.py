"""The library's coordinator, beyond what the specification's own tests ask."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentos.errors import RateLimited
from agentos.workflows.parallel import (
    CredentialCoordinator,
    ParallelCoordinator,
    Prospect,
)
from agentos.workflows.parallel.coordinator import Interrupted


class Gauge:
    """A worker function that knows how many of it ran at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0
        self.most = 0

    def work(self, item: int, _: str | None) -> None:
        with self._lock:
            self._running += 1
            self.most = max(self.most, self._running)
        time.sleep(0.002)
        with self._lock:
            self._running -= 1


def test_ctrl_c_does_not_wait_for_a_long_call_and_reports_what_has_ended() -> None:
    coordinator = ParallelCoordinator(max_workers=3, shutdown_grace=0.2)
    release = threading.Event()
    is_long = threading.Event()

    def work(item: int, _: str | None) -> int:
        if item >= 6:
            is_long.set()
            release.wait(60)
        return item

    def interrupt() -> None:
        is_long.wait(60)
        coordinator._handle_shutdown_signal(signal.SIGINT, None)

    thread = threading.Thread(target=interrupt)
    thread.start()
    started = time.monotonic()
    stats, results = coordinator.execute_parallel(list(range(12)), work)
    assert time.monotonic() - started < 30, "the long item itself takes 60 s"
    release.set()
    thread.join()
    ended = {result.item_id for result in results}
    assert ended >= {"0", "1", "2", "3"}
    assert stats.completed == len(results)
    assert set(coordinator.get_checkpoints()) == {str(n) for n in range(12)} - ended


def test_a_real_ctrl_c_is_taken_and_the_former_handler_is_restored() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    coordinator = ParallelCoordinator(max_workers=1, shutdown_grace=0.2)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before

    def work(item: int, _: str | None) -> None:
        if item == 1:
            os.kill(os.getpid(), signal.SIGINT)
            coordinator_has_stopped.wait(10)

    coordinator_has_stopped = threading.Event()
    _, results = coordinator.execute_parallel([0, 1, 2], work)
    coordinator_has_stopped.set()
    assert [result.item_id for result in results] == ["0"]
    assert coordinator.get_checkpoints() == ["1", "2"]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_it_runs_off_the_main_thread() -> None:
    seen: list[int] = []

    def run() -> None:
        stats, _ = ParallelCoordinator().execute_parallel(
            [1, 2, 3], lambda item, _: item
        )
        seen.append(stats.success_count)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [3]


@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt(), MemoryError(), ValueError("bad")]
)
def test_whatever_a_worker_raises_costs_only_its_own_item(error: BaseException) -> None:
    def work(item: int, _: str | None) -> int:
        if item == 1:
            raise error
        return item

    stats, results = ParallelCoordinator().execute_parallel([0, 1, 2, 3], work)
    assert (stats.completed, stats.failed) == (4, 1)
    assert [result.item_id for result in results if not result.success] == ["1"]
    assert {result.value for result in results if result.success} == {0, 2, 3}


def test_never_more_than_the_limit_run_at_once() -> None:
    gauge = Gauge()
    ParallelCoordinator(max_workers=4).execute_parallel(list(range(40)), gauge.work)
    assert gauge.most == 4


@pytest.mark.parametrize("value", [0, -1, True, 2.5, "3", None])
def test_a_parallelism_that_is_no_positive_whole_number_is_refused(
    value: object,
) -> None:
    with pytest.raises(ValueError, match="max_workers"):
        ParallelCoordinator(max_workers=value)  # type: ignore[arg-type]


def test_an_interrupted_item_is_neither_failed_nor_finished() -> None:
    def work(item: int, _: str | None) -> None:
        if item == 1:
            raise Interrupted

    coordinator = ParallelCoordinator()
    stats, results = coordinator.execute_parallel([0, 1, 2], work)
    assert (stats.completed, stats.failed, len(results)) == (2, 0, 2)
    assert coordinator.get_checkpoints() == ["1"]


def test_a_rate_limited_key_rests_and_another_is_used_without_failing_the_item() -> (
    None
):
    pool = CredentialCoordinator(["a", "b"], announce=lambda _: None)
    used: list[str | None] = []

    def work(item: int, key: str | None) -> None:
        used.append(key)
        if len(used) == 1:
            raise RateLimited("429", delay=60)

    stats, _ = ParallelCoordinator(1, pool).execute_parallel([0], work)
    assert (stats.failed, used) == (0, ["a", "b"])


def test_every_key_resting_is_a_pause_and_not_a_failure() -> None:
    pool = CredentialCoordinator(["a"], announce=lambda _: None)
    key = pool.acquire()
    assert key is not None
    pool.release(key, rate_limited=True, backoff_seconds=0.3)
    stats, _ = ParallelCoordinator(2, pool).execute_parallel([0, 1], lambda *_: None)
    assert (stats.completed, stats.failed) == (2, 0)


def test_an_empty_pool_fails_the_item_at_once() -> None:
    pool = CredentialCoordinator([], announce=lambda _: None)
    assert pool.prospect() is Prospect.NONE
    started = time.monotonic()
    stats, results = ParallelCoordinator(1, pool).execute_parallel([0], lambda *_: None)
    assert time.monotonic() - started < 10, (
        "an item must not wait for the 30 s of a key that cannot come"
    )
    assert (stats.failed, results[0].success) == (1, False)
    assert "Failed to acquire credential" in str(results[0].error)


def test_fewer_than_two_usable_keys_reduce_the_parallelism() -> None:
    pool = CredentialCoordinator(["only"], announce=lambda _: None)
    gauge = Gauge()
    ParallelCoordinator(5, pool).execute_parallel(list(range(10)), gauge.work)
    assert gauge.most == 1


def test_a_key_never_appears_in_what_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    secret = "sk-very-secret"
    pool = CredentialCoordinator([secret])
    assert pool.acquire() == secret
    assert pool.acquire(timeout=0.01) is None
    pool.release(secret, rate_limited=True, backoff_seconds=30)
    assert pool.acquire(timeout=0.01) is None
    said = capsys.readouterr().out
    assert "rate-limited" in said
    assert secret not in said


def test_keys_are_given_in_the_order_of_asking() -> None:
    pool = CredentialCoordinator(["a"], announce=lambda _: None)
    assert pool.acquire() == "a"
    served: list[int] = []

    def ask(number: int) -> None:
        key = pool.acquire()
        assert key is not None
        served.append(number)
        pool.release(key)

    threads = []
    for number in range(5):
        thread = threading.Thread(target=ask, args=(number,))
        thread.start()
        threads.append(thread)
        deadline = time.monotonic() + 10
        while pool.waiting <= number and time.monotonic() < deadline:
            time.sleep(0.001)
    pool.release("a")
    for thread in threads:
        thread.join()
    assert served == [0, 1, 2, 3, 4]


def test_a_key_that_is_added_serves_those_who_wait() -> None:
    pool = CredentialCoordinator([], announce=lambda _: None)
    got: list[str | None] = []
    thread = threading.Thread(target=lambda: got.append(pool.acquire()))
    thread.start()
    pool.add("new")
    thread.join(10)
    assert got == ["new"]


def test_a_key_that_is_not_from_the_pool_is_refused() -> None:
    with pytest.raises(ValueError, match="not from this pool"):
        CredentialCoordinator(["a"]).release("b")


def test_the_environment_can_limit_the_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTOS_CREDENTIAL_LIMIT", "2")
    assert CredentialCoordinator(["a", "b", "c"]).total == 2


@settings(max_examples=40, deadline=None)
@given(
    keys=st.integers(1, 4),
    workers=st.integers(1, 10),
    items=st.integers(0, 30),
    limited=st.sets(st.integers(0, 29), max_size=5),
    broken=st.sets(st.integers(0, 29), max_size=5),
)
def test_no_key_is_ever_held_twice_and_every_item_ends_once(
    keys: int, workers: int, items: int, limited: set[int], broken: set[int]
) -> None:
    pool = CredentialCoordinator(
        [f"key{n}" for n in range(keys)], announce=lambda _: None
    )
    lock = threading.Lock()
    held: set[str] = set()
    limited = set(limited)

    def work(item: int, key: str | None) -> None:
        assert key is not None
        with lock:
            assert key not in held
            held.add(key)
        try:
            with lock:
                if item in limited:
                    limited.discard(item)
                    raise RateLimited("429", delay=0.001)
            if item in broken:
                raise ValueError("broken")
        finally:
            with lock:
                held.discard(key)

    stats, results = ParallelCoordinator(
        workers, pool, announce=lambda _: None
    ).execute_parallel(list(range(items)), work)
    assert stats.completed == items
    assert sorted(int(result.item_id) for result in results) == list(range(items))
    assert {int(r.item_id) for r in results if not r.success} == {
        n for n in broken if n < items
    }
    assert pool.usable <= pool.total


def test_importing_the_library_imports_no_graph_and_no_provider() -> None:
    import subprocess

    script = (
        "import sys, agentos.workflows.parallel\n"
        "assert not [m for m in sys.modules if m.split('.')[0] in ('langgraph', 'aiosqlite')]\n"
        "assert not [m for m in sys.modules if m.startswith('agentos.gateway.providers')]\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
