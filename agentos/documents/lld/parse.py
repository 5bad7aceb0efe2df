"""Read a design: find its sections, whatever a model did to their headings, and what they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from agentos.documents.blocks import Block, Comment, Grid, Part, Prose, read_outline, render_outline
from agentos.documents.headings import split_label, split_number
from agentos.documents.lld import contents
from agentos.documents.lld.bold import promote_bold
from agentos.documents.lld.log import read_log
from agentos.documents.lld.model import Lld, LldSection
from agentos.documents.lld.scenarios import read_scenarios
from agentos.documents.lld.titles import SECTION_TITLES, Label, is_echo, is_log, read_label
from agentos.documents.markdown import Line, scan_rows, split_lines
from agentos.documents.undisturbed import undisturbed
from agentos.documents.wrapping import find_document

MAX_CHARACTERS = 2_000_000


@undisturbed
def parse_lld(text: str) -> Lld:
    """Read a design; never fails, see `check_lld`. Lines are counted in the text as given."""
    rows = split_lines(text[:MAX_CHARACTERS])
    window = find_document(rows)
    lines = promote_bold(scan_rows(rows[window.start : window.end], window.start + 1))
    open_fence = 0 if window.open_fence is None else window.open_fence + 1
    return build_lld(read_outline(lines), text=text, lines=lines, open_fence=open_fence)


def render_lld(lld: Lld) -> str:
    """Write a design; reading it back gives an equal one."""
    return render_outline(lld.parts)


def heading_number(title: str) -> str:
    """Return the number of a heading such as `10.1 Scenarios`, or an empty string."""
    return read_label(title).number


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the sections, the review log and what follows them begin, as indexes of parts."""

    sections: dict[int, int]
    repeated: tuple[tuple[int, int], ...]
    """Number and index of sections that were there before."""
    level: int
    log: int | None
    trailing: int

    def end(self, start: int, parts: Sequence[Part]) -> int:
        """Return the index after the last part of the section that begins at `start`."""
        edges = {*self.sections.values(), *(index for _, index in self.repeated), self.log, self.trailing}
        end = start + 1
        while end < len(parts) and end not in edges and parts[end].level > self.level:
            end += 1
        return end


def build_lld(parts: Sequence[Part], *, text: str = "", lines: tuple[Line, ...] = (), open_fence: int = 0) -> Lld:
    """Make a design from its parts."""
    layout = _find_layout(parts)
    sections = {
        number: _section(str(number), parts, start, layout.end(start, parts), lines)
        for number, start in sorted(layout.sections.items())
    }
    subsections = _subsections(parts, layout, lines)
    own = parts[: layout.trailing]
    title, number = _title(own, layout)
    requirements = contents.read_requirements(sections.get(3))
    scenarios, cites = read_scenarios(subsections.get("10.1") or sections.get(10), [row.id for row in requirements])
    files = tuple(contents.read_files(subsections.get("2.1") or sections.get(2)))
    decisions = tuple(contents.read_decisions(subsections.get("2.7")))
    log_parts, stray = _log_parts(parts, layout)
    trailing = _trailing(parts[layout.trailing :], stray)
    first = [block.line for block in stray] + [part.line for part in parts[layout.trailing :]]
    return Lld(
        title=title,
        number=number,
        status=contents.read_status(sections.get(1)),
        sections=MappingProxyType(sections),
        subsections=MappingProxyType(subsections),
        files=files,
        decisions=decisions or tuple(contents.read_decisions(sections.get(2))),
        requirements=requirements,
        scenarios=scenarios,
        risks=tuple(contents.read_risks(sections.get(11))),
        done=tuple(contents.read_done(sections.get(12))),
        open_questions=contents.read_questions(own),
        log=read_log(log_parts) if log_parts else None,
        trailing=trailing,
        cites_requirements=cites,
        repeated_sections=tuple(number for number, _ in layout.repeated),
        parts=tuple(parts),
        text=text,
        lines=lines,
        trailing_line=min(first) if trailing else 0,
        ragged_tables=tuple(_ragged(sections)),
        repeated_lines=tuple(parts[index].line for _, index in layout.repeated),
        open_fence=open_fence,
    )


def _find_layout(parts: Sequence[Part]) -> _Layout:
    labels = [read_label(part.title) for part in parts]
    level = _section_level(parts, labels)
    log = next((n for n, part in enumerate(parts) if part.level and is_log(part.title)), None)
    end = len(parts) if log is None else _log_end(parts, log)
    reach = end if log is None else log
    sections, repeated = _claim(parts, labels, range(min(_echo_start(parts, labels, level, reach), reach)), level)
    echo = _echo_start(parts, labels, level, end, min(sections.values(), default=end))
    if echo < end:
        sections, repeated = _claim(parts, labels, range(min(echo, reach)), level)
    return _Layout(sections, repeated, level, log if log is not None and log < min(echo, end) else None, min(echo, end))


def _section_level(parts: Sequence[Part], labels: Sequence[Label]) -> int:
    """Return the level at which most headings name a section; 2 when that is undecided."""
    found: dict[int, set[int]] = {}
    for part, label in zip(parts, labels, strict=True):
        if 0 < part.level <= 4 and label.section and "." not in label.number:
            found.setdefault(part.level, set()).add(label.section)
    best = max(found, key=lambda level: (len(found[level]), level == 2), default=2)
    return best if len(found.get(best, ())) >= 3 else 2


