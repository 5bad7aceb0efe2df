"""Read the test scenarios of a design, and which requirements each of them cites."""

from __future__ import annotations

from collections.abc import Sequence

from agentos.documents.lld.contents import read_tables, requirement_id, split_id
from agentos.documents.lld.model import LldScenario, LldSection
from agentos.documents.tables import Table

_MOST_CITED = 500
_MOST_IN_RANGE = 100
_LONGEST_CELL = 2000
_RANGES = ("..", "…", "\u2013", "—", "-", " to ", " through ")
_ALL = frozenset({"all", "all requirements", "all of them", "every requirement", "r*"})
_NUMBERS = frozenset({"no", "nr", "number", "test no", "test nr", "test number", "case no", "s no"})
_NAMES = frozenset({"test", "test case", "test name", "case", "test scenario"})


def read_scenarios(section: LldSection | None, requirements: Sequence[str]) -> tuple[tuple[LldScenario, ...], bool]:
    """Return the rows of the scenario tables, and whether a column cites the requirements."""
    found: list[LldScenario] = []
    cites = False
    everything = tuple(requirements[:_MOST_CITED])
    for table in read_tables(section):
        id_column = _id_column(table)
        if table.column("expected", "pass", "scenario", "result") is None or id_column is None:
            continue
        cites = cites or table.column("requirement", "req", "covers") is not None
        name_column = _name_column(table, id_column)
        for row, line in zip(table.rows, table.row_lines, strict=True):
            found.append(_scenario(table, row, line, (id_column, name_column), everything))
    return tuple(found), cites


def _id_column(table: Table) -> int | None:
    """Return the column of the ids; a table without one goes by the names of its tests."""
    titles = _titles(table)
    for index, title in enumerate(titles):
        if "id" in title.split() or table.header[index].strip("*_` ") == "#":
            return index
    for names in (_NUMBERS, _NAMES):
        for index, title in enumerate(titles):
            if title in names:
                return index
    return table.column("id", "#")


def _name_column(table: Table, id_column: int) -> int:
    for name in ("scenario", "name", "title", "test", "description"):
        column = table.column(name)
        if column is not None and column != id_column:
            return column
    return id_column if _titles(table)[id_column] in _NAMES else -1


def _titles(table: Table) -> list[str]:
    flat = (title[:80].casefold() for title in table.header)
    return [" ".join("".join(c if c.isalnum() else " " for c in title).split()) for title in flat]


def _scenario(
    table: Table, row: tuple[str, ...], line: int, columns: tuple[int, int], everything: tuple[str, ...]
) -> LldScenario:
    return LldScenario(
        id=row[columns[0]].strip("` *"),
        name=row[columns[1]] if columns[1] >= 0 else "",
        type=table.cell(row, "type"),
        input=table.cell(row, "input", "given"),
        expected=table.cell(row, "expected", "output", "then", "result"),
        pass_criteria=table.cell(row, "pass", "criteria"),
        requirements=_cited(table.cell(row, "requirement", "req", "covers"), everything),
        line=line,
    )


def _cited(cell: str, everything: tuple[str, ...]) -> tuple[str, ...]:
    return everything if cell.strip("`*# ()[].").casefold() in _ALL and everything else read_cited(cell)


def read_cited(text: str) -> tuple[str, ...]:
    """Read `R1, R2`, `1 & 2` or `R1-R3`; anything else is kept as it is, so that a check can name it."""
    found: list[str] = []
    flat = _without_remarks(text[:_LONGEST_CELL]).replace(" and ", ",")
    for mark in (";", "/", "&", "<br>", "+"):
        flat = flat.replace(mark, ",")
    for part in flat.split(","):
        found.extend(_read_part(part.strip("`*# ()[]")))
    return tuple(found[:_MOST_CITED])


def _without_remarks(text: str) -> str:
    """Cut brackets that follow something, as in `R1 (see above)`."""
    head, *rest = text.split("(")
    kept = [head]
    for piece in rest:
        inside, _, after = piece.partition(")")
        before = kept[-1].rstrip()
        kept.append(after if before and before[-1] not in ",;/&+" else f"{inside} {after}")
    return "".join(kept)


def _read_part(bare: str) -> Sequence[str]:
    words = [requirement_id(word) for word in bare.split()]
    if words and all(words) and " " in bare and not requirement_id(bare):
        return words
    if own := requirement_id(bare):
        return [own]
    if span := _range(bare):
        return span
    of_section = bare.casefold().removeprefix("section ").removeprefix("§").strip().removeprefix("3.")
    if of_section != bare and of_section.isdecimal() and (own := requirement_id(of_section)):
        return [own]
    if own := split_id(bare)[0]:
        return [own]
    return [bare] if bare and bare not in ("-", "—") else []


def _range(text: str) -> list[str]:
    for mark in _RANGES:
        first, found, last = text.partition(mark)
        start, end = _split(requirement_id(first)), _split(requirement_id(last))
        if found and start and end and end[0] in (start[0], "R"):
            return [f"{start[0]}{n}" for n in range(start[1], end[1] + 1)[:_MOST_IN_RANGE]]
    return []


def _split(own: str) -> tuple[str, int] | None:
    letters = own.rstrip("0123456789")
    return (letters, int(own[len(letters) :])) if letters else None
