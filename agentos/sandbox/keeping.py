"""Have a command kept: start its keeper, take in what it prints, and let go of the lifeline when it is time."""

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
from agentos.keeper.tree import list_descendants
from agentos.sandbox import BrokenSandbox, Finished, Limits, Reason
from agentos.sandbox.output import HeadAndTail

_ROOT = str(Path(__file__).resolve().parents[2])
# Isolated, or modules that lie in the folder it is started in would be taken for ours.
_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[2]); from agentos.keeper.process import main; main(int(sys.argv[1]))"
)
_SAY_STARTED = 'echo >&3; exec 3>&-; exec "$@"'
_END_GRACE = 2.0
_SLACK = 15.0
_POLL = 0.005


@dataclass(frozen=True, slots=True)
class Wish:
    """What a keeper is asked for."""

    command: tuple[str, ...]
    environ: dict[str, str]
    folder: str
    limits: Limits
    watched: tuple[str, ...]
    """Folders whose growth counts."""
    memory_file_systems: tuple[str, ...] = ()
    has_namespace: bool = False
    kept: tuple[int, ...] = ()
    """Descriptors that the command gets."""
    private: str = ""
    """A folder that the keeper removes at the end."""


def announced(command: Sequence[str]) -> tuple[str, ...]:
    """Return a command that says it is being started, so that a sandbox that failed is told from a command that did."""
    for word in command:
        if "\0" in word:
            raise BadInput(f"{command[0]!r}: a NUL byte cannot be part of a command")
    return ("/bin/sh", "-c", _SAY_STARTED, "sh", *command)


async def keep(wish: Wish) -> Finished:
    """Run a command under a keeper."""
    began = time.monotonic()
    output = HeadAndTail(wish.limits.output)
    reading, writing = os.pipe()
    try:
        try:
            process = await _start_keeper(writing, wish.kept)
        finally:
            os.close(writing)
        reason = await _attend(process, wish, output, reading)
        said = os.read(reading, 4096) if reason is None else b""
    finally:
        os.close(reading)
    return _conclude(wish, output, reason, said, time.monotonic() - began)


def _conclude(wish: Wish, output: HeadAndTail, reason: Reason | None, said: bytes, seconds: float) -> Finished:
    code = 128 + signal.SIGKILL.value
    if reason is None:
        try:
            is_started, number, why = said.decode().split()
            reason, code = Reason(why), int(number)
        except ValueError:
            # Only where the command can see it can it have done this to its keeper.
            is_started, reason = "1", Reason.KILLED
        if is_started == "0" and reason is Reason.ENDED:
            words = output.text().strip().splitlines()
            raise BrokenSandbox(f"the sandbox could not be set up: {words[-1][:300] if words else f'exit code {code}'}")
    return Finished(reason, code, output.text(), seconds, output.left_out, wish.limits)


async def _start_keeper(report: int, kept: Sequence[int]) -> Process:
    environ = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
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


async def _attend(process: Process, wish: Wish, output: HeadAndTail, report: int) -> Reason | None:
    """Attend to a command until its keeper has reported; return the reason for which it was ended here, if it was."""
    assert process.stdin
    loop = asyncio.get_running_loop()
    over: asyncio.Future[Reason | None] = loop.create_future()

    def finish(reason: Reason | None) -> None:
        if not over.done():
            over.set_result(reason)

    loop.add_reader(report, finish, None)
    taking = asyncio.create_task(_take(process, output, wish.limits.flood, finish))
    try:
        with suppress(OSError):
            process.stdin.write(marshal.dumps(asdict(wish)).hex().encode() + b"\n")
        async with asyncio.timeout(wish.limits.seconds + _SLACK):
            return await over
    except TimeoutError:
        return Reason.TIMED_OUT
    finally:
        loop.remove_reader(report)
        await _let_go(process, taking)


async def _take(process: Process, output: HeadAndTail, flood: int, finish: Callable[[Reason], None]) -> None:
    assert process.stdout
    while piece := await process.stdout.read(1 << 16):
        output.take(piece)
        if output.total > flood:
            finish(Reason.TOO_MUCH_OUTPUT)


async def _let_go(process: Process, taking: asyncio.Task[None]) -> None:
    """End the keeper and so all that it keeps, whatever interrupts the waiting."""
    assert process.stdin
    process.stdin.close()
    try:
        await _wait(process)
    finally:
        if process.returncode is None:
            _end_by_force(process)
            await _wait(process)
        # Somebody who got away may hold the pipe open for ever.
        await asyncio.wait([taking], timeout=_END_GRACE)
        taking.cancel()


def _end_by_force(process: Process) -> None:
    """End a keeper that does not answer: it was stopped, or is too busy to hear."""
    members = list_descendants(process.pid)
    with suppress(ProcessLookupError):
        process.kill()
    for member in members:
        with suppress(OSError):
            os.kill(member.pid, signal.SIGKILL)


async def _wait(process: Process) -> None:
    """Wait for the end; `Process.wait` would in some versions of Python wait for the pipes as well."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_END_GRACE):
            while process.returncode is None:  # noqa: ASYNC110
                await asyncio.sleep(_POLL)
