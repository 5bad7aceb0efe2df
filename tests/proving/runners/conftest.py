"""Small real repositories, and real runs of their tests."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

from agentos.proving.runners.pytest_runner import PytestRunner
from agentos.proving.runners.registry import run_tests
from agentos.proving.runners.requests import RunRequest
from agentos.proving.runners.runs import TestRun


@dataclass(frozen=True)
class Finished:
    """The end of a real command."""

    code: int | None
    output: bytes
    reason: str = ""


@dataclass
class Repository:
    """A folder with files, whose tests can be run."""

    folder: Path
    runs: int = 0

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text).lstrip("\n"), "utf-8")

    def run(
        self,
        *selection: str,
        coverage: Sequence[str] = (),
        stopped_for: str = "",
        has_plugins: bool = False,
    ) -> TestRun:
        """Run the tests; one that is `stopped_for` a reason is killed when a test
        writes to the pipe `../hanging`.
        """
        self.runs += 1
        results = self.folder.parent / f"results-{self.runs}"
        request = RunRequest(
            self.folder, sys.executable, results, selection, tuple(coverage)
        )

        async def execute(
            command: Sequence[str], variables: Mapping[str, str]
        ) -> Finished:
            kept = {} if has_plugins else {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
            kept |= {
                name: os.environ[name]
                for name in ("PATH", "TMPDIR", "LANG")
                if name in os.environ
            }
            return execute_in(self.folder, command, kept | dict(variables), stopped_for)

        return asyncio.run(run_tests(PytestRunner(), request, execute))


def execute_in(
    folder: Path, command: Sequence[str], environ: Mapping[str, str], stopped_for: str
) -> Finished:
    """Run a command as a real process of its own group."""
    fifo = folder.parent / "hanging"
    if stopped_for:
        os.mkfifo(fifo)
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=dict(environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    if stopped_for:
        with open(os.open(fifo, os.O_RDWR | os.O_NONBLOCK), "rb", buffering=0) as pipe:
            hangs = bool(select.select([pipe], [], [], 60)[0])
        os.killpg(process.pid, signal.SIGKILL)
        assert hangs
        output, _ = process.communicate(timeout=60)
        return Finished(None, output, stopped_for)
    output, _ = process.communicate(timeout=120)
    return Finished(process.returncode, output)


@pytest.fixture
def repository(tmp_path: Path) -> Callable[[Mapping[str, str]], Repository]:
    """Return a maker of a repository in a folder of its own."""

    def make(files: Mapping[str, str]) -> Repository:
        folder = tmp_path / "repository"
        folder.mkdir()
        made = Repository(folder)
        made.write(files)
        return made

    return make
