"""A worker's pipes joined to a console, as the local workers join them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

from agentos.run.console import Console
from agentos.state.redaction import redact_bytes
from agentos.workers.process.pipes import PipeReader


class Piped:
    """The output of one worker, which gets the write ends `stdout` and `stderr`."""

    def __init__(
        self,
        console: Console,
        label: str,
        log: Path,
        redact: Callable[[bytes], bytes] | None = redact_bytes,
        reader: PipeReader | None = None,
    ) -> None:
        self.log = log
        self._capture = console.capture(label, log, redact)
        self._pipes = (reader or _reader()).open(self._capture)

    @property
    def stdout(self) -> int:
        """The write end of standard output."""
        return self._pipes.stdout

    @property
    def stderr(self) -> int:
        """The write end of standard error."""
        return self._pipes.stderr

    def close_write_ends(self) -> None:
        """Close this process's copies of the write ends."""
        self._pipes.close_write_ends()

    def wait_drained(self, timeout: float | None = None) -> bool:
        """Wait until everything is in the log; return whether it is."""
        if not self._pipes.wait_drained(timeout):
            return False
        self._capture.close()
        return True

    def stop(self) -> None:
        """Read what has been written and stop."""
        self._pipes.stop()


@cache
def _reader() -> PipeReader:
    return PipeReader()
