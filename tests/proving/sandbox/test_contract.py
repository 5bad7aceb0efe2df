"""What every sandbox promises, held over both: limits, an environment from nothing, and
nothing left behind.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from agentos.proving.sandbox import (
    Mounts,
    Reason,
    SandboxLimits,
    find_sandbox,
    read_result,
)
from tests.proving.sandbox.stage import PATIENCE, Stage, open_sandbox, wait_until
from tests.support import ROOT

MEGABYTE = 1_000_000

DEFIANT = """
import os, signal, sys, time
from pathlib import Path
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
for depth in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
Path(sys.argv[1], f"ready-{os.getpid()}").touch()
time.sleep(1000)
"""
"""Processes that ignore every polite request, in sessions of their own, their parents
gone.
"""

DRIVER = """
import asyncio, os, sys
from pathlib import Path
from agentos.proving.sandbox import Mounts, SandboxLimits, find_sandbox
from agentos.proving.sandbox.visible_folders import environment_folders, private_places
name, path, worktree, results, mark, program = sys.argv[1:]
sandbox = find_sandbox({"AGENTOS_SANDBOX": name, "PATH": path})
readable = environment_folders(Path(sys.prefix), Path(sys.base_prefix), private_places(os.environ))
scene = Mounts(Path(worktree), readable, results=Path(results), limits=SandboxLimits(seconds=600))
asyncio.run(sandbox.run([str(Path(sys.prefix, "bin/python")), "-c", program, results, mark], scene))
"""


@pytest.fixture(params=["bubblewrap", "plain"])
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Stage:
    """Each sandbox, with an empty worktree."""
    return Stage(open_sandbox(request.param), tmp_path)


def test_what_a_command_prints_and_its_exit_code_come_back(stage: Stage) -> None:
    finished = asyncio.run(
        stage.run(
            "import sys; print('out', flush=True); print('err', file=sys.stderr); sys.exit(3)"
        )
    )
    assert (finished.reason, finished.code, finished.signal) == (Reason.ENDED, 3, 0)
    assert finished.output == "out\nerr\n"
    assert not finished.is_stopped
    assert finished.explain() == "ended with exit code 3"


def test_a_signal_that_ends_a_command_is_named(stage: Stage) -> None:
    finished = asyncio.run(
        stage.run("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    )
    assert (finished.reason, finished.signal) == (Reason.ENDED, signal.SIGSEGV)


def test_a_command_that_is_not_there_is_an_exit_code_and_no_crash(stage: Stage) -> None:
    finished = asyncio.run(stage.sandbox.run(["no-such-command"], stage.scene()))
    assert (finished.reason, finished.code) == (Reason.ENDED, 127)


def test_a_command_works_in_its_worktree_and_leaves_results(stage: Stage) -> None:
    (stage.worktree / "given").write_text("given", "utf-8")
    program = """
import os, sys
from pathlib import Path
Path("made").write_text(Path("given").read_text() + os.getcwd())
Path(sys.argv[1], "result").write_text("result")
"""
    finished = asyncio.run(stage.run(program))
    assert finished.code == 0, finished.output
    assert (stage.worktree / "made").read_text("utf-8") == f"given{stage.worktree}"
    assert read_result(stage.results / "result", 100) == b"result"


def test_nothing_of_our_environment_is_inherited(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "canary-0123456789")
    scene = stage.scene()
    scene = Mounts(
        scene.folder, scene.readable, results=scene.results, environ={"WANTED": "yes"}
    )
    finished = asyncio.run(
        stage.run("import os; print(sorted(os.environ.items()))", scene)
    )
    assert "canary" not in finished.output
    names = {name for name, _ in eval(finished.output)}
    assert names <= {
        "PATH",
        "HOME",
        "TMPDIR",
        "LANG",
        "LC_CTYPE",
        "PYTHONHASHSEED",
        "WANTED",
        "PWD",
    }
    assert "WANTED" in names


def test_the_home_and_the_temporary_folder_are_empty_and_gone_afterwards(
    stage: Stage,
) -> None:
    program = """
import os, sys, tempfile
from pathlib import Path
print(os.listdir(Path.home()))
Path.home().joinpath("a").mkdir()
Path.home().joinpath("a").chmod(0)
with open(Path(sys.argv[1], "where"), "w") as file:
    file.write(tempfile.mkstemp()[1])
