"""Floods: nothing lost, nothing mixed, nobody stalled, memory bounded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentos.run.console import Console, ConsoleLimits
from tests.run.console.piped import Piped

MakeStage = Callable[..., Any]

LINES = int(os.environ.get("AGENTOS_TEST_FLOOD_LINES", "2000"))
"""Lines of each of the ten producers; 100000 is the figure of the long run."""

PRODUCER = """
import os, sys
name, lines = sys.argv[1], int(sys.argv[2])
def put(descriptor, data):
    while data:
        data = data[os.write(descriptor, data):]
for number in range(lines):
    text = f"{name} {number} \\x1b[3{number % 8}m\\u65e5\\u672c \\U0001f469 \\x1b[0mend".encode()
    for descriptor in (1, 2):
        if number % 3:
            put(descriptor, text + b"\\n")
        else:
            put(descriptor, text[:-8])
            put(descriptor, text[-8:] + b"\\n")
put(1, b"L" * 1_000_000 + b"\\n")
put(2, b"no newline")
"""


def test_ten_producers_arrive_whole_once_and_marked(make_stage: MakeStage) -> None:
    stage = make_stage()
    running = []
    for number in range(10):
        capture = stage.capture(f"LLD-{number}")
        command = [sys.executable, "-c", PRODUCER, f"p{number}", str(LINES)]
        running.append(
            (
                subprocess.Popen(command, stdout=capture.stdout, stderr=capture.stderr),
                capture,
            )
        )
        capture.close_write_ends()
    for worker, capture in running:
        assert worker.wait(280) == 0
        assert capture.wait_drained(60)
    out, err = (data.decode() for data in stage.finish())
    for text, last in ((out, ""), (err, "no newline")):
        lines = text.split("\n")
        assert lines.pop() == ""
        for number in range(10):
            own = [line for line in lines if line.startswith(f"[LLD-{number}] ")]
            expected = [
                f"[LLD-{number}] p{number} {n} 日本 👩 end" for n in range(LINES)
            ]
            assert own[:LINES] == expected
            assert len(own) == LINES + 1
            if last:
                assert own[-1] == f"[LLD-{number}] {last}"
            else:
                log = running[number][1].log
                assert own[-1].endswith(f"L... (+{1_000_000 - 65536} bytes, see {log})")
        assert len(lines) == 10 * (LINES + 1)
    for _, capture in running:
        log_lines = capture.log.read_bytes().split(b"\n")
        assert sum(line.startswith(b"! ") for line in log_lines) == LINES + 1
        assert sum(line.count(b"L") for line in log_lines) == 1_000_000


STALLED = """
import json, os, resource, subprocess, sys, threading, time
from pathlib import Path
from agentos.run.console import Console
from tests.run.console.piped import Piped

def rss():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])

reader, writer = os.pipe()
console = Console(stdout=writer, stderr=2, environ={})
console.start()
before = rss()
flood = Piped(console, "LLD-1", Path(sys.argv[1]) / "LLD-1.log")
worker = subprocess.Popen(f"yes {'x' * 78} | head -n 1000000", shell=True, stdout=flood.stdout)
flood.close_write_ends()
assert worker.wait(200) == 0
assert flood.wait_drained(60)
other = Piped(console, "LLD-2", Path(sys.argv[1]) / "LLD-2.log")
subprocess.run(["seq", "1000"], stdout=other.stdout, check=True)
other.close_write_ends()
assert other.wait_drained(60)
grown = rss() - before
shown = bytearray()

def read():
    while chunk := os.read(reader, 1 << 16):
        shown.extend(chunk)

thread = threading.Thread(target=read)
thread.start()
console.close(60)
os.close(writer)
thread.join()
lines = shown.split(b"\\n")
json.dump({"grown_kb": grown, "shown": len(lines) - 1, "whole": lines[-1] == b"" and all(
    line == b"[LLD-1] " + b"x" * 78 or line.startswith(b"[LLD-2] ") for line in lines[:-1])}, sys.stdout)
"""


@pytest.mark.slow
def test_a_stalled_stdout_stalls_nobody_and_needs_bounded_memory(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STALLED, str(tmp_path)],
        capture_output=True,
        timeout=280,
        check=True,
    )
    seen = json.loads(done.stdout)
    assert (tmp_path / "LLD-1.log").read_bytes() == (b"x" * 78 + b"\n") * 1_000_000
    assert len((tmp_path / "LLD-2.log").read_bytes().splitlines()) == 1000
    assert seen["grown_kb"] <= 64 * 1024
    assert seen["whole"]
    missing = 1_001_000 - seen["shown"]
    notice = f"[COORDINATOR] {missing} lines not shown while the terminal was stalled; they are in {tmp_path}\n"
    assert done.stderr.decode() == notice


def test_a_slow_reader_loses_no_line(make_stage: MakeStage, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    console = Console(
        stdout=writer,
        stderr=2,
        environ={},
        limits=ConsoleLimits(soft=1 << 16, hard=1 << 20),
    )
    received = bytearray()

    def read_slowly() -> None:
        pause = threading.Event()
        while chunk := os.read(reader, 1 << 15):
            received.extend(chunk)
            pause.wait(0.001)

    thread = threading.Thread(target=read_slowly)
    thread.start()
    with console:
        capture = Piped(console, "A", tmp_path / "A.log")
        subprocess.run(["seq", "500000"], stdout=capture.stdout, check=True)
        capture.close_write_ends()
        assert capture.wait_drained(60)
        console.close(60)
    os.close(writer)
    thread.join(60)
    assert received.count(b"\n") == 500_000


ENDLESS = """
import os, subprocess, sys
from pathlib import Path
from agentos.run.console import Console
from tests.run.console.piped import Piped

def rss():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])

with Console(stderr=2, environ={}) as console:
    before = rss()
    capture = Piped(console, "LLD-1", Path(sys.argv[1]) / "LLD-1.log")
    subprocess.run(["head", "-c", "100000000", "/dev/zero"], stdout=capture.stdout, check=True)
    capture.close_write_ends()
    assert capture.wait_drained(60)
    print(rss() - before, file=sys.stderr)
"""


def test_an_endless_line_needs_a_few_megabytes(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDLESS, str(tmp_path)],
        capture_output=True,
        timeout=200,
        check=True,
    )
    assert int(done.stderr) <= 8 * 1024
    assert (tmp_path / "LLD-1.log").stat().st_size == 100_000_001
    assert done.stdout.startswith(b"[LLD-1] \\x00\\x00")
    assert done.stdout.endswith(
        f"... (+{100_000_000 - 65536} bytes, see {tmp_path}/LLD-1.log)\n".encode()
    )


def test_an_endless_flood_does_not_hold_up_the_lines_of_another(
    make_stage: MakeStage,
) -> None:
    stage = make_stage()
    flood, quiet = stage.capture("FLOOD"), stage.capture("QUIET")
    worker = subprocess.Popen(["yes", "x" * 78], stdout=flood.stdout)
    flood.close_write_ends()
    stage.out.wait_for(b"[FLOOD] ")
    for number in range(20):
        os.write(quiet.stdout, b"ping %d\n" % number)
        stage.out.wait_for(b"[QUIET] ping %d\n" % number)
    assert worker.poll() is None
    worker.kill()
    worker.wait()
    quiet.close_write_ends()
    assert flood.wait_drained(30)
