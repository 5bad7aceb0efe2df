"""Read what a review says beside its decision: findings, coverage, questions and the summary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentos.documents.markdown import Item, items, paragraphs
from agentos.documents.tables import Table, tables
from agentos.documents.verdict.marks import flat, unescape
from agentos.documents.verdict.model import MAX_TEXT, CoverageRow, ResolvedQuestion, VerdictError
from agentos.documents.verdict.nothing import says_nothing
from agentos.documents.verdict.parts import Part
from agentos.documents.verdict.titles import Role, words_of
from agentos.documents.verdict.vocabulary import word_set

NO_SUMMARY = "The reviewer gave no summary."
_OURS = "**Resolved:**"
_MARKERS = (
    "**resolved:**",
    "**resolved**:",
    "**resolved:",
    "resolved:",
    "**answer:**",
    "answer:",
    "**a:**",
    "\u2192",
    "->",
)
_UNCOVERED = word_set("not no none missing gap gaps 0 uncovered partial partially untested fail failed insufficient n")
_COVERED = word_set("covered yes pass passed full fully ok tested complete y 100")


def joined(item: Item) -> str:
    """Return an item with its nested entries as one text."""
    return " ".join([item.text, *item.details]).strip()


def checked_text(text: str, line: int) -> str:
    """Return a text of the review as data, or raise `VerdictError` when it is too long to keep."""
    if len(text) > MAX_TEXT:
        raise VerdictError(f"a text of {len(text)} characters is over {MAX_TEXT}", line)
    return unescape(text)


def read_summary(parts: Sequence[Part], explanation: str) -> str:
    """Return the summary, else why the decision was taken, else what stands under the title."""
    for part in parts:
        if part.role is Role.SUMMARY:
            texts = paragraphs(part.lines)
            if texts:
                return checked_text(flat(" ".join(texts)), part.number)
    if len(explanation.split()) > 2:
        return flat(explanation)[:MAX_TEXT]
    for part in parts:
        if part.role in (Role.VERDICT, Role.REMARKS):
            stated = [text for text in paragraphs(line for line in part.lines) if len(text.split()) > 4]
            if stated:
                return flat(unescape(stated[0][:MAX_TEXT]))
    return NO_SUMMARY


def read_questions(parts: Iterable[Part]) -> tuple[str, ...]:
    """Return the questions that only a person can answer."""
    found = []
    for part in parts:
        if part.role is not Role.QUESTIONS:
            continue
        listed = [(joined(item), item.line) for item in items(part.lines)]
        texts = listed or [(text, part.number) for text in paragraphs(part.lines) if "?" in text]
        found += [checked_text(flat(text), line) for text, line in texts if not says_nothing(text)]
    return tuple(found)


def read_resolved(parts: Iterable[Part]) -> tuple[ResolvedQuestion, ...]:
    """Return the document's open questions that the reviewer answered."""
    found = []
    for part in parts:
        if part.role is Role.RESOLVED:
            for item in items(part.lines):
                resolved = _split_answer(joined(item))
                if resolved is not None:
                    question, answer = (checked_text(flat(text), item.line) for text in resolved)
                    found.append(ResolvedQuestion(question, answer))
    return tuple(found)


def _split_answer(text: str) -> tuple[str, str] | None:
    place, width = text.find(_OURS), len(_OURS)
    if place < 0:
        lowered = text.casefold() if len(text.casefold()) == len(text) else text
        marks = [(start, -len(mark)) for mark in _MARKERS if (start := lowered.find(mark)) >= 0]
        if not marks:
            return None
        place, negative = min(marks)
        width = -negative
    question, answer = text[:place].strip(), text[place + width :].strip()
    if text[place : place + 2] == "**" and text[place + width - 2 : place + width] != "**":
        answer = answer.removesuffix("**").strip()
    if question.startswith("~~") and question.endswith("~~") and len(question) > 4:
        question = question[2:-2].strip()
    return question, answer


def read_coverage(parts: Iterable[Part]) -> tuple[CoverageRow, ...]:
    """Return the rows of the coverage table."""
    found: list[CoverageRow] = []
    for part in parts:
        if part.role is Role.COVERAGE:
            for table in tables(part.lines):
                found += _read_table(table)
    return tuple(found)


def _read_table(table: Table) -> Iterable[CoverageRow]:
    tests = table.column("scenario", "test", "covered by")
    status = table.column("status", "covered", "coverage", "result")
    text = table.column("requirement", "description", "criterion")
    if (status is None and text is None) or (tests is None and (status is None or text is None)):
        return
    named = next((index for index, title in enumerate(table.header) if _is_number(title)), None)
    for cells, line in zip(table.rows, table.row_lines, strict=True):
        scenarios = _split_scenarios(cells[tests]) if tests is not None else ()
        told = cells[status] if status is not None and status != tests else ""
        yield CoverageRow(
            checked_text(flat(cells[named]), line) if named is not None and named != text else "",
            checked_text(flat(cells[text]), line) if text is not None else "",
            tuple(checked_text(name, line) for name in scenarios),
            _is_covered(told, scenarios),
        )


def _is_number(title: str) -> bool:
    return title.strip() == "#" or bool({"id", "req", "no", "nr"}.intersection(words_of(title)))


def _split_scenarios(cell: str) -> tuple[str, ...]:
    names = [flat(name) for name in cell.replace("<br>", ",").split(",")]
    return tuple(name for name in names if name and name not in ("-", "\u2013", "\u2014") and not says_nothing(name))


def _is_covered(told: str, scenarios: Sequence[str]) -> bool:
    words = set(words_of(told))
    if words & _UNCOVERED or any(mark in told for mark in "\u2717\u2718\u274c"):
        return False
    if words & _COVERED or any(mark in told for mark in "\u2713\u2714\u2705"):
        return True
    share = told.replace("*", "").strip().removesuffix("%")
    return bool(scenarios) and not share.isdecimal()
