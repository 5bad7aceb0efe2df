"""Everything that reaches the terminal: `Console` takes the output of workers, logs it
and shows it through one writer.
"""

from __future__ import annotations

import locale
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agentos.run.console.capture import Capture, Captures, Stream
from agentos.run.console.lines import LineHolder, LineRenderer, prefix_lines
from agentos.run.console.log import LogFile
from agentos.run.console.progress import Progress, bar, describe, fit
from agentos.run.console.spool import Spool
from agentos.run.console.style import (
    coordinator_prefix,
    emphasize_failure,
    prefix_of,
    wants_color,
    wants_live_progress,
)
from agentos.run.console.writer import Writer
from agentos.state.redaction import redact, redact_bytes
from agentos.state.terminal_text import clean_text

__all__ = ["Capture", "Console", "ConsoleLimits"]

_CHECK_DROPPED = 0.05
"""Seconds between two checks whether dropped lines can be reported."""
_BARRIER = 1.0
"""Seconds that stdout waits for stderr at most."""


@dataclass(frozen=True, slots=True)
class ConsoleLimits:
    """Time and memory limits of a console."""

    idle: float = 1.0
    """Seconds after which an unfinished line is shown."""
    heartbeat: float = 30.0
    """Seconds of silence after which progress is printed again where there is no live
    line.
    """
    soft: int = 2 * 1024 * 1024
    """Waiting bytes above which workers are read more slowly."""
    hard: int = 16 * 1024 * 1024
    """Waiting bytes above which lines only go to the logs."""


