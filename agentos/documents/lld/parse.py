"""Parse a design: find its sections by their headings and read their contents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType

from agentos.documents.headings import split_label, split_number
from agentos.documents.lld.bold import promote_bold
from agentos.documents.lld.citations import KnownIds
from agentos.documents.lld.contents import (
    read_decisions,
    read_done,
    read_files,
    read_listed_files,
    read_questions,
    read_risks,
    read_status,
)
from agentos.documents.lld.log import read_log
from agentos.documents.lld.model import MISSING, Lld, LldSection
from agentos.documents.lld.requirements import read_requirements
from agentos.documents.lld.scenarios import read_scenarios
from agentos.documents.lld.titles import (
    SECTION_TITLES,
    Label,
    is_echo,
    is_log,
    read_label,
)
from agentos.documents.markdown import (
    MAX_CHARACTERS,
    Form,
    LineKind,
    Lines,
    Section,
    Sections,
    prose_rows,
    scan_rows,
    sections,
    split_lines,
)
from agentos.documents.tables import broken_tables, tables
from agentos.documents.without_gc import without_gc
from agentos.documents.wrapping import find_document

Labels = list[Label]
Claim = tuple[int, int]
"""The number of a section, and the index of the part that claims it."""
Title = tuple[str, int | None]
"""A title, and the number of the issue in it."""

_DEEPEST = 4
"""The deepest level of a heading that may open a section."""
_MAX_TITLES = 50


@without_gc
def parse_lld(text: str) -> Lld:
    """Parse a design; never fails, see `check_lld`.

    Line numbers count the lines of the text as given.
    """
    rows = split_lines(text[:MAX_CHARACTERS])
    window = find_document(rows)
    shown = rows[window.start : window.end]
    lines = promote_bold(scan_rows(shown, window.start + 1))
    parts = _split_parts(lines)
    layout = _find_layout(parts, lines)
    found = _find_sections(layout)
    subsections = _find_subsections(layout)
    own = parts[: layout.trailing]
    title, number = _find_title(layout)
    requirements = read_requirements(found.get(3, MISSING))
    known = KnownIds([requirement.id for requirement in requirements])
    testing = found.get(10, MISSING)
    scenarios, cites = read_scenarios(
        (subsections.get("10.1", MISSING), testing),
        (found.get(3, MISSING), testing),
        known,
    )
    changes = subsections.get("2.1", MISSING)
    files = read_files(changes) or read_listed_files(changes)
    if not files:
        files = read_files(found.get(2, MISSING))
    decisions = read_decisions(subsections.get("2.7", MISSING))
    if not decisions:
        decisions = read_decisions(found.get(2, MISSING))
    log = None
    if layout.log:
        log = read_log(own[layout.log :])
    trailing = ""
    trailing_line = _find_trailing(layout)
    if trailing_line:
        after = rows[trailing_line - 1 : window.end]
        trailing = "\n".join(after).strip()
    return Lld(
        title=title,
        number=number,
        status=read_status(found.get(1, MISSING)),
        sections=MappingProxyType(found),
        subsections=MappingProxyType(subsections),
        files=files,
        decisions=decisions,
        requirements=requirements,
        scenarios=scenarios,
        risks=read_risks(found.get(11, MISSING)),
        done=read_done(found.get(12, MISSING)),
        open_questions=read_questions(own),
        log=log,
        trailing=trailing,
        cites_requirements=cites,
        repeated_sections=tuple(number for number, _ in layout.repeated),
        parts=parts,
        text=text,
        lines=lines,
        trailing_line=trailing_line,
        ragged_tables=tuple(_find_ragged_rows(found)),
        broken_tables=tuple(_find_broken_tables(found)),
        repeated_lines=tuple(parts[index].line for _, index in layout.repeated),
        open_fence=window.open_line,
    )


def heading_number(title: str) -> str:
    """Return the number of a heading such as `10.1 Scenarios`, or an empty string."""
    return read_label(title).number


def _split_parts(lines: Lines) -> Sections:
    """Return the lines before the first heading, then each heading with its lines."""
    found = sections(lines)
    first = 1
    if lines:
        first = lines[0].number
    opening = lines
    if found:
        count = found[0].line - first
        opening = lines[:count]
    preface = Section("", 0, first, opening, opening)
    return (preface, *found)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where sections, review log and trailing text begin, as indexes of `parts`."""

    parts: Sections
    lines: Lines
    sections: dict[int, int]
    repeated: list[Claim]
    """Sections that occur again."""
    level: int
    """The level of the headings that open a section."""
    log: int | None
    trailing: int

    def end(self, start: int) -> int:
        """Return the index after the last part of the section that begins at `start`."""
        edges = {*self.sections.values(), self.log, self.trailing}
        for _, index in self.repeated:
            edges.add(index)
        end = start + 1
        for part in self.parts[end:]:
            if end in edges:
                break
            if part.level <= self.level:
                break
            end += 1
        return end

    def read(self, number: str, start: int, end: int) -> LldSection:
        """Return the parts from `start` up to `end` as one section."""
        head = self.parts[start]
        first = self.lines[0].number
        stop = len(self.lines)
        if end < len(self.parts):
            stop = self.parts[end].line - first
        begin = head.line - first + 1
        return LldSection(
            number,
            head.title,
            head.line,
            lines=self.lines[begin:stop],
            parts=self.parts[start:end],
        )


