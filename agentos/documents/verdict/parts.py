"""Cut a review into parts: a heading, or a line that stands as one, with what is under it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agentos.documents.markdown import Kind, Line
from agentos.documents.verdict.blocks import Form, Row, read_rows
from agentos.documents.verdict.marks import bare
from agentos.documents.verdict.titles import (
    Role,
    Title,
    category_of,
    may_name_a_verdict,
    read_title,
    split_label,
    verdict_label,
    words_of,
)

_LINE_LEVEL = 7
_HEIRS = frozenset({Role.FINDINGS, Role.COVERAGE, Role.QUESTIONS, Role.RESOLVED, Role.GATE, Role.SUMMARY})
_LISTS = frozenset({Role.FINDINGS, Role.QUESTIONS, Role.RESOLVED, Role.COVERAGE})


@dataclass(slots=True)
class Part:
    """A heading with the rows and lines up to the next one."""

    title: Title
    heading: str
    number: int
    level: int
    parent: Role
    rows: list[Row] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    is_child: bool = False
    """Its heading is no known one, and it belongs to the part above it."""

    @property
    def role(self) -> Role:
        """Return the part that the section plays."""
        return self.title.role


def read_parts(lines: Sequence[Line]) -> list[Part]:
    """Return the parts in order; the first holds what stands before any heading."""
    rows = iter(read_rows(lines))
    text, heading = Kind.TEXT, Kind.HEADING
    parts = [Part(Title(Role.OPENING), "", 1, 0, Role.OPENING)]
    above: list[Part] = [parts[0]]
    for line in lines:
        kind = line.kind
        if kind is not text and kind is not heading:
            parts[-1].lines.append(line)
            continue
        row = next(rows)
        opened = _open_part(row, above, is_first=len(parts) == 1)
        if opened is not None:
            while above[-1].level >= opened.level:
                above.pop()
            above.append(opened)
            parts.append(opened)
            continue
        parts[-1].lines.append(line)
        parts[-1].rows.append(row)
    return parts


def _open_part(row: Row, above: Sequence[Part], *, is_first: bool) -> Part | None:
    """Return the part that a row begins, if it begins one."""
    if row.is_hidden:
        return None
    if row.form is Form.HEADING:
        parent = next(part for part in reversed(above) if part.level < row.line.level)
        is_named = row.line.level == 1 and is_first and _names_a_review(row.text)
        own = Title(Role.OPENING) if is_named else read_title(row.text)
        if own.role is Role.OTHER and row.line.level == 1 and is_first:
            own = replace(own, role=Role.OPENING)
        title = _inherit(own, parent.title)
        is_child = own.role in (Role.OTHER, Role.REMARKS, Role.FOREIGN)
        return Part(title, row.text, row.number, row.line.level, parent.role, is_child=is_child)
    if not row.states or row.form not in (Form.TEXT, Form.ITEM):
        return None
    if not (row.may_name_a_verdict or ":" in row.text[-8:] or row.text[:2] in ("**", "__")):
        return None
    current = above[-1]
    standing = standing_title(row.text, current.role, is_item=row.form is Form.ITEM)
    if standing is None:
        return None
    parent = next(part for part in reversed(above) if part.level < _LINE_LEVEL)
    title = _inherit(standing, parent.title)
    return Part(title, row.text, row.number, _LINE_LEVEL, parent.role, is_child=standing.role is Role.OTHER)


def _names_a_review(text: str) -> bool:
    label, value = split_label(bare(text[:400]))
    words = words_of(label)
    return bool(value) and words[-1:] == ["review"] and not verdict_label(words)


def _inherit(own: Title, parent: Title) -> Title:
    """Return what a heading means below another one."""
    if parent.role is Role.FOREIGN:
        return Title(Role.FOREIGN)
    if own.role is Role.VERDICT and parent.role in (Role.COVERAGE, Role.GATE):
        return Title(parent.role, own.value)
    if own.role is Role.FOREIGN and parent.role is Role.FINDINGS:
        own = replace(own, role=Role.OTHER)
    if own.role in (Role.OTHER, Role.REMARKS):
        if parent.role in _HEIRS:
            category = own.category or parent.category
            return Title(parent.role, own.value, own.tier or parent.tier, category)
        if parent.role is Role.VERDICT:
            return replace(own, role=Role.REMARKS)
    return own


def standing_title(text: str, role: Role, *, is_item: bool = False) -> Title | None:
    """Return what a line means that stands as a heading, such as `**Verdict:**`, in a part with this role."""
    stripped = text.strip()
    is_bold = len(stripped) > 4 and stripped[:2] in ("**", "__") and stripped.rstrip(":").endswith(stripped[:2])
    if len(stripped) > 200 or not (is_bold or ":" in stripped[-8:] or may_name_a_verdict(stripped.replace("*", ""))):
        return None
    clean = bare(stripped)
    if not (is_bold or clean.endswith(":") or verdict_label(words_of(clean))):
        return None
    title = read_title(clean.rstrip(": "))
    if title.value or not clean.rstrip(": "):
        return None
    if title.role is Role.VERDICT:
        noun = verdict_label(words_of(clean))
        if role in _LISTS:
            return title if noun == "verdict" and not is_item else None
        return title if noun in ("verdict", "decision") or role in _FREE else None
    if is_item:
        return None
    if role is Role.FINDINGS and (category := category_of(words_of(clean))):
        return Title(Role.OTHER, category=category)
    return title if title.role in (Role.FINDINGS, Role.QUESTIONS, Role.RESOLVED, Role.SUMMARY) else None


_FREE = frozenset({Role.OPENING, Role.REMARKS, Role.VERDICT})
