"""Run every way out of a sandbox as a generated test: behind bubblewrap only the
worktree is open.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil

from agentos.errors import UsageError
from agentos.proving.sandbox import (
    Mounts,
    Sandbox,
    SandboxLimits,
    find_sandbox,
    read_result,
)
from agentos.proving.sandbox.visible_folders import environment_folders, private_places
from tests.faults import breakout
from tests.faults.figures import Figures, main
from tests.support import ROOT

OTHER_USER = 12345
ALLOWED = {"write_worktree"}
GIT = "gitdir: ../repository/.git/worktrees/worktree\n"
GIVEN = "def test_given(): assert True\n"


def measure(seed: int, count: int, folder: Path) -> Figures:
    """Try to get out of each sandbox, so many times."""
    figures = Figures("escape", seed, count, {"probes": len(breakout.PROBES)})
    for number in range(1, count + 1):
        for name in ("bubblewrap", "plain"):
            try:
                sandbox = find_sandbox(
                    {
                        "AGENTOS_SANDBOX": name,
                        "PATH": os.environ.get("PATH", os.defpath),
                    }
                )
            except UsageError as error:
                figures.values[name] = str(error)
                continue
            escaped = _attack(figures, sandbox, folder / f"{name}-{number}")
            figures.values[f"{name}_escapes"] = sorted(escaped - ALLOWED)
            figures.values[f"{name}_denied"] = len(breakout.PROBES) - len(escaped)
            if name == "bubblewrap":
                figures.expect(
                    escaped == ALLOWED,
                    f"{name}: got out by {sorted(escaped - ALLOWED)}",
                )
    return figures


def _attack(figures: Figures, sandbox: Sandbox, folder: Path) -> set[str]:
    """Lay everything out, run the probes, and return those that got what they
    wanted.
    """
    with _laid_out(folder) as aim:
        results, worktree = folder / "results", folder / "worktree"
        scene = Mounts(
            folder=worktree,
            readable=environment_folders(
                Path(sys.prefix), Path(sys.base_prefix), private_places(os.environ)
            ),
            read_only=(worktree / "tests/test_given.py",),
            results=results,
            environ={"RESULTS": str(results), "PYTHONDONTWRITEBYTECODE": "1"},
            limits=SandboxLimits(seconds=120),
        )
        python = str(Path(sys.prefix, "bin/python"))
        command = [
            python,
            "-m",
            "pytest",
            "-q",
            "-s",
            "-p",
            "no:cacheprovider",
            "test_generated.py",
        ]
        finished = asyncio.run(sandbox.run(command, scene))
        written = read_result(results / breakout.OUTCOME, 100_000)
        figures.expect(
            finished.code == 0,
            f"{sandbox.name}: {finished.explain()}: {finished.output[-800:]}",
        )
        figures.expect(
            written is not None, f"{sandbox.name}: the probes did not come to their end"
        )
        outcome: dict[str, bool] = json.loads(written or b"{}")
        escaped = {name for name, is_open in outcome.items() if is_open}
        return escaped | _look_around(aim, folder)


def _look_around(aim: dict[str, Any], folder: Path) -> set[str]:
    """Return the probes whose traces are found outside, whatever they said
    themselves.
    """
    traces = {
        "write_temporary": Path(aim["temporary"]).exists(),
        "write_home": Path(aim["home"], ".profile").read_text("utf-8") != "",
        "write_repository": Path(aim["repository"], "README.md").read_text("utf-8")
        != "mine",
        "write_other_worktree": Path(aim["other_worktree"], "code.py").read_text(
            "utf-8"
        )
        != "",
        "redirect_git": (folder / "worktree/.git").read_text("utf-8") != GIT,
        "rewrite_tests": (folder / "worktree/tests/test_given.py").read_text("utf-8")
        != GIVEN,
        "signal_process": not psutil.pid_exists(aim["victim"]),
        "stay_alive": _end_survivors(aim["survivor"]) > 0,
    }
    Path(aim["temporary"]).unlink(missing_ok=True)
    return {name for name, is_there in traces.items() if is_there}


def _end_survivors(mark: str) -> int:
    survivors = 0
    for process in psutil.process_iter():
        try:
            if mark in process.cmdline():
                survivors += 1
                process.kill()
        except psutil.Error:
            continue
    return survivors


@contextmanager
def _laid_out(folder: Path) -> Iterator[dict[str, Any]]:
    """Lay out a home with keys, repositories, servers and a process, all outside the
    worktree.
    """
    canary, secret = f"canary-{uuid4().hex}", f"key-{uuid4().hex}"
    aim: dict[str, Any] = {
        "canary": canary,
        "secret": secret,
        "survivor": f"survivor-{uuid4().hex}",
        "agentos_home": str(folder / "home/.agentos"),
        "home": str(folder / "home"),
        "temporary": str(Path(tempfile.gettempdir(), f"escaped-{uuid4().hex}")),
        "repository": str(folder / "repository"),
        "other_worktree": str(folder / "other-worktree"),
        "unix_socket": str(folder / "home/engine.sock"),
        "abstract_socket": f"agentos-{uuid4().hex}",
        "foreign": str(folder / "foreign"),
    }
    _write_files(folder, canary)
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        aim["port"] = server.getsockname()[1]
        for address in (aim["unix_socket"], "\0" + aim["abstract_socket"]):
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(address)
            listener.listen()
        program = [sys.executable, "-c", "import time; time.sleep(1000)", canary]
        victim = stack.enter_context(
            subprocess.Popen(program, env={"GEMINI_API_KEY": secret})
        )
        stack.callback(victim.kill)
        aim["victim"] = victim.pid
        os.environ["AGENTOS_TEST_API_KEY"] = secret
        stack.callback(os.environ.pop, "AGENTOS_TEST_API_KEY", None)
        (folder / "results" / breakout.AIM).write_text(json.dumps(aim), "utf-8")
        yield aim


def _write_files(folder: Path, canary: str) -> None:
    for path, text in {
        "home/.agentos/keys.toml": canary,
        "home/.ssh/id_ed25519": canary,
        "home/.profile": "",
        "repository/README.md": "mine",
        "other-worktree/code.py": "",
        "worktree/.git": GIT,
        "worktree/tests/test_given.py": GIVEN,
        "results/ready": "",
        "foreign": canary,
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    if os.geteuid() == 0:
        os.chown(folder / "foreign", OTHER_USER, OTHER_USER)
        (folder / "foreign").chmod(0o600)
    shutil.copy(
        ROOT / "tests/faults/breakout.py", folder / "worktree/test_generated.py"
    )


if __name__ == "__main__":
    raise SystemExit(main(measure, 3))