def _log_end(parts: Sequence[Part], log: int) -> int:
    end = log + 1
    while end < len(parts) and (parts[end].level > parts[log].level or "review" in parts[end].title.casefold()[:200]):
        end += 1
    return end


def _echo_start(parts: Sequence[Part], labels: Sequence[Label], level: int, end: int, after: int | None = None) -> int:
    """Return where a copy of what the drafter was given begins, after the first section, else the end."""
    if after is None:
        after = next((n for n, part in enumerate(parts) if part.level and labels[n].section), end)
    last = max(after, _last_new_section(parts, labels, level, end))
    for index in range(last + 1, end):
        if parts[index].level <= level and is_echo(parts[index].title):
            return index
    return end


def _last_new_section(parts: Sequence[Part], labels: Sequence[Label], level: int, end: int) -> int:
    """Return where the last section begins that was not there before, else 0.

    A copied issue has headings that name sections too; where the design numbers its own, only numbers tell.
    """
    seen: set[int] = set()
    is_numbered = False
    last = 0
    for index, part in enumerate(parts[:end]):
        if not 0 < part.level <= 4:
            continue
        label = labels[index]
        known = label.section or (label.whole_number if part.level == level else 0)
        if known not in SECTION_TITLES or known in seen or (is_numbered and not label.whole_number):
            continue
        if part.level == level or label.whole_number:
            seen.add(known)
            is_numbered = is_numbered or bool(label.whole_number)
            last = index
    return last


def _claim(
    parts: Sequence[Part], labels: Sequence[Label], reach: range, level: int
) -> tuple[dict[int, int], tuple[tuple[int, int], ...]]:
    """Give each section its part: first by the words of the heading, then by its number."""
    claimed: dict[int, int] = {}
    repeated: list[tuple[int, int]] = []
    undecided: list[tuple[int, int]] = []
    written: dict[int, int] = {}
    for index in reach:
        part = parts[index]
        if not 0 < part.level <= 4:
            continue
        label = labels[index]
        number = label.section
        if part.level != level and not (number and label.whole_number and number not in claimed):
            continue
        if number is None:
            if label.whole_number in SECTION_TITLES:
                undecided.append((label.whole_number, index))
        elif number not in claimed:
            claimed[number] = index
            written[number] = label.whole_number
        elif label.whole_number:
            repeated.append((number, index))
    for number, index in undecided:
        if number not in claimed:
            claimed[number] = index
        elif written.get(number, number) == number:
            repeated.append((number, index))
    return claimed, tuple(repeated)


def _section(number: str, parts: Sequence[Part], start: int, end: int, lines: tuple[Line, ...]) -> LldSection:
    head = parts[start]
    own: tuple[Line, ...] = ()
    if lines:
        offset = lines[0].number
        own = lines[head.line - offset + 1 : parts[end - 1].end - offset + 1]
    return LldSection(number, head.title, head.line, own, tuple(parts[start:end]))


def _subsections(parts: Sequence[Part], layout: _Layout, lines: tuple[Line, ...]) -> dict[str, LldSection]:
    """Return the headings with a dotted number, by number."""
    inner: dict[str, LldSection] = {}
    for start in sorted(layout.sections.values()):
        end = layout.end(start, parts)
        for index in range(start + 1, end):
            number = read_label(parts[index].title).number
            if "." not in number or number in inner:
                continue
            last = index + 1
            while last < end and parts[last].level > parts[index].level:
                last += 1
            inner[number] = _section(number, parts, index, last, lines)
    return inner


def _title(parts: Sequence[Part], layout: _Layout) -> tuple[str, int | None]:
    """Return the first top heading that has a number, else the first one."""
    taken = {*layout.sections.values(), layout.log}
    limit = min(layout.sections.values(), default=len(parts))
    tops = [part for n, part in enumerate(parts) if part.level == 1 and n not in taken]
    tops = tops or [part for n, part in enumerate(parts[:limit]) if 0 < part.level < 4 and n not in taken]
    split = [split_number(part.title.strip("* ")) for part in tops[:50]]
    return next((pair for pair in split if pair[1] is not None), split[0] if split else ("", None))


def _log_parts(parts: Sequence[Part], layout: _Layout) -> tuple[Sequence[Part], list[Block]]:
    """Return the parts of the review log, and the blocks after its final status that are not its own."""
    if layout.log is None:
        return (), []
    log = parts[layout.log : layout.trailing]
    closing = [n for n, block in enumerate(log[-1].blocks) if _is_final(block)]
    rest = log[-1].blocks[closing[0] + 1 :] if closing else ()
    return log, [block for block in rest if not isinstance(block, Comment) and not _is_rule(block)]


def _is_final(block: Block) -> bool:
    return isinstance(block, Prose) and any(split_label(row)[0].casefold() == "final status" for row in block.lines)


def _is_rule(block: Block) -> bool:
    return isinstance(block, Prose) and not any(row.strip("-*_ ") for row in block.lines)


def _trailing(parts: Sequence[Part], stray: Sequence[Block]) -> str:
    opening = [Part(0, "", tuple(stray))] if stray else []
    return render_outline([*opening, *parts]).strip()


def _ragged(sections: dict[int, LldSection]) -> Iterator[tuple[int, int]]:
    for number, section in sections.items():
        for block in section.blocks:
            if isinstance(block, Grid):
                yield from ((number, line) for line in block.table.ragged)
