"""What an issue or a brief demands, each demand with its place in the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentos.documents.brief import parse_brief
from agentos.documents.issue import parse_issue
from agentos.documents.markdown import split_lines
from agentos.task import Workflow

_LONGEST = 4_000
_MARKS = "-*+•0123456789.) \t"


@dataclass(frozen=True, slots=True)
class Demands:
    """An item's text as the rules of triage see it."""

    text: str
    title: str
    criteria: tuple[str, ...]
    """What decides whether it is done; of a brief, its wishes."""
    requirements: tuple[str, ...]
    """What else it demands; of a brief, its constraints."""
    out_of_scope: tuple[str, ...] = ()
    open_questions: tuple[str, ...] = ()
    defects: tuple[str, ...] = ()
    """Why the workflow would refuse it."""
    is_aimed: bool = True
    """Whether it says what it is for."""

    def line_of(self, statement: str) -> int:
        """Return the line on which a statement begins, 0 when it cannot be told."""
        return find_line(split_lines(self.text), statement)


def read_demands(text: str, workflow: Workflow) -> Demands:
    """Read an item's text; never fails."""
    if workflow is Workflow.ISSUE:
        brief = parse_brief(text)
        return Demands(
            text, brief.title, _cut(brief.wishes), _cut(brief.constraints), defects=brief.defects, is_aimed=True
        )
    issue = parse_issue(text)
    return Demands(
        text=text,
        title=issue.title,
        criteria=_cut(issue.criteria),
        requirements=_cut([requirement.text for requirement in issue.requirements]),
        out_of_scope=_cut(issue.out_of_scope),
        open_questions=_cut([question.text for question in issue.open_questions if not question.answer]),
        defects=issue.defects,
        is_aimed=bool(issue.objective or issue.user_story or issue.context),
    )


def _cut(statements: Sequence[str]) -> tuple[str, ...]:
    return tuple(statement[:_LONGEST] for statement in statements)


def find_line(lines: Sequence[str], statement: str) -> int:
    """Return the number of the line that is the statement, that it begins with, or that has its beginning."""
    begins = contains = 0
    for number, line in enumerate(lines, 1):
        bare = _unmark(line)
        if not bare:
            continue
        if bare == statement:
            return number
        if not begins and len(bare) >= 8 and statement.startswith(bare.rstrip(":;,. ")):
            begins = number
        if not contains and statement[:60] in line:
            contains = number
    return begins or contains


def _unmark(line: str) -> str:
    bare = line.strip().lstrip(_MARKS)
    if len(bare) > 2 and bare[0] == "[" and bare[2] == "]":
        bare = bare[3:]
    return bare.strip()
