"""What bubblewrap promises beyond the contract: only what is shown is there, and honest
programs still work.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from agentos.errors import BadInput
from agentos.proving.sandbox import BrokenSandbox
from tests.proving.sandbox.stage import PYTHON, Stage, open_sandbox


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """Bubblewrap with an empty worktree."""
    return Stage(open_sandbox("bubblewrap"), tmp_path)


WRITABLE = """
import os, sys
for top, folders, files in os.walk("/"):
    if top.startswith("/proc/") and top.split("/")[2].isdigit():
        folders.clear()
        continue
    if top == "/usr/share" or top == sys.prefix:
        # A part of a larger mount, with many files.
        folders.clear()
    for path in (os.path.join(top, name) for name in folders + files):
        if os.path.islink(path):
            continue
        if os.path.isdir(path):
            if os.access(path, os.W_OK):
                print(path)
            continue
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
            print(path)
        except OSError:
            pass
"""


@pytest.mark.slow
def test_nothing_in_the_whole_tree_of_files_is_writable_but_the_worktree(
    stage: Stage,
) -> None:
    finished = asyncio.run(stage.run(WRITABLE))
    assert finished.code == 0, finished.output
    devices = {
        f"/dev/{name}"
        for name in (
            "null",
            "zero",
            "full",
            "random",
            "urandom",
            "tty",
            "pts",
            "pts/ptmx",
            "shm",
        )
    }
    own = {str(stage.worktree), str(stage.results), "/tmp", "/tmp/home"}
    # The ways to the worktree and to Python may lead through /tmp, which is a new and
    # empty one.
    ends = (str(stage.worktree), sys.prefix)
    found = {
        line
        for line in finished.output.splitlines()
        if not any(end.startswith(f"{line}/") for end in ends)
    }
    assert found <= devices | own
    assert str(stage.worktree) in found


def test_protected_files_stay_as_they_are_and_so_do_their_folders(stage: Stage) -> None:
    deep = stage.worktree / "tests" / "unit"
    deep.mkdir(parents=True)
    (deep / "test_a.py").write_text("given", "utf-8")
    (stage.worktree / ".git").write_text("gitdir: x\n", "utf-8")
    program = """
import os
for attempt in (
    lambda: open("tests/unit/test_a.py", "w"),
    lambda: os.unlink("tests/unit/test_a.py"),
    lambda: os.rename("tests/unit", "tests/other"),
    lambda: os.rename("tests", "other"),
    lambda: os.chmod("tests/unit/test_a.py", 0o777),
    lambda: open(".git", "a"),
    lambda: os.unlink(".git"),
):
    try:
        attempt()
        print("done")
    except OSError:
        pass
open("tests/unit/test_b.py", "w").close()
"""
    scene = replace(stage.scene(), read_only=(deep / "test_a.py",))
    finished = asyncio.run(stage.run(program, scene))
    assert (finished.code, finished.output) == (0, "")
    assert (deep / "test_a.py").read_text("utf-8") == "given"
    assert (deep / "test_b.py").exists()


@pytest.mark.parametrize("name", [".git", "tests/test_a.py", "../outside"])
def test_a_protected_file_that_is_a_link_is_refused_and_not_shown(
    stage: Stage, name: str
) -> None:
    outside = stage.folder / "outside"
    outside.mkdir()
    (outside / "test_a.py").write_text("secret", "utf-8")
    if name == ".git":
        (stage.worktree / ".git").symlink_to(outside)
    elif name == "tests/test_a.py":
        (stage.worktree / "tests").symlink_to(outside)
    scene = replace(stage.scene(), read_only=(stage.worktree / name,))
    with pytest.raises(BadInput, match="link"):
        asyncio.run(stage.run("", scene))


def test_a_sandbox_that_cannot_be_set_up_is_not_taken_for_a_failed_command(
    stage: Stage,
) -> None:
    scene = replace(stage.scene(), readable=(stage.folder / "missing",))
    with pytest.raises(BrokenSandbox, match="missing"):
        asyncio.run(stage.run("", scene))


def test_nobody_can_pretend_that_the_sandbox_failed(stage: Stage) -> None:
    finished = asyncio.run(stage.run("import sys; print('bwrap: cannot'); sys.exit(1)"))
    assert finished.code == 1


@pytest.mark.slow
def test_a_test_suite_with_threads_processes_and_a_local_server_works(
    stage: Stage,
) -> None:
    (stage.worktree / "test_honest.py").write_text(
        """
