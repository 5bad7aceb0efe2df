"""Talk to a child process with limits on its output and its silence."""

from __future__ import annotations

import asyncio
import fcntl
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agentos.errors import FailureCause, ProviderError
from agentos.gateway.providers.waiting import Patience, SilenceWatch
from agentos.state.watched import run_watched, wait_for_exit
from agentos.usage import NOTHING

LINE_LIMIT = 8_000_000
OUTPUT_LIMIT = 64_000_000
COMPLAINT_LIMIT = 64_000
TERMINATION_GRACE = 0.3
COMPLAINT_GRACE = 2.0
_PIPE_SIZE = 1 << 20
"""Largest size without privileges, so that the command need not wait for us to read
when it ends.
"""


@dataclass(frozen=True, slots=True)
class ChildExit:
    """How a command ended."""

    code: int | None
    """None when it did not exit by itself after its last output."""
    complaint: str = ""
    """The beginning of its standard error."""


class Listener(Protocol):
    """Reads a command's output line by line."""

    @property
    def has_begun(self) -> bool:
        """Whether a part of the answer has arrived."""

    def take(self, line: bytes) -> bool:
        """Take a line; return whether no more is wanted."""


async def converse(
    command: Sequence[str],
    environ: Mapping[str, str],
    folder: Path,
    words: bytes,
    patience: Patience,
    listener: Listener,
) -> ChildExit:
    """Run `command` in `folder / "work"`, write `words` to it and let `listener` read
    its output.
    """
    running = run_watched(
        command,
        environ,
        folder / "work",
        removed=folder,
        termination_grace=TERMINATION_GRACE,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        limit=LINE_LIMIT,
    )
    async with AsyncExitStack() as stack:
        try:
            process = await stack.enter_async_context(running)
        except OSError as error:
            raise _not_started(command[0], error) from None
        _widen_pipe(process)
        saying = asyncio.create_task(_say(process, words))
        complaining = asyncio.create_task(_hear_complaint(process))
        try:
            await _listen(process, patience, listener)
            code = await wait_for_exit(process)
            return ChildExit(code, await _complaint(complaining))
        finally:
            for task in (saying, complaining):
                task.cancel()
            await asyncio.gather(saying, complaining, return_exceptions=True)


def _not_started(program: str, error: OSError) -> ProviderError:
    why = f"{program}: cannot be started ({error.strerror}); check that it is a program"
    return ProviderError(why, cause=FailureCause.BAD_REQUEST, consumed=NOTHING)


def _widen_pipe(process: Process) -> None:
    # A command that exited at once has closed the pipe.
    with suppress(OSError, AttributeError, ValueError):
        # asyncio has no public access to this pipe.
        pipe = process._transport.get_pipe_transport(1).get_extra_info("pipe")  # type: ignore[attr-defined]
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)


async def _listen(process: Process, patience: Patience, listener: Listener) -> None:
    """Let the listener read until it has enough; raise when the command is silent for
    too long.
    """
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
    return ProviderError(
        f"claude wrote more than {limit // 1_000_000} MB and was ended",
        cause=FailureCause.BAD_ANSWER,
    )


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
    """Return standard error, empty if a child process keeps it open."""
    with suppress(TimeoutError):
        return (await asyncio.wait_for(task, COMPLAINT_GRACE)).decode(
            "utf-8", "replace"
        )
    return ""
