"""What people answered to the questions of reviewers: a file of its own that is read as part of the source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentos.documents.markdown import split_lines

_BEGINS = "## Answer"


@dataclass(frozen=True, slots=True)
class Answer:
    """A question and what a person answered."""

    question: str
    text: str
    date: str = ""


def parse_answers(text: str) -> tuple[Answer, ...]:
    """Read answers, each below its own heading, the question quoted above it; people may edit the file by hand."""
    found: list[tuple[str, list[str]]] = []
    for row in split_lines(text):
        if row.startswith(_BEGINS):
            found.append((row.removeprefix(_BEGINS).strip(" ,:()"), []))
        elif found:
            found[-1][1].append(row.rstrip())
    answers = (_split(date, rows) for date, rows in found)
    return tuple(answer for answer in answers if answer.text)


def _split(date: str, rows: Sequence[str]) -> Answer:
    quoted = []
    position = 0
    while position < len(rows) and (not rows[position] or rows[position].startswith(">")):
        quoted.append(rows[position].lstrip("> "))
        position += 1
    return Answer(" ".join(" ".join(quoted).split()), "\n".join(rows[position:]).strip(), date)


def render_answers(label: str, answers: Sequence[Answer]) -> str:
    """Write answers in the form that `parse_answers` reads."""
    parts = [f"# Answers for {label}"]
    for answer in answers:
        date = f", {answer.date}" if answer.date else ""
        quoted = f"> {' '.join(answer.question.split())}\n\n" if answer.question else ""
        # A line of the answer must neither begin another answer nor pass for the question.
        rows = [f" {row}" if row.startswith((_BEGINS, ">")) else row for row in split_lines(answer.text.strip())]
        parts.append(f"{_BEGINS}{date}\n\n{quoted}" + "\n".join(rows))
    return "\n\n".join(parts) + "\n"


def with_answers(source: str, answers: Sequence[Answer]) -> str:
    """Return a source with the answers as settled questions at its end."""
    if not answers:
        return source
    rows = (
        f"- [x] {answer.question or 'Asked by the reviewer.'} **Answer:** {' '.join(answer.text.split())}"
        for answer in answers
    )
    return f"{source.rstrip()}\n\n## Open Questions\n\n" + "\n".join(rows) + "\n"
