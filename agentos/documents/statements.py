"""Read what a part of an issue states: entries, rows of tables, sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter

from agentos.documents.headings import is_metadata, plain
from agentos.documents.markdown import (
    Form,
    Line,
    LineKind,
    Lines,
    ListItem,
    items,
)
from agentos.documents.tables import Table, tables

Texts = tuple[str, ...]
LONGEST = 4_000
_COLUMNS = ("criterion", "requirement", "description", "concern", "risk")
_WISH_COLUMNS = ("criterion", "requirement", "deliverable", "feature")
_TELLING_COLUMNS = (*_WISH_COLUMNS, "expected", "must", "should")
_NOTHING = frozenset({"no response", "none", "n a", "na", "tbd"})
_FILLERS = (
    "a clear and concise description",
    "if applicable, add",
    "i have read",
    "i have searched",
    "i have checked",
    "i have looked",
    "i've read",
    "i've searched",
    "i've checked",
    "i agree",
    "i confirm",
    "i understand",
    "i am willing",
    "i would be willing",
    "i searched",
    "i checked",
    "yes i am willing",
    "yes, i am willing",
)
"""How the sentences and boxes begin that a tracker puts into its forms."""
_END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\bz\.B)(?<!\betc)[.!?][\"')*_`]?\s+")
_DEMAND = re.compile(
    r"""\b(?:
        should(?:n['\u2019]t)? | must | shall | please
        | (?:would|'d|\u2019d)\ (?:like|love|prefer|expect|be\ (?:nice|great|good|helpful))
        | would\ it\ be\ possible
        | (?:I|we|users?)\ (?:wants? | needs?\ an?)
        | (?:could|can)\ (?:you|we)
        | expect(?:ed|s)?
        | sollte?n? | müssen | muss | bitte
        | doit | doivent | devrait
        | debe | deben | debería
    )\b""",
    re.VERBOSE | re.IGNORECASE,
)
_REQUESTS = ("could ", "can ", "would it be ")
"""How a question begins that asks for something."""
_NO_DEMAND = re.compile(
    r"\s*(?:As (?:an?|the) |I must |We must |[\w.]*(?:Error|Exception|Warning):)",
    re.IGNORECASE,
)
_REMARK = re.compile(r"(?:#|//)\s?([^#]*\b(?:should|must)\b.*)")
_SCENARIO = re.compile(r"\s*Scenario(?: Outline)?:\s*(\S.*)")
_IMAGE = re.compile(r"!?\[[^\]\n]{0,300}\]\([^)\n]{0,500}\)|<(?:img|a)\b[^>\n]{0,500}>")
_SHORT_ROW = 60
"""A shorter row ends what it says, if the next one begins with a capital letter."""


def statements(lines: Lines) -> list[str]:
    """Return the entries and rows of a part, or its sentences if it has none."""
    found = list(map(entry_text, items(lines)))
    for grid in tables(lines):
        for row in grid.rows:
            text = row_text(grid, row)
            found.append(text)
    if found:
        return list(filter(is_said, found))
    for _, rows in rows_of(lines):
        found += sentences(rows)
    # What ends with a colon only introduces the rest.
    return [text for text in found if is_said(text) and not text.endswith(":")]


def wishes(lines: Lines, *, takes_entries: bool) -> list[str]:
    """Return what is wished for in a part that has no name: sentences that demand
    something, and with `takes_entries` its lists too.

    Boxes count anywhere.
    """
    found: list[tuple[int, str]] = []
    for entry in items(lines):
        is_box = entry.is_checked is not None
        if takes_entries or is_box:
            text = entry_text(entry)
            found.append((entry.line, text))
    for grid in tables(lines):
        if grid.column(*_TELLING_COLUMNS) is None:
            continue
        for line, row in grid.numbered_rows():
            text = row_text(grid, row, _WISH_COLUMNS)
            found.append((line, text))
    for line, rows in rows_of(lines):
        if is_metadata(rows[0]):
            continue
        demands = filter(is_demand, sentences(rows))
        found += [(line, text) for text in demands]
    found.sort(key=itemgetter(0))
    return [text for _, text in found if is_said(text)]


def wishes_in_code(lines: Iterable[Line]) -> Iterator[str]:
    """Yield the scenarios in code, and its comments that demand something."""
    for line in lines:
        if line.kind is not LineKind.CODE:
            continue
        row = line.text[:LONGEST]
        found = _SCENARIO.match(row)
        if found is None:
            found = _REMARK.search(row)
        if found:
            text = found[1]
            yield text.strip()


def rows_of(lines: Iterable[Line]) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of each paragraph, after the number of its first line."""
    rows: dict[int, list[str]] = {}
    for line in lines:
        if line.form is not Form.PARAGRAPH or not line.is_prose:
            continue
        row = line.text.strip()
        group = rows.setdefault(line.block, [])
        group.append(row)
    yield from rows.items()


def is_said(text: str) -> bool:
    """Tell whether a statement is more than what a form left there."""
    if not has_words(text):
        return False
    start = text[:LONGEST]
    if plain(start) in _NOTHING:
        return False
    folded = start.casefold()
    return not folded.startswith(_FILLERS)


def has_words(text: str) -> bool:
    """Tell whether a text is more than pictures and addresses."""
    start = text[:LONGEST]
    shown = _IMAGE.sub("", start)
    for word in shown.split():
        bare = word.strip("<>")
        if not bare.startswith("http"):
            return True
    return False


def is_demand(sentence: str) -> bool:
    """Tell whether a sentence says what should be."""
    text = sentence[:LONGEST]
    if _DEMAND.search(text) is None:
        return False
    if text.endswith(":") or _NO_DEMAND.match(text):
        return False
    bare = text.rstrip("*_ ")
    if bare.endswith("?"):
        folded = text.casefold()
        return folded.startswith(_REQUESTS)
    return True


def sentences(rows: Sequence[str]) -> list[str]:
    """Return the sentences of a paragraph, of which some may fill a row each."""
    found = []
    begun: list[str] = []
    for row in rows:
        if begun and _is_new(row, begun[-1]):
            text = " ".join(begun)
            found += _split(text)
            begun = []
        begun.append(row)
    text = " ".join(begun)
    found += _split(text)
    return found


def _is_new(row: str, before: str) -> bool:
    """Tell whether a row begins something new after the row before it."""
    first = row[:1]
    if not first.isupper() or len(before) >= _SHORT_ROW:
        return False
    return not before.endswith((",", ";", "-"))


def _split(text: str) -> list[str]:
    """Split a text where a sentence ends and the next begins."""
    found = []
    start = 0
    for match in _END.finditer(text):
        end = match.end()
        following = text[end : end + 1]
        if following.islower():
            continue
        found.append(text[start:end])
        start = end
    found.append(text[start:])
    stripped = map(str.strip, found)
    return list(filter(None, stripped))


def entry_text(entry: ListItem) -> str:
    """Return an entry with the entries in it."""
    if not entry.details:
        return entry.text
    text = entry.text.rstrip(":;,. ")
    details = "; ".join(entry.details)
    return f"{text}: {details}"


def row_text(grid: Table, row: Texts, columns: Texts = _COLUMNS) -> str:
    """Return the cell under a known heading, or else the whole row.

    In a table such as `| Days late | Fee |` no cell means anything without the others.
    """
    text = grid.cell(row, *columns)
    if text:
        return text
    if len(row) == 1:
        return row[0]
    parts = []
    for title, cell in zip(grid.header, row, strict=True):
        label = title.strip("*_`#: ")
        if label and cell:
            parts.append(f"{label}: {cell}")
        elif cell:
            parts.append(cell)
    return "; ".join(parts)
