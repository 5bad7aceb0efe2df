"""Limits that nobody declares are learned from few refusals, and used almost fully.

The time of these tests is virtual: it passes when every task waits.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agentos.errors import FailureCause, ProviderError
from agentos.gateway.keys import Key, Lease
from agentos.gateway.keys.pool import Pool
from agentos.gateway.keys.store import Store
from agentos.gateway.providers import Completion
from agentos.usage import Usage
from tests.scenario.formats import Refusal
from tests.scenario.limits import GroupLimits
from tests.scenario.script import Group, Script

NETWORK = 0.005
"""Seconds that a request, or its answer, is under way."""
Turn = tuple[int, int]
"""Input and output tokens of a call."""


class VirtualSelector(selectors.DefaultSelector):
    """Lets time pass instead of waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000_000.0

    def select(
        self, timeout: float | None = None
    ) -> list[tuple[selectors.SelectorKey, int]]:
        assert timeout is not None, "all tasks wait, and none for a time"
        self.now += max(0.0, timeout)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop with virtual time."""

    def __init__(self) -> None:
        self._virtual = VirtualSelector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now


@dataclass
class Provider:
    """A provider that counts as the scenario server does, without a network."""

    groups: Mapping[str, Group]
    window: float
    names_limits: bool
    counts_output: bool = True
    seconds: float = 0.5
    """How long a call takes."""
    refused: int = 0
    arrivals: list[float] = field(default_factory=list)
    limits: dict[str, GroupLimits] = field(default_factory=dict)

    async def answer(self, group: str, turn: Turn) -> None:
        """Return when the call is answered; raise the refusal of one too many."""
        clock = asyncio.get_running_loop().time
        limits = self.limits.setdefault(group, GroupLimits(clock()))
        given, written = turn
        await asyncio.sleep(NETWORK)
        script = Script(window=self.window)
        refusal = limits.admit(self.groups[group], script, given, clock())
        if refusal is not None:
            self.refused += 1
            await asyncio.sleep(NETWORK)
            raise self._complain(refusal)
        self.arrivals.append(clock())
        await asyncio.sleep(self.seconds)
        counted = written if self.counts_output else 0
        limits.settle(counted, 0.0, clock())
        await asyncio.sleep(NETWORK)

    def _complain(self, refusal: Refusal) -> ProviderError:
        error = ProviderError("429", cause=FailureCause.RATE_LIMIT, delay=refusal.delay)
        if self.names_limits and refusal.limit_name == "requests":
            error.requests_limit = refusal.limit or 0
        elif self.names_limits:
            # Gemini has no other name for a limit of tokens.
            error.input_limit = refusal.limit or 0
        return error

    def share_used(self, calls_a_window: float) -> float:
        """Return the share of the allowed calls that was made."""
        spent = self.arrivals[-1] - self.arrivals[0]
        allowed = calls_a_window * (1 + spent / self.window)
        return len(self.arrivals) / allowed


def converse(
    provider: Provider, conversations: Sequence[Sequence[Turn]], at_once: int
) -> None:
    """Hold all conversations, some at a time, with one key for each group."""
    keys = [Key("gemini", name, group=name, source=name) for name in provider.groups]

    async def ask(pool: Pool, turn: Turn, group: str) -> str:
        given, written = turn
        while True:
            lease: Lease = await pool.lease(
                "gemini", "m", given + written, "LLD-1", output=written, group=group
            )
            assert lease.key is not None
            group = lease.key.group
            try:
                await provider.answer(group, turn)
            except ProviderError as error:
                pool.fail(lease, error)
            else:
                pool.succeed(lease, Completion("text", "m", Usage(given, written)))
                return group

    async def check() -> None:
        clock = asyncio.get_running_loop().time
        store = Store(":memory:", clock)
        pool = Pool(store, lambda: keys, lambda _: None, window=provider.window)
        waiting = iter(conversations)

        async def work() -> None:
            for conversation in waiting:
                group = ""
                for turn in conversation:
                    group = await ask(pool, turn, group)

        await asyncio.gather(*(work() for _ in range(at_once)))
        pool.close()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(check())


def test_a_low_limit_that_no_refusal_names_is_learned_from_few_refusals() -> None:
    groups = {name: Group(name, requests_per_window=4) for name in "ab"}
    provider = Provider(groups, window=10.0, names_limits=False)
    converse(provider, [[(300, 100)] * 5] * 24, at_once=3)
    assert len(provider.arrivals) == 120
    assert provider.refused < 0.05 * 120
    assert provider.share_used(8) > 0.9


def test_a_limit_that_is_named_for_input_but_counts_output_is_kept() -> None:
    groups = {"a": Group("a", tokens_per_window=60_000)}
    provider = Provider(groups, window=10.0, names_limits=True)
    converse(provider, [[(1_000, 500)] * 5] * 100, at_once=5)
    assert len(provider.arrivals) == 500
    assert provider.refused <= 5, "those that were under way with the first"
    assert provider.share_used(40) > 0.9


def test_a_limit_of_input_is_used_fully_whatever_the_output() -> None:
    groups = {"a": Group("a", tokens_per_window=60_000)}
    provider = Provider(groups, window=10.0, names_limits=True, counts_output=False)
    converse(provider, [[(1_000, 500)] * 5] * 150, at_once=5)
    assert provider.refused <= 5
    assert provider.share_used(60) > 0.9
