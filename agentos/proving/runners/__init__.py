"""Run the tests of a repository with its own interpreter, and read a report that the
tested code cannot forge. Begin with `choosing.py`.
"""

from agentos.proving.runners.registry import (
    RUNNERS,
    Execute,
    TestRunner,
    find_runner,
    run_tests,
)
from agentos.proving.runners.requests import Invocation, RunnerExit, RunRequest
from agentos.proving.runners.runs import (
    CollectionError,
    FileCoverage,
    TestOutcome,
    TestResult,
    TestRun,
)

__all__ = [
    "RUNNERS",
    "CollectionError",
    "Execute",
    "FileCoverage",
    "Invocation",
    "RunRequest",
    "RunnerExit",
    "TestOutcome",
    "TestResult",
    "TestRun",
    "TestRunner",
    "find_runner",
    "run_tests",
]
