"""Where generated code runs: one Protocol; bubblewrap where the machine has it, else a plain process with limits.

Whoever reads what was written in a sandbox reads hostile files: a link may lead anywhere and a pipe may never answer.
`read_result` is the safe way.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from agentos.errors import ItemError, UsageError
from agentos.keeper.processor import processor_seconds
from agentos.wording import describe_seconds

VARIABLE = "AGENTOS_SANDBOX"
MEGABYTE = 1_000_000


class BrokenSandbox(ItemError):
    """The sandbox itself could not be set up, so that nothing is known about the command."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a command may use; sizes are in bytes."""

    seconds: float = 300.0
    cpu_seconds: int = 0
    """Of one process; 0 for what suits `seconds`."""
    memory: int = 2 * 1024**3
    """Of all processes together."""
    processes: int = 256
    """At one time; each may have several threads."""
    file_size: int = 100 * MEGABYTE
    disk: int = 500 * MEGABYTE
    """By how much everything that it may write to may grow, and the size of its temporary files."""
    files: int = 50_000
    """How many files and folders may be added."""
    output: int = 10 * MEGABYTE
    """Kept of what it prints: the beginning and the end."""
    flood: int = 200 * MEGABYTE
    """Printed in all before it is ended."""
    open_files: int = 1024

    @property
    def processor_seconds(self) -> int:
        """How long one process may compute."""
        return processor_seconds(self.seconds, self.cpu_seconds)


@dataclass(frozen=True, slots=True)
class Scene:
    """What a command finds around it."""

    folder: Path
    """The worktree, in which it starts and in which it may write."""
    readable: tuple[Path, ...] = ()
    """Folders of its environment, which it may read: see `showing.environment_folders`."""
    read_only: tuple[Path, ...] = ()
    """Files and folders in the worktree that it must not change; `.git` always is one. What is not there is not
    protected, for there is nothing to lay a lock on: compare afterwards."""
    results: Path | None = None
    """A folder for the files that the caller reads afterwards, writable too."""
    environ: Mapping[str, str] = field(default_factory=dict)
    """Variables on top of the few that every command gets; nothing is inherited."""
    limits: Limits = Limits()


class Reason(StrEnum):
    """Why a command is over."""

    ENDED = "ended"
    """By itself, well or badly."""
    TIMED_OUT = "timed-out"
    OUT_OF_PROCESSOR_TIME = "out-of-processor-time"
    OUT_OF_MEMORY = "out-of-memory"
    TOO_MANY_PROCESSES = "too-many-processes"
    TOO_MUCH_OUTPUT = "too-much-output"
    TOO_MUCH_DISK = "too-much-disk"
    KILLED = "killed"
    """By itself or by somebody else on the machine."""


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended."""

    reason: Reason
    code: int
    """Its exit code; 128 and the number of the signal when one ended it."""
    output: str
    """What it printed to both streams, bounded, untrusted."""
    seconds: float
    left_out: int = 0
    """How many bytes of its output are not in `output`."""
    limits: Limits = Limits()

    @property
    def signal(self) -> int:
        """The signal that ended it, 0 for none."""
        return self.code - 128 if 128 < self.code < 128 + 65 else 0

    @property
    def is_stopped(self) -> bool:
        """Whether it was ended because it went too far."""
        return self.reason is not Reason.ENDED

    def explain(self) -> str:
        """Say in one line why it is over."""
        limits = self.limits
        return {
            Reason.ENDED: f"ended with exit code {self.code}",
            Reason.TIMED_OUT: f"ran longer than {describe_seconds(limits.seconds)} and was ended",
            Reason.OUT_OF_PROCESSOR_TIME: (
                f"computed for more than {describe_seconds(limits.processor_seconds)} of processor time and was ended"
            ),
            Reason.OUT_OF_MEMORY: f"used more than {limits.memory / MEGABYTE:,.0f} MB of memory and was ended",
            Reason.TOO_MANY_PROCESSES: f"started more than {limits.processes} processes and was ended",
            Reason.TOO_MUCH_OUTPUT: f"printed more than {limits.flood / MEGABYTE:,.0f} MB and was ended",
            Reason.TOO_MUCH_DISK: (
                f"wrote more than {limits.disk / MEGABYTE:,.0f} MB, {limits.files:,} files "
                f"or {limits.file_size / MEGABYTE:,.0f} MB in one file and was ended"
            ),
            Reason.KILLED: "was killed",
        }[self.reason]


class Sandbox(Protocol):
    """Something that runs hostile code."""

    @property
    def name(self) -> str:
        """The name under which it is chosen."""

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """What it does not protect, each as a clause for the user; empty when it keeps every promise."""

    async def run(self, command: Sequence[str], scene: Scene) -> Finished:
        """Run a command to its end or to a limit; when this is cancelled or returns, nothing of it is alive."""


def find_sandbox(environ: Mapping[str, str]) -> Sandbox:
    """Return bubblewrap if it works on this machine, else the plain sandbox; `AGENTOS_SANDBOX` forces one."""
    wanted = environ.get(VARIABLE, "")
    if wanted:
        if wanted not in SANDBOXES:
            raise UsageError(f"{VARIABLE}={wanted}: there is no such sandbox; take one of {', '.join(SANDBOXES)}")
        return SANDBOXES[wanted](environ)
    try:
        return _bubblewrap(environ)
    except UsageError:
        return _plain(environ)


def read_result(path: Path, limit: int) -> bytes | None:
    """Return a file that lies directly in a results folder; None when it is missing, too big, or no ordinary file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(limit + 1)
    finally:
        os.close(descriptor)
    return data if len(data) <= limit else None


def _bubblewrap(environ: Mapping[str, str]) -> Sandbox:
    from agentos.sandbox.bubblewrap import find_bubblewrap

    return find_bubblewrap(environ)


def _plain(_environ: Mapping[str, str]) -> Sandbox:
    from agentos.sandbox.plain import Plain

    return Plain()


SANDBOXES: dict[str, Callable[[Mapping[str, str]], Sandbox]] = {"bubblewrap": _bubblewrap, "plain": _plain}