def _find_layout(parts: Sections, lines: Lines) -> _Layout:
    """Find the sections, the review log and the end of the design.

    The copy of a prompt or an issue after the design has headings that look like
    sections, and where it begins depends on which sections the design has. So the
    sections are claimed twice: up to a first guess at where the copy begins, then, with
    the real first section known, up to where it does begin.
    """
    labels = [read_label(part.title) for part in parts]
    level = _section_level(parts, labels)
    log = None
    end = len(parts)
    reach = end
    for index, part in enumerate(parts):
        if is_log(part.title):
            log = index
            reach = index
            end = _log_end(parts, index)
            break
    first = end
    for index, label in enumerate(labels):
        if label.section:
            first = index
            break
    echo = _echo_start(parts[:reach], labels, level, first)
    found, repeated = _claim(parts[:echo], labels, level)
    first = min(found.values(), default=end)
    trailing = _echo_start(parts[:end], labels, level, first)
    if trailing < end:
        known = min(trailing, reach)
        found, repeated = _claim(parts[:known], labels, level)
    if log is not None and log >= trailing:
        log = None
    return _Layout(parts, lines, found, repeated, level, log, trailing)


def _section_level(parts: Sections, labels: Labels) -> int:
    """Return the level at which most headings name a section; 2 when in doubt."""
    found: dict[int, set[int]] = {}
    for part, label in zip(parts, labels, strict=True):
        if label.section is None:
            continue
        if "." in label.number:
            continue
        if part.level <= _DEEPEST:
            named = found.setdefault(part.level, set())
            named.add(label.section)
    best = 2
    most = 2
    for level, named in found.items():
        count = len(named)
        if count < most:
            continue
        if count > most or level == 2:
            best = level
            most = count
    return best


def _log_end(parts: Sections, log: int) -> int:
    """Return the index after the last part of the review log."""
    end = log + 1
    for part in parts[end:]:
        title = part.title.casefold()
        # The headings of reviews may be as high as that of the log.
        is_review = "review" in title[:200]
        if part.level <= parts[log].level and not is_review:
            break
        end += 1
    return end


def _echo_start(parts: Sections, labels: Labels, level: int, first: int) -> int:
    """Return where a copy of the prompt begins after the last section, else the end."""
    last = max(first, _last_new_section(parts, labels, level))
    for index in range(last + 1, len(parts)):
        part = parts[index]
        if part.level <= level and is_echo(part.title):
            return index
    return len(parts)


def _last_new_section(parts: Sections, labels: Labels, level: int) -> int:
    """Return where the last section begins that occurs for the first time, else 0.

    The headings of a copied issue name sections too. If the design numbers its
    sections, a heading without a number is not one of them.
    """
    seen: set[int] = set()
    is_numbered = False
    last = 0
    for index, part in enumerate(parts):
        if part.level > _DEEPEST:
            continue
        label = labels[index]
        number = label.whole_number
        known = label.section or 0
        if not known and part.level == level:
            known = number
        if known not in SECTION_TITLES:
            continue
        if known in seen:
            continue
        if number:
            is_numbered = True
        elif part.level != level or is_numbered:
            continue
        seen.add(known)
        last = index
    return last


