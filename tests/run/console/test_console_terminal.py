"""The console on a real terminal, as its screen shows it."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import termios
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyte
import pytest

from agentos.run.console import Console
from tests.run.console.piped import Piped

DEADLINE = 30.0


class Terminal:
    """A pseudo-terminal with a screen that follows it."""

    def __init__(self, columns: int = 60, rows: int = 10) -> None:
        self.master, self.descriptor = pty.openpty()
        self.screen = pyte.Screen(columns, rows)
        self.raw = bytearray()
        self._stream = pyte.ByteStream(self.screen)
        self._news = threading.Condition()
        self.resize(columns, rows)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size."""
        fcntl.ioctl(
            self.descriptor,
            termios.TIOCSWINSZ,
            struct.pack("HHHH", rows, columns, 0, 0),
        )
        self.screen.resize(rows, columns)

    def _read(self) -> None:
        try:
            while chunk := os.read(self.master, 65536):
                with self._news:
                    self.raw += chunk
                    self._stream.feed(chunk)
                    self._news.notify_all()
        except OSError:
            pass

    def lines(self) -> list[str]:
        """Return the lines that are not empty."""
        return [line.rstrip() for line in self.screen.display if line.strip()]

    def wait_for(self, text: str) -> list[str]:
        """Return the screen once `text` is on it."""
        with self._news:
            assert self._news.wait_for(
                lambda: any(text in line for line in self.lines()), DEADLINE
            ), self.lines()
            return self.lines()

    def close(self) -> None:
        """Hang up."""
        os.close(self.descriptor)
        self._thread.join(DEADLINE)
        os.close(self.master)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    """Give a terminal of 60 columns."""
    made = Terminal()
    yield made
    made.close()


def make(terminal: Terminal, **options: Any) -> Console:
    """Return a console on `terminal`."""
    options = {"environ": {"TERM": "xterm"}, "encoding": "utf-8", **options}
    return Console(stdout=terminal.descriptor, stderr=terminal.descriptor, **options)


def emit(console: Console, label: str, folder: Path, data: bytes) -> None:
    """Write as a worker would."""
    capture = Piped(console, label, folder / f"{label}.log")
    os.write(capture.stdout, data)
    capture.close_write_ends()
    assert capture.wait_drained(DEADLINE)


def test_the_bar_stays_below_the_lines(terminal: Terminal, tmp_path: Path) -> None:
    with make(terminal) as console:
        console.progress(5, 10, running=3, failed=0)
        terminal.wait_for("[=====>    ] 5/10 workflows complete, 3 running")
        emit(console, "LLD-1", tmp_path, b"hello\n")
        console.say("talk")
        terminal.wait_for("talk")
        lines = terminal.wait_for("5/10")
        assert lines[:2] == ["[LLD-1] hello", "[COORDINATOR] talk"]
        assert lines[2].startswith("[=====>    ] 5/10 workflows complete")
        assert len(lines) == 3
    console.close()


def test_the_bar_is_gone_and_the_cursor_back_at_the_end(terminal: Terminal) -> None:
    with make(terminal) as console:
        console.progress(1, 2, running=1, failed=0)
        terminal.wait_for("1/2")
    with make(terminal, environ={"TERM": "xterm", "NO_COLOR": "1"}) as console:
        console.data("summary\n")
        assert terminal.wait_for("summary") == ["summary"]
    assert b"\x1b[?25l" not in terminal.raw
    assert terminal.screen.cursor.x == 0


def test_the_bar_is_never_wider_than_the_terminal(terminal: Terminal) -> None:
    terminal.resize(30, 10)
    with make(terminal) as console:
        console.progress(1, 2, running=1, failed=0, note="日本語" * 20)
        assert terminal.wait_for("1/2") == ["[=====>    ] 1/2 workflows co"]
        terminal.resize(118, 10)
        console.progress(1, 2, running=1, failed=0, note="日本語" * 20)
        lines = terminal.wait_for("日")
        assert len(lines) == 1
        assert terminal.screen.cursor.y == 0


def test_a_dumb_terminal_gets_no_control_bytes(
    terminal: Terminal, tmp_path: Path
) -> None:
    with make(terminal, environ={"TERM": "dumb"}) as console:
        console.progress(1, 2, running=1, failed=0)
        emit(console, "LLD-1", tmp_path, b"\x1b[31mred\r\n")
        terminal.wait_for("red")
    assert b"\x1b" not in terminal.raw
    assert b"\r" not in terminal.raw.replace(b"\r\n", b"")


def test_under_ci_the_bar_is_not_live(terminal: Terminal) -> None:
    with make(terminal, environ={"TERM": "xterm", "CI": "true"}) as console:
        console.progress(1, 2, running=1, failed=0)
        assert terminal.wait_for("1/2") == ["[=====>    ] 1/2 workflows complete"]


def test_a_colour_does_not_run_on(terminal: Terminal, tmp_path: Path) -> None:
    with make(terminal) as console:
        emit(console, "LLD-1", tmp_path, b"\x1b[7;31mred\nplain\n")
        terminal.wait_for("plain")
        console.tell("LLD-1", "FAILED: Invalid spec format")
        terminal.wait_for("FAILED")
    red, plain, failed = (terminal.screen.buffer[row] for row in range(3))
    assert red[8].data == "r"
    assert (red[8].fg, red[8].reverse) == ("red", True)
    assert (plain[8].fg, plain[8].reverse) == ("default", False)
    assert failed[8].fg == "red"
    assert red[0].fg == plain[0].fg != "default"


def test_an_attack_moves_nothing_on_the_screen(
    terminal: Terminal, tmp_path: Path
) -> None:
    with make(terminal) as console:
        console.say("first")
        emit(console, "LLD-1", tmp_path, b"\x1b[2J\x1b[H\x1b[?1049h\rgone\x08\x9b2J\n")
        lines = terminal.wait_for("gone")
    assert lines[0] == "[COORDINATOR] first"
    assert lines[1].startswith("[LLD-1] \\x1b[2J\\x1b[H\\x1b[?1049h\\x0dgone\\x08")


def test_a_flood_leaves_the_bar_in_one_piece(
    terminal: Terminal, tmp_path: Path
) -> None:
    with make(terminal) as console:
        capture = Piped(console, "LLD-1", tmp_path / "LLD-1.log")
        with os.fdopen(os.dup(capture.stdout), "wb") as stream:
            for number in range(3000):
                stream.write(b"line %d\n" % number)
                if number % 100 == 0:
                    stream.flush()
                    console.progress(number // 400, 9, running=1, failed=0)
        capture.close_write_ends()
        assert capture.wait_drained(DEADLINE)
        terminal.wait_for("line 2999")
        lines = terminal.wait_for("7/9 workflows complete")
        assert lines[-1].startswith("[=======>  ] 7/9 workflows complete")
        assert all(line.startswith("[LLD-1] line ") for line in lines[:-1])
