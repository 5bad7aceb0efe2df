"""Read a design: sections by number, requirements, scenarios, files, open questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from agentos.documents.headings import plain, split_label, split_number
from agentos.documents.issue import FileChange, Question
from agentos.documents.markdown import Kind, Line, Section, items, scan, sections
from agentos.documents.tables import Table, tables

SECTION_TITLES: Mapping[int, str] = MappingProxyType(
    {
        1: "Context & Goal",
        2: "Proposed Changes",
        3: "Requirements",
        4: "Alternatives Considered",
        5: "Data & Fixtures",
        6: "Diagram",
        7: "Security & Safety Considerations",
        8: "Performance & Cost Considerations",
        9: "Legal & Compliance",
        10: "Verification & Testing",
        11: "Risks & Mitigations",
        12: "Definition of Done",
    }
)
_BY_NAME = {plain(title): number for number, title in SECTION_TITLES.items()}


@dataclass(frozen=True, slots=True)
class LldSection:
    """One of the numbered sections, subsections included."""

    number: str
    """`3` or `10.1`."""
    title: str
    line: int
    lines: tuple[Line, ...] = field(repr=False)

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing stands under the heading but other headings."""
        return not any(line.kind in (Kind.TEXT, Kind.CODE) and line.text.strip() for line in self.lines)


@dataclass(frozen=True, slots=True)
class LldRequirement:
    """A numbered entry of section 3."""

    id: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class LldScenario:
    """A row of the table in section 10.1."""

    id: str
    name: str
    type: str
    input: str
    expected: str
    pass_criteria: str
    requirements: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Lld:
    """A design as data."""

    title: str
    number: int | None
    status: str
    sections: Mapping[int, LldSection]
    subsections: Mapping[str, LldSection]
    files: tuple[FileChange, ...]
    requirements: tuple[LldRequirement, ...]
    scenarios: tuple[LldScenario, ...]
    open_questions: tuple[Question, ...]
    ragged_tables: tuple[tuple[int, int], ...]
    """Section number and line of every malformed table row."""
    repeated_sections: tuple[int, ...]
    text: str = field(repr=False)
    lines: tuple[Line, ...] = field(repr=False)


def parse_lld(text: str) -> Lld:
    """Read a design; never fails, see `check_lld`."""
    lines = scan(text)
    found = sections(lines)
    numbered, repeated = _numbered(found)
    subsections = _subsections(found)
    title, number = _title(found)
    testing = subsections.get("10.1") or numbered.get(10)
    files = subsections.get("2.1") or numbered.get(2)
    return Lld(
        title=title,
        number=number,
        status=read_status(numbered.get(1)),
        sections=MappingProxyType(numbered),
        subsections=MappingProxyType(subsections),
        files=_files(files),
        requirements=_requirements(numbered.get(3)),
        scenarios=_scenarios(testing),
        open_questions=_questions(found),
        ragged_tables=tuple(
            (section_number, line)
            for section_number, section in numbered.items()
            for grid in tables(section.lines)
            for line in grid.ragged
        ),
        repeated_sections=repeated,
        text=text,
        lines=lines,
    )


def heading_number(title: str) -> str:
    """Return the leading number of a heading such as `10.1 Scenarios`, or an empty string."""
    first = title.split(" ", 1)[0].rstrip(".") if " " in title.strip() else ""
    if 0 < len(first) <= 6 and first.replace(".", "").isdecimal() and first.isascii():
        return first
    return ""


def _numbered(found: Sequence[Section]) -> tuple[dict[int, LldSection], tuple[int, ...]]:
    numbered: dict[int, LldSection] = {}
    repeated: list[int] = []
    for section in found:
        if section.level != 2:
            continue
        text = heading_number(section.title)
        number = int(text) if text.isdecimal() else _BY_NAME.get(plain(section.title), 0)
        if number not in SECTION_TITLES:
            continue
        if number in numbered:
            if text:
                repeated.append(number)
            continue
        numbered[number] = LldSection(str(number), section.title, section.line, section.whole)
    return dict(sorted(numbered.items())), tuple(repeated)


