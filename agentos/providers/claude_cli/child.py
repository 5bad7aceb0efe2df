"""Run a command that must not outlive its purpose: bounded, watched for silence, and ended with all its children.

Two processes share a group of their own: the command, and before it a shell that waits for the end of a pipe which only
this process holds open. When this process dies, however it dies, the kernel closes the pipe; the shell removes the
private folder and kills the group. A death signal (`setpriv --pdeathsig`) was not taken: it reaches the command but
not its children, is sent when the thread that forked ends, and exists on Linux only. The shell also keeps the group's
number from being given to strangers until the group has been killed.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agentos.errors import ProviderError, Sign
from agentos.providers import NOTHING
from agentos.providers.waiting import Patience, SilenceWatch

LINE_LIMIT = 8_000_000
OUTPUT_LIMIT = 64_000_000
COMPLAINT_LIMIT = 64_000
TERMINATION_GRACE = 0.3
EXIT_GRACE = 10.0
COMPLAINT_GRACE = 2.0
_POLL = 0.01
_PIPE_SIZE = 1 << 20
"""As much as everybody may have: the command does not wait at its end for what is not yet taken from it."""
_WATCH = 'trap "" TERM; read _; rm -rf -- "$1"; kill -s KILL 0'


@dataclass(frozen=True, slots=True)
class Ending:
    """How a command ended."""

    code: int | None
    """None when it did not end by itself after its last word."""
    complaint: str = ""
    """The beginning of its standard error."""


class Listener(Protocol):
    """Someone who reads a command's output line by line."""

    @property
    def has_begun(self) -> bool:
        """Whether a piece of the answer has arrived."""

    def take(self, line: bytes) -> bool:
        """Take a line; return whether no more is wanted."""


async def converse(
    command: Sequence[str],
    environ: Mapping[str, str],
    folder: Path,
    words: bytes,
    patience: Patience,
    listener: Listener,
) -> Ending:
    """Run `command` in `folder / "work"`, say `words` to it and let `listener` hear it out."""
    async with _running(command, environ, folder) as process:
        saying = asyncio.create_task(_say(process, words))
        complaining = asyncio.create_task(_hear_complaint(process))
        try:
            await _listen(process, patience, listener)
            code = await _wait(process, EXIT_GRACE)
            return Ending(code, await _complaint(complaining))
        finally:
            for task in (saying, complaining):
                task.cancel()
            await asyncio.gather(saying, complaining, return_exceptions=True)


@asynccontextmanager
async def _running(command: Sequence[str], environ: Mapping[str, str], folder: Path) -> AsyncIterator[Process]:
    watcher = await asyncio.create_subprocess_exec(
        *("/bin/sh", "-c", _WATCH, "watch", str(folder)),
        env={"PATH": environ.get("PATH", os.defpath)},
        stdin=PIPE,
        stdout=DEVNULL,
        stderr=DEVNULL,
        process_group=0,
    )
    process = None
    try:
        process = await _start(command, environ, folder / "work", watcher.pid)
        yield process
    finally:
        await _end(watcher, process)


async def _start(command: Sequence[str], environ: Mapping[str, str], folder: Path, group: int) -> Process:
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=folder,
            env=environ,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            limit=LINE_LIMIT,
            process_group=group,
        )
    except OSError as error:
        why = f"{command[0]}: cannot be started ({error.strerror}); check that it is a program"
        raise ProviderError(why, sign=Sign.BAD_REQUEST, consumed=NOTHING) from None
    # A command that has ended at once has closed it.
    with suppress(OSError, AttributeError, ValueError):
        # The reader's own pipe, which asyncio does not name otherwise.
        pipe = process._transport.get_pipe_transport(1).get_extra_info("pipe")  # type: ignore[attr-defined]
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
    return process


async def _end(watcher: Process, process: Process | None) -> None:
    """Ask the group to end, then kill it, whatever interrupts the waiting between."""
    try:
        if process and process.returncode is None:
            _signal(watcher.pid, signal.SIGTERM)
            await _wait(process, TERMINATION_GRACE)
    finally:
        _signal(watcher.pid, signal.SIGKILL)
    for member in (watcher, process):
        if member:
            await _wait(member, EXIT_GRACE)


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, number)


async def _wait(process: Process, seconds: float) -> int | None:
    """Return the exit code, or None when there is none after so many seconds.

    `Process.wait` is of no use: in some versions of Python it also waits until every child has closed the pipes.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while process.returncode is None:  # noqa: ASYNC110
                await asyncio.sleep(_POLL)
    return process.returncode


async def _listen(process: Process, patience: Patience, listener: Listener) -> None:
    """Let the listener hear the command until it has heard enough; end what is silent for too long."""
    watch = SilenceWatch(patience)
    try:
        async with watch.watching():
            await _hear(process, watch, listener)
    except TimeoutError:
        raise ProviderError(f"claude {watch.silence.describe_end()}") from None


async def _hear(process: Process, watch: SilenceWatch, listener: Listener) -> None:
    assert process.stdout
    heard = 0
    while True:
        try:
            line = await process.stdout.readline()
        except ValueError:
            raise _too_much(LINE_LIMIT) from None
        watch.hear()
        heard += len(line)
        if heard > OUTPUT_LIMIT:
            raise _too_much(OUTPUT_LIMIT)
        if not line or listener.take(line):
            return
        if listener.has_begun:
            watch.begin()


def _too_much(limit: int) -> ProviderError:
    return ProviderError(f"claude wrote more than {limit // 1_000_000} MB and was ended", sign=Sign.BAD_ANSWER)


async def _say(process: Process, words: bytes) -> None:
    assert process.stdin
    with suppress(OSError):
        process.stdin.write(words)
        await process.stdin.drain()
        process.stdin.close()


async def _hear_complaint(process: Process) -> bytes:
    """Read standard error to its end and keep its beginning."""
    assert process.stderr
    kept = bytearray()
    while piece := await process.stderr.read(COMPLAINT_LIMIT):
        kept += piece[: COMPLAINT_LIMIT - len(kept)]
    return bytes(kept)


async def _complaint(task: asyncio.Task[bytes]) -> str:
    """Return what was complained; a child that holds standard error open forfeits it."""
    with suppress(TimeoutError):
        return (await asyncio.wait_for(task, COMPLAINT_GRACE)).decode("utf-8", "replace")
    return ""
