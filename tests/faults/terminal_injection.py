"""Put terminal sequences wherever text comes from outside: none reaches a terminal or a
pipe.
"""

from __future__ import annotations

import os
import re
import subprocess
import termios
import threading
from pathlib import Path

from tests.faults.figures import Figures, main
from tests.faults.scene import make_world
from tests.support import BIN, PATIENCE, World

MARK = "PWNED"
SEQUENCES = (
    *(
        "\x1b[2J",
        "\x1b[H",
        "\x1b[?1049h",
        "\x1b[3J",
        "\x1b[6n",
        "\x1b[1A",
        "\x1b[99D",
        "\x1b[K",
        "\x1b[?25l",
        "\x1bc",
    ),
    *(
        "\x1b]0;t\x07",
        "\x1b]8;;http://x\x1b\\",
        "\x1b]52;c;eA==\x07",
        "\x1b]9;n\x07",
        "\x1b]1337;File=:x\x07",
    ),
    *(
        "\x1bPq\x1b\\",
        "\x1bP+q544e\x1b\\",
        "\x1b_x\x1b\\",
        "\x1b^x\x1b\\",
        "\x1bXx\x1b\\",
        "\x1b(0",
        "\x1b#8",
        "\x1bM",
    ),
    *(
        "\x9b2J",
        "\x9d0;t\x9c",
        "\x90q\x9c",
        "\x9f",
        "\x84",
        "\x07",
        "\x08\x08\x08",
        "\x7f",
        "\x0e",
        "\x05",
        "\x18",
    ),
    *(
        "\r[COORDINATOR] ",
        "\x0b[COORDINATOR] ",
        "\x0c[COORDINATOR] ",
        "\x85[COORDINATOR] ",
        "\u2028[COORDINATOR] ",
    ),
    *(
        "\u202e",
        "\u202a",
        "\u2066",
        "\u2069",
        "\u200f",
        "\u061c",
        "\x1b[31",
        "\x1b[0;1;5;31;41m",
        "\x1b",
    ),
)
ISSUE = """\
# Issue #{number}: Export {hostile}

## Objective
Add an export of {hostile} to the command line.

## Requirements
1. `lists export {number}` writes {hostile} to standard output.

## Acceptance Criteria
{criteria}
"""
_SGR = re.compile(rb"\x1b\[[0-9;]*m")
_OWN_BAR = re.compile(rb"\r\x1b\[K")
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
_PREFIX = re.compile(r"\[(LLD-[^\]\n]{1,64}|COORDINATOR|[=> ]{10})\] ")
_TOLD = re.compile(r" {0,2}LLD-|\d+ completed|Failed: ")
FAULTS = (
    *("--max-rounds", "1", "--drafter", "offline:fault=malformed@4+error@6"),
    *("--reviewer", "offline:fault=revise@2+discuss@3+malformed@5"),
)


def measure(seed: int, count: int, folder: Path) -> Figures:
    """Show every view of hostile items on pipes and on terminals, so many times."""
    figures = Figures(
        "terminal_injection",
        seed,
        count,
        {"sequences": len(SEQUENCES), "lines": 0, "hostile_lines": 0},
    )
    for number in range(1, count + 1):
        world = _make_hostile(folder / f"world-{number}")
        run = ("lld-workflow", "--all", "--parallel", "4", *FAULTS)
        for arguments in (
            ("lld-workflow", "--all", "--dry-run"),
            run,
            ("agentos", "status"),
            (*run, "--redo"),
            (
                "lld-workflow",
                "--all",
                "--drafter",
                f"offline:fault={SEQUENCES[0]}{MARK}",
            ),
            ("lld-workflow", "--all", "--halt", f"{SEQUENCES[0]}{MARK}"),
            ("lld-workflow", f"--{SEQUENCES[10]}{MARK}"),
        ):
            is_terminal = "--redo" in arguments or "status" in arguments
            for name, data in _show(world, arguments, is_terminal=is_terminal).items():
                where = f"{' '.join(arguments[:3])!a} on {'a terminal' if is_terminal else 'a pipe'}, {name}"
                _check(
                    figures,
                    data,
                    where,
                    is_run=arguments[: len(run)] == run,
                    keeps_sgr=is_terminal,
                )
    return figures