"""
    before = set(Path(tempfile.gettempdir()).glob("agentos-sandbox-*"))
    finished = asyncio.run(stage.run(program))
    assert finished.output == "[]\n"
    where = read_result(stage.results / "where", 1000)
    assert where
    assert not Path(where.decode()).exists()
    assert set(Path(tempfile.gettempdir()).glob("agentos-sandbox-*")) <= before


def test_no_descriptor_and_no_input_comes_along(stage: Stage) -> None:
    reading, writing = os.pipe()
    os.set_inheritable(reading, True)
    try:
        program = "import os, sys; print(sys.stdin.read() == '', sorted(map(int, os.listdir('/proc/self/fd')))[:-1])"
        finished = asyncio.run(stage.run(program))
    finally:
        os.close(reading)
        os.close(writing)
    assert finished.output == "True [0, 1, 2]\n"


@pytest.mark.slow
def test_one_that_sleeps_for_ever_is_ended_with_all_it_started(stage: Stage) -> None:
    finished = asyncio.run(stage.run(DEFIANT, seconds=2.0))
    assert finished.reason is Reason.TIMED_OUT
    assert "2.0 s" in finished.explain()
    assert len(list(stage.results.iterdir())) > 1
    assert stage.survivors() == []


def test_nobody_outlives_the_command_that_started_them(stage: Stage) -> None:
    finished = asyncio.run(
        stage.run(
            """
import os, sys, time
from pathlib import Path
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        Path(sys.argv[1], "ready").touch()
        time.sleep(1000)
    os._exit(0)
while not Path(sys.argv[1], "ready").exists():
    time.sleep(0.01)
"""
        )
    )
    assert (finished.reason, finished.code) == (Reason.ENDED, 0)
    assert stage.survivors() == []


def test_a_fork_bomb_is_stopped_and_named(stage: Stage) -> None:
    finished = asyncio.run(
        stage.run("import os\nwhile True:\n    os.fork()", processes=20)
    )
    assert finished.reason is Reason.TOO_MANY_PROCESSES
    assert stage.survivors() == []


def test_a_memory_bomb_of_one_process_is_stopped_and_named(stage: Stage) -> None:
    finished = asyncio.run(
        stage.run(
            "a = []\nwhile True:\n    a.append(bytearray(5_000_000))",
            memory=200 * MEGABYTE,
        )
    )
    assert finished.reason is Reason.OUT_OF_MEMORY


def test_a_memory_bomb_of_many_processes_is_stopped_and_named(stage: Stage) -> None:
    program = """
import os, time
for number in range(8):
    if os.fork() == 0:
        kept = os.urandom(40_000_000)
        break
time.sleep(1000)
"""
    finished = asyncio.run(stage.run(program, memory=200 * MEGABYTE))
    assert finished.reason is Reason.OUT_OF_MEMORY
    assert stage.survivors() == []


@pytest.mark.slow
def test_memory_that_processes_share_counts_once(stage: Stage) -> None:
    program = """
import os
kept = os.urandom(60_000_000)
children = []
for number in range(6):
    child = os.fork()
    if child == 0:
        import time
        time.sleep(1)
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
"""
    finished = asyncio.run(stage.run(program, memory=250 * MEGABYTE))
    assert finished.reason is Reason.ENDED, finished.explain()


def test_a_leap_over_all_memory_fails_in_the_program(stage: Stage) -> None:
    finished = asyncio.run(stage.run("bytearray(10**12)", memory=200 * MEGABYTE))
    assert finished.code == 1
    assert "MemoryError" in finished.output


@pytest.mark.parametrize("where", [".", "/tmp", "home", "results", "nameless"])
def test_a_flood_of_the_disk_is_stopped_and_named_wherever_it_goes(
    stage: Stage, where: str
) -> None:
    program = f"""
import os, sys, tempfile
where = {where!r}
folders = {{"results": sys.argv[1], "home": os.environ["HOME"], "nameless": ".", "/tmp": tempfile.gettempdir()}}
folder = folders.get(where, where)
kept = []
for number in range(1000):
    file = open(os.path.join(folder, f"flood-{{number}}"), "wb")
    kept.append(file)
    if where == "nameless":
        os.unlink(file.name)
    for part in range(4):
        file.write(os.urandom(1_000_000))
    file.flush()