def _subsections(found: Sequence[Section]) -> dict[str, LldSection]:
    inner: dict[str, LldSection] = {}
    for section in found:
        number = heading_number(section.title)
        if section.level > 2 and "." in number and number not in inner:
            inner[number] = LldSection(number, section.title, section.line, section.whole)
    return inner


def _title(found: Sequence[Section]) -> tuple[str, int | None]:
    tops = [section.title for section in found if section.level == 1]
    split = [split_number(title) for title in tops]
    return next((pair for pair in split if pair[1] is not None), split[0] if split else ("", None))


def read_status(section: LldSection | None) -> str:
    """Return the value of the Status line in section 1."""
    for line in section.lines if section else ():
        if line.kind is Kind.TEXT:
            label, value = split_label(line.text)
            if label.casefold() == "status":
                return value
    return ""


def _files(section: LldSection | None) -> tuple[FileChange, ...]:
    found = []
    for grid in tables(section.lines) if section else ():
        if grid.column("file", "path") is None:
            continue
        for row in grid.rows:
            path = grid.cell(row, "file", "path").strip("` ")
            if path:
                found.append(FileChange(path, grid.cell(row, "change", "type"), grid.cell(row, "descr", "purpose")))
    return tuple(found)


def _requirements(section: LldSection | None) -> tuple[LldRequirement, ...]:
    """Read numbered entries; an entry that names its own id keeps it, others count from 1."""
    found: list[LldRequirement] = []
    for entry in items(section.lines) if section else ():
        if not entry.is_ordered and not entry.text.lstrip("*").startswith("R"):
            continue
        own, text = _own_id(entry.text)
        found.append(LldRequirement(own or f"R{len(found) + 1}", text, entry.line))
    return tuple(found)


def _own_id(text: str) -> tuple[str, str]:
    bare = text.lstrip("* ")
    digits = len(bare[1:8]) - len(bare[1:8].lstrip("0123456789"))
    if bare[:1] in ("R", "r") and digits:
        rest = bare[1 + digits :].lstrip("* ")
        if rest[:1] in (":", "-", ".", "—"):
            return f"R{int(bare[1 : 1 + digits])}", rest[1:].lstrip("* ").strip()
    return "", text


def _scenarios(section: LldSection | None) -> tuple[LldScenario, ...]:
    found: list[LldScenario] = []
    for grid in tables(section.lines) if section else ():
        if grid.column("expected", "pass", "scenario") is None or grid.column("id", "#") is None:
            continue
        found.extend(_scenario(grid, row, line) for row, line in zip(grid.rows, grid.row_lines, strict=True))
    return tuple(found)


def _scenario(grid: Table, row: tuple[str, ...], line: int) -> LldScenario:
    return LldScenario(
        id=grid.cell(row, "id", "#").strip("` *"),
        name=grid.cell(row, "scenario", "name", "title"),
        type=grid.cell(row, "type"),
        input=grid.cell(row, "input", "given"),
        expected=grid.cell(row, "expected", "output", "then"),
        pass_criteria=grid.cell(row, "pass", "criteria"),
        requirements=_cited(grid.cell(row, "requirement", "req", "covers")),
        line=line,
    )


def _cited(text: str) -> tuple[str, ...]:
    """Read `R1, R2` or `1, 2`; anything else is kept as it is, so that a check can name it."""
    found = []
    for part in text[:2000].replace(";", ",").replace(" and ", ",").replace("/", ",").split(","):
        bare = part.strip("`*# ()[]")
        digits = bare[1:] if bare[:1] in ("R", "r") else bare
        if digits.isdecimal() and digits.isascii() and len(digits) < 8:
            found.append(f"R{int(digits)}")
        elif bare and bare not in ("-", "—"):
            found.append(bare)
    return tuple(found)


def _questions(found: Sequence[Section]) -> tuple[Question, ...]:
    for section in found:
        if plain(section.title).startswith("open questions"):
            return tuple(
                Question(entry.text, "answered" if entry.is_checked else "")
                for entry in items(section.body)
                if entry.is_checked is not None
            )
    return ()
