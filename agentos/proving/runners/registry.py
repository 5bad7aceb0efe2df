"""The test runners and how they are chosen."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Protocol

from agentos.errors import BadInput
from agentos.proving.runners.pytest_runner import PytestRunner
from agentos.proving.runners.requests import Invocation, RunnerExit, RunRequest
from agentos.proving.runners.runs import TestRun

Execute = Callable[[Sequence[str], Mapping[str, str]], Awaitable[RunnerExit]]
"""Runs a command in the repository's folder with these variables added; returns its
result and does not raise when it fails.
"""


class TestRunner(Protocol):
    """One way to run the tests of a repository."""

    __test__: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Return the name of the runner in reports."""

    def recognizes(self, folder: Path) -> bool:
        """Tell whether the tests in this folder are run this way."""

    def prepare(self, request: RunRequest) -> Invocation:
        """Put what the run needs into its results folder and return the command."""

    def read(self, invocation: Invocation, ended: RunnerExit) -> TestRun:
        """Return the result; that of an untrusted report has a problem."""


RUNNERS: tuple[TestRunner, ...] = (PytestRunner(),)


def find_runner(folder: Path) -> TestRunner:
    """Return the first runner that recognizes the folder."""
    for runner in RUNNERS:
        if runner.recognizes(folder):
            return runner
    names = ", ".join(runner.name for runner in RUNNERS)
    raise BadInput(
        f"{folder.name}: no tests of a known kind ({names}); add a configuration or a"
        " tests folder for one"
    )


def has_runner(folder: Path) -> bool:
    """Tell whether a runner recognizes the folder."""
    return any(runner.recognizes(folder) for runner in RUNNERS)


async def run_tests(
    runner: TestRunner, request: RunRequest, execute: Execute
) -> TestRun:
    """Run the tests once and return the result."""
    invocation = runner.prepare(request)
    started = time.monotonic()
    ended = await execute(invocation.command, invocation.environ)
    seconds = round(time.monotonic() - started, 3)
    run = runner.read(invocation, ended)
    return replace(run, seconds=seconds)