class Console:
    """Show many workers and one coordinator on one terminal, in whole lines."""

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
        limits: ConsoleLimits | None = None,
    ) -> None:
        self.verbose = verbose
        self.stdout_closed = threading.Event()
        self.on_stdout_closed: Callable[[], None] | None = None
        self.is_quiet = quiet
        self._stdout = stdout
        self._stderr = stderr
        self._has_prefix = prefix
        self._is_grouped = group
        self._only = only
        self._is_json = json_mode
        self._encoding = encoding or locale.getencoding()
        self._limits = limits or ConsoleLimits()
        self._color: dict[int, bool] = {}
        for stream in (stdout, stderr):
            is_tty = _is_tty(stream)
            self._color[stream] = wants_color(color, is_tty=is_tty, environ=environ)
        can_redraw = wants_live_progress(is_tty=_is_tty(stderr), environ=environ)
        self._is_live = can_redraw and not quiet
        self._writers = self._make_writers()
        self._captures = Captures(
            idle=self._limits.idle,
            is_congested=self._is_congested,
            housekeeping=self._keep_house,
            warn=self._warn,
        )
        self._progress: Progress | None = None
        self._start_time = time.monotonic()
        self._log_folder = ""
        self._is_closed = False

    def start(self) -> None:
        """Start to take output and to write."""
        self._start_time = time.monotonic()
        for writer in set(self._writers.values()):
            writer.start()
        self._captures.start()

    def close(self, timeout: float = 2.0) -> None:
        """Show what waits and release the terminal; give up on a stalled terminal after
        `timeout` seconds.
        """
        if self._is_closed:
            return
        self._is_closed = True
        deadline = time.monotonic() + timeout
        self._captures.stop(timeout)
        for writer in set(self._writers.values()):
            if writer.dropped:
                self._report_dropped(writer.dropped)
        for writer in set(self._writers.values()):
            writer.stop(deadline - time.monotonic())

    def __enter__(self) -> Console:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def say(self, text: str, *, important: bool = False) -> None:
        """Print a line of the coordinator; safe in any thread and in a signal
        handler.
        """
        if self.is_quiet and not important:
            return
        prefix = coordinator_prefix(color=self._color[self._stderr])
        self._print(prefix, text)

    def tell(self, label: str, text: str, *, important: bool = False) -> None:
        """Print a line about one item."""
        if self._is_hidden(label) and not important:
            return
        prefix = prefix_of(label, color=self._color[self._stderr])
        self._print(prefix, text)

    def data(self, text: str) -> None:
        """Write text to stdout unchanged, after everything printed before."""
        err = self._writers[self._stderr]
        out = self._writers[self._stdout]
        if err is not out:
            # Two threads write: stdout waits until stderr has come this far.
            printed = threading.Event()
            err.put_source(lambda: _call(printed.set))
            out.put_source(lambda: _call(lambda: printed.wait(_BARRIER)))
        encoded = text.encode(self._encoding, "backslashreplace")
        out.put(self._stdout, encoded)

    def capture(
        self,
        label: str,
        log: Path,
        redact: Callable[[bytes], bytes] | None = redact_bytes,
    ) -> Capture:
        """Return what logs and shows the output of one worker, after `redact`."""
        file = LogFile(log, self._warn)
        self._log_folder = str(log.parent)
        spool = self._open_spool(label, log)
        target = self._stdout
        if self._is_json:
            target = self._stderr

        def open_stream(descriptor: int, *, is_error: bool) -> Stream:
            return Stream(
                is_error=is_error,
                holder=LineHolder(redact),
                renderer=self._renderer(label, descriptor, log),
                show=self._sink_of(descriptor, spool),
                can_preview=spool is None and not self._is_hidden(label),
            )

        out = open_stream(target, is_error=False)
        err = open_stream(self._stderr, is_error=True)
        capture = Capture(
            label,
            log,
            file,
            (out, err),
            self._captures,
            lambda: self._release(spool, log),
        )
        self._captures.add(capture)
        return capture

    def progress(
        self,
        done: int,
        total: int,
        *,
        running: int,
        failed: int,
        eta: str = "-",
        note: str = "",
        skeletons: int = 0,
        undecided: int = 0,
    ) -> None:
        """Show the progress of the run: a live line on a terminal, otherwise a line
        after each completion.
        """
        before = self._progress
        new = Progress(done, total, running, failed, eta, note, skeletons, undecided)
        self._progress = new
        if self.is_quiet:
            return
        writer = self._writers[self._stderr]
        ended_before = 0
        if before is not None:
            ended_before = before.ended
        if self._is_live:
            writer.show_live(self._stderr, self._live_line)
        elif new.ended > ended_before:
            writer.put(self._stderr, bar(new).encode() + b"\n")
            self._captures.wake()

    def _make_writers(self) -> dict[int, Writer]:
        """Return the writer of each stream; streams of one terminal or file share
        one.
        """
        out, err = self._stdout, self._stderr
        if _is_same_file(out, err) or (_is_tty(out) and _is_tty(err)):
            shared = self._make_writer(out, err)
            return {out: shared, err: shared}
        return {out: self._make_writer(out), err: self._make_writer(err)}

    def _make_writer(self, *descriptors: int) -> Writer:
        limits = self._limits
        writer = Writer(frozenset(descriptors), soft=limits.soft, hard=limits.hard)
        writer.on_broken = self._note_broken
        return writer

    @property
    def lost_output(self) -> str:
        """Why something could not be written to stdout; empty if everything was."""
        return self._writers[self._stdout].lost.get(self._stdout, "")

    def _note_broken(self, descriptor: int) -> None:
        if descriptor != self._stdout and not _is_same_file(descriptor, self._stdout):
            return
        if self.stdout_closed.is_set():
            return
        self.stdout_closed.set()
        if self.on_stdout_closed is not None:
            self.on_stdout_closed()

    def _warn(self, problem: str) -> None:
        self.say(problem, important=True)

    def _print(self, prefix: str, text: str) -> None:
        body = clean_text(redact(text), self._encoding)
        body = emphasize_failure(body, color=self._color[self._stderr])
        lines = prefix_lines(body + b"\n", prefix.encode())
        self._writers[self._stderr].put(self._stderr, lines)

    def _renderer(self, label: str, descriptor: int, log: Path) -> LineRenderer | None:
        if self._is_hidden(label):
            return None
        color = self._color[descriptor]
        prefix = ""
        if self._has_prefix:
            prefix = prefix_of(label, color=color)
        return LineRenderer(
            prefix.encode(self._encoding, "backslashreplace"),
            log=str(log),
            keep_sgr=color,
            encoding=self._encoding,
        )

    def _is_hidden(self, label: str) -> bool:
        if self.is_quiet:
            return True
        if not self._only:
            return False
        _, _, item = label.partition("-")
        return self._only.isdisjoint((label, item))

    def _sink_of(self, descriptor: int, spool: Spool | None) -> Callable[[bytes], None]:
        if spool is not None:
            return partial(spool.add, descriptor)
        writer = self._writers[descriptor]
        return partial(writer.offer, descriptor)

    def _open_spool(self, label: str, log: Path) -> Spool | None:
        if not self._is_grouped or self._is_hidden(label):
            return None
        try:
            return Spool(log.parent)
        except OSError as error:
            reason = error.strerror or error
            self._warn(f"Cannot group the lines of {label}: {reason}")
            return None

    def _release(self, spool: Spool | None, log: Path) -> None:
        if spool is None:
            return
        for writer in set(self._writers.values()):
            writer.put_source(partial(spool.read, writer.descriptors))
        if spool.lost:
            self._warn(f"{spool.lost} lines could not be grouped; they are in {log}")

    def _live_line(self, columns: int) -> bytes:
        if self._progress is None:
            return b""
        text = self._describe(self._progress, time.monotonic())
        line = text.decode(self._encoding)
        line = line.replace("\n", " ").replace("\t", " ")
        # The last column stays free: a character there makes some terminals wrap.
        return fit(line, columns - 1).encode(self._encoding)

    def _describe(self, progress: Progress, now: float) -> bytes:
        text = describe(progress, now - self._start_time)
        return clean_text(redact(text), self._encoding)

    def _is_congested(self) -> bool:
        return any(writer.is_congested for writer in self._writers.values())

    def _keep_house(self, now: float) -> float | None:
        """Report dropped lines and print a heartbeat; return the seconds until the next
        check.
        """
        writers = set(self._writers.values())
        for writer in writers:
            self._report_dropped(writer.take_dropped())
        if any(writer.dropped for writer in writers):
            return _CHECK_DROPPED
        if self._is_live or self.is_quiet:
            return None
        heartbeat = self._limits.heartbeat
        progress = self._progress
        if progress is None or progress.is_complete:
            return heartbeat
        last_write = max(writer.last_write for writer in writers)
        left = heartbeat - (now - last_write)
        if left > 0:
            return left
        line = self._describe(progress, now) + b"\n"
        self._writers[self._stderr].put(self._stderr, line)
        return heartbeat

    def _report_dropped(self, lines: int) -> None:
        if not lines:
            return
        self._warn(
            f"{lines} lines not shown while the terminal was stalled; they are in"
            f" {self._log_folder}"
        )


def _call(effect: Callable[[], object]) -> Iterator[tuple[int, bytes]]:
    """Call a function in a writer's turn, and write nothing."""
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
