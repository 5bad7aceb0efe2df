"""Fill a template: insert the words known for each heading, and mark every remaining
`<fill in: ...>` as a gap.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

GAP = "[GAP:"
MOST_ENTRIES = 200
LONGEST_ENTRY = 1_000
_OPENING = "<fill in:"
_FILL_IN = re.compile(r"<fill in:\s*([^<>\n]*?)\s*>")
_NUMBER = re.compile(r"^[\d.]+\s+")
_PARTIAL = frozenset(
    {
        "proposed changes",
        "logic flow",
        "verification & testing",
        "ux flow",
    }
)
"""Headings whose gaps stay, because a source never covers them completely."""
_LABEL = re.compile(r"^(\s*[*-] )?\*\*([^*:]+):\*\*")


def fill_template(
    template: str,
    title: str,
    notice: str,
    words: Mapping[str, Sequence[str]],
    labels: Mapping[str, str],
) -> str:
    """Return the template with the words of each heading and the values of `**Label:**`
    lines.

    Headings are identified by their lowercase text without the number.
    """
    filled: list[str] = []
    for heading, body in _sections(template):
        if heading.startswith("# "):
            header = [f"# {title}", "", f"> {notice}", ""]
            filled += header
            continue
        text = heading.lstrip("# ")
        name = _NUMBER.sub("", text).casefold()
        found = words.get(name, ())
        keeps_gaps = not found or name in _PARTIAL
        filled.append(mark_gaps(heading))
        rows = _fill_body(body, found, labels, keeps_gaps=keeps_gaps)
        filled += rows
    text = "\n".join(filled)
    return text.rstrip() + "\n"


def _sections(template: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each heading with the lines below it."""
    heading = ""
    body: list[str] = []
    lines = template.strip().splitlines()
    for line in lines:
        if not line.startswith("#"):
            body.append(line)
            continue
        if heading:
            yield heading, body
        heading = line
        body = []
    if heading:
        yield heading, body


def _fill_body(
    body: Sequence[str],
    words: Sequence[str],
    labels: Mapping[str, str],
    *,
    keeps_gaps: bool,
) -> list[str]:
    filled: list[str] = []
    left = list(words)
    for line in body:
        value = ""
        label = _LABEL.match(line)
        if label:
            name = label[2].casefold()
            value = labels.get(name, "")
        if label and value:
            row = f"{label[0]} {value}"
            filled.append(row)
        elif _OPENING not in line:
            filled.append(line)
        else:
            # The words replace the first placeholder.
            filled += left
            left = []
            if keeps_gaps:
                filled.append(mark_gaps(line))
    return [*filled, *left]


def mark_gaps(text: str) -> str:
    """Return the text with a visible gap for everything to be filled in."""
    return _FILL_IN.sub(rf"{GAP} \1]", text)


def quote(text: str) -> str:
    """Return a source text on one line that cannot start a Markdown block."""
    start = text[: 2 * LONGEST_ENTRY]
    words = start.split()
    flat = " ".join(words)
    if len(flat) > LONGEST_ENTRY:
        kept = flat[: LONGEST_ENTRY - 1]
        flat = f"{kept.rstrip()}…"
    # A quoted fence or comment must not hide the rest of the document.
    flat = flat.replace("```", "`` `")
    flat = flat.replace("~~~", "~~ ~")
    flat = flat.replace("<!--", "&lt;!--")
    return flat.lstrip("#>|= ")


def quote_all(texts: Iterable[str]) -> list[str]:
    """Return the quoted texts without duplicates, empty texts and gaps."""
    kept: dict[str, None] = {}
    for text in texts:
        quoted = quote(text)
        if quoted and GAP not in quoted:
            kept[quoted] = None
    return list(kept)


def bullet(texts: Iterable[str], mark: str = "-") -> list[str]:
    """Return a list of the texts; a very long list ends with a gap."""
    quoted = quote_all(texts)
    shown = quoted[:MOST_ENTRIES]
    rows = [f"{mark} {text}" for text in shown]
    left = len(quoted) - MOST_ENTRIES
    if left > 0:
        gap = f"{GAP} {left} more, too many for one document; split it]"
        rows.append(f"{mark} {gap}")
    return rows


def enumerate_texts(texts: Iterable[str]) -> list[str]:
    """Return a numbered list of the texts."""
    rows = []
    bullets = bullet(texts, mark="")
    for number, row in enumerate(bullets, 1):
        numbered = f"{number}.{row}"
        rows.append(numbered)
    return rows
