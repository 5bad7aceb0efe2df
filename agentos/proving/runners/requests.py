"""The request to a test runner, the command that it prepares, and the command's end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One run of the tests of a repository."""

    folder: Path
    """The worktree; the command is executed in it."""
    python: str
    """The interpreter of the repository's own environment."""
    results: Path
    """A folder of this run alone that the command may write to."""
    selection: tuple[str, ...] = ()
    """Files or ids; all tests of the repository when empty."""
    coverage_files: tuple[str, ...] = ()
    """Files in the folder whose executed lines are recorded; other than Python files
    are ignored.
    """
    beside: tuple[Path, ...] = ()
    """More folders from which the tests may import; missing ones are ignored."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """A command that is ready to be executed."""

    command: tuple[str, ...]
    environ: Mapping[str, str]
    readable: tuple[Path, ...]
    """Folders outside the worktree and the environment that the command must be able to
    read.
    """
    results: Path
    key: bytes
    """Seals the report; only the reader knows it and, until the tests are loaded, the
    reporter.
    """
    coverage_files: tuple[str, ...] = ()


class RunnerExit(Protocol):
    """The end of an executed command."""

    @property
    def code(self) -> int | None:
        """Return the exit code, None when it was killed."""

    @property
    def output(self) -> bytes | str:
        """Return what it printed."""

    @property
    def reason(self) -> str:
        """Return why it was stopped; empty when it ended by itself."""
