"""The data of an implementer's answer.

Line numbers do not count when two answers are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

Rows = Sequence[str]
"""The lines of a text, without their line feeds."""
MAX_BYTES = 10_000_000
"""The longest answer that is read."""
MAX_FILE_BYTES = 1_000_000
MAX_FILES = 500
MAX_EDITS = 1_000
"""Maximum number of edits in an answer: each one costs a walk through its file."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Lines to find exactly once and their replacement; each ends with a line feed."""

    search: str
    replace: str
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class WholeFile:
    """A file with its whole new text."""

    path: str
    text: str
    line: int = field(default=0, compare=False)
    reason: str = ""
    """Why the file is needed although the design does not declare it."""
    is_cut: bool = False
    """Whether the answer ends before the block does, so that text may be missing."""
    is_sure: bool = True
    """Whether the block says that it is the whole file. A text below `# Edit:` or in a
    block with the file's name around it may also be a part of the file.
    """
    edits: tuple[Edit, ...] = ()
    """Edits of this text that the same answer has below."""


@dataclass(frozen=True, slots=True)
class EditedFile:
    """An existing file and the edits to apply to it in order."""

    path: str
    edits: tuple[Edit, ...]
    line: int = field(default=0, compare=False)
    reason: str = ""
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Deletion:
    """A file to remove."""

    path: str
    line: int = field(default=0, compare=False)
    reason: str = ""


Change = WholeFile | EditedFile | Deletion


@dataclass(frozen=True, slots=True)
class Problem:
    """A part of an answer that cannot be used.

    `text` names the line and says what to write instead.
    """

    line: int
    text: str


def problem_at(line: int, text: str) -> Problem:
    """Return a problem whose text begins with its line."""
    return Problem(line, f"Line {line}: {text}")


@dataclass(frozen=True, slots=True)
class UnnamedBlock:
    """A fenced block that names no file and so counts as prose."""

    line: int
    info: str


@dataclass(frozen=True, slots=True)
class Contest:
    """The coder's word that a test is wrong."""

    test: str
    reason: str
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Kept:
    """The test writer's word that scenarios are about behavior that exists."""

    scenarios: tuple[str, ...]
    reason: str
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class UnreachableLines:
    """Lines of a file of which it is said that no test can reach them here."""

    path: str
    first: int
    last: int
    reason: str
    line: int = field(default=0, compare=False)

    def __contains__(self, line: int) -> bool:
        """Tell whether a line is one of them."""
        return self.first <= line <= self.last

    def __str__(self) -> str:
        """Return it as one line."""
        lines = f"line {self.first}"
        if self.last > self.first:
            lines = f"lines {self.first}-{self.last}"
        return f"{self.path}, {lines}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of an answer in order, its problems, and its unnamed blocks."""

    changes: tuple[Change, ...] = ()
    problems: tuple[Problem, ...] = ()
    unnamed: tuple[UnnamedBlock, ...] = field(default=(), compare=False)
    blocked: str = ""
    """Why the work cannot go on, empty if it can."""
    contested: tuple[Contest, ...] = ()
    kept: tuple[Kept, ...] = ()
    unreachable: tuple[UnreachableLines, ...] = ()
