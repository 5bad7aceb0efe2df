"""The results of a test run, as data that fits into a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, ClassVar


class TestOutcome(StrEnum):
    """How one test ended; only `passed` is green."""

    __test__ = False  # pytest would take it for a class of tests, by its name

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    """Setting up or tearing down failed."""
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"
    DESELECTED = "deselected"
    """Collected, then taken out by an option or a hook of the repository."""
    UNFINISHED = "unfinished"
    """The run ended while this test ran."""
    NOT_RUN = "not-run"
    """The run ended before this test."""


RED = frozenset(
    {TestOutcome.FAILED, TestOutcome.ERROR, TestOutcome.UNFINISHED, TestOutcome.NOT_RUN}
)
"""Outcomes that mean a failure; a skipped or deselected test is neither red nor
green.
"""


@dataclass(frozen=True, slots=True)
class TestResult:
    """One test and its outcome."""

    __test__: ClassVar[bool] = False

    id: str
    base: str
    """The id without the parameters, as it can be found in the source."""
    path: str
    """The file that holds the test."""
    outcome: TestOutcome
    exception: str = ""
    """Type of the exception, with its module unless it is a builtin."""
    message: str = ""
    module: str = ""
    """The module that could not be imported, lacks the name, or whose function was
    called with wrong arguments.
    """
    text: str = ""
    """The traceback as pytest shows it."""
    output: str = ""
    """Captured output and logs."""
    file: str = ""
    line: int = 0
    """Where the repository's own code raised the exception, or where the test is."""


@dataclass(frozen=True, slots=True)
class CollectionError:
    """A file whose tests could not be collected."""

    path: str
    exception: str = ""
    message: str = ""
    module: str = ""
    text: str = ""
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class FileCoverage:
    """The first lines of the statements of a file that ran and of those that did
    not.
    """

    executed: tuple[int, ...]
    missing: tuple[int, ...]
    problem: str = ""
    """Why the file could not be measured; empty when it was."""


@dataclass(frozen=True, slots=True)
class TestRun:
    """The results of one run, which proves nothing when `problem` is not empty."""

    __test__: ClassVar[bool] = False

    tests: tuple[TestResult, ...] = ()
    collection_errors: tuple[CollectionError, ...] = ()
    skipped_files: tuple[str, ...] = ()
    file_reasons: Mapping[str, str] = field(default_factory=dict)
    """Why each of the skipped files is skipped."""
    coverage: Mapping[str, FileCoverage] = field(default_factory=dict)
    problem: str = ""
    seconds: float = 0.0

    @property
    def is_valid(self) -> bool:
        """Tell whether the run can be a proof at all."""
        return not self.problem

    @property
    def passed(self) -> frozenset[str]:
        """Return the ids that passed every time they were run."""
        passed = set()
        others = set()
        for test in self.tests:
            if test.outcome is TestOutcome.PASSED:
                passed.add(test.id)
            else:
                others.add(test.id)
        return frozenset(passed - others)

    def as_data(self) -> dict[str, Any]:
        """Return the run as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> TestRun:
        """Return the run from the values that `as_data` returned."""
        tests = []
        for each in data["tests"]:
            outcome = TestOutcome(each["outcome"])
            tests.append(TestResult(**{**each, "outcome": outcome}))
        errors = [CollectionError(**each) for each in data["collection_errors"]]
        coverage = {name: _coverage(each) for name, each in data["coverage"].items()}
        return cls(
            tests=tuple(tests),
            collection_errors=tuple(errors),
            skipped_files=tuple(data["skipped_files"]),
            file_reasons=data.get("file_reasons", {}),
            coverage=coverage,
            problem=data["problem"],
            seconds=data["seconds"],
        )


def _coverage(data: Mapping[str, Any]) -> FileCoverage:
    return FileCoverage(
        tuple(data["executed"]), tuple(data["missing"]), data["problem"]
    )
