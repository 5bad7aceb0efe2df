"""Where faults happen: a world, a command with a known length, and moments and means to strike."""

from __future__ import annotations

import ctypes
import os
import random
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psutil

from tests.support import BIN, ISSUE, PATIENCE, Running, World

ROUNDS = 4
NODES = 2 + 3 * ROUNDS
CALLS = 2 * ROUNDS
KEPT = ("LANG", "LC_ALL", "TMPDIR")
_WAIT_ALL = 0x40000000
_SEIZE, _INTERRUPT = 0x4206, 0x4207
_libc = ctypes.CDLL(None, use_errno=True)


def make_world(folder: Path, issues: int) -> World:
    """Make a repository with numbered issues, and a home that is not there yet."""
    inbox = folder / "repo" / "docs" / "issues"
    inbox.mkdir(parents=True)
    for number in range(1, issues + 1):
        (inbox / f"{number}-export.md").write_text(ISSUE.format(number=number), "utf-8")
    environ = {name: os.environ[name] for name in KEPT if name in os.environ}
    environ |= {
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "HOME": str(folder / "no-home"),
        "AGENTOS_HOME": str(folder / "home"),
    }
    return World(folder / "repo", folder / "home", environ)


def command(
    *more: str, parallel: int = 4, latency: float = 0.05, rounds: int = ROUNDS, drafter: str = "", reviewer: str = ""
) -> tuple[str, ...]:
    """Return a command whose items each take `2 + 3 * rounds` steps and wait `2 * rounds` times."""
    return (
        *("lld-workflow", "--all", "--parallel", str(parallel), "--max-rounds", str(rounds + 1)),
        *("--drafter", f"offline:latency={latency}{drafter}"),
        *("--reviewer", f"offline:latency={latency},approve_after={rounds}{reviewer}"),
        *more,
    )


@cache
def undisturbed(issues: int, rounds: int = ROUNDS) -> dict[str, str]:
    """Return the artefacts of a run that nothing happened to."""
    with tempfile.TemporaryDirectory(prefix="agentos-undisturbed-") as folder:
        world = make_world(Path(folder), issues)
        finished = world.run(*command(latency=0, rounds=rounds))
        assert finished.code == 0, finished.text
        return world.artefacts()


def strike_moment(running: Running, rng: random.Random, lines: int) -> bool:
    """Wait for a random moment of a run of about so many lines; False when it has ended before."""
    if rng.random() < 0.15:
        return _wait_exit(running, rng.uniform(0, 1.2))
    wait_lines(running, rng.randint(0, lines))
    return _wait_exit(running, rng.uniform(0, 0.06))


def wait_lines(running: Running, lines: int) -> None:
    """Wait until so many lines were printed, or the command has ended."""
    deadline = time.monotonic() + PATIENCE
    with running.changed:
        while len(running.out) + len(running.err) < lines and running.process.poll() is None:
            assert time.monotonic() < deadline, running.text
            running.changed.wait(0.05)


def _wait_exit(running: Running, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if running.process.poll() is not None:
            return False
        time.sleep(min(0.005, max(0.0, deadline - time.monotonic())))
    return running.process.poll() is None


def fork(work: Callable[[], None]) -> int:
    """Do something in a child process; this one must not have other threads."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work()
        code = 0
    finally:
        os._exit(code)


def wait_child(pid: int) -> int:
    """Return how a child ended."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def survivors(world: World) -> list[psutil.Process]:
    """Return every process that belongs to this world's home: coordinators, fork servers, workers."""
    mark = f"AGENTOS_HOME={world.home}\0".encode()
    found = []
    for process in psutil.process_iter():
        try:
            environ = Path(f"/proc/{process.pid}/environ").read_bytes()
            if mark in environ + b"\0" and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (OSError, psutil.Error):
            continue
    return found


def wait_deserted(world: World, seconds: float) -> list[str]:
    """Return the processes of a world that are still there after some seconds."""
    deadline = time.monotonic() + seconds
    while left := survivors(world):
        if time.monotonic() > deadline:
            return [f"process {process.pid} is still there after {seconds} s" for process in left]
        time.sleep(0.02)
    return []


@dataclass
class Stubborn:
    """Hold a process by tracing it: it takes no signal but SIGKILL, and dies of that one as always."""

    pid: int

    def __post_init__(self) -> None:
        self.is_held = False
        self._tried = threading.Event()
        self._thread = threading.Thread(target=self._hold, daemon=True)
        self._thread.start()
        self._tried.wait(5)

    def _hold(self) -> None:
        if _libc.ptrace(_SEIZE, self.pid, 0, 0) == 0 and _libc.ptrace(_INTERRUPT, self.pid, 0, 0) == 0:
            try:
                _, status = os.waitpid(self.pid, _WAIT_ALL)
                self.is_held = os.WIFSTOPPED(status)
                self._tried.set()
                # The tracer has to reap its tracee, or the real parent never hears of the end.
                while self.is_held and os.WIFSTOPPED(status):
                    _, status = os.waitpid(self.pid, _WAIT_ALL)
            except ChildProcessError:
                pass
        self._tried.set()


def hold_a_worker(running: Running, rng: random.Random) -> bool:
    """Make a random worker ignore everything but SIGKILL; False when there is none, or tracing is not allowed."""
    workers = [worker for worker in running.workers() if worker.status() != psutil.STATUS_ZOMBIE]
    return bool(workers) and Stubborn(rng.choice(workers).pid).is_held
