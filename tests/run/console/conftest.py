"""A console on real pipes, and workers that are real processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentos.run.console import Console, ConsoleLimits
from agentos.workers.process.pipes import PipeReader
from tests.run.console.piped import Piped

DEADLINE = 60.0


class Drain:
    """A pipe whose other end is read all the time."""

    def __init__(self) -> None:
        self._reader, self.descriptor = os.pipe()
        self._received = bytearray()
        self._news = threading.Condition()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while chunk := os.read(self._reader, 1 << 16):
            with self._news:
                self._received += chunk
                self._news.notify_all()

    def wait_for(self, text: bytes) -> bytes:
        """Return all that was received once `text` is in it."""
        with self._news:
            assert self._news.wait_for(lambda: text in self._received, DEADLINE), bytes(
                self._received[-500:]
            )
            return bytes(self._received)

    def close(self) -> bytes:
        """Close the pipe and return all that was received."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
            self._thread.join(DEADLINE)
            os.close(self._reader)
        return bytes(self._received)


class Stage:
    """A console between workers and two pipes."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.folder = folder
        self.out, self.err = Drain(), Drain()
        options = {"environ": {}, "encoding": "utf-8", **options}
        self.console = Console(
            stdout=self.out.descriptor, stderr=self.err.descriptor, **options
        )
        self.reader = PipeReader()
        self.console.start()

    def capture(
        self, label: str, redact: Callable[[bytes], bytes] | None = None
    ) -> Piped:
        """Begin to capture a worker."""
        log = self.folder / f"{label}.log"
        return Piped(self.console, label, log, redact, self.reader)

    def start(
        self, label: str, script: str, **options: Any
    ) -> tuple[subprocess.Popen[bytes], Piped]:
        """Start a worker that runs a Python script."""
        capture = self.capture(label, **options)
        worker = subprocess.Popen(
            [sys.executable, "-c", script],
            stdout=capture.stdout,
            stderr=capture.stderr,
            stdin=subprocess.PIPE,
        )
        capture.close_write_ends()
        return worker, capture

    def run(self, label: str, script: str, **options: Any) -> Path:
        """Run a worker to its end and return its log."""
        worker, capture = self.start(label, script, **options)
        worker.communicate(timeout=DEADLINE)
        assert capture.wait_drained(DEADLINE)
        return capture.log

    def emit(self, label: str, out: bytes, err: bytes = b"", **options: Any) -> Path:
        """Write bytes as a worker would and return the log."""
        capture = self.capture(label, **options)
        for descriptor, data in ((capture.stdout, out), (capture.stderr, err)):
            with os.fdopen(os.dup(descriptor), "wb") as stream:
                stream.write(data)
        capture.close_write_ends()
        assert capture.wait_drained(DEADLINE)
        return capture.log

    def finish(self) -> tuple[bytes, bytes]:
        """Close the console and return what came out of it."""
        self.reader.close(DEADLINE)
        self.console.close(DEADLINE)
        return self.out.close(), self.err.close()


@pytest.fixture
def make_stage(tmp_path: Path) -> Iterator[Callable[..., Stage]]:
    """Give a way to make stages, which are closed at the end."""
    stages: list[Stage] = []

    def make(**options: Any) -> Stage:
        stages.append(Stage(tmp_path / "logs", **options))
        return stages[-1]

    yield make
    for stage in stages:
        stage.finish()


@pytest.fixture
def impatient() -> ConsoleLimits:
    """Limits that make waiting short."""
    return ConsoleLimits(idle=0.05, heartbeat=0.1)
