"""Read what the sections of a design hold: files, decisions, requirements, scenarios, risks, the definition of done."""

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
    LldScenario,
    LldSection,
)
from agentos.documents.tables import Table
from agentos.documents.words import code_spans

_PREFIXES = {"R": "R", "REQ": "R", "REQUIREMENT": "R", "FR": "FR", "NFR": "NFR", "AC": "AC"}
_MOST_CITED = 500
_MOST_IN_RANGE = 100
_ANSWERS = ("**answer", "answer:", "**resolved", "decision:")


def read_status(section: LldSection | None) -> str:
    """Return the value of the Status line in section 1."""
    for block in section.blocks if section else ():
        rows: Iterable[str] = ()
        if isinstance(block, Prose):
            rows = block.lines
        elif isinstance(block, Listing):
            rows = (row for entry in block.entries for row in (entry.text, *entry.more))
        for row in rows:
            label, value = split_label(row)
            if label.casefold() == "status":
                return value
    return ""


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
    """Yield the rows of the decision table; a table counts when it has a column for decisions and for reasons."""
    for table in read_tables(section):
        if table.column("decision") is None or table.column("rationale", "reason", "why", "choice") is None:
            continue
        for row, line in zip(table.rows, table.row_lines, strict=True):
            yield LldDecision(
                table.cell(row, "decision"),
                table.cell(row, "option"),
                table.cell(row, "choice", "chosen"),
                table.cell(row, "rationale", "reason", "why"),
                line,
            )


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


def read_scenarios(section: LldSection | None) -> tuple[tuple[LldScenario, ...], bool]:
    """Return the rows of the scenario tables, and whether a column cites the requirements."""
    found: list[LldScenario] = []
    cites = False
    for table in read_tables(section):
        if table.column("expected", "pass", "scenario") is None or table.column("id", "#") is None:
            continue
        cited = table.column("requirement", "req", "covers")
        cites = cites or cited is not None
        found.extend(_scenario(table, row, line) for row, line in zip(table.rows, table.row_lines, strict=True))
    return tuple(found), cites


def _scenario(table: Table, row: tuple[str, ...], line: int) -> LldScenario:
    return LldScenario(
        id=table.cell(row, "id", "#").strip("` *"),
        name=table.cell(row, "scenario", "name", "title"),
        type=table.cell(row, "type"),
        input=table.cell(row, "input", "given"),
        expected=table.cell(row, "expected", "output", "then"),
        pass_criteria=table.cell(row, "pass", "criteria"),
        requirements=read_cited(table.cell(row, "requirement", "req", "covers")),
        line=line,
    )


def read_cited(text: str) -> tuple[str, ...]:
    """Read `R1, R2`, `1 & 2` or `R1-R3`; anything else is kept as it is, so that a check can name it."""
    found: list[str] = []
    flat = text[:2000].replace(" and ", ",")
    for mark in (";", "/", "&", "<br>", "+"):
        flat = flat.replace(mark, ",")
    for part in flat.split(","):
        bare = part.strip("`*# ()[]")
        words = [requirement_id(word) for word in bare.split()]
        if words and all(words) and " " in bare and not requirement_id(bare):
            found.extend(words)
        elif own := requirement_id(bare):
            found.append(own)
        elif span := _range(bare):
            found.extend(span)
        elif bare and bare not in ("-", "—"):
            found.append(bare)
    return tuple(found[:_MOST_CITED])


def _range(text: str) -> list[str]:
    for mark in ("-", "\u2013", "—", "…", ".."):
        first, found, last = text.partition(mark)
        start, end = requirement_id(first), requirement_id(last)
        if found and start[:1] == "R" and end[:1] == "R":
            numbers = range(int(start[1:]), int(end[1:]) + 1)
            return [f"R{n}" for n in numbers[:_MOST_IN_RANGE]]
    return []


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
        if plain(part.title).startswith("open questions"):
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
