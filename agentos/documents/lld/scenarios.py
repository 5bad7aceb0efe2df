"""Read the test scenarios of a design and the requirements that each of them cites."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from agentos.documents.hazards import is_unfilled
from agentos.documents.lld.citations import Ids, KnownIds, find_named, read_cited
from agentos.documents.lld.model import LldScenario, LldSection
from agentos.documents.tables import Cells, Table, tables

Scenarios = tuple[LldScenario, ...]
Links = dict[str, dict[str, None]]
"""The requirements that tables outside 10.1 give to each scenario."""

_PASSES = ("pass", "criteria", "assert")
_RESULTS = (
    "expected",
    "output",
    "then",
    "result",
    "outcome",
    *_PASSES,
)
_CITATION = ("requirement", "req", "covers", "criterion")
_SCENARIO = ("scenario", "test", "verified")
_MOST_CELLS = 50
_MOST_ROWS = 400
_MOST_NAMED = 20
_MOST_MATRICES = 3
_HALF = 0.5
_NUMBERS = frozenset(
    {"no", "nr", "number", "test no", "test nr", "test number", "case no", "s no"}
)
_WORD = re.compile(r"[^\W_]+")
_NAMES = frozenset({"test", "test case", "test name", "case", "test scenario"})


def read_scenarios(
    sections: Sequence[LldSection],
    others: Sequence[LldSection],
    known: KnownIds,
) -> tuple[Scenarios, bool]:
    """Return the scenarios, and whether they cite requirements.

    The first of the sections that has scenarios counts. Tables of the other sections
    may say which scenarios test a requirement.
    """
    scenarios: list[LldScenario] = []
    has_column = False
    for section in sections:
        for table in tables(section.lines):
            found = list(_read_table(table, known))
            scenarios += found
            column = table.column(*_CITATION)
            if column is None:
                continue
            if any(map(_cites, found)):
                has_column = True
        if scenarios:
            break
    links = _read_links(others, known)
    linked = []
    citing = 0
    for scenario in scenarios:
        more = links.get(scenario.id, {})
        ids = dict.fromkeys([*scenario.requirements, *more])
        scenario = replace(scenario, requirements=tuple(ids))
        linked.append(scenario)
        citing += _cites(scenario)
    # An id in the text of a single scenario may be there by chance.
    is_usual = citing >= _HALF * len(linked)
    cites = has_column or (citing > 0 and is_usual)
    return tuple(linked), cites


def _cites(scenario: LldScenario) -> bool:
    return len(scenario.requirements) > 0


def _read_table(table: Table, known: KnownIds) -> Iterator[LldScenario]:
    """Yield the rows of a table that says what is expected."""
    id_column = _id_column(table)
    if id_column is None:
        return
    if not _is_plan(table):
        return
    name_column = _name_column(table, id_column)
    for line, row in table.numbered_rows():
        name = ""
        if name_column is not None:
            name = row[name_column]
        id = row[id_column]
        yield LldScenario(
            id=id.strip("` *"),
            name=name,
            type=table.cell(row, "type"),
            input=table.cell(row, "input", "given"),
            expected=table.cell(row, *_RESULTS),
            pass_criteria=table.cell(row, *_PASSES),
            requirements=_read_row(table, row, known),
            line=line,
        )


def _read_row(table: Table, row: Cells, known: KnownIds) -> Ids:
    """Return the requirements that a row cites, in their column or anywhere else."""
    text = " | ".join(row[:_MOST_CELLS])
    if is_unfilled(text):
        return ()
    cell = table.cell(row, *_CITATION)
    cited = read_cited(cell, known)
    named = find_named(text, known)
    both = dict.fromkeys([*cited, *named])
    return tuple(both)


def _is_plan(table: Table) -> bool:
    return table.column(*_RESULTS) is not None


def _read_links(sections: Sequence[LldSection], known: KnownIds) -> Links:
    """Read tables such as `| Requirement | Scenarios |`."""
    links: Links = {}
    for section in sections:
        found = tables(section.lines)
        for table in found[:_MOST_MATRICES]:
            if not _is_plan(table):
                _read_matrix(table, known, links)
    return links


def _read_matrix(table: Table, known: KnownIds, links: Links) -> None:
    left = 0
    right = table.column(*_SCENARIO)
    if right is None or len(table.header) < 2:
        return
    if table.column(*_CITATION) is None:
        return
    if right == 0:
        left = 1
    for row in table.rows[:_MOST_ROWS]:
        cited = read_cited(row[left], known)
        cell = row[right].replace(",", " ")
        tokens = cell.split()
        for token in tokens[:_MOST_NAMED]:
            id = token.strip("`*()[];.")
            ids = links.setdefault(id, {})
            for requirement in cited:
                ids[requirement] = None


def _id_column(table: Table) -> int | None:
    """Return the column with the ids, else the one with the names of the tests."""
    titles = _titles(table)
    for index, title in enumerate(titles):
        words = title.split()
        if "id" in words and "req" not in title:
            return index
        written = table.header[index]
        bare = written.strip("*_` ")
        if bare == "#":
            return index
    for names in (_NUMBERS, _NAMES):
        for index, title in enumerate(titles):
            if title in names:
                return index
    return table.column("id", "#", "scenario")


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
