"""Workers' output through a real console: pipes in, pipes out, logs between."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentos.run.console import Console, ConsoleLimits
from agentos.run.console.log import LogFile
from tests.run.console.piped import Piped

MakeStage = Callable[..., Any]


def test_each_stream_keeps_its_way_and_its_prefix(make_stage: MakeStage) -> None:
    stage = make_stage()
    log = stage.run(
        "LLD-42", "import sys; print('one\\n\\ntwo'); print('oops', file=sys.stderr)"
    )
    out, err = stage.finish()
    assert out == b"[LLD-42] one\n\n[LLD-42] two\n"
    assert err == b"[LLD-42] oops\n"
    assert sorted(log.read_bytes().splitlines()) == [b"", b"! oops", b"one", b"two"]
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.parent.stat().st_mode) == 0o700


def test_a_half_line_of_stdout_never_joins_one_of_stderr(make_stage: MakeStage) -> None:
    stage = make_stage()
    log = stage.emit("LLD-1", b"half out", b"half err")
    assert stage.finish() == (b"[LLD-1] half out\n", b"[LLD-1] half err\n")
    assert sorted(log.read_bytes().split(b"\n")) == [b"", b"! half err", b"half out"]


def test_a_line_at_rest_is_shown_with_a_mark(
    make_stage: MakeStage, impatient: ConsoleLimits
) -> None:
    stage = make_stage(limits=impatient)
    capture = stage.capture("LLD-1")
    os.write(capture.stdout, b"thinking")
    stage.out.wait_for(b"[LLD-1] thinking ...\n")
    os.write(capture.stdout, b", done\n")
    capture.close_write_ends()
    assert capture.wait_drained(30)
    assert stage.finish()[0] == b"[LLD-1] thinking ...\n[LLD-1] ... , done\n"
    assert capture.log.read_bytes() == b"thinking, done\n"


def test_with_json_stdout_is_data_only(make_stage: MakeStage) -> None:
    stage = make_stage(json_mode=True)
    stage.run("LLD-1", "print('chatter')")
    stage.console.say("hello")
    stage.console.data('{"schema": 1}\n')
    out, err = stage.finish()
    assert out == b'{"schema": 1}\n'
    assert err == b"[LLD-1] chatter\n[COORDINATOR] hello\n"


def test_quiet_shows_only_what_is_important_and_logs_all(make_stage: MakeStage) -> None:
    stage = make_stage(quiet=True)
    log = stage.emit("LLD-1", b"text\n", b"text\n")
    stage.console.say("chatter")
    stage.console.tell("LLD-1", "started")
    stage.console.tell("LLD-1", "FAILED: Invalid spec format", important=True)
    stage.console.progress(1, 2, running=1, failed=1)
    assert stage.finish() == (b"", b"[LLD-1] FAILED: Invalid spec format\n")
    assert len(log.read_bytes().splitlines()) == 2


@pytest.mark.parametrize("only", ["LLD-2", "2"])
def test_only_the_chosen_workflow_is_shown(make_stage: MakeStage, only: str) -> None:
    stage = make_stage(only=frozenset({only}))
    for label in ("LLD-1", "LLD-2", "LLD-22"):
        assert stage.emit(label, b"text\n").read_bytes() == b"text\n"
    assert stage.finish()[0] == b"[LLD-2] text\n"


def test_prefixes_can_be_left_out(make_stage: MakeStage) -> None:
    stage = make_stage(prefix=False)
    stage.emit("LLD-1", b"a\n\x1b[2Jb\n")
    assert stage.finish()[0] == b"a\n\\x1b[2Jb\n"


def test_grouped_output_comes_together_when_its_workflow_ends(
    make_stage: MakeStage,
) -> None:
    stage = make_stage(group=True)
    first, second = stage.capture("LLD-1"), stage.capture("LLD-2")
    for number in range(3):
        for capture in (first, second):
            os.write(capture.stdout, b"line %d\n" % number)
    for capture in (second, first):
        capture.close_write_ends()
        assert capture.wait_drained(30)
    stage.console.data("summary\n")
    lines = stage.finish()[0].splitlines()
    assert lines == [b"[LLD-%d] line %d" % (n, m) for n in (2, 1) for m in range(3)] + [
        b"summary"
    ]


def test_what_the_coordinator_quotes_is_made_harmless(make_stage: MakeStage) -> None:
    stage = make_stage()
    stage.console.say("title: \x1b]0;x\x07\nsecond line \udcff")
    assert (
        stage.finish()[1]
        == b"[COORDINATOR] title: \\x1b]0;x\\x07\n[COORDINATOR] second line \\udcff\n"
    )


def test_a_secret_written_in_two_halves_is_redacted_everywhere(
    make_stage: MakeStage,
) -> None:
    stage = make_stage()
    capture = stage.capture(
        "LLD-1", lambda data: data.replace(b"SECRET", b"[REDACTED]")
    )
    for part in (b"key=SEC", b"RET!\n"):
        os.write(capture.stdout, part)
    capture.close_write_ends()
    assert capture.wait_drained(30)
    assert capture.log.read_bytes() == b"key=[REDACTED]!\n"
    assert stage.finish()[0] == b"[LLD-1] key=[REDACTED]!\n"


def test_a_redactor_that_fails_costs_its_own_workers_text_only(
    make_stage: MakeStage,
) -> None:
    stage = make_stage()

    def fail(data: bytes) -> bytes:
        raise ValueError("SECRET")

    assert (
        stage.emit("LLD-1", b"SECRET\nSECRET", b"SECRET\n", redact=fail).read_bytes()
        == b""
    )
    stage.emit("LLD-2", b"fine\n")
    out, err = stage.finish()
    assert out == b"[LLD-2] fine\n"
    assert err == b"[COORDINATOR] Output of LLD-1 was lost: ValueError\n" * 2


def test_no_foreign_descriptor_is_written_after_closing(
    make_stage: MakeStage, tmp_path: Path
) -> None:
    stage = make_stage()
    capture = stage.capture("LLD-1")
    stage.console.close()
    reused = [
        os.open(tmp_path / f"other-{n}", os.O_WRONLY | os.O_CREAT, 0o600)
        for n in range(20)
    ]
    capture.stop()
    stage.console.progress(1, 2, running=1, failed=0)
    for number, descriptor in enumerate(reused):
        os.close(descriptor)
        assert (tmp_path / f"other-{number}").read_bytes() == b""


def test_a_capture_can_be_stopped_while_its_pipe_is_held(make_stage: MakeStage) -> None:
    stage = make_stage()
    capture = stage.capture("LLD-1")
    kept = os.dup(capture.stdout)
    os.write(kept, b"said\nhalf")
    assert not capture.wait_drained(0)
    capture.stop()
    assert capture.wait_drained(30)
    os.close(kept)
    assert stage.finish()[0] == b"[LLD-1] said\n[LLD-1] half\n"


def test_closing_takes_what_was_written(make_stage: MakeStage) -> None:
    stage = make_stage()
    capture = stage.capture("LLD-1")
    os.write(capture.stdout, b"last words\n")
    out, _ = stage.finish()
    assert out == b"[LLD-1] last words\n"
    assert capture.log.read_bytes() == b"last words\n"
    capture.close_write_ends()


def test_a_closed_stdout_is_noticed_and_the_logs_stay_complete(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    noticed = threading.Event()
    console = Console(
        stdout=writer, stderr=os.open(os.devnull, os.O_WRONLY), environ={}
    )
    console.on_stdout_closed = noticed.set
    with console:
        capture = Piped(console, "LLD-1", tmp_path / "LLD-1.log")
        subprocess.run(["seq", "100000"], stdout=capture.stdout, check=True)
        capture.close_write_ends()
        assert capture.wait_drained(30)
        assert noticed.wait(30)
        assert console.stdout_closed.is_set()
    assert capture.log.read_bytes().count(b"\n") == 100_000
    os.close(writer)


def test_a_closed_stderr_is_nobodys_business(make_stage: MakeStage) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    stage = make_stage()
    console = Console(stdout=stage.out.descriptor, stderr=writer, environ={})
    with console:
        console.say("unheard")
        console.data("heard\n")
        stage.out.wait_for(b"heard\n")
    assert not console.stdout_closed.is_set()
    os.close(writer)


def test_a_full_disk_under_stdout_raises_nothing(tmp_path: Path) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    with Console(stdout=full, stderr=full, environ={}) as console:
        console.data("x\n")
        console.say("y")
    os.close(full)


def test_a_stdout_that_does_not_block_loses_nothing(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    console = Console(
        stdout=writer, stderr=os.open(os.devnull, os.O_WRONLY), environ={}
    )
    with console:
        console.data("x" * 1_000_000)
        received = 0
        while received < 1_000_000:
            received += len(os.read(reader, 1 << 16))
    os.close(writer)
    os.close(reader)


def test_a_signal_handler_may_speak(make_stage: MakeStage) -> None:
    stage = make_stage()
    before = signal.signal(
        signal.SIGUSR1, lambda *_: stage.console.say("signal", important=True)
    )
    try:
        for number in range(200):
            os.kill(os.getpid(), signal.SIGUSR1)
            stage.console.say(f"main {number}")
    finally:
        signal.signal(signal.SIGUSR1, before)
    lines = stage.finish()[1].splitlines()
    assert lines.count(b"[COORDINATOR] signal") == 200
    assert len(lines) == 400


def test_one_file_behind_both_streams_keeps_the_order(tmp_path: Path) -> None:
    target = os.open(tmp_path / "both", os.O_WRONLY | os.O_CREAT, 0o600)
    other = os.dup(target)
    with Console(stdout=target, stderr=other, environ={}) as console:
        for number in range(100):
            console.say(str(number))
            console.data(f"{number}\n")
    lines = (tmp_path / "both").read_text().splitlines()
    assert lines == [
        text
        for number in range(100)
        for text in (f"[COORDINATOR] {number}", str(number))
    ]
    os.close(target)
    os.close(other)


def test_progress_is_a_line_for_each_completion(make_stage: MakeStage) -> None:
    stage = make_stage()
    for done in (0, 1, 1, 2):
        stage.console.progress(done, 2, running=1, failed=0)
    out, err = stage.finish()
    assert (
        err
        == b"[=====>    ] 1/2 workflows complete\n[==========] 2/2 workflows complete\n"
    )
    assert b"\x1b" not in err + out
    assert b"\r" not in err + out


def test_long_silence_is_broken_by_a_heartbeat(
    make_stage: MakeStage, impatient: ConsoleLimits
) -> None:
    stage = make_stage(limits=impatient)
    stage.console.progress(1, 4, running=3, failed=0, eta="2 min")
    received = stage.err.wait_for(b"ETA 2 min\n")
    assert received.startswith(
        b"[==>       ] 1/4 workflows complete\n[==>       ] 1/4 workflows complete, 3 running, "
    )


def test_a_log_is_never_written_through_a_planted_name(
    make_stage: MakeStage, tmp_path: Path
) -> None:
    stage = make_stage()
    logs = tmp_path / "logs"
    logs.mkdir()
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (logs / "LLD-1.log").symlink_to(victim)
    os.mkfifo(logs / "LLD-2.log")
    os.link(victim, logs / "LLD-3.log")
    for label in ("LLD-1", "LLD-2", "LLD-3"):
        stage.emit(label, b"text\n")
    out, err = stage.finish()
    assert victim.read_text() == "precious"
    assert out.count(b"text\n") == 3
    assert err.count(b"[COORDINATOR] Cannot write the log ") == 3


def test_an_existing_log_is_continued(make_stage: MakeStage) -> None:
    stage = make_stage()
    stage.emit("LLD-1", b"first\n")
    assert stage.emit("LLD-1", b"second\n").read_bytes() == b"first\nsecond\n"


def test_parts_of_a_long_line_never_join_the_other_stream_in_the_log(
    tmp_path: Path,
) -> None:
    log = LogFile(tmp_path / "log", warn=lambda problem: pytest.fail(problem))
    log.write(b"long", is_error=False)
    log.write(b"er", is_error=False)
    log.write(b"oops\nagain\n", is_error=True)
    log.write(b" still\n", is_error=False)
    log.write(b"end", is_error=True)
    log.end_line(is_error=True)
    log.close()
    expected = b"longer ...\n! oops\n! again\n...  still\n! end\n"
    assert (tmp_path / "log").read_bytes() == expected


FULL_LOG = """
import os, resource, signal, sys
from pathlib import Path
from agentos.run.console import Console
from tests.run.console.piped import Piped
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
with Console(environ={}) as console:
    capture = Piped(console, "LLD-1", Path(sys.argv[1]) / "LLD-1.log")
    for number in range(100):
        os.write(capture.stdout, b"x" * 99 + b"\\n")
    capture.close_write_ends()
    assert capture.wait_drained(30)
"""


def test_a_log_that_cannot_grow_is_reported_once_and_stops_nothing(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL_LOG, str(tmp_path)], capture_output=True, timeout=60
    )
    assert done.returncode == 0
    assert done.stdout.count(b"[LLD-1] xxx") == 100
    assert done.stderr.count(b"Cannot write the log") == 1


def test_closing_does_not_wait_for_a_stalled_terminal(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    console = Console(stdout=writer, stderr=writer, environ={})
    console.start()
    console.data("x" * 1_000_000)
    begin = time.monotonic()
    console.close(timeout=0.3)
    assert time.monotonic() - begin < 5
    os.close(reader)
