"""What a run of the tests showed, as data that fits into a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, ClassVar


class Outcome(StrEnum):
    """How one test ended; only `passed` is green."""

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


RED = frozenset({Outcome.FAILED, Outcome.ERROR, Outcome.UNFINISHED, Outcome.NOT_RUN})
"""Ends that mean that something is wrong; a skipped or deselected test is neither red nor green."""


@dataclass(frozen=True, slots=True)
class TestResult:
    """One test and its end."""

    __test__: ClassVar[bool] = False

    id: str
    base: str
    """The id without the parameters: what can be counted in the source."""
    path: str
    """The file that holds the test."""
    outcome: Outcome
    exception: str = ""
    """Type of what was raised; with its module unless it is a builtin."""
    message: str = ""
    module: str = ""
    """The module that could not be imported, lacks the name, or whose function was called wrongly."""
    text: str = ""
    """The traceback as pytest shows it."""
    output: str = ""
    """What the test printed and logged."""
    file: str = ""
    line: int = 0
    """Where it was raised in the repository's own code, or where the test stands when nothing was."""


@dataclass(frozen=True, slots=True)
class CollectionError:
    """A file whose tests could not even be collected."""

    path: str
    exception: str = ""
    message: str = ""
    module: str = ""
    text: str = ""
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class FileCoverage:
    """The first lines of the statements of a file that ran and that did not; of one never imported none ran."""

    executed: tuple[int, ...]
    missing: tuple[int, ...]
    problem: str = ""
    """Why the file could not be measured; empty when it was."""


@dataclass(frozen=True, slots=True)
class TestRun:
    """All that one run showed; it proves nothing when `problem` is not empty."""

    __test__: ClassVar[bool] = False

    tests: tuple[TestResult, ...] = ()
    collection_errors: tuple[CollectionError, ...] = ()
    skipped_files: tuple[str, ...] = ()
    coverage: Mapping[str, FileCoverage] = field(default_factory=dict)
    problem: str = ""
    seconds: float = 0.0

    @property
    def is_valid(self) -> bool:
        """Tell whether the run can be a proof at all."""
        return not self.problem

    @property
    def passed(self) -> frozenset[str]:
        """Return the ids that passed, each time that they were run."""
        others = {test.id for test in self.tests if test.outcome is not Outcome.PASSED}
        return frozenset(test.id for test in self.tests) - others

    def as_data(self) -> dict[str, Any]:
        """Return the run as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> TestRun:
        """Return the run that `as_data` made the values of."""
        return cls(
            tests=tuple(TestResult(**{**each, "outcome": Outcome(each["outcome"])}) for each in data["tests"]),
            collection_errors=tuple(CollectionError(**each) for each in data["collection_errors"]),
            skipped_files=tuple(data["skipped_files"]),
            coverage={name: _coverage(each) for name, each in data["coverage"].items()},
            problem=data["problem"],
            seconds=data["seconds"],
        )


def _coverage(data: Mapping[str, Any]) -> FileCoverage:
    return FileCoverage(tuple(data["executed"]), tuple(data["missing"]), data["problem"])
