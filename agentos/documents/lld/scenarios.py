"""Read the test scenarios of a design and the requirements that each of them cites."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agentos.documents.lld.contents import requirement_id, split_id
from agentos.documents.lld.model import LldScenario, LldSection
from agentos.documents.tables import Table, tables

Scenarios = tuple[LldScenario, ...]
Ids = tuple[str, ...]

_MAX_CITED = 500
_MAX_IN_RANGE = 100
_MAX_CELL = 2000
_RANGES = ("..", "…", "\u2013", "—", "-", " to ", " through ")
_ALL = frozenset({"all", "all requirements", "all of them", "every requirement", "r*"})
_NUMBERS = frozenset(
    {"no", "nr", "number", "test no", "test nr", "test number", "case no", "s no"}
)
_CITATION = ("requirement", "req", "covers")
_WORD = re.compile(r"[^\W_]+")
_NAMES = frozenset({"test", "test case", "test name", "case", "test scenario"})


def read_scenarios(
    section: LldSection, requirements: Sequence[str]
) -> tuple[Scenarios, bool]:
    """Return the scenarios, and whether a column of their tables cites requirements."""
    found: list[LldScenario] = []
    cites = False
    everything = tuple(requirements[:_MAX_CITED])
    for table in tables(section.lines):
        if table.column("expected", "pass", "scenario", "result") is None:
            continue
        id_column = _id_column(table)
        if id_column is None:
            continue
        if table.column(*_CITATION) is not None:
            cites = True
        scenarios = _read_rows(table, id_column, everything)
        found.extend(scenarios)
    return tuple(found), cites


def _read_rows(table: Table, id_column: int, everything: Ids) -> Iterator[LldScenario]:
    name_column = _name_column(table, id_column)
    for line, row in table.numbered_rows():
        name = ""
        if name_column is not None:
            name = row[name_column]
        cited = table.cell(row, *_CITATION)
        requirements = read_cited(cited)
        bare = cited.strip("`*# ()[].")
        if everything and bare.casefold() in _ALL:
            requirements = everything
        id = row[id_column]
        yield LldScenario(
            id=id.strip("` *"),
            name=name,
            type=table.cell(row, "type"),
            input=table.cell(row, "input", "given"),
            expected=table.cell(row, "expected", "output", "then", "result"),
            pass_criteria=table.cell(row, "pass", "criteria"),
            requirements=requirements,
            line=line,
        )


def _id_column(table: Table) -> int | None:
    """Return the column with the ids, else the one with the names of the tests."""
    titles = _titles(table)
    for index, title in enumerate(titles):
        if "id" in title.split():
            return index
        written = table.header[index]
        if written.strip("*_` ") == "#":
            return index
    for names in (_NUMBERS, _NAMES):
        for index, title in enumerate(titles):
            if title in names:
                return index
    return table.column("id", "#")


def _name_column(table: Table, id_column: int) -> int | None:
    for name in ("scenario", "name", "title", "test", "description"):
        column = table.column(name)
        if column is None:
            continue
        if column != id_column:
            return column
    titles = _titles(table)
    if titles[id_column] in _NAMES:
        return id_column
    return None


def _titles(table: Table) -> list[str]:
    """Return the column titles in lower case, without punctuation."""
    found = []
    for title in table.header:
        beginning = title[:80]
        words = _WORD.findall(beginning.casefold())
        name = " ".join(words)
        found.append(name)
    return found


def read_cited(text: str) -> Ids:
    """Read `R1, R2`, `1 & 2` or `R1-R3`.

    Anything else is kept as it is, so that a finding can name it.
    """
    found: list[str] = []
    flat = _without_remarks(text[:_MAX_CELL])
    for separator in (" and ", ";", "/", "&", "<br>", "+"):
        flat = flat.replace(separator, ",")
    for part in flat.split(","):
        bare = part.strip("`*# ()[]")
        ids = _read_part(bare)
        found.extend(ids)
    return tuple(found[:_MAX_CITED])


def _without_remarks(text: str) -> str:
    """Cut brackets that follow something, as in `R1 (see above)`."""
    before, *rest = text.split("(")
    kept = before
    for piece in rest:
        before = before.rstrip()
        inside, _, after = piece.partition(")")
        is_remark = before and before[-1] not in ",;/&+"
        if not is_remark:
            after = f"{inside} {after}"
        kept += after
        before = after
    return kept


def _read_part(bare: str) -> list[str]:
    """Read one id, several ids between spaces, or a range of ids."""
    own = requirement_id(bare)
    if own:
        return [own]
    if " " in bare:
        words = bare.split()
        ids = [requirement_id(word) for word in words]
        if ids and all(ids):
            return ids
    span = _read_range(bare)
    if span:
        return span
    own = _read_section_number(bare)
    if not own:
        own, _ = split_id(bare)
    if own:
        return [own]
    if bare in ("", "-", "—"):
        return []
    return [bare]


def _read_section_number(bare: str) -> str:
    """Return `R2` for `Section 3.2` or `§3.2`, else an empty string."""
    number = bare.casefold()
    for prefix in ("section ", "§"):
        number = number.removeprefix(prefix)
    number = number.strip()
    number = number.removeprefix("3.")
    if number == bare:
        return ""
    if not number.isdecimal():
        return ""
    return requirement_id(number)


def _read_range(text: str) -> list[str]:
    for mark in _RANGES:
        first, found, last = text.partition(mark)
        if not found:
            continue
        prefix, start = _split(first)
        last_prefix, end = _split(last)
        if not prefix:
            continue
        # The end of `FR1-3` is a bare number, which reads as R3.
        if last_prefix in (prefix, "R"):
            numbers = range(start, end + 1)
            shown = numbers[:_MAX_IN_RANGE]
            return [f"{prefix}{number}" for number in shown]
    return []


def _split(token: str) -> tuple[str, int]:
    """Split an id such as `R12` into `R` and 12; the letters are empty if it is none."""
    id = requirement_id(token)
    letters = id.rstrip("0123456789")
    digits = id.removeprefix(letters)
    if not digits:
        return "", 0
    return letters, int(digits)
