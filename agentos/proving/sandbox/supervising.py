"""Run a command under a sandbox supervisor: start it, collect the output, and close the
lifeline at the end.
"""

from __future__ import annotations

import asyncio
import marshal
import os
import signal
import sys
import time
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from agentos.errors import BadInput
from agentos.proving.sandbox import (
    BrokenSandbox,
    FinishedCommand,
    Reason,
    SandboxLimits,
)
from agentos.proving.sandbox.output import HeadAndTail
from agentos.proving.sandbox.supervisor.tree import list_descendants
from agentos.state.variables import SANDBOX_SUPERVISOR, environment, inherit

_ROOT = str(Path(__file__).resolve().parents[3])
# Python starts isolated, because modules in its working directory could shadow ours.
_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[2]); from agentos.proving.sandbox.supervisor.process import"
    " main; main(int(sys.argv[1]))"
)
_SAY_STARTED = 'echo >&3; exec 3>&-; exec "$@"'
_END_GRACE = 2.0
_SLACK = 15.0
_POLL = 0.005


@dataclass(frozen=True, slots=True)
class SupervisorRequest:
    """What a supervisor runs, and with which limits."""

    command: tuple[str, ...]
    environ: dict[str, str]
    folder: str
    limits: SandboxLimits
    watched: tuple[str, ...]
    """Folders whose growth is limited."""
    memory_file_systems: tuple[str, ...] = ()
    has_namespace: bool = False
    kept: tuple[int, ...] = ()
    """Descriptors that the command inherits."""
    private: str = ""
    """A folder that the supervisor removes at the end."""


def announced(command: Sequence[str]) -> tuple[str, ...]:
    """Return a command that reports its start, which tells a failed command from a
    failed sandbox.
    """
    for word in command:
        if "\0" in word:
            raise BadInput(f"{command[0]!r}: a NUL byte cannot be part of a command")
    return ("/bin/sh", "-c", _SAY_STARTED, "sh", *command)


async def supervise(request: SupervisorRequest) -> FinishedCommand:
    """Run a command under a supervisor until both have ended."""
    began = time.monotonic()
    output = HeadAndTail(request.limits.output)
    reading, writing = os.pipe()
    try:
        try:
            process = await _start_supervisor(writing, request.kept)
        finally:
            os.close(writing)
        reason = await _attend(process, request, output, reading)
        report = b""
        if reason is None:
            report = os.read(reading, 4096)
    finally:
        os.close(reading)
    return _conclude(request, output, reason, report, time.monotonic() - began)


def _conclude(
    request: SupervisorRequest,
    output: HeadAndTail,
    reason: Reason | None,
    report: bytes,
    seconds: float,
) -> FinishedCommand:
    code = 128 + signal.SIGKILL.value
    if reason is None:
        try:
            is_started, number, name = report.decode().split()
            reason, code = Reason(name), int(number)
        except ValueError:
            # A command that sees its supervisor (in the plain sandbox) can kill it.
            is_started, reason = "1", Reason.KILLED
        if is_started == "0" and reason is Reason.ENDED:
            lines = output.text().strip().splitlines() or [f"exit code {code}"]
            raise BrokenSandbox(f"the sandbox could not be set up: {lines[-1][:300]}")
    return FinishedCommand(
        reason, code, output.text(), seconds, output.left_out, request.limits
    )


async def _start_supervisor(report: int, kept: Sequence[int]) -> Process:
    environ = inherit(SANDBOX_SUPERVISOR, environment())
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", "-c", _PROGRAM, str(report), _ROOT),
        cwd="/",
        env=environ,
        stdin=PIPE,
        stdout=PIPE,
        stderr=STDOUT,
        pass_fds=(report, *kept),
        start_new_session=True,
    )


async def _attend(
    process: Process, request: SupervisorRequest, output: HeadAndTail, report: int
) -> Reason | None:
    """Wait for the supervisor's report; return the reason if the command was ended here
    instead.
    """
    assert process.stdin
    loop = asyncio.get_running_loop()
    over: asyncio.Future[Reason | None] = loop.create_future()

    def finish(reason: Reason | None) -> None:
        if not over.done():
            over.set_result(reason)

    loop.add_reader(report, finish, None)
    taking = asyncio.create_task(_take(process, output, request.limits.flood, finish))
    try:
        line = marshal.dumps(asdict(request)).hex()
        with suppress(OSError):
            process.stdin.write(f"{line}\n".encode())
        async with asyncio.timeout(request.limits.seconds + _SLACK):
            return await over
    except TimeoutError:
        return Reason.TIMED_OUT
    finally:
        loop.remove_reader(report)
        await _let_go(process, taking)


async def _take(
    process: Process, output: HeadAndTail, flood: int, finish: Callable[[Reason], None]
) -> None:
    assert process.stdout
    while piece := await process.stdout.read(1 << 16):
        output.take(piece)
        if output.total > flood:
            finish(Reason.TOO_MUCH_OUTPUT)


async def _let_go(process: Process, taking: asyncio.Task[None]) -> None:
    """End the supervisor and with it the command, even if the wait is interrupted."""
    assert process.stdin
    process.stdin.close()
    try:
        await _wait(process)
    finally:
        if process.returncode is None:
            _end_by_force(process)
            await _wait(process)
        # A process that escaped may hold the pipe open forever.
        await asyncio.wait([taking], timeout=_END_GRACE)
        taking.cancel()


def _end_by_force(process: Process) -> None:
    """Kill a supervisor that does not answer because it was stopped or is too busy."""
    members = list_descendants(process.pid)
    with suppress(ProcessLookupError):
        process.kill()
    for member in members:
        with suppress(OSError):
            os.kill(member.pid, signal.SIGKILL)


async def _wait(process: Process) -> None:
    """Wait for the exit; in some versions of Python `Process.wait` would also wait for
    the pipes.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(_END_GRACE):
            while process.returncode is None:  # noqa: ASYNC110
                await asyncio.sleep(_POLL)
