"""Look for texts that break a parser or cost it more than linear time."""

from __future__ import annotations

import gc
import importlib
import sys
import time
from collections.abc import Callable, Sequence

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.fuzz.targets import Target

SIZE = 100_000
"""How long the smaller of two repetitions is, in characters."""
NOTICEABLE = 0.2
"""Seconds below which a ratio of times says nothing."""
STEEP = 3.2
"""The ratio of times for twice the text that is no longer linear, with room for
noise.
"""


class Superlinear(AssertionError):
    """A text whose repetition costs more than its length."""


def texts(target: Target) -> st.SearchStrategy[str]:
    """Return texts made of the target's pieces and of anything else."""
    piece = st.one_of(st.sampled_from(target.pieces), st.text(max_size=12))
    return st.one_of(st.lists(piece, max_size=60).map("".join), st.text(max_size=400))


def check(target: Target, text: str) -> None:
    """Read a text; any error but the target's own goes through."""
    try:
        target.read(text)
    except target.error:
        pass


def check_growth(target: Target, unit: str) -> None:
    """Raise `Superlinear` when reading a repetition twice as long takes much more than
    twice the time.
    """
    count = SIZE // max(len(unit), 1) + 1
    for attempt in range(3):
        small, large = _time(target, unit * count), _time(target, unit * 2 * count)
        if large < NOTICEABLE or large <= STEEP * small:
            return
        count += attempt
    raise Superlinear(
        f"{small:.2f} s, then {large:.2f} s for twice as many of {unit[:200]!r}"
    )


def _time(target: Target, text: str) -> float:
    """Time a reading without the garbage collector, which looks through all that this
    process holds.
    """
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        check(target, text)
        return time.process_time() - start
    finally:
        gc.enable()


def run_hypothesis(target: Target, seconds: float, say: Callable[[str], None]) -> int:
    """Fuzz for so many seconds, but for one whole round at least, and return how many
    texts were read.
    """
    end = time.monotonic() + seconds
    count = rounds = 0

    def goes_on() -> bool:
        return rounds <= 1 or time.monotonic() < end

    while rounds == 0 or time.monotonic() < end:
        rounds += 1

        @seed(rounds + int(time.time()))
        @settings(
            max_examples=200,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.target, Phase.shrink],
        )
        @given(texts(target))
        def read_some(text: str) -> None:
            nonlocal count
            if goes_on():
                count += 1
                check(target, text)

        @seed(rounds)
        @settings(
            max_examples=3,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
        )
        @given(
            st.lists(st.sampled_from(target.pieces), min_size=1, max_size=3).map(
                "".join
            )
        )
        def grow_some(unit: str) -> None:
            if goes_on():
                check_growth(target, unit)

        read_some()
        grow_some()
        if rounds % 10 == 0:
            say(f"{count} texts in {rounds} rounds")
    return count


def run_atheris(target: Target, seconds: float, arguments: Sequence[str]) -> None:
    """Fuzz with coverage as guide; this call ends the process when it is done."""
    atheris = importlib.import_module("atheris")

    def read_one(data: bytes) -> None:
        check(target, atheris.FuzzedDataProvider(data).ConsumeUnicode(len(data)))

    atheris.instrument_all()
    atheris.Setup(
        [sys.argv[0], f"-max_total_time={int(seconds)}", *arguments], read_one
    )
    atheris.Fuzz()
