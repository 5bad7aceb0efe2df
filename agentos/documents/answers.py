"""What people answered to the questions of reviewers: a file of its own that is read as part of the source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentos.documents.markdown import Kind, fence_opening, is_fence_close, list_marker, scan_rows, split_lines

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
        # No line of the answer may begin another answer, and the first may not pass for the question.
        rows = [f" {row}" if row.startswith(_BEGINS) else row for row in split_lines(answer.text.strip())]
        if rows and rows[0].startswith(">"):
            rows[0] = f" {rows[0]}"
        parts.append(f"{_BEGINS}{date}\n\n{quoted}" + "\n".join(rows))
    return "\n\n".join(parts) + "\n"


def with_answers(source: str, answers: Sequence[Answer]) -> str:
    """Return a source with the answers as settled questions at its end."""
    if not answers:
        return source
    entries = (row for answer in answers for row in _entry(answer))
    return "\n".join([source.rstrip(), *_closing(source), "", "## Open Questions", "", *entries]) + "\n"


def _closing(source: str) -> list[str]:
    """Return the mark that closes the last fence of a source which leaves it open."""
    opened = _open_fence(split_lines(source))
    return [opened] if opened else []


def _entry(answer: Answer) -> list[str]:
    """Write a settled question; all lines of the answer stand inside the entry and none begins anything else."""
    question = " ".join(_inert(answer.question).replace("**Answer:", "Answer:").split()) or "Asked by the reviewer."
    first, *more = _harmless(split_lines(answer.text.strip()))
    if fence_opening(first) or list_marker(first.strip()) is not None:
        first, more = "", [first, *more]
    below = [f"  {row}".rstrip() for row in more]
    return [f"- [x] {question} **Answer:** {first.strip()}".rstrip(), *below]


def _harmless(rows: Sequence[str]) -> list[str]:
    """Escape what would begin a heading or a comment outside code, and close a fence that is left open."""
    kept: list[str] = []
    fence = ""
    for row in rows:
        if fence:
            fence = "" if is_fence_close(row, fence) else fence
            kept.append(row)
            continue
        shown = _inert(row)
        opening = fence_opening(shown)
        if opening:
            fence = opening[0]
        elif shown.strip()[:1] in ("#", "="):
            shown = f"\\{shown.strip()}"
        kept.append(shown)
    return [*kept, fence] if fence else kept


def _inert(text: str) -> str:
    return text.replace("<!--", "&lt;!--")


def _open_fence(rows: Sequence[str]) -> str:
    fence = ""
    for line in scan_rows(rows):
        if line.kind is Kind.FENCE:
            opening = None if fence else fence_opening(line.text)
            fence = opening[0] if opening else ""
    return fence
