"""Proofs by running the target repository's own tests: what was red, what is green, and what that rests on."""

from agentos.proofs.feedback import write_feedback
from agentos.proofs.judging import (
    DEFAULT_COVERAGE_TARGET,
    Refusal,
    Regression,
    best_run,
    judge_green,
    judge_red,
    judge_regression,
    judge_reverted,
    score,
    turned_red,
)
from agentos.proofs.requests import Ended, Invocation, RunRequest
from agentos.proofs.runners import RUNNERS, Execute, TestRunner, find_runner, run_tests
from agentos.proofs.runs import CollectionError, FileCoverage, Outcome, TestResult, TestRun

__all__ = [
    "DEFAULT_COVERAGE_TARGET",
    "RUNNERS",
    "CollectionError",
    "Ended",
    "Execute",
    "FileCoverage",
    "Invocation",
    "Outcome",
    "Refusal",
    "Regression",
    "RunRequest",
    "TestResult",
    "TestRun",
    "TestRunner",
    "best_run",
    "find_runner",
    "judge_green",
    "judge_red",
    "judge_regression",
    "judge_reverted",
    "run_tests",
    "score",
    "turned_red",
    "write_feedback",
]
