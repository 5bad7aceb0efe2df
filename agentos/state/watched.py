"""Run a command that ends with its caller, together with all its children.

The command shares a process group with a shell that reads from a pipe which only this
process holds open. However this process dies, the kernel closes the pipe and the shell
kills the group. A death signal (`setpriv --pdeathsig`) would not do: it reaches the
command but not its children, is sent when the thread that forked ends, and exists on
Linux only. The shell also keeps the kernel from reusing the group's number until the
group has been killed.

A folder is removed by a second shell outside the group: a command that still runs would
write to the folder while it is being removed, and a shell of the group dies with it.
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
_WATCH = 'trap "" TERM; read _; kill -s KILL 0'
_REMOVE = """\
trap "" TERM
if ! read _; then
  for turn in $(seq 250); do
    kill -s 0 -- "-$2" || break
    sleep 0.02
  done
fi
rm -rf -- "$1"
"""
"""With a line from this process, remove the folder; without one, wait until the group is
gone, at most about five seconds: nobody may be there to reap its zombies.
"""


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

    The folder `removed` is deleted then, even if this process dies. The descriptors `held` stay
    open in the command, so that a lock is kept until its last child has exited. With a
    termination grace, a command that still runs gets SIGTERM first.
    """
    path = environ.get("PATH", os.defpath)
    watcher = await _start_shell(path, _WATCH, held=held)
    remover = None
    process = None
    try:
        if removed is not None:
            group = str(watcher.pid)
            remover = await _start_shell(path, _REMOVE, str(removed), group)
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
        if remover:
            assert remover.stdin
            remover.stdin.write(b"\n")
            await wait_for_exit(remover, EXIT_GRACE)


async def _start_shell(
    path: str, script: str, *arguments: str, held: Sequence[int] = ()
) -> Process:
    """Start a shell in a group of its own, with a pipe that is closed when this process
    dies.
    """
    return await asyncio.create_subprocess_exec(
        *("/bin/sh", "-c", script, "watch", *arguments),
        env={"PATH": path},
        stdin=PIPE,
        stdout=DEVNULL,
        stderr=DEVNULL,
        process_group=0,
        pass_fds=tuple(held),
    )


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
