"""Read the sections of a design: files, decisions, requirements, risks, checklists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

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
from agentos.documents.markdown import Section, items
from agentos.documents.tables import Table, tables
from agentos.documents.words import code_spans

_PREFIXES = {
    "": "R",
    "R": "R",
    "REQ": "R",
    "REQUIREMENT": "R",
    "FR": "FR",
    "NFR": "NFR",
    "AC": "AC",
}
_ID = re.compile(r"([A-Za-z]*)[-_ ]*([0-9]{1,7})")
_OWN_ID = re.compile(
    r"[*`\[( ]*([A-Za-z]+[-_ ]*[0-9]{1,7})"
    r"(?=[*`)\]]|[:.\-—\u2013]| [*`)\] ]*[:.\-—\u2013])"
)
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
    """Return the declared files, one for each path in backticks."""
    found = []
    for table in tables(section.lines):
        if table.column("file", "path") is None:
            continue
        for line, row in table.numbered_rows():
            change = table.cell(row, "change", "type", "action")
            description = table.cell(row, "descr", "purpose")
            for path in _paths(table.cell(row, "file", "path")):
                file = DeclaredFile(path, change, description, line)
                found.append(file)
    return tuple(found)


def _paths(cell: str) -> list[str]:
    """Return the paths in backticks, else the whole cell as a path."""
    spans = map(str.strip, code_spans(cell))
    paths = list(filter(None, spans))
    if paths:
        return paths
    bare = cell.replace("**", "").strip("` ")
    if not bare:
        return []
    return [bare]


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
            found.append(LldDecision(*cells, line=line))
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


def read_requirements(section: LldSection) -> tuple[LldRequirement, ...]:
    """Return numbered items and items with an id, else rows with ids, else all items.

    An item that names its own id keeps it; the others are counted from 1.
    """
    listed = items(section.lines)
    chosen = [item for item in listed if item.is_ordered or split_id(item.text)[0]]
    if not chosen:
        rows = tuple(_requirement_rows(section))
        if rows:
            return rows
        chosen = list(listed)
    found: list[LldRequirement] = []
    for item in chosen:
        id, text = split_id(item.text)
        if not id:
            id = f"R{len(found) + 1}"
        if text:
            requirement = LldRequirement(id, text, line=item.line)
            found.append(requirement)
    return tuple(found)


def _requirement_rows(section: LldSection) -> Iterator[LldRequirement]:
    for table in tables(section.lines):
        id_column = table.column("id", "#", "req", "no")
        text_column = _text_column(table, id_column)
        if id_column is None:
            continue
        if text_column is None:
            continue
        for line, row in table.numbered_rows():
            id = row[id_column]
            text = row[text_column]
            if text:
                own = requirement_id(id) or id.strip("`* ")
                yield LldRequirement(own, text, line=line)


def _text_column(table: Table, id_column: int | None) -> int | None:
    for name in ("requirement", "description", "text"):
        column = table.column(name)
        if column not in (None, id_column):
            return column
    return None


def requirement_id(token: str) -> str:
    """Return `R3` for `R3`, `REQ-003`, `#3` or `3`, `FR2` for `FR-2`, else nothing."""
    found = _ID.fullmatch(token.strip("`*#()[]:. \t"))
    if found is None:
        return ""
    letters, digits = found.groups()
    prefix = _PREFIXES.get(letters.upper())
    if prefix is None:
        return ""
    return f"{prefix}{int(digits)}"


def split_id(text: str) -> tuple[str, str]:
    """Split an item that begins with its own id, such as `**REQ-1:** text`."""
    found = _OWN_ID.match(text)
    if found is None:
        return "", text
    own = requirement_id(found[1])
    if not own:
        return "", text
    after = text[found.end() :].lstrip("*`)] ")
    return own, after.lstrip(":-.—\u2013*` ").strip()


def read_risks(section: LldSection) -> tuple[LldRisk, ...]:
    """Return the rows of the risk table."""
    found = []
    for table in tables(section.lines):
        if table.column("risk") is None:
            continue
        for line, row in table.numbered_rows():
            cells = [table.cell(row, name) for name in _RISK]
            found.append(LldRisk(*cells, line=line))
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
                is_checked = bool(item.is_checked)
                done = DoneItem(item.text, group, is_checked, line=item.line)
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
            _, _, answer = text[start:].strip("* ").partition(":")
            text = text[:start].strip()
        answer = answer.strip("* ")
        if item.is_checked and not answer:
            answer = "answered"
        yield Question(text, answer)
