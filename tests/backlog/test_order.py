"""The order of a batch: nobody before what he waits for, nobody idle, circles found
exactly.
"""

from __future__ import annotations

import itertools
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.backlog.order import ReadyQueue, find_cycles, longest_chain, trace_cycles
from agentos.workflows.parallel.coordinator import ParallelCoordinator

Needs = dict[int, list[int]]


@st.composite
def graphs(draw: st.DrawFn, *, acyclic: bool) -> tuple[int, Needs]:
    """Return so many items and who waits for whom."""
    total = draw(st.integers(1, 25))
    names = draw(st.permutations(range(total)))
    needs: Needs = {}
    for place in range(total):
        others = range(place) if acyclic else range(total)
        if others:
            chosen = draw(st.lists(st.sampled_from(others), max_size=4))
            if chosen:
                needs[names[place]] = [names[other] for other in chosen]
    return total, needs


def reachable(needs: Needs, start: int) -> set[int]:
    """Return everything that an item waits for, however indirectly."""
    found: set[int] = set()
    stack = list(needs.get(start, ()))
    while stack:
        item = stack.pop()
        if item not in found:
            found.add(item)
            stack += needs.get(item, ())
    return found


@pytest.mark.slow
@given(
    graphs(acyclic=True),
    st.integers(1, 5),
    st.randoms(use_true_random=False),
    st.floats(0, 1),
)
def test_every_item_starts_after_its_needs_and_nobody_is_idle(
    graph: tuple[int, Needs], workers: int, rng: object, share: float
) -> None:
    total, needs = graph
    queue = ReadyQueue(total, needs)
    running: list[int] = []
    fulfilled: set[int] = set()
    started: list[int] = []
    while True:
        while len(running) < workers and (position := queue.take()) is not None:
            assert set(needs.get(position, ())) <= fulfilled
            running.append(position)
            started.append(position)
        if len(running) < workers:
            could_run = {
                item
                for item in range(total)
                if item not in started and set(needs.get(item, ())) <= fulfilled
            }
            assert could_run == set()
        if not running:
            break
        ended = running.pop(rng.randrange(len(running)))  # type: ignore[attr-defined]
        is_successful = rng.random() >= share  # type: ignore[attr-defined]
        if is_successful:
            fulfilled.add(ended)
        held = queue.finish(ended, is_successful=is_successful)
        assert set(held).isdisjoint(started)
    assert len(started) == len(set(started))
    failed = set(started) - fulfilled
    waiting = {item for item in range(total) if reachable(needs, item) & failed}
    assert set(queue.blocked) == waiting
    assert set(queue.left()) == waiting
    assert set(started) | waiting == set(range(total))
    for item, other in queue.blocked.items():
        assert other in needs[item]


@given(graphs(acyclic=True))
def test_independent_items_come_in_ascending_order(graph: tuple[int, Needs]) -> None:
    total, needs = graph
    queue = ReadyQueue(total, needs)
    taken = []
    while (position := queue.take()) is not None:
        taken.append(position)
    assert taken == [item for item in range(total) if not needs.get(item)]


@given(graphs(acyclic=False))
def test_the_items_of_cycles_are_those_that_wait_for_themselves(
    graph: tuple[int, Needs],
) -> None:
    total, needs = graph
    groups = find_cycles(needs)
    members = [item for group in groups for item in group]
    assert len(members) == len(set(members))
    assert set(members) == {
        item for item in range(total) if item in reachable(needs, item)
    }
    for group in groups:
        for item in group:
            assert set(group) <= reachable(needs, item)
        for item, way in trace_cycles(needs, group).items():
            assert way[0] == way[-1] == item
            assert len(set(way[:-1])) == len(way) - 1
            assert all(
                after in needs[before] for before, after in itertools.pairwise(way)
            )


@given(graphs(acyclic=True))
def test_an_order_without_cycles_has_none(graph: tuple[int, Needs]) -> None:
    assert find_cycles(graph[1]) == []


@given(graphs(acyclic=True), st.data())
def test_what_is_held_from_the_beginning_holds_all_that_wait_for_it(
    graph: tuple[int, Needs], data: st.DataObject
) -> None:
    total, needs = graph
    held = data.draw(st.sets(st.integers(0, total - 1)))
    queue = ReadyQueue(total, needs, held)
    started = []
    while (position := queue.take()) is not None:
        started.append(position)
        queue.finish(position, is_successful=True)
    assert set(started) == {
        item
        for item in range(total)
        if item not in held and not reachable(needs, item) & held
    }


def test_the_longest_chain_is_counted() -> None:
    assert longest_chain(0, {}) == 0
    assert longest_chain(5, {}) == 1
    assert longest_chain(5, {1: [0], 2: [1, 0], 4: [3]}) == 3


@pytest.mark.slow
def test_a_chain_of_a_hundred_thousand_is_no_trouble() -> None:
    total = 100_000
    chain = {item: [item - 1] for item in range(1, total)}
    assert find_cycles(chain) == []
    assert longest_chain(total, chain) == total
    queue = ReadyQueue(total, chain)
    assert queue.take() == 0
    assert len(queue.finish(0, is_successful=False)) == total - 1
    circle = {**chain, 0: [total - 1]}
    (group,) = find_cycles(circle)
    assert len(group) == total
    assert len(trace_cycles(circle, group)[0]) == total + 1


class Dependent:
    """A schedule of the coordinator that lets an item start when those before it have
    ended.
    """

    def __init__(self, queue: ReadyQueue) -> None:
        self._queue = queue

    def take(self) -> int | None:
        return self._queue.take()

    def end(self, position: int) -> None:
        self._queue.finish(position, is_successful=position != 3)

    def left(self) -> list[int]:
        return self._queue.left()


def test_the_coordinator_starts_items_as_its_schedule_says() -> None:
    needs = {0: [5], 2: [0, 1], 4: [3], 6: [4]}
    ended: list[int] = []
    lock = threading.Lock()

    def work(item: int, _: str | None) -> None:
        with lock:
            assert set(needs.get(item, ())) <= set(ended)
            ended.append(item)

    coordinator = ParallelCoordinator(3, handle_signals=False)
    stats, results = coordinator.execute_parallel(
        range(7), work, schedule=Dependent(ReadyQueue(7, needs))
    )
    assert {int(result.item_id) for result in results} == {0, 1, 2, 3, 5}
    assert all(result.success for result in results)
    assert (stats.total, stats.completed) == (7, 5)
    assert coordinator.get_checkpoints() == ["4", "6"]


def test_two_independent_chains_run_beside_each_other() -> None:
    together = threading.Barrier(2, timeout=60)
    needs = {1: [0], 3: [2]}

    def work(item: int, _: str | None) -> None:
        together.wait()

    schedule = Dependent(ReadyQueue(4, needs))
    stats, _ = ParallelCoordinator(2, handle_signals=False).execute_parallel(
        range(4), work, schedule=schedule
    )
    assert (stats.completed, stats.failed) == (4, 0)
