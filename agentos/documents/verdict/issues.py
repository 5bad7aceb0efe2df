"""Read the findings of a review from the lists, headings and paragraphs of its tiers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from agentos.documents.findings import Category, Finding, Tier
from agentos.documents.markdown import Item, Kind, Line, items, paragraphs
from agentos.documents.tables import Table, tables
from agentos.documents.verdict.blocks import Form
from agentos.documents.verdict.contents import checked_text, joined
from agentos.documents.verdict.marks import bare, flat, options
from agentos.documents.verdict.nothing import is_pass, says_nothing
from agentos.documents.verdict.parts import Part
from agentos.documents.verdict.titles import Role, category_of, read_title, split_label, tier_of, words_of

LETTERS = {Tier.BLOCKING: "B", Tier.HIGH: "H", Tier.SUGGESTION: "S"}
_ID = r"[A-Z]{1,4}-?\d{1,4}(?:\.\d{1,3}){0,3}"
SIMPLE_ID = re.compile(_ID)
_BOLD_ID = re.compile(rf"\*\*({_ID}|\[[^\]]{{1,300}}\])\*\*")
_LABEL_ID = re.compile(rf"\*\*({_ID})[:.]?\*\*:?|({_ID}):(?= )|\[({_ID})\]")
_HEADING_ID = re.compile(rf"({_ID})(?![\w.])|(\d{{1,3}})[.):]")
_SECTION = re.compile(r"(?:\b[Ss]ections?\s|§)\s?(\d{1,3}(?:\.\d{1,3}){0,4})")
_TAGGED = frozenset({Role.VERDICT, Role.REMARKS, Role.OPENING, Role.SUMMARY, Role.OTHER})


def read_findings(parts: Iterable[Part], stated: AbstractSet[int]) -> tuple[Finding, ...]:
    """Return the findings in order, leaving out the lines that state the verdict."""
    found: list[Finding] = []
    bare_parts = list(parts)
    for index, part in enumerate(bare_parts):
        if part.role is Role.FINDINGS and part.title.tier is not None:
            following = bare_parts[index + 1] if index + 1 < len(bare_parts) else None
            has_children = following is not None and following.level > part.level and following.is_child
            found += _read_tier(part, part.title.tier, stated, has_children)
        elif part.role in _TAGGED:
            found += _read_tagged(part)
    return number_findings(found)


def number_findings(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Give every finding an id of its own: the one it came with, else the next free one of its tier."""
    entries = list(found)
    wanted = {entry.id for entry in entries}
    taken: set[str] = set()
    counts = dict.fromkeys(Tier, 0)
    numbered = []
    for entry in entries:
        name = entry.id
        while not name or name in taken:
            counts[entry.tier] += 1
            name = f"{LETTERS[entry.tier]}{counts[entry.tier]}"
            name = "" if name in wanted else name
        taken.add(name)
        numbered.append(replace(entry, id=name))
    return tuple(numbered)


def _read_tier(part: Part, tier: Tier, stated: AbstractSet[int], has_children: bool) -> Iterator[Finding]:
    lines = [line for line in part.lines if line.number not in stated]
    listed = items(lines)
    category = part.title.category or Category.QUALITY
    if part.is_child and part.title.category is None:
        yield from _read_child(part, tier, lines, listed)
        return
    for item in listed:
        if _is_entry(item):
            yield _read_item(item, tier, part.title.category)
    if part.title.value and not says_nothing(part.title.value) and part.title.value != "0":
        yield _plain(part.title.value, part.number, tier, category)
    grids = tables(lines)
    for grid in grids:
        yield from _read_grid(grid, tier, category)
    if not listed and not has_children and not grids:
        texts = [text for text in paragraphs(_before_rule(lines)) if not text.rstrip("*_ ").endswith(":")]
        if texts and not says_nothing(texts[0]):
            yield _plain(" ".join(texts), part.number, tier, category)
        elif not texts and _HEADING_ID.match(bare(part.heading)) and tier_of(words_of(part.heading)) is None:
            yield _plain(part.heading, part.number, tier, category)


def _read_grid(grid: Table, tier: Tier, category: Category) -> Iterator[Finding]:
    """Read a table of findings: one a row, unless a cell says that there is none."""
    for cells, line in zip(grid.rows, grid.row_lines, strict=True):
        told = [cell for cell in cells if cell.strip()]
        if told and not any(says_nothing(cell) for cell in told):
            name = told[0] if len(told) > 1 and SIMPLE_ID.fullmatch(told[0]) else ""
            yield replace(_plain(" - ".join(told[bool(name) :]), line, tier, category), id=name)


