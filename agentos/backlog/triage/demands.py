"""Read the demands of an issue or a brief, with their places in the text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agentos.backlog.triage.figures import Measure, read_measures
from agentos.documents.brief import parse_brief
from agentos.documents.issue import parse_issue
from agentos.documents.markdown import split_lines
from agentos.kinds import Kind

_LONGEST = 4_000
_MOST_MEASURED = 400
_MARKS = "-*+•0123456789.) \t"

Statements = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Demands:
    """The parts of an item's text that triage looks at."""

    text: str
    title: str
    criteria: Statements
    """What decides whether it is done; the wishes of a brief."""
    requirements: Statements
    """The requirements; the constraints of a brief."""
    open_questions: Statements = ()
    has_criteria: bool = True
    """Whether the criteria have a section of their own."""
    is_aimed: bool = True
    """Whether it states an objective."""

    def lines_of(self, *statements: str) -> tuple[int, ...]:
        """Return the numbers of the lines on which statements begin, if found."""
        lines = split_lines(self.text)
        numbers = [_find_line(lines, statement) for statement in statements]
        return tuple(filter(None, numbers))

    def quote(self, statement: str) -> str:
        """Return a statement in quotation marks, after its line number if known."""
        flat = shorten(statement, 100)
        for line in self.lines_of(statement):
            return f'line {line} "{flat}"'
        return f'"{flat}"'

    def measures(self, owner: str = "") -> Iterator[Measure]:
        """Yield the bounded figures of the criteria and the requirements."""
        statements = self.criteria + self.requirements
        for statement in statements[:_MOST_MEASURED]:
            yield from read_measures(statement, owner)


def read_demands(text: str, workflow: Kind) -> Demands:
    """Read an item's text; never fails."""
    if not workflow.record.takes_issues:
        brief = parse_brief(text)
        return Demands(
            text,
            brief.title,
            _cut(brief.wishes),
            _cut(brief.constraints),
        )
    issue = parse_issue(text)
    requirements = [requirement.text for requirement in issue.requirements]
    unanswered = [each.text for each in issue.open_questions if not each.answer]
    aim = issue.objective or issue.user_story or issue.context
    return Demands(
        text=text,
        title=issue.title,
        criteria=_cut(issue.criteria),
        requirements=_cut(requirements),
        open_questions=_cut(unanswered),
        has_criteria=issue.has_criteria,
        is_aimed=bool(aim),
    )


def _cut(statements: Sequence[str]) -> Statements:
    return tuple(statement[:_LONGEST] for statement in statements)


def _find_line(lines: Sequence[str], statement: str) -> int:
    """Return the number of the line that best matches a statement.

    A line that equals the statement is best. Next is one that the statement begins with
    (the first line of a longer list item), then one that contains its beginning.
    """
    begins = 0
    contains = 0
    for number, line in enumerate(lines, 1):
        bare = _unmark(line)
        if not bare:
            continue
        if bare == statement:
            return number
        if not contains and statement[:60] in line:
            contains = number
        if begins or len(bare) < 8:
            continue
        start = bare.rstrip(":;,. ")
        if statement.startswith(start):
            begins = number
    return begins or contains


def _unmark(line: str) -> str:
    bare = line.strip().lstrip(_MARKS)
    if bare.startswith("[") and bare[2:3] == "]":
        bare = bare[3:]
    return bare.strip()


def shorten(text: str, limit: int) -> str:
    """Return text on one line, cut to a length."""
    words = text[: 2 * limit].split()
    flat = " ".join(words)
    if len(flat) <= limit:
        return flat
    start = flat[: limit - 3].rstrip()
    return f"{start}..."
