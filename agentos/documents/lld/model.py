"""A low-level design as data; positions do not count when two designs are compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from agentos.documents.blocks import Block, Code, Grid, Listing, Part, Prose
from agentos.documents.issue import FileChange, Question
from agentos.documents.lld.log import ReviewLog
from agentos.documents.markdown import Line


@dataclass(frozen=True, slots=True)
class LldSection:
    """One of the numbered sections, subsections included."""

    number: str
    """`3` or `10.1`."""
    title: str
    line: int = field(compare=False)
    lines: tuple[Line, ...] = field(repr=False, compare=False)
    parts: tuple[Part, ...] = field(default=(), repr=False)
    """The section itself and its subsections."""

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing stands under the heading but other headings, rules and empty tables."""
        return not any(_says_something(block) for block in self.blocks)

    @property
    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of the section and its subsections."""
        return (block for part in self.parts for block in part.blocks)

    @property
    def size(self) -> int:
        """Return how many lines the section has that are not blank."""
        return sum(bool(line.text.strip()) for line in self.lines)


def _says_something(block: Block) -> bool:
    match block:
        case Prose(lines=lines):
            return any(row.strip("-*_ \t") for row in lines)
        case Code(lines=lines):
            return any(row.strip() for row in lines)
        case Listing(entries=entries):
            return any(entry.text or entry.more for entry in entries)
        case Grid(rows=rows):
            return any(cell for row in rows for cell in row)
        case _:
            return False


@dataclass(frozen=True, slots=True)
class DeclaredFile(FileChange):
    """A row of the table in section 2.1."""

    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class LldDecision:
    """A row of the table in section 2.7."""

    decision: str
    options: str
    choice: str
    rationale: str
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class LldRequirement:
    """An entry of section 3."""

    id: str
    text: str
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class LldScenario:
    """A row of the table in section 10.1."""

    id: str
    name: str
    type: str
    input: str
    expected: str
    pass_criteria: str
    requirements: tuple[str, ...]
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class LldRisk:
    """A row of the table in section 11."""

    risk: str
    impact: str
    likelihood: str
    mitigation: str
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class DoneItem:
    """An entry of section 12 with the subheading it stands under."""

    text: str
    group: str
    is_checked: bool
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Lld:
    """A design as data: its parts in order, and what they hold."""

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
    """What follows the design and does not belong to it, such as a copy of the issue."""
    cites_requirements: bool
    """Whether the scenarios have a column that names the requirements they test."""
    repeated_sections: tuple[int, ...]
    parts: tuple[Part, ...] = field(repr=False)
    text: str = field(default="", repr=False, compare=False)
    lines: tuple[Line, ...] = field(default=(), repr=False, compare=False)
    trailing_line: int = field(default=0, compare=False)
    ragged_tables: tuple[tuple[int, int], ...] = field(default=(), compare=False)
    """Section number and line of every malformed table row."""
    repeated_lines: tuple[int, ...] = field(default=(), compare=False)
    open_fence: int = field(default=0, compare=False)
    """The line of a fence around the whole that nothing closes, else 0."""
