"""Run a command that ends with its caller: by cancellation, by failure, or when the caller is killed.

The command shares a process group with a shell that waits for the end of a pipe which only this process holds open.
However this process dies, the kernel closes the pipe and the shell kills the group.
"""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

LINE_LIMIT = 64_000
EXIT_GRACE = 10.0
LAST_WORDS_GRACE = 1.0
_CHUNK = 65_536
_POLL = 0.01
_WATCH = 'trap "" TERM; read _; kill -s KILL 0'


async def run_watched(
    command: Sequence[str],
    environ: Mapping[str, str],
    folder: Path,
    hear: Callable[[bytes], object],
    held: Sequence[int] = (),
) -> int:
    """Run a command to its end and return its exit code; `hear` gets each line of its output.

    The descriptors `held` stay open in the command, so that a lock is kept until the last of it is gone.
    """
    watcher = await asyncio.create_subprocess_exec(
        *("/bin/sh", "-c", _WATCH),
        env={"PATH": environ.get("PATH", os.defpath)},
        stdin=PIPE,
        stdout=DEVNULL,
        stderr=DEVNULL,
        process_group=0,
        pass_fds=tuple(held),
    )
    process = None
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=folder,
            env=dict(environ),
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
            process_group=watcher.pid,
            pass_fds=tuple(held),
        )
        await _hear_out(process, hear)
        assert process.returncode is not None
        return process.returncode
    finally:
        with suppress(ProcessLookupError):
            os.killpg(watcher.pid, signal.SIGKILL)
        for member in (watcher, process):
            if member:
                await _reap(member)


async def _hear_out(process: Process, hear: Callable[[bytes], object]) -> None:
    listening = asyncio.create_task(_listen(process, hear))
    try:
        # `Process.wait` would also wait for children that hold the pipe open.
        while process.returncode is None:  # noqa: ASYNC110
            await asyncio.sleep(_POLL)
        await asyncio.wait([listening], timeout=LAST_WORDS_GRACE)
        if listening.done():
            listening.result()
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def _listen(process: Process, hear: Callable[[bytes], object]) -> None:
    assert process.stdout
    rest = b""
    while piece := await process.stdout.read(_CHUNK):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            hear(line[:LINE_LIMIT] + b"\n")
        # Of a line without end the beginning is enough.
        rest = rest[:LINE_LIMIT]
    if rest:
        hear(rest)


async def _reap(process: Process) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(EXIT_GRACE):
            while process.returncode is None:  # noqa: ASYNC110
                await asyncio.sleep(_POLL)
