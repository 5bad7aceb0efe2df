"""Measure how many lines a second are prefixed and logged, against GNU parallel on the
same producers.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from agentos.run.console import Console
from tests.run.console.piped import Piped

_ROUNDS = 3
_TEXT = "x" * 78


def main(argv: list[str] | None = None) -> int:
    """Print one JSON object with the best figures of alternating rounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--lines", type=int, default=1_000_000, help="lines a producer writes"
    )
    parser.add_argument("--producers", type=int, default=4)
    options = parser.parse_args(argv)
    total = options.lines * options.producers
    has_parallel = shutil.which("parallel") is not None
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(_ROUNDS):
        ours.append(time_console(options.lines, options.producers))
        if has_parallel:
            theirs.append(time_parallel(options.lines, options.producers))
    result: dict[str, object] = {
        "lines": total,
        "producers": options.producers,
        "console_lines_per_s": round(total / min(ours)),
        "gnu_parallel_lines_per_s": round(total / min(theirs)) if theirs else None,
        "ratio": round(min(theirs) / min(ours), 2) if theirs else None,
        "latency_under_flood_ms": measure_latency(),
    }
    if not has_parallel:
        result["note"] = "GNU parallel is not installed: nothing to compare with"
    print(json.dumps(result))
    return 0


def time_console(lines: int, producers: int) -> float:
    """Return the seconds that a Console with logs needs for the output of `producers`
    processes.
    """
    with tempfile.TemporaryDirectory() as folder, _drain() as drain:
        assert drain.stdin is not None
        begin = time.perf_counter()
        console = Console(stdout=drain.stdin.fileno(), environ=os.environ)
        with console:
            captures = [
                Piped(console, f"LLD-{n}", Path(folder) / f"LLD-{n}.log")
                for n in range(producers)
            ]
            workers = [
                subprocess.Popen(
                    _producer(lines),
                    shell=True,
                    stdout=capture.stdout,
                    stderr=capture.stderr,
                )
                for capture in captures
            ]
            for capture in captures:
                capture.close_write_ends()
            for worker, capture in zip(workers, captures, strict=True):
                worker.wait()
                capture.wait_drained()
            console.close(timeout=60)
        seconds = time.perf_counter() - begin
        written = sum(
            (Path(folder) / f"LLD-{n}.log").stat().st_size for n in range(producers)
        )
    assert written == lines * producers * (len(_TEXT) + 1), "the logs are not complete"
    return seconds


def time_parallel(lines: int, producers: int) -> float:
    """Return the seconds that GNU parallel needs to tag the same lines, without
    logs.
    """
    labels = [f"LLD-{n}" for n in range(producers)]
    command = [
        "parallel",
        "--will-cite",
        "--tag",
        "--line-buffer",
        "-j",
        str(producers),
    ]
    with _drain() as drain:
        begin = time.perf_counter()
        subprocess.run(
            [*command, _producer(lines) + " #{}", ":::", *labels],
            stdout=drain.stdin,
            check=True,
        )
        return time.perf_counter() - begin


def measure_latency(pings: int = 200) -> dict[str, float]:
    """Return how long one worker's line takes to a reader while another worker
    floods.
    """
    delays = []
    command = ["grep", "--line-buffered", "-F", "[PING]"]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as reader,
    ):
        assert reader.stdin is not None
        assert reader.stdout is not None
        with Console(stdout=reader.stdin.fileno(), environ=os.environ) as console:
            flood = Piped(console, "FLOOD", Path(folder) / "FLOOD.log")
            ping = Piped(console, "PING", Path(folder) / "PING.log")
            worker = subprocess.Popen(["yes", _TEXT], stdout=flood.stdout)
            flood.close_write_ends()
            for _ in range(pings):
                begin = time.perf_counter()
                os.write(ping.stdout, b"ping\n")
                reader.stdout.readline()
                delays.append(time.perf_counter() - begin)
            worker.kill()
            worker.wait()
            ping.close_write_ends()
    delays.sort()
    return {
        "median": round(delays[pings // 2] * 1000, 2),
        "max": round(delays[-1] * 1000, 2),
    }


def _producer(lines: int) -> str:
    return f"yes {_TEXT} | head -n {lines}"


def _drain() -> subprocess.Popen[bytes]:
    return subprocess.Popen("cat >/dev/null", shell=True, stdin=subprocess.PIPE)


if __name__ == "__main__":
    raise SystemExit(main())
