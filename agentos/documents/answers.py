"""Read and write the file of people's answers to the questions of reviewers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentos.documents.markdown import (
    closing_fence,
    fence_opening,
    is_fence_close,
    list_marker,
    scan,
    split_lines,
)

_HEADING = "## Answer"
_QUESTIONS = "\n\n## Open Questions\n\n"
_ESCAPED = frozenset("#=")
"""Signs that begin a heading or underline one."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A question and a person's answer to it."""

    question: str
    text: str
    date: str = ""


def parse_answers(text: str) -> tuple[Answer, ...]:
    """Read the answers, each below its own heading and its quoted question.

    People may edit the file by hand.
    """
    found: list[tuple[str, list[str]]] = []
    rows: list[str] = []
    for row in split_lines(text):
        if row.startswith(_HEADING):
            heading = row.removeprefix(_HEADING)
            rows = []
            found.append((heading.strip(" ,:()"), rows))
        else:
            rows.append(row.rstrip())
    answers = []
    for date, rows in found:
        answer = _read_answer(date, rows)
        if answer.text:
            answers.append(answer)
    return tuple(answers)


def _read_answer(date: str, rows: Sequence[str]) -> Answer:
    quoted = []
    for row in rows:
        if row and not row.startswith(">"):
            break
        quoted.append(row.lstrip("> "))
    question = _flatten(" ".join(quoted))
    text = "\n".join(rows[len(quoted) :])
    return Answer(question, text.strip(), date)


def _flatten(text: str) -> str:
    return " ".join(text.split())


def render_answers(label: str, answers: Sequence[Answer]) -> str:
    """Write answers in the form that `parse_answers` reads."""
    parts = [f"# Answers for {label}"]
    for answer in answers:
        heading = _HEADING
        if answer.date:
            heading += f", {answer.date}"
        parts.append(heading)
        if answer.question:
            question = _flatten(answer.question)
            parts.append(f"> {question}")
        text = _indent_marks(answer.text)
        parts.append(text)
    return "\n\n".join(parts) + "\n"


def _indent_marks(text: str) -> str:
    """Keep a line of an answer from passing for a heading or for the question."""
    rows: list[str] = []
    for row in split_lines(text.strip()):
        is_quote = not rows and row.startswith(">")
        if is_quote or row.startswith(_HEADING):
            row = f" {row}"
        rows.append(row)
    return "\n".join(rows)


def with_answers(source: str, answers: Sequence[Answer]) -> str:
    """Return a source with the answers as settled questions at its end."""
    if not answers:
        return source
    rows = [source.rstrip()]
    closing = closing_fence(scan(source))
    if closing:
        rows.append(closing)
    rows += ["", "## Open Questions", ""]
    for answer in answers:
        rows += _settled_question(answer)
    return "\n".join(rows) + "\n"


def without_answers(source: str) -> str:
    """Return a source without the answers that `with_answers` put at its end."""
    before, found, after = source.rpartition(_QUESTIONS)
    if not found:
        return source
    for row in split_lines(after):
        is_settled = row.startswith("- [x] ") and "**Answer:**" in row
        is_below = not row.strip() or row.startswith("  ")
        if not is_settled and not is_below:
            return source
    return before


def _settled_question(answer: Answer) -> list[str]:
    """Write a settled question as one list item that holds all lines of the answer."""
    question = show_question(answer.question) or "Asked by the reviewer."
    text = answer.text.strip()
    below = escape_rows(split_lines(text))
    first = below[0].strip()
    # A fence or a list has to begin its own line.
    if fence_opening(below[0]) or list_marker(first) is not None:
        first = ""
    else:
        del below[0]
    item = f"- [x] {question} **Answer:** {first}"
    rows = [item.rstrip()]
    for row in below:
        indented = f"  {row}"
        rows.append(indented.rstrip())
    return rows


def show_question(question: str) -> str:
    """Return a question as it stands in a source that has its answer."""
    asked = _hide_comments(question)
    asked = asked.replace("**Answer:", "Answer:")
    return _flatten(asked)


def escape_rows(rows: Sequence[str]) -> list[str]:
    """Escape headings and comments outside code, and close an open fence."""
    escaped: list[str] = []
    fence = ""
    for row in rows:
        if fence:
            escaped.append(row)
            if is_fence_close(row, fence):
                fence = ""
            continue
        shown = _hide_comments(row)
        opening = fence_opening(shown)
        bare = shown.strip()
        if opening:
            fence = opening[0]
        elif bare[:1] in _ESCAPED or _is_underline(bare):
            shown = f"\\{bare}"
        escaped.append(shown)
    if fence:
        escaped.append(fence)
    return escaped


def _is_underline(bare: str) -> bool:
    return bool(bare) and not bare.strip("-")


def _hide_comments(text: str) -> str:
    return text.replace("<!--", "&lt;!--")
