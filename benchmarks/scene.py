"""A repository full of issues, a home of its own, and commands that are watched from
outside while they run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support import ISSUE

BIN = Path(sys.executable).parent
KEPT = ("LANG", "LC_ALL", "TMPDIR", "TERM")
LOOK_EVERY = 0.02
PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Scene:
    """Where a benchmark runs commands; gone when it ends."""

    repo: Path
    home: Path
    environ: Mapping[str, str]

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        """Start a command; what it prints goes to a file, as the speed of a reader is
        not the question.
        """
        with open(self.repo.parent / "output.txt", "wb") as output:
            return subprocess.Popen(
                [find_program(command[0]), *command[1:]],
                cwd=self.repo,
                env=dict(self.environ),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def run(self, *command: str) -> Observed:
        """Run a command to its end; anything but success ends the benchmark."""
        return self.finish(self.start(*command))

    def finish(
        self, process: subprocess.Popen[bytes], look: Callable[[], None] = lambda: None
    ) -> Observed:
        """Wait for a command that was started, as `run` does."""
        observed = watch(process, look)
        if observed.code != 0:
            text = (self.repo.parent / "output.txt").read_text("utf-8", "replace")
            raise RuntimeError(
                f"{process.args!r} ended with {observed.code}:\n{text[-2000:]}"
            )
        return observed

    def reset(self) -> None:
        """Forget all earlier runs, as if the issues had just been written."""
        shutil.rmtree(self.home, ignore_errors=True)
        for path in (self.repo / "docs").iterdir():
            if path.name != "issues":
                shutil.rmtree(path)

    @property
    def run_folders(self) -> list[Path]:
        """The log folders of all runs."""
        return sorted((self.home / "logs" / "parallel").iterdir())


@dataclass(frozen=True, slots=True)
class Observed:
    """A process as seen from outside, its children not counted."""

    code: int
    began: float
    """Wall clock."""
    seconds: float
    cpu_seconds: float
    peak_memory: int
    """Bytes resident at the most."""


@contextmanager
def scene(issues: int) -> Iterator[Scene]:
    """Set up a repository with so many issues."""
    with tempfile.TemporaryDirectory(prefix="agentos-benchmark-") as folder:
        repo, home = Path(folder, "repo"), Path(folder, "home")
        (repo / "docs" / "issues").mkdir(parents=True)
        for number in range(1, issues + 1):
            (repo / "docs" / "issues" / f"{number}-export.md").write_text(
                ISSUE.format(number=number), "utf-8"
            )
        yield Scene(repo, home, clean_environment(Path(folder)))


def clean_environment(folder: Path) -> dict[str, str]:
    """Return an environment like a user's, whatever this process was started with."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return kept | {
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "HOME": str(folder / "no-home"),
        "AGENTOS_HOME": str(folder / "home"),
    }


def find_program(name: str) -> str:
    """Return our own program of that name, or else the name."""
    program = BIN / name
    return str(program) if program.exists() else name


def watch(
    process: subprocess.Popen[bytes], look: Callable[[], None] = lambda: None
) -> Observed:
    """Wait for the end of a process and note what it used itself; `look` is called now
    and then meanwhile.
    """
    began, start = time.time(), time.monotonic()
    peak = 0
    while (
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    ):
        peak = max(peak, peak_memory(process.pid))
        look()
        time.sleep(LOOK_EVERY)
    # Not reaped yet, so that its own use can still be told from that of its children.
    cpu = cpu_seconds(process.pid)
    return Observed(process.wait(), began, time.monotonic() - start, cpu, peak)


def peak_memory(pid: int) -> int:
    """Return the most memory that a running process has had resident, 0 when it is
    gone.
    """
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next(
        (int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0
    )


def cpu_seconds(pid: int) -> float:
    """Return the processor time of a process without its children; works until it is
    reaped.
    """
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def time_command(
    command: Sequence[str], environ: Mapping[str, str], cwd: Path
) -> float:
    """Return the seconds from start to end of a command that must succeed; its output
    is thrown away.
    """
    start = time.perf_counter()
    subprocess.run(
        command, env=dict(environ), cwd=cwd, stdout=subprocess.DEVNULL, check=True
    )
    return time.perf_counter() - start


def wait_for_text(
    place: Scene, process: subprocess.Popen[bytes], text: str, times: int
) -> None:
    """Wait until a running command has printed a text so often; one that does not is
    ended and quoted.
    """
    deadline = time.monotonic() + PATIENCE
    output = place.repo.parent / "output.txt"
    while (printed := output.read_text("utf-8", "replace")).count(text) < times:
        if time.monotonic() > deadline or process.poll() is not None:
            process.kill()
            raise RuntimeError(
                f"{text} was not printed {times} times (exit {process.wait()}):\n{printed[-2000:]}"
            )
        time.sleep(LOOK_EVERY)
