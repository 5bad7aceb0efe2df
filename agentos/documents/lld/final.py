"""Give a design its final form: status, review log, stamp."""

from __future__ import annotations

from collections.abc import Sequence

from agentos.documents.headings import plain, split_label
from agentos.documents.lld.parse import parse_lld
from agentos.documents.markdown import Kind, scan, sections, split_lines
from agentos.documents.review_log import Review, append_log


def lld_status(text: str) -> str:
    """Return the status that a design states in section 1, or an empty string."""
    return parse_lld(text).status


def finalise_lld(text: str, *, item: str, status: str, reviews: Sequence[Review], stamp: str) -> str:
    """Return the design with its status, its review log and the closing stamp."""
    body = _set_context_line(text, "Reviews", str(len(reviews)))
    body = _set_context_line(body, "Status", status)
    body = _set_context_line(body, "Issue", f"#{item}" if item.isdecimal() else item)
    return append_log(body, status=status, reviews=reviews, stamp=stamp)


def _set_context_line(text: str, label: str, value: str) -> str:
    """Set `* **Label:** value` in section 1, adding the line when it is not there."""
    rows = split_lines(text)
    lines = scan(text)
    context = next(
        (s for s in sections(lines) if s.level == 2 and plain(s.title) == "context goal"),
        None,
    )
    if context is None:
        return text
    new = f"* **{label}:** {value}"
    for line in context.body:
        if line.kind is Kind.TEXT and split_label(line.text)[0].casefold() == label.casefold():
            rows[line.number - 1] = new
            return "\n".join(rows)
    rows.insert(context.line, new)
    return "\n".join(rows)