def _claim(
    parts: Sections, labels: Labels, level: int
) -> tuple[dict[int, int], list[Claim]]:
    """Return the part of each section, and the sections that occur again.

    The words of a heading count more than its number: a design may number its sections
    differently. A heading with unknown words gets the section of its number if no
    other heading names it.
    """
    claimed: dict[int, int] = {}
    written: dict[int, int] = {}
    repeated = []
    undecided = []
    for index, part in enumerate(parts):
        if part.level > _DEEPEST:
            continue
        label = labels[index]
        number = label.section
        is_new = number is not None and number not in claimed
        # At another level than most sections, a heading must have a number.
        is_numbered = is_new and label.whole_number
        if part.level != level and not is_numbered:
            continue
        if number is None:
            undecided.append((label.whole_number, index))
        elif is_new:
            claimed[number] = index
            written[number] = label.whole_number
        elif label.whole_number:
            repeated.append((number, index))
    for number, index in undecided:
        if number not in SECTION_TITLES:
            continue
        if number not in claimed:
            claimed[number] = index
        # If the heading of the section has another number, the design counts in its own
        # way, and this heading is no repetition.
        elif written.get(number, number) == number:
            repeated.append((number, index))
    return claimed, repeated


def _find_sections(layout: _Layout) -> dict[int, LldSection]:
    """Return the sections by number."""
    found = {}
    for number, start in sorted(layout.sections.items()):
        end = layout.end(start)
        found[number] = layout.read(str(number), start, end)
    return found


def _find_subsections(layout: _Layout) -> dict[str, LldSection]:
    """Return the headings with a dotted number, by number."""
    found: dict[str, LldSection] = {}
    parts = layout.parts
    for start in sorted(layout.sections.values()):
        end = layout.end(start)
        for index in range(start + 1, end):
            head = parts[index]
            number = read_label(head.title).number
            if "." not in number:
                continue
            if number in found:
                continue
            last = index + 1
            while last < end and parts[last].level > head.level:
                last += 1
            found[number] = layout.read(number, index, last)
    return found


def _find_title(layout: _Layout) -> Title:
    """Return the first top heading that has a number, else the first one."""
    taken = {*layout.sections.values(), layout.log}
    first = min(layout.sections.values(), default=layout.trailing)
    tops = []
    others = []
    for index, part in enumerate(layout.parts[: layout.trailing]):
        if index in taken:
            continue
        if part.level == 1:
            tops.append(part)
        elif index < first and 0 < part.level < _DEEPEST:
            others.append(part)
    if not tops:
        tops = others
    if not tops:
        return "", None
    for part in tops[:_MAX_TITLES]:
        title, number = split_number(part.title.strip("* "))
        if number is not None:
            return title, number
    return split_number(tops[0].title.strip("* "))


def _find_trailing(layout: _Layout) -> int:
    """Return the first line that does not belong to the design, or 0."""
    parts = layout.parts
    if layout.log:
        last = parts[layout.trailing - 1]
        stray = _after_final_status(last.body)
        if stray:
            return stray
    if layout.trailing < len(parts):
        return parts[layout.trailing].line
    return 0


def _after_final_status(lines: Lines) -> int:
    """Return the first line of text after the paragraph with the final status, or 0."""
    closing = _find_final_status(lines)
    if not closing:
        return 0
    for line in lines:
        if line.block <= closing:
            continue
        if line.kind is LineKind.COMMENT:
            continue
        if line.form is Form.RULE:
            continue
        if line.text.strip():
            return line.number
    return 0


def _find_final_status(lines: Lines) -> int:
    for block, rows in prose_rows(lines).items():
        for row in rows:
            label, _ = split_label(row)
            if label.casefold() == "final status":
                return block
    return 0


def _find_ragged_rows(found: dict[int, LldSection]) -> Iterator[tuple[int, int]]:
    """Yield section and line of each row that does not fit its table."""
    for number, section in found.items():
        for table in tables(section.lines):
            for line in table.ragged:
                yield number, line


def _find_broken_tables(found: dict[int, LldSection]) -> Iterator[tuple[int, int]]:
    """Yield section and line of each table whose header cannot be read."""
    for number, section in found.items():
        for line in broken_tables(section.lines):
            yield number, line
