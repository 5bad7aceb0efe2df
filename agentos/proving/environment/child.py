"""Run a command and pass on its output line by line."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from agentos.state.watched import run_watched, wait_for_exit

LINE_LIMIT = 64_000
LAST_WORDS_GRACE = 1.0
_CHUNK = 65_536


async def run_command(
    command: Sequence[str],
    environ: Mapping[str, str],
    folder: Path,
    hear: Callable[[bytes], object],
    held: Sequence[int] = (),
) -> int:
    """Return a command's exit code; `hear` gets each line of its output."""
    async with run_watched(
        command,
        environ,
        folder,
        held=held,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=STDOUT,
    ) as process:
        listening = asyncio.create_task(_listen(process, hear))
        try:
            code = await wait_for_exit(process, None)
            # A child that outlives the command may keep the pipe open.
            await asyncio.wait([listening], timeout=LAST_WORDS_GRACE)
            if listening.done():
                listening.result()
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
    assert code is not None
    return code


async def _listen(process: Process, hear: Callable[[bytes], object]) -> None:
    assert process.stdout
    rest = b""
    while piece := await process.stdout.read(_CHUNK):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            hear(line[:LINE_LIMIT] + b"\n")
        # The beginning of an endless line is enough.
        rest = rest[:LINE_LIMIT]
    if rest:
        hear(rest)
