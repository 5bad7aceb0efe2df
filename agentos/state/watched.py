"""Run a command that ends with its caller, together with all its children.

The command shares a process group with a shell that reads from a pipe which only this
process holds open. However this process dies, the kernel closes the pipe and the shell
kills the group. A death signal (`setpriv --pdeathsig`) would not do: it reaches the
command but not its children, is sent when the thread that forked ends, and exists on
Linux only. The shell also keeps the kernel from reusing the group's number until the
group has been killed.
"""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

EXIT_GRACE = 10.0
_POLL = 0.01
_WATCH = 'trap "" TERM; read _; [ -z "$1" ] || rm -rf -- "$1"; kill -s KILL 0'


@asynccontextmanager
async def run_watched(
    command: Sequence[str],
    environ: Mapping[str, str],
    folder: Path,
    *,
    removed: Path | None = None,
    held: Sequence[int] = (),
    termination_grace: float = 0.0,
    **pipes: Any,
) -> AsyncIterator[Process]:
    """Start a command in a folder and kill its process group when the block exits.

    The folder `removed` is deleted if this process dies. The descriptors `held` stay
    open in the command, so that a lock is kept until its last child has exited. With a
    termination grace, a command that still runs gets SIGTERM first.
    """
    watcher = await asyncio.create_subprocess_exec(
        *("/bin/sh", "-c", _WATCH, "watch", str(removed or "")),
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
            env=environ,
            process_group=watcher.pid,
            pass_fds=tuple(held),
            **pipes,
        )
        yield process
    finally:
        try:
            if process and process.returncode is None and termination_grace:
                _signal(watcher.pid, signal.SIGTERM)
                await wait_for_exit(process, termination_grace)
        finally:
            _signal(watcher.pid, signal.SIGKILL)
        for member in (watcher, process):
            if member:
                await wait_for_exit(member, EXIT_GRACE)


async def wait_for_exit(
    process: Process, seconds: float | None = EXIT_GRACE
) -> int | None:
    """Return the exit code, or None if the process still runs after that time.

    `Process.wait` does not work here: in some versions of Python it also waits until
    every child has closed the pipes.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while process.returncode is None:  # noqa: ASYNC110
                await asyncio.sleep(_POLL)
    return process.returncode


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, number)
