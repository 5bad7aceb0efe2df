"""Write a design in its final form: with status, review log and provenance."""

from __future__ import annotations

from agentos.documents.headings import plain, split_label
from agentos.documents.ledger import Ledger
from agentos.documents.lld.model import Lld
from agentos.documents.lld.parse import parse_lld
from agentos.documents.markdown import Section, split_lines
from agentos.documents.provenance import SKELETON_STATUS, is_by_rules
from agentos.documents.review_log import append_log
from agentos.documents.tables import render_row, split_row


def status_of(lld: Lld) -> str:
    """Return the status that section 1 of a design states, or an empty string.

    A design that only rules approved is a skeleton.
    """
    reviewer = ""
    if lld.log and lld.log.reviews:
        last = lld.log.reviews[-1]
        reviewer = last.reviewer
    if is_by_rules(lld.status, reviewer):
        return SKELETON_STATUS
    return lld.status


def finalize_lld(
    text: str, *, item: str, status: str, ledger: Ledger, provenance: str
) -> str:
    """Return the design with its status, its review log and its provenance line."""
    issue = item
    if item.isdecimal():
        issue = f"#{item}"
    context = {
        "issue": issue,
        "status": status,
        "reviews": str(len(ledger.reviews)),
    }
    body = _set_context(text, context)
    return append_log(body, status=status, ledger=ledger, provenance=provenance)


def _set_context(text: str, values: dict[str, str]) -> str:
    """Set `* **Label:** value` in section 1, and add the lines that are missing."""
    context = _find_context(text)
    if context is None:
        return text
    rows = split_lines(text)
    missing = values.copy()
    last = context.line
    if context.body:
        last = context.body[0].number - 1
    for line in context.body:
        index = line.number - 1
        if line.is_row:
            cells = split_row(line.text)
            if len(cells) != 2:
                continue
            label = cells[0]
            value = missing.pop(plain(label), None)
            if value is not None:
                rows[index] = render_row([label, value])
        elif line.is_text:
            label, _ = split_label(line.text)
            name = label.casefold()
            value = missing.pop(name, None)
            if value is not None:
                rows[index] = _render_label(name, value)
                last = line.number
    added = [_render_label(name, value) for name, value in missing.items()]
    # A table needs a blank line between it and the text above.
    following = rows[last] if last < len(rows) else ""
    if added and following.lstrip().startswith("|"):
        added.append("")
    rows[last:last] = added
    return "\n".join(rows)


def _find_context(text: str) -> Section | None:
    lld = parse_lld(text)
    context = lld.sections.get(1)
    if context is None:
        return None
    head, *_ = context.parts
    return head


def _render_label(name: str, value: str) -> str:
    label = name.capitalize()
    return f"* **{label}:** {value}"
