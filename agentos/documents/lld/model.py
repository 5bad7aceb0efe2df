"""A low-level design as data; comparing two designs ignores line numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agentos.documents.issue import FileChange, Question
from agentos.documents.lld.log import ReviewLog
from agentos.documents.markdown import Form, Line, LineKind, Lines, Sections
from agentos.documents.tables import split_row

Places = tuple[tuple[int, int], ...]
"""Section number and line of what is malformed."""


@dataclass(frozen=True, slots=True)
class LldSection:
    """A numbered section with its subsections, or a numbered subsection."""

    number: str
    """`3` or `10.1`."""
    title: str
    line: int = field(compare=False)
    lines: Lines = field(repr=False, compare=False)
    parts: Sections = field(repr=False, compare=False)
    """The section itself and its subsections."""

    @property
    def is_empty(self) -> bool:
        """Tell whether the section has only headings, rules and empty tables."""
        return not any(map(_has_content, self.lines))

    @property
    def size(self) -> int:
        """Return the number of lines that are not blank."""
        return sum(1 for line in self.lines if line.text.strip())

    @property
    def end(self) -> int:
        """Return the number of the last line."""
        if not self.lines:
            return self.line
        return self.lines[-1].number


MISSING = LldSection("", "", line=0, lines=(), parts=())
"""Stands for a section that a design does not have."""


def _has_content(line: Line) -> bool:
    if line.kind is LineKind.CODE:
        return line.text.strip() != ""
    if not line.is_text:
        return False
    if line.form is Form.RULE:
        return False
    if line.form is not Form.TABLE:
        return line.text.strip("-*+ \t") != ""
    is_header = line.number <= line.block + 1
    if is_header:
        return False
    return any(split_row(line.text))


@dataclass(frozen=True, slots=True)
class DeclaredFile(FileChange):
    """A row of the table in section 2.1."""

    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class _Located:
    """What is read from one line."""

    line: int = field(default=0, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class LldDecision(_Located):
    """A row of the table in section 2.7."""

    decision: str
    options: str
    choice: str
    rationale: str


@dataclass(frozen=True, slots=True)
class LldRequirement(_Located):
    """A requirement of section 3."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class LldScenario(_Located):
    """A row of the table in section 10.1."""

    id: str
    name: str
    type: str
    input: str
    expected: str
    pass_criteria: str
    requirements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LldRisk(_Located):
    """A row of the table in section 11."""

    risk: str
    impact: str
    likelihood: str
    mitigation: str


@dataclass(frozen=True, slots=True)
class DoneItem(_Located):
    """A checklist item of section 12."""

    text: str
    group: str
    """The subheading above the item."""
    is_checked: bool


@dataclass(frozen=True, slots=True)
class Lld:
    """A design as data: its parts in order, and their contents."""

    title: str
    number: int | None
    status: str
    sections: Mapping[int, LldSection]
    subsections: Mapping[str, LldSection]
    files: tuple[DeclaredFile, ...]
    decisions: tuple[LldDecision, ...]
    requirements: tuple[LldRequirement, ...]
    scenarios: tuple[LldScenario, ...]
    risks: tuple[LldRisk, ...]
    done: tuple[DoneItem, ...]
    open_questions: tuple[Question, ...]
    log: ReviewLog | None
    trailing: str
    """The text after the design, such as a copy of the issue."""
    cites_requirements: bool
    """Whether the scenarios have a column that names the requirements they test."""
    repeated_sections: tuple[int, ...]
    parts: Sections = field(repr=False, compare=False)
    """The lines before the first heading, then every heading with its lines."""
    text: str = field(repr=False, compare=False)
    lines: Lines = field(repr=False, compare=False)
    trailing_line: int = field(compare=False)
    ragged_tables: Places = field(compare=False)
    """Rows that do not fit the header of their table."""
    broken_tables: Places = field(compare=False)
    """Rules of tables that do not fit their header, so that there is no table."""
    repeated_lines: tuple[int, ...] = field(compare=False)
    open_fence: int = field(compare=False)
    """The line of an unclosed fence around the whole design, else 0."""

    def row(self, line: int) -> str:
        """Return the text of a line."""
        first = self.lines[0].number
        index = line - first
        return self.lines[index].text
