"""Where faults happen: a world, a command with a known length, and moments and means to
strike.
"""

from __future__ import annotations

import ctypes
import os
import random
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
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
_FAKETIME = (
    "faketime/libfaketimeMT.so.1",
    "libfaketimeMT.so.1",
    "faketime/libfaketime.so.1",
    "libfaketime.so.1",
)
_TRUE_SLEEP = """\
import select
import time

time.sleep = lambda seconds: select.select((), (), (), seconds)
"""
_LIBRARIES = ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/lib/*-linux-gnu")


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
    *more: str,
    parallel: int = 4,
    latency: float = 0.05,
    rounds: int = ROUNDS,
    drafter: str = "",
    reviewer: str = "",
) -> tuple[str, ...]:
    """Return a command whose items each take `2 + 3 * rounds` steps and wait `2 *
    rounds` times.
    """
    return (
        *(
            "lld-workflow",
            "--all",
            "--parallel",
            str(parallel),
            "--max-rounds",
            str(rounds + 1),
        ),
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
    """Wait for a random moment of a run of about so many lines; False when it has ended
    before.
    """
    if rng.random() < 0.15:
        return _wait_exit(running, rng.uniform(0, 1.2))
    wait_lines(running, rng.randint(0, lines))
    return _wait_exit(running, rng.uniform(0, 0.06))


def wait_lines(running: Running, lines: int) -> None:
    """Wait until so many lines were printed, or the command has ended."""
    deadline = time.monotonic() + PATIENCE
    with running.changed:
        while (
            len(running.out) + len(running.err) < lines
            and running.process.poll() is None
        ):
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
    """Return every process that belongs to this world's home: coordinators, fork
    servers, workers.
    """
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
            return [
                f"process {process.pid} is still there after {seconds} s"
                for process in left
            ]
        time.sleep(0.02)
    return []


@dataclass
class Stubborn:
    """Hold a process by tracing it: it takes no signal but SIGKILL, and dies of that
    one as always.
    """

    pid: int

    def __post_init__(self) -> None:
        self.is_held = False
        self._tried = threading.Event()
        self._thread = threading.Thread(target=self._hold, daemon=True)
        self._thread.start()
        self._tried.wait(5)

    def _hold(self) -> None:
        if (
            _libc.ptrace(_SEIZE, self.pid, 0, 0) == 0
            and _libc.ptrace(_INTERRUPT, self.pid, 0, 0) == 0
        ):
            try:
                _, status = os.waitpid(self.pid, _WAIT_ALL)
                self.is_held = os.WIFSTOPPED(status)
                self._tried.set()
                # The tracer has to reap its tracee, or the real parent never hears of
                # the end.
                while self.is_held and os.WIFSTOPPED(status):
                    _, status = os.waitpid(self.pid, _WAIT_ALL)
            except ChildProcessError:
                pass
        self._tried.set()


def hold_a_worker(running: Running, rng: random.Random) -> bool:
    """Make a random worker ignore everything but SIGKILL; False when there is none, or
    tracing is not allowed.
    """
    workers = [
        worker
        for worker in running.workers()
        if worker.status() != psutil.STATUS_ZOMBIE
    ]
    return bool(workers) and Stubborn(rng.choice(workers).pid).is_held


class WallClock:
    """A wall clock that is put forward and back while commands run by it; their
    monotonic clock is the true one.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self._library = find_faketime()
        self._python = folder / "python"
        self._python.mkdir()
        # The library spoils sleeping until a moment of the monotonic clock, which is
        # how Python sleeps.
        (self._python / "sitecustomize.py").write_text(_TRUE_SLEEP, "ascii")
        self.put(0)

    @property
    def can_be_put(self) -> bool:
        """Whether this machine has the library for it."""
        return bool(self._library)

    @property
    def environ(self) -> Mapping[str, str]:
        """What the environment of a command needs that is to run by this clock."""
        if not self._library:
            return {}
        return {
            "LD_PRELOAD": self._library,
            "PYTHONPATH": str(self._python),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
        }

    def put(self, seconds: int) -> None:
        """Have the clock show the true time and so many seconds; commands that run
        notice it within one second.
        """
        fresh = self._file.with_suffix(".new")
        fresh.write_text(f"{seconds:+d}\n", "ascii")
        fresh.replace(self._file)

    def tidy(self, pid: int) -> None:
        """Remove what the library leaves in shared memory when its process is
        killed.
        """
        for name in (f"sem.faketime_sem_{pid}", f"faketime_shm_{pid}"):
            Path("/dev/shm", name).unlink(missing_ok=True)


@cache
def find_faketime() -> str:
    """Return the path of libfaketime, empty when it is not installed."""
    for folder in _LIBRARIES:
        for name in _FAKETIME:
            if found := sorted(Path("/").glob(f"{folder[1:]}/{name}")):
                return str(found[0])
    return ""


@dataclass
class SmallDisk:
    """A disk that can be filled up to its last byte."""

    root: Path
    is_mounted: bool
    free_at: float = 0.0

    @property
    def is_full(self) -> bool:
        """Whether it is filled up now."""
        return self.free_at > 0

    def fill(self, seconds: float) -> None:
        """Leave no room; `relieve` takes that back when so many seconds have passed."""
        self.free_at = time.monotonic() + seconds
        with (
            suppress(OSError),
            (self.root / "ballast").open("ab", buffering=0) as ballast,
        ):
            while ballast.write(bytes(65_536)):
                pass

    def relieve(self, *, at_once: bool = False) -> None:
        """Make room again, when it is time."""
        if self.is_full and (at_once or time.monotonic() >= self.free_at):
            (self.root / "ballast").unlink(missing_ok=True)
            self.free_at = 0.0


@contextmanager
def small_disk(root: Path, megabytes: int) -> Iterator[SmallDisk]:
    """Mount a small disk for as long as the block runs; where that is not allowed, it
    is an ordinary folder.
    """
    root.mkdir(mode=0o700)
    command = [
        "mount",
        "-t",
        "tmpfs",
        "-o",
        f"size={megabytes}m,mode=700",
        "tmpfs",
        str(root),
    ]
    is_mounted = (
        bool(shutil.which("mount"))
        and subprocess.run(command, capture_output=True).returncode == 0
    )
    try:
        yield SmallDisk(root, is_mounted)
    finally:
        if is_mounted:
            subprocess.run(["umount", "--lazy", str(root)], check=True)
