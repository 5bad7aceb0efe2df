"""What is asked of a test runner, and what it asks to have executed."""

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
    """Files within the folder of which the executed lines are wanted; those that are not Python are ignored."""
    beside: tuple[Path, ...] = ()
    """Folders beside the worktree from which its tests may import, as far as they are there."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """A command that is ready to be executed."""

    command: tuple[str, ...]
    environ: Mapping[str, str]
    readable: tuple[Path, ...]
    """Folders outside the worktree and the environment that the command has to be able to read."""
    results: Path
    key: bytes
    """Seals the report; known to nobody but the reader and, until the tests are loaded, the reporter."""
    coverage_files: tuple[str, ...] = ()


class Ended(Protocol):
    """The end of an executed command."""

    @property
    def code(self) -> int | None:
        """Return the exit code; none when it was killed."""

    @property
    def output(self) -> bytes | str:
        """Return what it printed."""

    @property
    def reason(self) -> str:
        """Return why it was stopped; empty when it ended by itself."""
