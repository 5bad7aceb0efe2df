"""End a run by a second Ctrl+C, SIGTERM, SIGHUP and a closed stdout; under nohup SIGHUP
ends nothing.
"""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.faults.figures import Figures, main, percentile
from tests.faults.scene import command, hold_a_worker, make_world, wait_deserted
from tests.support import BIN, PATIENCE, SIGHUP, SIGINT, SIGTERM, Running, World

ITEMS = 6
LONGEST = 5.0
LONGEST_AFTER_SECOND = 0.5
HANGING = command(latency=0.02, drafter=",fault=hang@2")

Ending = tuple[int, str, float]
"""Exit code, all output, seconds from the signal to the end."""


def measure(seed: int, count: int, folder: Path) -> Figures:
    """End so many runs in each of the ways."""
    figures = Figures("signals", seed, count)
    rng = random.Random(seed)
    ways: dict[str, tuple[Callable[[World, random.Random], Ending], int, float]] = {
        "second_interrupt": (_interrupt_twice, -SIGINT, LONGEST_AFTER_SECOND),
        "terminate": (
            lambda world, rng: _signal_once(world, rng, SIGTERM),
            -SIGTERM,
            LONGEST,
        ),
        "hang_up": (
            lambda world, rng: _signal_once(world, rng, SIGHUP),
            -SIGHUP,
            LONGEST,
        ),
        "hang_up_under_nohup": (_hang_up_ignored, 0, PATIENCE),
        "closed_stdout": (_close_stdout, -signal.SIGPIPE, LONGEST),
    }
    for name, (end, code, longest) in ways.items():
        times = []
        for number in range(1, count + 1):
            world = make_world(folder / f"{name}-{number}", ITEMS)
            ended, text, seconds = end(world, rng)
            times.append(seconds)
            where = f"{name} {number}"
            figures.expect(
                ended == code,
                f"{where}: ended with {ended}, not {code}: {text[-2000:]}",
            )
            figures.expect_swift(seconds <= longest, f"{where}: took {seconds:.2f} s")
            figures.expect("Traceback" not in text, f"{where}: {text}")
            figures.expect_none(wait_deserted(world, 1.0), where)
        figures.values[f"{name}_longest_seconds"] = percentile(times, 1)
    return figures


def _interrupt_twice(world: World, rng: random.Random) -> Ending:
    with world.start(*HANGING) as running:
        _wait_somewhere(running, rng)
        is_held = hold_a_worker(running, rng)
        running.signal(SIGINT)
        running.wait_for("Press Ctrl\\+C again")
        time.sleep(0.2)
        if is_held:
            assert running.process.poll() is None, (
                f"a worker that ignores SIGTERM was not waited for:\n{running.text}"
            )
            running.signal(SIGINT)
        return _wait_end(running)


def _signal_once(world: World, rng: random.Random, number: int) -> Ending:
    with world.start(*HANGING) as running:
        _wait_somewhere(running, rng)
        running.signal(number)
        return _wait_end(running)


def _hang_up_ignored(world: World, rng: random.Random) -> Ending:
    with world.start(
        "sh", "-c", 'trap "" HUP; exec "$@"', "sh", *command(latency=0.02)
    ) as running:
        _wait_somewhere(running, rng)
        running.signal(SIGHUP)
        return _wait_end(running)


def _close_stdout(world: World, rng: random.Random) -> Ending:
    argv = [str(BIN / "lld-workflow"), *world.with_answers(*command())[1:]]
    errors = world.repo.parent / "errors"
    with open(errors, "wb") as stderr:
        process = subprocess.Popen(
            argv,
            cwd=world.repo,
            env=dict(world.environ),
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
        )
    try:
        assert process.stdout is not None
        for _ in range(rng.randint(1, 10)):
            process.stdout.readline()
        closed = time.monotonic()
        process.stdout.close()
        code = process.wait(PATIENCE)
    finally:
        process.kill()
        process.wait()
    return code, errors.read_text("utf-8"), time.monotonic() - closed


def _wait_somewhere(running: Running, rng: random.Random) -> None:
    running.wait_for("Executing", times=rng.randint(1, 15))


def _wait_end(running: Running) -> Ending:
    struck = time.monotonic()
    finished = running.finish()
    return finished.code, finished.text, time.monotonic() - struck


if __name__ == "__main__":
    raise SystemExit(main(measure, 20))
