"""Read what the sections of a design hold: files, decisions, requirements, risks, the definition of done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from agentos.documents.blocks import Entry, Grid, Listing, Part, Prose
from agentos.documents.headings import plain, split_label
from agentos.documents.issue import Question
from agentos.documents.lld.model import (
    DeclaredFile,
    DoneItem,
    LldDecision,
    LldRequirement,
    LldRisk,
    LldSection,
)
from agentos.documents.tables import MOST_COLUMNS, Table
from agentos.documents.words import code_spans

_PREFIXES = {"R": "R", "REQ": "R", "REQUIREMENT": "R", "FR": "FR", "NFR": "NFR", "AC": "AC"}
_STATES = ("draft", "approved", "proposed", "in review", "under review", "blocked", "final", "ready")
_AROUND = " *_`\N{WHITE HEAVY CHECK MARK}\N{HEAVY CHECK MARK}\N{BALLOT BOX WITH CHECK}\N{VARIATION SELECTOR-16}"
"""Emphasis, and marks of approval, which are no part of a status."""
_ANSWERS = ("**answer", "answer:", "**resolved", "decision:")


def read_status(section: LldSection | None) -> str:
    """Return the status that section 1 states, in a line of its own or in a table."""
    for block in section.blocks if section else ():
        rows: Iterable[str] = ()
        if isinstance(block, Grid) and (stated := _table_status(block)):
            return stated
        if isinstance(block, Prose):
            rows = block.lines
        elif isinstance(block, Listing):
            rows = (row for entry in block.entries for row in (entry.text, *entry.more))
        for row in rows:
            label, value = split_label(row)
            if label.casefold() == "status":
                return value.strip(_AROUND)
    return ""


def _table_status(grid: Grid) -> str:
    """Return the cell beside the label, or below it where the label heads a column."""
    for row in grid.rows:
        if len(row) == 2 and plain(row[0]) == "status":
            return row[1].strip(_AROUND)
    names = [plain(cell[:80]) for cell in grid.header[:MOST_COLUMNS]]
    if "status" not in names:
        return ""
    column = names.index("status")
    if len(names) == 2 and column == 0 and (names[1].startswith(_STATES) or not grid.rows):
        return grid.header[1].strip(_AROUND)
    first = grid.rows[0] if grid.rows else ()
    return first[column].strip(_AROUND) if column < len(first) else ""


def read_tables(section: LldSection | None) -> list[Table]:
    """Return the tables of a section."""
    return [block.table for block in section.blocks if isinstance(block, Grid)] if section else []


def read_files(section: LldSection | None) -> Iterator[DeclaredFile]:
    """Yield the declared files; a cell with several paths in backticks gives one each."""
    for table in read_tables(section):
        if table.column("file", "path") is None:
            continue
        for row, line in zip(table.rows, table.row_lines, strict=True):
            change = table.cell(row, "change", "type", "action")
            description = table.cell(row, "descr", "purpose")
            for path in _paths(table.cell(row, "file", "path")):
                yield DeclaredFile(path, change, description, line)


def _paths(cell: str) -> Sequence[str]:
    spans = [span.strip() for span in code_spans(cell) if span.strip()]
    bare = cell.replace("**", "").strip("` ")
    return spans or ([bare] if bare else [])


def read_decisions(section: LldSection | None) -> Iterator[LldDecision]:
    """Yield the rows of the decision table, which has a column for decisions or choices, and one for reasons."""
    for table in read_tables(section):
        columns = _decision_columns(table)
        for row, line in zip(table.rows, table.row_lines, strict=True) if columns else ():
            subject, options, choice, reason = ("" if n is None else row[n] for n in columns or ())
            yield LldDecision(subject, options, choice, reason, line)


def _decision_columns(table: Table) -> tuple[int | None, int | None, int | None, int | None] | None:
    """Return the columns of subject, options, choice and reason; `Decision` may head the subject or the choice."""
    decision = table.column("decision")
    options = table.column("option", "alternative")
    choice = table.column("choice", "chosen", "selected")
    reason = table.column("rationale", "reason", "justification", "why")
    if (decision is None or (reason is None and choice is None)) and (choice is None or reason is None):
        return None
    others = {decision, options, choice, reason}
    if choice is None and 0 not in others:
        return 0, options, decision, reason
    subject = decision if decision is not None and decision != choice else (0 if 0 not in others else choice)
    return subject, options, choice, reason


def read_requirements(section: LldSection | None) -> tuple[LldRequirement, ...]:
    """Return numbered entries and entries with an id; else the rows of a table with ids; else all bullets.

    An entry that names its own id keeps it, others count from 1.
    """
    entries = [entry for part in section.parts for entry in _entries(part)] if section else []
    chosen = [entry for entry in entries if entry.is_ordered or split_id(entry.text)[0]]
    if not chosen:
        rows = tuple(_requirement_rows(section))
        if rows:
            return rows
        chosen = [entry for entry in entries if entry.text]
    found: list[LldRequirement] = []
    for entry in chosen:
        own, text = split_id(entry.whole)
        if text:
            found.append(LldRequirement(own or f"R{len(found) + 1}", text, entry.line))
    return tuple(found)


def _requirement_rows(section: LldSection | None) -> Iterator[LldRequirement]:
    for table in read_tables(section):
        id_column = table.column("id", "#", "req", "no")
        texts = (table.column(name) for name in ("requirement", "description", "text"))
        text_column = next((column for column in texts if column not in (None, id_column)), None)
        if id_column is None or text_column is None:
            continue
        for row, line in zip(table.rows, table.row_lines, strict=True):
            own = requirement_id(row[id_column])
            if row[text_column]:
                yield LldRequirement(own or row[id_column].strip("`* "), row[text_column], line)


def requirement_id(token: str) -> str:
    """Return `R3` for `R3`, `REQ-003`, `#3` or `3`, `FR2` for `FR-2`, and an empty string for anything else."""
    bare = token.strip("`*#()[]:. \t").upper()
    letters = bare[: len(bare) - len(bare.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))]
    digits = bare[len(letters) :].lstrip("-_ ")
    if not (0 < len(digits) < 8 and digits.isdecimal() and digits.isascii()):
        return ""
    if letters and letters not in _PREFIXES:
        return ""
    return f"{_PREFIXES.get(letters, 'R')}{int(digits)}"


def split_id(text: str) -> tuple[str, str]:
    """Split an entry that begins with its own id, such as `**REQ-1:** text`."""
    bare = text.lstrip("*`[( ")
    head = bare[:24]
    letters = len(head) - len(head.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"))
    rest = head[letters:].lstrip("-_ ")
    digits = len(rest) - len(rest.lstrip("0123456789"))
    if not letters or not digits or head[:letters].upper() not in _PREFIXES:
        return "", text
    size = len(head) - len(rest) + digits
    own = requirement_id(bare[:size])
    after = bare[size:]
    mark = after.lstrip("*`)] ")
    if own and (mark[:1] in (":", "-", ".", "—", "\u2013") or after[:1] in ("*", "]", ")", "`")):
        return own, mark.lstrip(":-.—\u2013*` ").strip()
    return "", text


def read_risks(section: LldSection | None) -> Iterator[LldRisk]:
    """Yield the rows of the risk table."""
    for table in read_tables(section):
        if table.column("risk") is None:
            continue
        for row, line in zip(table.rows, table.row_lines, strict=True):
            risk, impact = table.cell(row, "risk"), table.cell(row, "impact")
            yield LldRisk(risk, impact, table.cell(row, "likelihood"), table.cell(row, "mitigation"), line)


def read_done(section: LldSection | None) -> Iterator[DoneItem]:
    """Yield the checklist with the subheading of each entry."""
    for position, part in enumerate(section.parts if section else ()):
        for entry in _entries(part):
            if entry.text:
                yield DoneItem(entry.whole, part.title if position else "", bool(entry.is_checked), entry.line)


def _entries(part: Part) -> Iterator[Entry]:
    return (entry for block in part.blocks if isinstance(block, Listing) for entry in block.entries)


def read_questions(parts: Iterable[Part]) -> tuple[Question, ...]:
    """Return the checklist under the heading `Open Questions`, and bullets there that ask."""
    for part in parts:
        if "question" in part.title.casefold() and plain(part.title).startswith("open questions"):
            asked = (entry for entry in _entries(part) if entry.is_checked is not None or "?" in entry.text)
            return tuple(_question(entry) for entry in asked)
    return ()


def _question(entry: Entry) -> Question:
    text = entry.whole
    lowered = text.casefold()
    places = [place for mark in _ANSWERS if (place := lowered.find(mark)) > 0]
    if not places or len(lowered) != len(text):
        return Question(text, "answered" if entry.is_checked else "")
    answer = text[min(places) :].strip("* ").partition(":")[2].strip("* ")
    return Question(text[: min(places)].strip(), answer or ("answered" if entry.is_checked else ""))
