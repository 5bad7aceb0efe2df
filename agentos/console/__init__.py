"""Everything that reaches the terminal: one writer owns it, logs come first and the console second."""

from __future__ import annotations

import locale
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from agentos.console.capture import Capture, CaptureLoop, Stream, open_pipe
from agentos.console.lines import LineHolder, LineRenderer, prefix_lines
from agentos.console.log import LogFile
from agentos.console.progress import Progress, bar, describe, fit
from agentos.console.spool import Spool
from agentos.console.style import (
    coordinator_prefix,
    emphasize_failure,
    prefix_of,
    wants_color,
    wants_live_progress,
)
from agentos.console.writer import Writer
from agentos.redaction import redact, redact_bytes
from agentos.untrusted import clean_text

__all__ = ["Capture", "Console", "Limits"]

_LOOK_AGAIN = 0.05
_BARRIER = 1.0


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how much the console waits."""

    idle: float = 1.0
    """Seconds after which an unfinished line is shown."""
    heartbeat: float = 30.0
    """Seconds of silence after which a progress line is repeated where no live line is drawn."""
    soft: int = 2 * 1024 * 1024
    """Bytes waiting for a slow terminal beyond which workers are read more slowly."""
    hard: int = 16 * 1024 * 1024
    """Bytes waiting for a stalled terminal beyond which lines go to the logs only."""


class Console:
    """Show many workers and one coordinator on one terminal, whole line by whole line."""

    def __init__(
        self,
        *,
        stdout: int = 1,
        stderr: int = 2,
        color: str = "auto",
        quiet: bool = False,
        verbose: int = 0,
        prefix: bool = True,
        group: bool = False,
        only: frozenset[str] = frozenset(),
        json_mode: bool = False,
        environ: Mapping[str, str],
        encoding: str | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.verbose = verbose
        self.stdout_closed = threading.Event()
        self.on_stdout_closed: Callable[[], None] | None = None
        self._stdout, self._stderr = stdout, stderr
        self.is_quiet, self._has_prefix, self._is_grouped = quiet, prefix, group
        self._only, self._is_json = only, json_mode
        self._encoding = encoding or locale.getencoding()
        self._limits = limits or Limits()
        self._color = {
            descriptor: wants_color(color, is_tty=_is_tty(descriptor), environ=environ)
            for descriptor in (stdout, stderr)
        }
        self._is_live = not quiet and wants_live_progress(is_tty=_is_tty(stderr), environ=environ)
        self._writers = self._make_writers()
        self._loop = CaptureLoop(
            idle=self._limits.idle,
            is_congested=self._is_congested,
            housekeeping=self._keep_house,
            complain=self._complain,
        )
        self._progress: Progress | None = None
        self._began = time.monotonic()
        self._log_folder = ""
        self._is_closed = False

    def start(self) -> None:
        """Begin to read and write."""
        self._began = time.monotonic()
        for writer in set(self._writers.values()):
            writer.start()
        self._loop.start()

    def close(self, timeout: float = 2.0) -> None:
        """Show what waits and give the terminal back; a stalled terminal costs at most `timeout` seconds."""
        if self._is_closed:
            return
        self._is_closed = True
        deadline = time.monotonic() + timeout
        self._loop.stop(timeout)
        for writer in set(self._writers.values()):
            if writer.dropped:
                self._report_dropped(writer.dropped)
        for writer in set(self._writers.values()):
            writer.stop(deadline - time.monotonic())

    def __enter__(self) -> Console:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def say(self, text: str, *, important: bool = False) -> None:
        """Say something as the coordinator; safe in any thread and in a signal handler."""
        if important or not self.is_quiet:
            self._talk(coordinator_prefix(color=self._color[self._stderr]), text)

    def tell(self, label: str, text: str, *, important: bool = False) -> None:
        """Say something about one workflow."""
        if important or not self._is_hidden(label):
            self._talk(prefix_of(label, color=self._color[self._stderr]), text)

    def data(self, text: str) -> None:
        """Write to stdout, as it is, after everything said before."""
        talk, data = self._writers[self._stderr], self._writers[self._stdout]
        if talk is not data:
            said = threading.Event()
            talk.put_source(lambda: _nothing(said.set))
            data.put_source(lambda: _nothing(lambda: said.wait(_BARRIER)))
        data.put(self._stdout, text.encode(self._encoding, "backslashreplace"))

    def capture(self, label: str, log: Path, redact: Callable[[bytes], bytes] | None = redact_bytes) -> Capture:
        """Begin to log and show the output of one worker, after `redact`."""
        file = LogFile(log, self._complain)
        self._log_folder = str(log.parent)
        spool = self._open_spool(label, log)
        (out_reader, out_writer), (err_reader, err_writer) = open_pipe(), open_pipe()
        capture = Capture(
            label=label,
            log=log,
            stdout=out_writer,
            stderr=err_writer,
            file=file,
            _ask=self._loop.ask,
            _stop=self._loop.stop_capture,
            on_end=lambda: self._release(spool, log),
        )
        target = self._stderr if self._is_json else self._stdout
        for reader, descriptor, is_error in ((out_reader, target, False), (err_reader, self._stderr, True)):
            stream = Stream(
                descriptor=reader,
                is_error=is_error,
                holder=LineHolder(redact),
                renderer=self._renderer(label, descriptor, log),
                show=self._way_to(descriptor, spool),
                can_preview=spool is None and not self._is_hidden(label),
                capture=capture,
            )
            capture.streams.append(stream)
            self._loop.ask(lambda stream=stream: self._loop.add(stream))  # type: ignore[misc]
        return capture

    def progress(self, done: int, total: int, *, running: int, failed: int, eta: str = "-", note: str = "") -> None:
        """Show how far the batch is: a live line on a terminal, a line for each completion elsewhere."""
        before, self._progress = self._progress, Progress(done, total, running, failed, eta, note)
        if self.is_quiet:
            return
        if self._is_live:
            self._writers[self._stderr].show_live(self._stderr, self._live_line)
        elif done > (before.done if before else 0):
            self._writers[self._stderr].put(self._stderr, bar(done, total).encode() + b"\n")
            self._loop.ask(lambda: None)

    def _make_writers(self) -> dict[int, Writer]:
        def make(*descriptors: int) -> Writer:
            writer = Writer(frozenset(descriptors), soft=self._limits.soft, hard=self._limits.hard)
            writer.on_broken = self._note_broken
            return writer

        if _is_same_file(self._stdout, self._stderr) or (_is_tty(self._stdout) and _is_tty(self._stderr)):
            both = make(self._stdout, self._stderr)
            return {self._stdout: both, self._stderr: both}
        return {self._stdout: make(self._stdout), self._stderr: make(self._stderr)}

    @property
    def lost_output(self) -> str:
        """Why something could not be written to standard output, empty when all was."""
        return self._writers[self._stdout].lost.get(self._stdout, "")

    def _note_broken(self, descriptor: int) -> None:
        if descriptor != self._stdout and not _is_same_file(descriptor, self._stdout):
            return
        if not self.stdout_closed.is_set():
            self.stdout_closed.set()
            if self.on_stdout_closed is not None:
                self.on_stdout_closed()

    def _complain(self, problem: str) -> None:
        self.say(problem, important=True)

    def _talk(self, prefix: str, text: str) -> None:
        body = emphasize_failure(clean_text(redact(text), self._encoding), color=self._color[self._stderr])
        self._writers[self._stderr].put(self._stderr, prefix_lines(body + b"\n", prefix.encode()))

    def _renderer(self, label: str, descriptor: int, log: Path) -> LineRenderer | None:
        if self._is_hidden(label):
            return None
        color = self._color[descriptor]
        mark = prefix_of(label, color=color) if self._has_prefix else ""
        return LineRenderer(
            mark.encode(self._encoding, "backslashreplace"),
            log=str(log),
            keep_sgr=color,
            encoding=self._encoding,
        )

    def _is_hidden(self, label: str) -> bool:
        if self.is_quiet:
            return True
        return bool(self._only) and label not in self._only and label.partition("-")[2] not in self._only

    def _way_to(self, descriptor: int, spool: Spool | None) -> Callable[[bytes], None]:
        if spool is not None:
            return lambda data: spool.add(descriptor, data)
        writer = self._writers[descriptor]
        return lambda data: writer.offer(descriptor, data)

    def _open_spool(self, label: str, log: Path) -> Spool | None:
        if not self._is_grouped or self._is_hidden(label):
            return None
        try:
            return Spool(log.parent)
        except OSError as error:
            self._complain(f"Cannot group the lines of {label}: {error.strerror or error}")
            return None

    def _release(self, spool: Spool | None, log: Path) -> None:
        if spool is None:
            return
        for writer in set(self._writers.values()):
            writer.put_source(lambda writer=writer: spool.read(writer.descriptors))  # type: ignore[misc]
        if spool.lost:
            self._complain(f"{spool.lost} lines could not be kept for showing; they are in {log}")

    def _live_line(self, columns: int) -> bytes:
        if self._progress is None:
            return b""
        text = clean_text(redact(describe(self._progress, time.monotonic() - self._began)), self._encoding)
        # The last column stays free: a character there makes some terminals wrap.
        shown = fit(text.decode(self._encoding).replace("\n", " ").replace("\t", " "), columns - 1)
        return shown.encode(self._encoding)

    def _is_congested(self) -> bool:
        return any(writer.is_congested for writer in self._writers.values())

    def _keep_house(self, now: float) -> float | None:
        """Report dropped lines and long silence; return when to look again."""
        for writer in set(self._writers.values()):
            self._report_dropped(writer.take_dropped())
        if any(writer.dropped for writer in self._writers.values()):
            return _LOOK_AGAIN
        if self._is_live or self.is_quiet or self._progress is None or self._progress.is_complete:
            return None if self._is_live or self.is_quiet else self._limits.heartbeat
        left = self._limits.heartbeat - (now - max(w.last_write for w in self._writers.values()))
        if left > 0:
            return left
        text = redact(describe(self._progress, now - self._began))
        self._writers[self._stderr].put(self._stderr, clean_text(text, self._encoding) + b"\n")
        return self._limits.heartbeat

    def _report_dropped(self, lines: int) -> None:
        if lines:
            self._complain(f"{lines} lines not shown while the terminal was stalled; they are in {self._log_folder}")


def _nothing(effect: Callable[[], object]) -> Iterator[tuple[int, bytes]]:
    """Do something in a writer's turn without writing."""
    effect()
    return iter(())


def _is_tty(descriptor: int) -> bool:
    try:
        return os.isatty(descriptor)
    except OSError:
        return False


def _is_same_file(first: int, second: int) -> bool:
    try:
        return os.path.sameopenfile(first, second)
    except OSError:
        return first == second
