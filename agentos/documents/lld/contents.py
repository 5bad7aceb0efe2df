"""Read the sections of a design: files, decisions, risks, checklists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from agentos.documents.headings import change_type, plain, split_label
from agentos.documents.issue import Question
from agentos.documents.lld.model import (
    DeclaredFile,
    DoneItem,
    LldDecision,
    LldRisk,
    LldSection,
)
from agentos.documents.markdown import Section, items
from agentos.documents.tables import Table, tables
from agentos.documents.words import code_spans

_PLACE = re.compile(r"(?:::.*|:\d[\d,:-]*)\Z", re.DOTALL)
_BETWEEN = re.compile(r"<br ?/?>|[,;]\s+| and | ?(?:->|→) ?")
_FILE = ("file", "path")
_CHANGE = ("change", "type", "action", "status")
_DESCRIPTION = ("descr", "purpose", "what", "why", "note")
_RISK = ("risk", "impact", "likelihood", "mitigation")
_STATES = (
    "draft",
    "approved",
    "proposed",
    "in review",
    "under review",
    "blocked",
    "final",
    "ready",
)
_AROUND = " *_`\N{WHITE HEAVY CHECK MARK}\N{HEAVY CHECK MARK}\N{BALLOT BOX WITH CHECK}\N{VARIATION SELECTOR-16}"
"""Emphasis and check marks around a status."""
_ANSWER = re.compile(r"\*\*answer|answer:|\*\*resolved|decision:", re.IGNORECASE)


def read_status(section: LldSection) -> str:
    """Return the status that section 1 states, on a line of its own or in a table."""
    for line in section.lines:
        if not line.is_text:
            continue
        if line.is_row:
            continue
        label, value = split_label(line.text)
        if label.casefold() == "status":
            return value.strip(_AROUND)
    for table in tables(section.lines):
        stated = _table_status(table)
        if stated:
            return stated.strip(_AROUND)
    return ""


def _table_status(table: Table) -> str:
    """Return the cell to the right of the label `Status`, or below it."""
    for row in table.rows:
        if len(row) == 2 and plain(row[0]) == "status":
            return row[1]
    names = [plain(cell[:80]) for cell in table.header]
    if "status" not in names:
        return ""
    column = names.index("status")
    # `| Status | Draft |` may be the header itself.
    is_pair = len(names) == 2 and column == 0
    if is_pair and names[1].startswith(_STATES):
        return table.header[1]
    if table.rows:
        return table.rows[0][column]
    if is_pair:
        return table.header[1]
    return ""


def read_files(section: LldSection) -> tuple[DeclaredFile, ...]:
    """Return the declared files, one for each path in the tables."""
    found = []
    for table in tables(section.lines):
        if table.column(*_FILE) is None:
            continue
        for line, row in table.numbered_rows():
            change = table.cell(row, *_CHANGE)
            description = table.cell(row, *_DESCRIPTION)
            cell = table.cell(row, *_FILE)
            for path in _paths(cell):
                file = DeclaredFile(path, change, description, line)
                found.append(file)
    return tuple(found)


def read_listed_files(section: LldSection) -> tuple[DeclaredFile, ...]:
    """Return the files of a list such as ``- `shelf/loans.py` (modify): the lock``."""
    found = []
    for item in items(section.lines):
        spans = code_spans(item.text)
        paths = list(filter(_is_file_name, spans))
        if not paths:
            continue
        path = paths[0]
        before, _, after = item.text.partition(f"`{path}`")
        description = after.strip(" ():*-\u2013—")
        first, _, _ = description.partition(" ")
        change = change_type(before or first, description)
        file = DeclaredFile(
            path=_PLACE.sub("", path),
            change=change,
            description=description,
            line=item.line,
        )
        found.append(file)
    return tuple(found)


def _paths(cell: str) -> list[str]:
    """Return the paths in backticks, else those between commas."""
    stripped = map(str.strip, code_spans(cell))
    spans = list(stripped)
    paths = list(filter(_is_file_name, spans))
    if spans and not paths:
        paths = spans
    if not spans:
        text = cell.replace("**", "")
        bare, _, _ = text.partition(" (")
        paths = _BETWEEN.split(bare)
    found = []
    for path in paths:
        bare = path.strip("` ")
        bare = _PLACE.sub("", bare)
        if bare:
            found.append(bare)
    return found


def _is_file_name(span: str) -> bool:
    """Tell whether code in a cell names a file, and not a function in one."""
    if "(" in span:
        return False
    if "/" in span or "." in span:
        return True
    return span.isupper() or span in ("Makefile", "Dockerfile")


def read_decisions(section: LldSection) -> tuple[LldDecision, ...]:
    """Return the rows of the tables that state decisions and reasons."""
    found = []
    for table in tables(section.lines):
        columns = _decision_columns(table)
        if columns is None:
            continue
        for line, row in table.numbered_rows():
            cells = []
            for column in columns:
                cell = "" if column is None else row[column]
                cells.append(cell)
            decision = LldDecision(*cells, line=line)
            found.append(decision)
    return tuple(found)


def _decision_columns(table: Table) -> tuple[int | None, ...] | None:
    """Return the columns of subject, options, choice and reason, if the table has them.

    `Decision` may be the title of the subject or of the choice.
    """
    decision = table.column("decision")
    options = table.column("option", "alternative")
    choice = table.column("choice", "chosen", "selected")
    reason = table.column("rationale", "reason", "justification", "why")
    missing = [decision, choice, reason].count(None)
    if missing > 1:
        return None
    is_first_free = 0 not in (decision, options, choice, reason)
    subject = decision
    if choice is None and is_first_free:
        subject = 0
        choice = decision
    elif decision is None or decision == choice:
        subject = 0 if is_first_free else choice
    return subject, options, choice, reason


def read_risks(section: LldSection) -> tuple[LldRisk, ...]:
    """Return the rows of the risk table."""
    found = []
    for table in tables(section.lines):
        if table.column("risk") is None:
            continue
        for line, row in table.numbered_rows():
            cells = [table.cell(row, name) for name in _RISK]
            risk = LldRisk(*cells, line=line)
            found.append(risk)
    return tuple(found)


def read_done(section: LldSection) -> tuple[DoneItem, ...]:
    """Return the checklist; each item knows the subheading above it."""
    found = []
    for part in section.parts:
        group = part.title
        if part.line == section.line:
            group = ""
        for item in items(part.body):
            if item.text:
                done = DoneItem(
                    text=item.text,
                    group=group,
                    is_checked=bool(item.is_checked),
                    line=item.line,
                )
                found.append(done)
    return tuple(found)


def read_questions(parts: Iterable[Section]) -> tuple[Question, ...]:
    """Return the checklist under `Open Questions`, and other items with a question mark."""
    for part in parts:
        if plain(part.title).startswith("open questions"):
            return tuple(_questions(part))
    return ()


def _questions(part: Section) -> Iterator[Question]:
    for item in items(part.body):
        if item.is_checked is None and "?" not in item.text:
            continue
        text = item.text
        answer = ""
        # An item that begins with the word has no question before it.
        found = _ANSWER.search(text, 1)
        if found:
            start = found.start()
            rest = text[start:].strip("* ")
            _, _, answer = rest.partition(":")
            text = text[:start].strip()
        answer = answer.strip("* ")
        if item.is_checked and not answer:
            answer = "answered"
        yield Question(text, answer)
