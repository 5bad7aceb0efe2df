"""What an implementer answers, as data; positions do not count when two answers are compared."""

from __future__ import annotations

from dataclasses import dataclass, field

MOST_BYTES = 10_000_000
"""The longest answer that is read."""
MOST_FILE_BYTES = 1_000_000
MOST_FILES = 500
MOST_EDITS = 1_000
"""How many sections all edits of an answer may have: each one costs a walk through its file."""


@dataclass(frozen=True, slots=True)
class WholeFile:
    """A file with its whole new text."""

    path: str
    text: str
    line: int = field(default=0, compare=False)
    reason: str = ""
    """Why the file is needed although the design does not declare it."""
    is_cut: bool = False
    """Whether the answer ends before the block does, so that the text may lack its end."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Lines to be found exactly once, and the lines that take their place; each ends with a line feed."""

    search: str
    replace: str
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class EditedFile:
    """An existing file with the edits that make it new, in order."""

    path: str
    edits: tuple[Edit, ...]
    line: int = field(default=0, compare=False)
    reason: str = ""
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Deletion:
    """A file that is to be removed."""

    path: str
    line: int = field(default=0, compare=False)
    reason: str = ""


Change = WholeFile | EditedFile | Deletion


@dataclass(frozen=True, slots=True)
class Problem:
    """What cannot be used of an answer; `text` names the line and says what to write instead."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class UnnamedBlock:
    """A fenced block that names no file, and so counts as prose."""

    line: int
    info: str


@dataclass(frozen=True, slots=True)
class Changes:
    """An answer: what it changes in order, what is wrong with it, and which blocks belong to no file."""

    changes: tuple[Change, ...] = ()
    problems: tuple[Problem, ...] = ()
    unnamed: tuple[UnnamedBlock, ...] = field(default=(), compare=False)