def _read_child(part: Part, tier: Tier, lines: Sequence[Line], listed: Sequence[Item]) -> Iterator[Finding]:
    """Read a heading below a tier that is no category: one finding when it is numbered, else one for each item."""
    heading = flat(part.heading)
    match = _HEADING_ID.match(bare(heading))
    texts = [*paragraphs(_before_rule(lines)), *(joined(item) for item in listed)]
    if match is None and listed:
        for item in listed:
            if _is_entry(item):
                yield _read_item(item, tier, None)
        return
    if (match is None and texts and says_nothing(texts[0])) or says_nothing(part.title.value or "x"):
        return
    text = checked_text(flat(" ".join([f"{heading}:" if texts else heading, *texts])), part.number)
    category = category_of(words_of(split_label(bare(heading))[0])) or Category.QUALITY
    yield Finding((match[1] or "") if match else "", tier, category, _section(text), text)


def _read_tagged(part: Part) -> Iterator[Finding]:
    """Read `- **Blocking:** ...` and `[HIGH] ...` outside of the tiers."""
    forms = (Form.ITEM, Form.TEXT)
    for row in part.rows:
        if not row.states or row.form not in forms:
            continue
        begins = row.text[:90]
        if not (":" in begins[:82] or "[" in begins[:12] or " - " in begins or "\u2014" in begins):
            continue
        text = row.bare if len(row.text) <= 200 else bare(row.text[:200])
        tag, closed, value = text[1:].partition("]") if text[:1] == "[" else ("", "", "")
        if not closed:
            title = read_title(row.text[:400])
            tag, value = split_label(text) if title.role is Role.FINDINGS else ("", "")
            value = title.value or ("" if tier_of(words_of(value)) else value)
        tier = tier_of(words_of(tag)) if tag else None
        if tier is None or not value or says_nothing(value) or value.strip(" .") == "0":
            continue
        if options(text) and not closed:
            continue
        yield _plain(row.text, row.number, tier, Category.QUALITY)


def _plain(text: str, line: int, tier: Tier, category: Category) -> Finding:
    kept = checked_text(flat(text), line)
    return Finding("", tier, category, _section(kept), kept)


def _is_entry(item: Item) -> bool:
    text = joined(item)
    if is_pass(text, item.is_checked, category_of(words_of(split_label(bare(text[:200]))[0])) is not None):
        return False
    return not says_nothing(joined(item)) or (item.is_checked is None and _split_ours(flat(joined(item))) is not None)


def _read_item(item: Item, tier: Tier, category: Category | None) -> Finding:
    text = flat(joined(item))
    ours = _split_ours(text) if item.is_checked is None else None
    if ours is not None:
        name, section, rest = (checked_text(part, item.line) for part in ours)
        return Finding(name, tier, category or Category.QUALITY, section, rest)
    kept = checked_text(text, item.line)
    match = _LABEL_ID.match(kept)
    if match:
        kept = kept[match.end() :].strip().removeprefix(":").strip() or kept
    label = category_of(words_of(split_label(bare(kept[:200]))[0]))
    name = next((group for group in match.groups() if group), "") if match else ""
    return Finding(name, tier, category or label or Category.QUALITY, _section(kept), kept)


def _split_ours(text: str) -> tuple[str, str, str] | None:
    """Split `**F1** (2.4): text`, the form that is written by `render_verdict`."""
    match = _BOLD_ID.match(text)
    if match is None:
        return None
    name, rest, section = match[1].removeprefix("[").removesuffix("]"), text[match.end() :], ""
    if rest.startswith(" ("):
        section, rest = _split_brackets(rest[1:])
    return (name, section, rest[1:].strip()) if rest.startswith(":") else None


def _split_brackets(text: str) -> tuple[str, str]:
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return text[1:place], text[place + 1 :]
    return "", text


def _section(text: str) -> str:
    match = _SECTION.search(text)
    return match[1] if match else ""


def _before_rule(lines: Sequence[Line]) -> Iterator[Line]:
    for line in lines:
        stripped = line.text.strip()
        if line.kind is Kind.TEXT and len(stripped) >= 3 and not stripped.strip("-*_ "):
            return
        yield line
