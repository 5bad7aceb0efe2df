"""Give a design its final form: status, review log, stamp."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentos.documents.headings import plain, split_label
from agentos.documents.lld.bold import promote_bold
from agentos.documents.lld.parse import parse_lld
from agentos.documents.markdown import Kind, scan, sections, split_lines
from agentos.documents.review_log import Review, append_log
from agentos.documents.tables import render_row, split_row


def lld_status(text: str) -> str:
    """Return the status that a design states in section 1, or an empty string."""
    return parse_lld(text).status


def finalise_lld(text: str, *, item: str, status: str, reviews: Sequence[Review], stamp: str) -> str:
    """Return the design with its status, its review log and the closing stamp."""
    context = {
        "Issue": f"#{item}" if item.isdecimal() else item,
        "Status": status,
        "Reviews": str(len(reviews)),
    }
    return append_log(_set_context(text, context), status=status, reviews=reviews, stamp=stamp)


def _set_row(row: str, values: Mapping[str, str], missing: dict[str, str]) -> str:
    """Return a table row of label and value with the value that it shall have, or nothing."""
    cells = split_row(row)
    label = plain(cells[0]) if len(cells) == 2 else ""
    if label not in missing:
        return ""
    del missing[label]
    return render_row([cells[0], values[label.capitalize()]])


def _set_context(text: str, values: Mapping[str, str]) -> str:
    """Set `* **Label:** value` in section 1 for each value, adding the lines that are not there."""
    lines = promote_bold(scan(text))
    context = next((s for s in sections(lines) if s.level == 2 and plain(s.title) == "context goal"), None)
    if context is None:
        return text
    rows = split_lines(text)
    missing = {label.casefold(): f"* **{label}:** {value}" for label, value in values.items()}
    last = context.line
    for line in context.body:
        if line.kind is not Kind.TEXT:
            continue
        if new := missing.pop(split_label(line.text)[0].casefold(), ""):
            rows[line.number - 1] = new
            last = line.number
        elif "|" in line.text and (row := _set_row(line.text, values, missing)):
            rows[line.number - 1] = row
    if missing:
        is_before_table = last < len(rows) and rows[last].lstrip().startswith("|")
        rows[last:last] = [*missing.values(), *([""] if is_before_table else [])]
    return "\n".join(rows)