"""
    finished = asyncio.run(stage.run(program, disk=40 * MEGABYTE))
    assert finished.reason is Reason.TOO_MUCH_DISK, (
        finished.explain(),
        finished.output,
    )
    written = sum(path.stat().st_size for path in stage.folder.rglob("flood-*"))
    assert written < 2_000 * MEGABYTE


def test_a_flood_of_files_is_stopped_and_named(stage: Stage) -> None:
    finished = asyncio.run(
        stage.run(
            "import os\nfor number in range(10**7):\n    os.mkdir(f'{number}')",
            files=500,
        )
    )
    assert finished.reason is Reason.TOO_MUCH_DISK


def test_one_file_cannot_grow_beyond_its_limit(stage: Stage) -> None:
    finished = asyncio.run(
        stage.run(
            "with open('big', 'wb') as file:\n    for _ in range(100):\n        file.write(bytes(1_000_000))",
            file_size=10 * MEGABYTE,
        )
    )
    assert finished.code != 0
    assert (stage.worktree / "big").stat().st_size <= 10 * MEGABYTE


def test_what_a_program_without_care_writes_beyond_a_file_is_named(
    stage: Stage,
) -> None:
    command = ["/bin/sh", "-c", "exec dd if=/dev/zero of=big bs=1000000 count=100"]
    finished = asyncio.run(
        stage.sandbox.run(command, stage.scene(file_size=10 * MEGABYTE))
    )
    assert finished.reason is Reason.TOO_MUCH_DISK


def test_a_loop_without_end_uses_up_its_processor_time(stage: Stage) -> None:
    finished = asyncio.run(stage.run("while True: pass", cpu_seconds=1))
    assert finished.reason is Reason.OUT_OF_PROCESSOR_TIME
    assert (
        finished.explain()
        == "computed for more than 1.0 s of processor time and was ended"
    )


def test_processor_time_grows_with_the_time_on_the_clock() -> None:
    assert (
        SandboxLimits().processor_seconds
        == SandboxLimits(seconds=1).processor_seconds
        == 600
    )
    assert SandboxLimits(seconds=1800.5).processor_seconds == 3601
    assert SandboxLimits(seconds=1800, cpu_seconds=7).processor_seconds == 7


def test_of_a_long_output_the_beginning_and_the_end_are_kept(stage: Stage) -> None:
    program = "print('first')\nfor number in range(200_000):\n    print('line', number)\nprint('last')"
    finished = asyncio.run(stage.run(program, output=100_000))
    assert finished.reason is Reason.ENDED
    assert finished.output.startswith("first\n")
    assert finished.output.endswith("last\n")
    assert len(finished.output) < 101_000
    assert f"[... {finished.left_out:,} bytes left out ...]" in finished.output


@pytest.mark.parametrize(
    "line", ["b'x' * 65536", "b'y\\n' * 30000"], ids=["one line", "many lines"]
)
def test_a_flood_of_output_is_stopped_and_named(stage: Stage, line: str) -> None:
    finished = asyncio.run(
        stage.run(
            f"import os\nwhile True:\n    os.write(1, {line})",
            output=100_000,
            flood=20 * MEGABYTE,
        )
    )
    assert finished.reason is Reason.TOO_MUCH_OUTPUT
    assert len(finished.output) < 101_000
    assert stage.survivors() == []


def test_bytes_that_are_no_text_do_no_harm(stage: Stage) -> None:
    finished = asyncio.run(
        stage.run("import os; os.write(1, b'\\xff\\x00 \\xe2\\x82 end')")
    )
    assert finished.output.endswith(" end")
    assert "\ufffd" in finished.output


def test_a_cancelled_run_leaves_nothing(stage: Stage) -> None:
    async def cancel_when_ready() -> None:
        running = asyncio.create_task(stage.run(DEFIANT))
        while len(list(stage.results.iterdir())) < 4:
            assert not running.done(), running.result()
            await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert stage.survivors() == []

    asyncio.run(asyncio.wait_for(cancel_when_ready(), PATIENCE))


def test_a_run_that_is_cancelled_at_once_leaves_nothing(stage: Stage) -> None:
    async def cancel_after(turns: int) -> None:
        running = asyncio.create_task(stage.run(DEFIANT))
        for _ in range(turns):
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    for turns in range(8):
        asyncio.run(cancel_after(turns))
    wait_until(lambda: stage.survivors() == [], "all are gone")


def test_when_we_are_killed_everything_in_the_sandbox_dies(stage: Stage) -> None:
    arguments = [
        stage.sandbox.name,
        os.environ["PATH"],
        str(stage.worktree),
        str(stage.results),
        stage.mark,
        DEFIANT,
    ]
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, *arguments], cwd=ROOT)
    try:
        wait_until(lambda: len(list(stage.results.iterdir())) >= 4, "the command runs")
        assert stage.survivors()
    finally:
        driver.kill()
        driver.wait()
    wait_until(lambda: stage.survivors() == [], "all are gone")


def test_several_run_at_once_and_a_bad_one_hurts_no_other(
    stage: Stage, tmp_path: Path
) -> None:
    others = [Stage(stage.sandbox, tmp_path / str(number)) for number in range(3)]

    async def run_all() -> list[Reason]:
        runs = [stage.run("import os\nwhile True:\n    os.fork()", processes=20)]
        runs += [
            other.run("import time; time.sleep(0.5); print('fine')") for other in others
        ]
        return [finished.reason for finished in await asyncio.gather(*runs)]

    assert asyncio.run(run_all()) == [Reason.TOO_MANY_PROCESSES, *[Reason.ENDED] * 3]


def test_no_weakness_is_kept_from_the_user(stage: Stage) -> None:
    words = " ".join(stage.sandbox.weaknesses)
    if stage.sandbox.name == "plain":
        assert all(word in words for word in ("network", "read", "write", "processes"))
    else:
        assert stage.sandbox.weaknesses == ()


def test_without_bubblewrap_the_plain_sandbox_is_found(tmp_path: Path) -> None:
    assert find_sandbox({"PATH": str(tmp_path)}).name == "plain"
