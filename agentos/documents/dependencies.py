"""Read which other items a text says it depends on.

A statement begins a line or a list entry: `Depends on: #7, #9 and audit-trail`, `**Blocked by:** None`. Below a heading
such as Dependencies a bare `- #7` is one too. What is quoted, commented out, struck through, checked off or code is
none, and `owner/name#7` and addresses name the items of another repository, unless that one is said to be ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from agentos.documents.headings import Topic, plain, topic_of
from agentos.documents.markdown import Kind, Line, scan

MAX_CHARACTERS = 2_000_000
MAX_FOUND = 200
MAX_LINE = 2_000

_HINTS = ("depend", "blocked by", "prerequisite")
_STATEMENT = re.compile(
    r"(?:(?:this|it|(?:this )?(?:issue|task|item|brief|story|work)) (?:also )?)?(?:is )?"
    r"(?P<said>depends? (?:up)?on|dependent (?:up)?on|blocked by|blocked on)(?![^\W_]|-)[*_]*[ \t]*(?P<colon>:?)",
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
_NUMBER = re.compile(r"(?:(?:issue|brief|item|task|design)[ ]|(?:lld|issue|gh)-)?#?(\d{1,18})", re.IGNORECASE)
_FOREIGN = re.compile(r"([\w.-]{1,100}/[\w.-]{1,100})#(\d{1,18})")
_NAME = re.compile(r"#?([A-Za-z0-9][A-Za-z0-9_-]{0,63})")
_MARKER = re.compile(r"(?:[-*+•]|\d{1,9}[.)])[ \t]+(?:\[(?P<box>[ xX])\][ \t]+)?")
_NOTHING = frozenset(
    ("none", "no", "nothing", "n/a", "na", "tbd", "tba", "todo", "unknown", "nil", "null", "it", "this")
)


class _Under(Enum):
    """What the heading above says of the entries below it."""

    NOTHING = 0
    NUMBERS = 1
    """Entries that are numbers of items are dependencies, as in a list that also names packages."""
    NAMES = 2
    """Entries are dependencies, whatever they are called."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """Another item that a text waits for, and where it says so."""

    item: str
    line: int
    said: str
    """The statement in short: `Depends on #12`."""


def dependencies(text: str, ours: str = "") -> tuple[str, ...]:
    """Return the ids of the items that a text depends on, each once; `ours` is `owner/name` of its repository."""
    return tuple(found.item for found in read_dependencies(text, ours))


def read_dependencies(text: str, ours: str = "") -> tuple[Dependency, ...]:
    """Return the dependencies of a text with the lines that state them, each once, in their order."""
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
    """Tell at little cost whether it is worth while to read a text for its dependencies."""
    lowered = text.casefold()
    return any(hint in lowered for hint in _HINTS)


def _read(lines: tuple[Line, ...], ours: str) -> Iterator[Dependency]:
    under, said, goes_on = _Under.NOTHING, "Depends on", False
    for line in lines:
        if line.kind is Kind.HEADING:
            under, said = _place(line.text)
            goes_on = False
        elif line.kind is not Kind.TEXT:
            goes_on = goes_on and line.kind in (Kind.BLANK, Kind.COMMENT)
            continue
        entry, is_entry = _unmark(line.text[:MAX_LINE])
        if entry is None:
            continue
        match = _STATEMENT.match(entry)
        if match:
            said = "Blocked by" if match["said"].casefold().startswith("blocked") else "Depends on"
            rest = entry[match.end() :]
            goes_on = not rest.strip(" *_")
            takes_names = bool(match["colon"])
        elif is_entry and (goes_on or under is not _Under.NOTHING):
            rest, takes_names = entry, goes_on or under is _Under.NAMES
        else:
            goes_on = False
            continue
        for item in _references(rest, ours, takes_names=takes_names):
            yield Dependency(item, line.number, f"{said} {'#' if item.isdigit() else ''}{item}")


def _place(heading: str) -> tuple[_Under, str]:
    if topic_of(heading) is not Topic.DEPENDENCIES:
        return _Under.NOTHING, "Depends on"
    name = plain(heading)
    if name.startswith("related"):
        return _Under.NOTHING, "Depends on"
    if name.startswith("blocked by"):
        return _Under.NAMES, "Blocked by"
    return (_Under.NAMES if name.startswith("depends on") else _Under.NUMBERS), "Depends on"


def _unmark(text: str) -> tuple[str | None, bool]:
    """Return a line without its marks and whether it is a list entry; None when it states nothing of its own."""
    stripped = text.strip()
    if stripped.startswith((">", "|")):
        return None, False
    marker = _MARKER.match(stripped)
    if marker:
        if (marker["box"] or " ") != " ":
            return None, False
        stripped = stripped[marker.end() :]
    stripped = _STRUCK.sub(" ", _CODE.sub(" ` ", stripped)).replace("**", "").replace("__", "")
    return stripped.lstrip("*_ \t"), marker is not None


def _references(text: str, ours: str, *, takes_names: bool) -> Iterator[str]:
    """Give the ids at the beginning of a text, up to the first part that is none; foreign ones are passed over."""
    text = _ADDRESS.sub(lambda found: f" {found[1]}#{found[2]} ", _LINK.sub(_relink, text))
    for part in _BETWEEN.split(_REMARK.sub(" ", text)):
        words = part.strip(" \t*_.:`")
        foreign = _FOREIGN.match(words)
        if foreign and ours and foreign[1].casefold() == ours:
            yield str(int(foreign[2]))
        if not words or foreign:
            continue
        item = _identify(words, takes_names=takes_names)
        if item is None:
            # `#7 has to be merged first`: the rest of the line is a remark.
            first = words.split()[0].rstrip(":-\u2013\u2014")
            if first.startswith("#") and (item := _identify(first, takes_names=takes_names)):
                yield item
            return
        yield item


def _relink(found: re.Match[str]) -> str:
    """Take a link by its address when that is one of the web, by its text otherwise."""
    return f" {found[2]} " if "://" in found[2] else f" {found[1]} "


def _identify(words: str, *, takes_names: bool) -> str | None:
    number = _NUMBER.fullmatch(words)
    if number and (takes_names or not words[0].isdigit()):
        return str(int(number[1]))
    name = _NAME.fullmatch(words)
    if name is None or words.casefold() in _NOTHING:
        return None
    return name[1] if takes_names or words.startswith("#") else None
