"""The table of test runners: how one says what to execute, and reads what came of it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Protocol

from agentos.errors import BadInput
from agentos.proofs.pytest_runner import PytestRunner
from agentos.proofs.requests import Ended, Invocation, RunRequest
from agentos.proofs.runs import TestRun

Execute = Callable[[Sequence[str], Mapping[str, str]], Awaitable[Ended]]
"""Runs a command in the repository's folder with these variables added, and returns its end; never raises for it."""


class TestRunner(Protocol):
    """One way to run the tests of a repository."""

    __test__: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Return what the runner is called in reports."""

    def recognises(self, folder: Path) -> bool:
        """Tell whether the tests in this folder are run this way."""

    def prepare(self, request: RunRequest) -> Invocation:
        """Put what the run needs into its results folder and return the command."""

    def read(self, invocation: Invocation, ended: Ended) -> TestRun:
        """Return what the run showed; a report that cannot be trusted is a run with a problem."""


RUNNERS: tuple[TestRunner, ...] = (PytestRunner(),)


def find_runner(folder: Path) -> TestRunner:
    """Return the first runner that recognises the folder."""
    for runner in RUNNERS:
        if runner.recognises(folder):
            return runner
    names = ", ".join(runner.name for runner in RUNNERS)
    raise BadInput(f"{folder.name}: no tests of a known kind ({names}); add a configuration or a tests folder for one")


def has_runner(folder: Path) -> bool:
    """Tell whether there is anything in the folder that one of the runners would run."""
    return any(runner.recognises(folder) for runner in RUNNERS)


async def run_tests(runner: TestRunner, request: RunRequest, execute: Execute) -> TestRun:
    """Run the tests once and return what that showed."""
    invocation = runner.prepare(request)
    started = time.monotonic()
    ended = await execute(invocation.command, invocation.environ)
    return replace(runner.read(invocation, ended), seconds=round(time.monotonic() - started, 3))