import http.server, multiprocessing, os, pwd, socket, sqlite3, subprocess, sys, threading, urllib.request
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.shared_memory import SharedMemory

def double(number):
    return 2 * number

def test_processes_and_threads():
    for kind in (ProcessPoolExecutor, ThreadPoolExecutor):
        with kind(3) as pool:
            assert list(pool.map(double, range(10))) == list(range(0, 20, 2))

def test_shared_memory():
    memory = SharedMemory(create=True, size=1000)
    memory.close()
    memory.unlink()

def test_local_server():
    server = http.server.ThreadingHTTPServer(("localhost", 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    assert urllib.request.urlopen(f"http://localhost:{server.server_port}/").status == 200
    server.shutdown()

def test_sqlite_and_files(tmp_path):
    with sqlite3.connect(tmp_path / "a.db") as database:
        database.execute("create table a (b)")

def test_commands_and_the_user():
    assert subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True).stdout == b"1\\n"
    assert pwd.getpwuid(os.getuid()).pw_dir == os.environ["HOME"]
""",
        "utf-8",
    )
    finished = asyncio.run(
        stage.sandbox.run(
            [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider"], stage.scene()
        )
    )
    assert finished.code == 0, finished.output
    assert "5 passed" in finished.output


def test_names_of_files_that_look_like_options_are_names(stage: Stage) -> None:
    (stage.worktree / "--share-net").write_text("", "utf-8")
    scene = replace(stage.scene(), read_only=(Path("--share-net"),))
    finished = asyncio.run(stage.sandbox.run(["echo", "--bind", "/", "/"], scene))
    assert (finished.code, finished.output) == (0, "--bind / /\n")


@pytest.mark.skipif(
    os.geteuid() != 0, reason="the other tests run as an ordinary user already"
)
def test_an_ordinary_user_has_the_same_walls() -> None:
    open_sandbox("bubblewrap")
    system = Path("/usr/bin/python3")
    if not system.exists() or _version(system) < (3, 11):
        pytest.skip("no Python that another user can run")
    program = """
import asyncio, os, sys, tempfile
from pathlib import Path
from agentos.proving.sandbox import Mounts, SandboxLimits, find_sandbox
sandbox = find_sandbox({"AGENTOS_SANDBOX": "bubblewrap", "PATH": "/usr/bin:/bin"})
with tempfile.TemporaryDirectory() as folder:
    for code in ("import os\\nwhile True:\\n    os.fork()", "a = []\\nwhile True:\\n    a.append(os.urandom(3000000))"):
        scene = Mounts(Path(folder), limits=SandboxLimits(seconds=60, processes=20, memory=100_000_000))
        finished = asyncio.run(sandbox.run(["/usr/bin/python3", "-c", "import os\\n" + code], scene))
        print(finished.reason.value)
"""
    finished = subprocess.run(
        [
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            str(system),
            "-c",
            program,
        ],
        env={
            "PYTHONPATH": str(Path(__file__).parents[3]),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        cwd="/",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if "ModuleNotFoundError" in finished.stderr or "PermissionError" in finished.stderr:
        pytest.skip("another user cannot read this checkout")
    assert finished.stdout.split() == ["too-many-processes", "out-of-memory"], (
        finished.stderr
    )


def _version(python: Path) -> tuple[int, ...]:
    program = "import sys; print(*sys.version_info[:2])"
    told = subprocess.run(
        [python, "-c", program], capture_output=True, text=True, check=False
    ).stdout
    return tuple(map(int, told.split()))