def _make_hostile(folder: Path) -> World:
    world = make_world(folder, 7)
    inbox = world.repo / "docs/issues"
    hostile = "".join(sequence + MARK for sequence in SEQUENCES)
    criteria = "\n".join(
        f"- [ ] It prints {sequence}{MARK} and ends with 0" for sequence in SEQUENCES
    )
    for number in range(1, 7):
        text = ISSUE.format(number=number, hostile=hostile, criteria=criteria)
        (inbox / f"{number}-export.md").write_text(text, "utf-8", newline="")
    (inbox / f"8-\x1b]0;{MARK}\x07\x1b[2J\u202e\r.md").write_text("x", "utf-8")
    (inbox / f"\x1b[2J{MARK}\n[COORDINATOR] {MARK}.md").write_text("x", "utf-8")
    (inbox / f"9-\udc9b2J{MARK}.md").write_text("x", "utf-8")
    return world


def _show(
    world: World, arguments: tuple[str, ...], *, is_terminal: bool
) -> dict[str, bytes]:
    """Run a command with each of its outputs on a pipe, or on a terminal of its own."""
    ends = [os.openpty() if is_terminal else os.pipe() for _ in range(2)]
    received: list[bytearray] = [bytearray(), bytearray()]
    if is_terminal:
        for _, end in ends:
            modes = termios.tcgetattr(end)
            modes[1] &= ~termios.OPOST
            termios.tcsetattr(end, termios.TCSANOW, modes)
    process = subprocess.Popen(
        [str(BIN / arguments[0]), *arguments[1:]],
        cwd=world.repo,
        env={**world.environ, "TERM": "xterm-256color"},
        stdin=subprocess.DEVNULL,
        stdout=ends[0][1],
        stderr=ends[1][1],
        start_new_session=True,
    )
    readers = [
        threading.Thread(target=_drain, args=(end[0], data))
        for end, data in zip(ends, received, strict=True)
    ]
    for (_, theirs), reader in zip(ends, readers, strict=True):
        os.close(theirs)
        reader.start()
    try:
        process.wait(PATIENCE)
    finally:
        process.kill()
        process.wait()
    for (ours, _), reader in zip(ends, readers, strict=True):
        reader.join()
        os.close(ours)
    return {"stdout": bytes(received[0]), "stderr": bytes(received[1])}


def _drain(descriptor: int, data: bytearray) -> None:
    while True:
        try:
            chunk = os.read(descriptor, 65536)
        except OSError:
            return
        if not chunk:
            return
        data += chunk


def _check(
    figures: Figures, data: bytes, where: str, *, is_run: bool, keeps_sgr: bool
) -> None:
    if keeps_sgr:
        data = _SGR.sub(b"", _OWN_BAR.sub(b"", data))
    text = data.decode("utf-8", "surrogateescape")
    found = sorted(
        set(_FORBIDDEN.findall(text)) | {c for c in text if "\udc80" <= c <= "\udcff"}
    )
    figures.expect(
        not found, f"{where}: control characters came through: {''.join(found)!a}"
    )
    figures.expect("Traceback" not in text, f"{where}: {text[-500:]!a}")
    table = False
    for line in text.split("\n"):
        table = table or line.startswith("ITEM ")
        figures.add("lines")
        figures.add("hostile_lines", MARK in line)
        if is_run and line and not table:
            figures.expect(
                bool(_PREFIX.match(line)),
                f"{where}: a line without its prefix: {line[:200]!a}",
            )
        figures.expect(
            not re.match(rf"\[COORDINATOR\] .{{0,3}}{MARK}", line),
            f"{where}: a fake line: {line[:200]!a}",
        )
        if table and MARK in line:
            figures.expect(
                bool(_TOLD.match(line)),
                f"{where}: a line of its own in the summary: {line[:200]!a}",
            )


if __name__ == "__main__":
    raise SystemExit(main(measure, 1))
