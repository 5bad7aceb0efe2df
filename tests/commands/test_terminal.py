"""What a person sees: the whole command on a pseudo-terminal, and the flags that change
the view.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import termios
import time
from collections.abc import Callable
from itertools import pairwise

import pyte
import pytest

from tests.support import BIN, SIGINT, World, ended_by

COLUMNS, ROWS = 100, 30
PATIENCE = 60.0


class Terminal:
    """A command on a terminal of its own, and the screen as it is now."""

    def __init__(
        self, world: World, *command: str, term: str = "xterm-256color"
    ) -> None:
        command = world.with_answers(*command)
        self.raw = b""
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self.stream = pyte.ByteStream(self.screen)
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            os.chdir(world.repo)
            os.execve(BIN / command[0], list(command), {**world.environ, "TERM": term})
        fcntl.ioctl(
            self.descriptor,
            termios.TIOCSWINSZ,
            struct.pack("HHHH", ROWS, COLUMNS, 0, 0),
        )

    def read(self) -> bool:
        """Take what was written; False when the command has closed the terminal."""
        if not select.select([self.descriptor], [], [], 0.1)[0]:
            return True
        try:
            data = os.read(self.descriptor, 65536)
        except OSError:
            return False
        self.raw += data
        self.stream.feed(data)
        return bool(data)

    def wait_for(self, is_so: Callable[[list[str]], bool]) -> None:
        """Wait until the screen shows something."""
        deadline = time.monotonic() + PATIENCE
        while not is_so(self.lines):
            assert time.monotonic() < deadline, "\n".join(self.lines)
            assert self.read(), "\n".join(self.lines)

    def finish(self) -> int:
        """Wait for the end; return the exit code as `subprocess` gives it."""
        while self.read():
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self.screen.display if line.strip()]


def test_a_live_line_stays_below_whole_log_lines(world: World) -> None:
    terminal = Terminal(
        world,
        "lld-workflow",
        "--all",
        "--parallel",
        "2",
        "--drafter",
        "offline:latency=1",
    )
    terminal.wait_for(
        lambda lines: bool(lines) and "0/3 workflows complete, 2 running" in lines[-1]
    )
    terminal.wait_for(
        lambda lines: (
            bool(lines)
            and re.search(r"\[=+> +\] [12]/3 workflows complete", lines[-1]) is not None
        )
    )
    assert terminal.finish() == 0
    assert "3 approved" in "".join(terminal.lines[-3:])
    assert not any("workflows complete" in line for line in terminal.lines)
    for line in terminal.lines[
        : terminal.lines.index(next(x for x in terminal.lines if x.startswith("ITEM")))
    ]:
        assert re.match(r"\[(LLD-\d|COORDINATOR)\] ", line), line
    assert b"\x1b[?25l" not in terminal.raw


def test_ctrl_c_typed_at_a_terminal_stops_the_batch_and_leaves_the_screen_clean(
    world: World,
) -> None:
    terminal = Terminal(
        world,
        "lld-workflow",
        "--all",
        "--parallel",
        "3",
        "--drafter",
        "offline:latency=60",
    )
    terminal.wait_for(
        lambda lines: sum("Executing: N1_design" in line for line in lines) == 3
    )
    os.write(terminal.descriptor, b"\x03")
    assert ended_by(terminal.finish(), SIGINT)
    assert "Stopped early" in terminal.lines[-1]


def test_a_dumb_terminal_gets_no_escape_and_no_bare_carriage_return(
    world: World,
) -> None:
    terminal = Terminal(world, "lld-workflow", "--all", "--color", "auto", term="dumb")
    assert terminal.finish() == 0
    assert b"\x1b" not in terminal.raw
    assert b"\r" not in terminal.raw.replace(b"\r\n", b"\n")


@pytest.mark.parametrize(
    ("environ", "has_color"), [({"NO_COLOR": "1"}, False), ({}, True)]
)
def test_no_color_beats_the_flag(
    world: World, environ: dict[str, str], has_color: bool
) -> None:
    ended = world.run("lld-workflow", "--all", "--color", "always", environ=environ)
    assert ("\x1b[" in ended.text) is has_color


def test_output_to_a_pipe_has_no_escape_and_no_carriage_return(world: World) -> None:
    ended = world.run("lld-workflow", "--all", "--parallel", "3")
    assert "\x1b" not in ended.text
    assert "\r" not in ended.text
    for done in (1, 2, 3):
        assert re.search(
            rf"^\[[=> ]{{10}}\] {done}/3 workflows complete$",
            ended.stderr,
            re.MULTILINE,
        )


def test_group_shows_the_lines_of_a_workflow_together(world: World) -> None:
    ended = world.run(
        "lld-workflow",
        "--all",
        "--parallel",
        "3",
        "--group",
        "--drafter",
        "offline:latency=0.2",
    )
    labels = re.findall(r"^\[(LLD-\d)\] >>>", ended.stdout, re.MULTILINE)
    assert sorted(labels) == [
        label for label in ("LLD-1", "LLD-2", "LLD-3") for _ in range(5)
    ]
    changes = sum(one != other for one, other in pairwise(labels))
    assert changes == 2


def test_only_shows_the_lines_of_the_items_that_were_named(world: World) -> None:
    ended = world.run("lld-workflow", "--all", "--only", "2")
    assert set(re.findall(r"^\[(LLD-\d)\] >>>", ended.stdout, re.MULTILINE)) == {
        "LLD-2"
    }
    assert "3 approved" in ended.stdout


def test_prefixes_can_be_left_off(world: World) -> None:
    ended = world.run("lld-workflow", "--issue", "1", "--no-prefix")
    assert ended.stdout.startswith(">>> Executing: N0_load\n")
