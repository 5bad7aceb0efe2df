"""Run generated code: in bubblewrap, or in a plain process with limits if the user
accepts what that does not protect. Both implement the protocol `Sandbox`.

Files that were written in a sandbox are hostile: a link may lead anywhere and a pipe
may block forever. Read them with `read_result`.
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
from agentos.proving.sandbox.supervisor.processor import processor_seconds
from agentos.state.wording import describe_seconds

VARIABLE = "AGENTOS_SANDBOX"
CONSENT = "--allow-unsandboxed"
"""The flag with which a user accepts a sandbox that does not isolate."""
MEGABYTE = 1_000_000


class BrokenSandbox(ItemError):
    """The sandbox could not be set up, so nothing is known about the command."""


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """What a command may use; sizes are in bytes."""

    seconds: float = 300.0
    cpu_seconds: int = 0
    """Of one process; 0 derives it from `seconds`."""
    memory: int = 2 * 1024**3
    """Of all processes together."""
    processes: int = 256
    """At one time; each may have several threads."""
    file_size: int = 100 * MEGABYTE
    disk: int = 500 * MEGABYTE
    """Maximum growth of all writable folders, and maximum size of temporary files."""
    files: int = 50_000
    """Maximum number of new files and folders."""
    output: int = 10 * MEGABYTE
    """How much of the output is kept: the beginning and the end."""
    flood: int = 200 * MEGABYTE
    """How much output ends the command."""
    open_files: int = 1024

    @property
    def processor_seconds(self) -> int:
        """Maximum processor time of one process."""
        return processor_seconds(self.seconds, self.cpu_seconds)


@dataclass(frozen=True, slots=True)
class Mounts:
    """The folders, variables and limits of a command."""

    folder: Path
    """The worktree: the working directory, which is writable."""
    readable: tuple[Path, ...] = ()
    """Folders of its environment, which it may read: see
    `visible_folders.environment_folders`.
    """
    read_only: tuple[Path, ...] = ()
    """Files and folders in the worktree that it must not change; `.git` always is one.
    A missing file cannot be mounted read-only, so it is not protected: compare
    afterwards.
    """
    results: Path | None = None
    """A writable folder for files that the caller reads afterwards."""
    environ: Mapping[str, str] = field(default_factory=dict)
    """Variables in addition to those that every command gets; none is inherited."""
    limits: SandboxLimits = SandboxLimits()


class Reason(StrEnum):
    """Why a command ended."""

    ENDED = "ended"
    """It exited by itself, with success or not."""
    TIMED_OUT = "timed-out"
    OUT_OF_PROCESSOR_TIME = "out-of-processor-time"
    OUT_OF_MEMORY = "out-of-memory"
    TOO_MANY_PROCESSES = "too-many-processes"
    TOO_MUCH_OUTPUT = "too-much-output"
    TOO_MUCH_DISK = "too-much-disk"
    KILLED = "killed"
    """By itself or by another process on the machine."""


@dataclass(frozen=True, slots=True)
class FinishedCommand:
    """How a command ended."""

    reason: Reason
    code: int
    """Its exit code; 128 plus the number of the signal if one ended it."""
    output: str
    """What it printed to both streams, truncated and untrusted."""
    seconds: float
    left_out: int = 0
    """Number of bytes of output that are not in `output`."""
    limits: SandboxLimits = SandboxLimits()

    @property
    def signal(self) -> int:
        """The signal that ended it, or 0."""
        if 128 < self.code < 128 + 65:
            return self.code - 128
        return 0

    @property
    def is_stopped(self) -> bool:
        """Whether it did not exit by itself."""
        return self.reason is not Reason.ENDED

    def explain(self) -> str:
        """Explain in one line why it ended."""
        limits = self.limits
        return {
            Reason.ENDED: f"ended with exit code {self.code}",
            Reason.TIMED_OUT: (
                f"ran longer than {describe_seconds(limits.seconds)} and was ended"
            ),
            Reason.OUT_OF_PROCESSOR_TIME: (
                f"computed for more than {describe_seconds(limits.processor_seconds)}"
                " of processor time and was ended"
            ),
            Reason.OUT_OF_MEMORY: (
                f"used more than {limits.memory / MEGABYTE:,.0f} MB of memory and was"
                " ended"
            ),
            Reason.TOO_MANY_PROCESSES: (
                f"started more than {limits.processes} processes and was ended"
            ),
            Reason.TOO_MUCH_OUTPUT: (
                f"printed more than {limits.flood / MEGABYTE:,.0f} MB and was ended"
            ),
            Reason.TOO_MUCH_DISK: (
                f"wrote more than {limits.disk / MEGABYTE:,.0f} MB, {limits.files:,}"
                f" files or {limits.file_size / MEGABYTE:,.0f} MB in one file and was"
                " ended"
            ),
            Reason.KILLED: "was killed",
        }[self.reason]


class Sandbox(Protocol):
    """A way to run hostile code."""

    @property
    def name(self) -> str:
        """Its name in `AGENTOS_SANDBOX`."""

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """What it does not protect, each as a clause for the user."""

    async def run(self, command: Sequence[str], mounts: Mounts) -> FinishedCommand:
        """Run a command until it exits or exceeds a limit; when this returns or is
        canceled, none of its processes is alive.
        """


def find_sandbox(environ: Mapping[str, str]) -> Sandbox:
    """Return the sandbox that `AGENTOS_SANDBOX` names, or bubblewrap if it works on
    this machine, else the plain one.
    """
    wanted = environ.get(VARIABLE, "")
    if wanted:
        if wanted not in SANDBOXES:
            raise UsageError(
                f"{VARIABLE}={wanted}: there is no such sandbox; use one of"
                f" {', '.join(SANDBOXES)}"
            )
        return SANDBOXES[wanted](environ)
    try:
        return _bubblewrap(environ)
    except UsageError:
        return _plain(environ)


def choose_sandbox(environ: Mapping[str, str], *, is_allowed: bool) -> Sandbox:
    """Return the sandbox for generated code; raise `UsageError` if it does not isolate
    and the user does not allow that.
    """
    sandbox = find_sandbox(environ)
    if is_allowed or not sandbox.weaknesses:
        return sandbox
    why = _explain_plain(environ)
    raise UsageError(
        f"generated code is not run without bubblewrap, because it could read and change"
        f" your files and use the network; {why} (Debian: apt install bubblewrap,"
        f" Fedora: dnf install bubblewrap), or accept that with {CONSENT}"
    )


def _explain_plain(environ: Mapping[str, str]) -> str:
    """Return why the plain sandbox was found, and what to do about it."""
    try:
        _bubblewrap(environ)
    except UsageError as error:
        return str(error)
    return f"bubblewrap works here, but {VARIABLE}=plain is set; unset it"


def read_result(path: Path, limit: int) -> bytes | None:
    """Return a file directly in a results folder; None if it is missing, too large or
    not an ordinary file.
    """
    try:
        descriptor = os.open(
            path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        )
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(limit + 1)
    finally:
        os.close(descriptor)
    if len(data) > limit:
        return None
    return data


def _bubblewrap(environ: Mapping[str, str]) -> Sandbox:
    from agentos.proving.sandbox.bubblewrap import find_bubblewrap

    return find_bubblewrap(environ)


def _plain(_environ: Mapping[str, str]) -> Sandbox:
    from agentos.proving.sandbox.plain import Plain

    return Plain()


SANDBOXES: dict[str, Callable[[Mapping[str, str]], Sandbox]] = {
    "bubblewrap": _bubblewrap,
    "plain": _plain,
}
