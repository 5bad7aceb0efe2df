"""Read which other items a text depends on.

A statement begins a line or a list entry: `Depends on: #7, #9 and audit-trail`,
`**Blocked by:** None`. Below a heading such as Dependencies a bare `- #7` counts too.
Quotes, comments, code and entries that are struck through or checked off do not count.
`owner/name#7` and URLs name items of another repository, unless that is our own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from agentos.documents.headings import Topic, plain, topic_of
from agentos.documents.markdown import MAX_CHARACTERS, Line, LineKind, scan

MAX_FOUND = 200
MAX_LINE = 2_000
_DEPENDS = "Depends on"
_BLOCKED = "Blocked by"

_HINTS = ("depend", "blocked by", "prerequisite")
_STATEMENT = re.compile(
    r"(?:(?:this|it|(?:this )?(?:issue|task|item|brief|story|work)) (?:also )?)?"
    r"(?:is )?"
    r"(?P<said>depends? (?:up)?on|dependent (?:up)?on|blocked by|blocked on)"
    r"(?![^\W_]|-)[*_]*[ \t]*(?P<colon>:?)",
    re.IGNORECASE,
)
_CODE = re.compile(r"`[^`\n]{0,300}`")
_STRUCK = re.compile(r"~~[^~\n]{0,500}~~")
_REMARK = re.compile(r"\([^()\n]{0,300}\)")
_LINK = re.compile(r"\[([^\[\]\n]{1,200})\]\(([^()\s]{0,500})\)")
_ADDRESS = re.compile(
    r"<?https?://[\w.-]{1,200}/([\w.-]{1,100}/[\w.-]{1,100})/(?:issues|pull)/(\d{1,18})(?:#\S{0,200})?>?"
)
_BETWEEN = re.compile(r"[,;&+]|(?<!\S)(?:and|or|as well as)(?!\S)", re.IGNORECASE)
_NUMBER = re.compile(
    r"(?:(?:issue|brief|item|task|design)[ ]|(?:lld|issue|gh)-)?#?(\d{1,18})",
    re.IGNORECASE,
)
_FOREIGN = re.compile(r"([\w.-]{1,100}/[\w.-]{1,100})#(\d{1,18})")
_NAME = re.compile(r"#?([A-Za-z0-9][A-Za-z0-9_-]{0,63})")
_MARKER = re.compile(r"(?:[-*+•]|\d{1,9}[.)])[ \t]+(?:\[(?P<box>[ xX])\][ \t]+)?")
_NOTHING = frozenset(
    (
        "none",
        "no",
        "nothing",
        "n/a",
        "na",
        "tbd",
        "tba",
        "todo",
        "unknown",
        "nil",
        "null",
        "it",
        "this",
    )
)


class _Entries(Enum):
    """Which entries below a heading are dependencies."""

    NONE = 0
    NUMBERS = 1
    """Numbers of items only: the list may also name packages."""
    NAMES = 2
    """All entries."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """An item that a text depends on, and the line that says so."""

    item: str
    line: int
    said: str
    """The statement in short: `Depends on #12`."""


def dependencies(text: str, ours: str = "") -> tuple[str, ...]:
    """Return the ids of the items that a text depends on, each once.

    `ours` is `owner/name` of its repository.
    """
    return tuple(found.item for found in read_dependencies(text, ours))


def read_dependencies(text: str, ours: str = "") -> tuple[Dependency, ...]:
    """Return the dependencies of a text in order, each once."""
    text = text[:MAX_CHARACTERS]
    if not may_depend(text):
        return ()
    found: dict[str, Dependency] = {}
    for dependency in _read(scan(text), ours.casefold()):
        found.setdefault(dependency.item.casefold(), dependency)
        if len(found) == MAX_FOUND:
            break
    return tuple(found.values())


def may_depend(text: str) -> bool:
    """Tell quickly whether a text may state dependencies at all."""
    lowered = text.casefold()
    return any(hint in lowered for hint in _HINTS)


def _read(lines: tuple[Line, ...], ours: str) -> Iterator[Dependency]:
    entries = _Entries.NONE
    said = _DEPENDS
    # Whether a statement without items goes on in the list below it.
    goes_on = False
    for line in lines:
        if line.kind is LineKind.HEADING:
            entries, said = _read_heading(line.text)
            goes_on = False
        elif line.kind is not LineKind.TEXT:
            goes_on = goes_on and line.kind in (LineKind.BLANK, LineKind.COMMENT)
            continue
        text, is_entry = _unmark(line.text[:MAX_LINE])
        if text is None:
            continue
        match = _STATEMENT.match(text)
        if match:
            said = _DEPENDS
            if match["said"].casefold().startswith("blocked"):
                said = _BLOCKED
            text = text[match.end() :]
            goes_on = not text.strip(" *_")
            takes_names = bool(match["colon"])
        elif is_entry and (goes_on or entries is not _Entries.NONE):
            takes_names = goes_on or entries is _Entries.NAMES
        else:
            goes_on = False
            continue
        for item in _references(text, ours, takes_names=takes_names):
            sign = "#" if item.isdigit() else ""
            yield Dependency(item, line.number, f"{said} {sign}{item}")


def _read_heading(heading: str) -> tuple[_Entries, str]:
    """Return which entries below a heading count, and what it says of them."""
    name = plain(heading)
    if topic_of(heading) is not Topic.DEPENDENCIES or name.startswith("related"):
        return _Entries.NONE, _DEPENDS
    if name.startswith("blocked by"):
        return _Entries.NAMES, _BLOCKED
    if name.startswith("depends on"):
        return _Entries.NAMES, _DEPENDS
    return _Entries.NUMBERS, _DEPENDS


def _unmark(text: str) -> tuple[str | None, bool]:
    """Return a line without its marks, and whether it is a list entry.

    The text is None if the line is a quote, a table row or checked off.
    """
    text = text.strip()
    if text.startswith((">", "|")):
        return None, False
    marker = _MARKER.match(text)
    if marker:
        if marker["box"] in ("x", "X"):
            return None, False
        text = text[marker.end() :]
    text = _CODE.sub(" ` ", text)
    text = _STRUCK.sub(" ", text)
    for bold in ("**", "__"):
        text = text.replace(bold, "")
    return text.lstrip("*_ \t"), marker is not None


def _references(text: str, ours: str, *, takes_names: bool) -> Iterator[str]:
    """Yield the ids at the beginning of a text, up to the first part that is no id.

    Items of other repositories are skipped.
    """
    text = _LINK.sub(_relink, text)
    text = _ADDRESS.sub(r" \1#\2 ", text)
    text = _REMARK.sub(" ", text)
    for part in _BETWEEN.split(text):
        words = part.strip(" \t*_.:`")
        foreign = _FOREIGN.match(words)
        if foreign and ours and foreign[1].casefold() == ours:
            yield str(int(foreign[2]))
        if not words or foreign:
            continue
        item = _identify(words, takes_names=takes_names)
        is_remark = item is None
        if is_remark:
            # `#7 has to be merged first`: the rest of the line is a remark.
            first = words.split()[0]
            first = first.rstrip(":-\u2013\u2014")
            if first.startswith("#"):
                item = _identify(first, takes_names=takes_names)
        if item:
            yield item
        if is_remark:
            return


def _relink(found: re.Match[str]) -> str:
    """Replace a link by its URL, or by its text if the URL is relative."""
    text, url = found.groups()
    if "://" in url:
        text = url
    return f" {text} "


def _identify(words: str, *, takes_names: bool) -> str | None:
    number = _NUMBER.fullmatch(words)
    if number and (takes_names or not words[0].isdigit()):
        return str(int(number[1]))
    name = _NAME.fullmatch(words)
    if name is None or words.casefold() in _NOTHING:
        return None
    if takes_names or words.startswith("#"):
        return name[1]
    return None
