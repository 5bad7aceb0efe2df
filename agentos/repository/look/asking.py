"""Read what a model asks to see: one look on each line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from agentos.documents.markdown import LineKind, scan
from agentos.state.redaction import redact

VERBS = {
    "outline": "outline PATH",
    "read": "read PATH 120-220,300-340",
    "search": "search TEXT [PATH]",
    "symbol": "symbol NAME",
    "tests": "tests NAME",
    "history": "history PATH",
}
INFO = ("look", "looks")
_LONGEST_LINE = 1_000
_SHOWN = 120
_MOST_RANGES = 20
_QUOTES = "\"'`"
_MARKER = re.compile(r"(?:(?:[-*+>$\u2022]|\(?[0-9]{1,3}[.):])[ \t]+)+")
_TO = r"(?:[ \t]*[-\u2013:][ \t]*|[ \t]+to[ \t]+|[ \t]+)"
_RANGE = rf"L?[0-9]{{1,9}}(?:{_TO}L?[0-9]{{1,9}})?"
_READ = re.compile(
    rf"(?P<path>.+?)[ \t:]+(?P<ranges>{_RANGE}(?:[ \t]*,[ \t]*{_RANGE})*)"
)
_NUMBER = re.compile("[0-9]+")

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Look:
    """One thing that a model asks to see."""

    line: str
    """The line as it was written, fit to be shown."""
    verb: str = ""
    target: str = ""
    """A path, a name, or the text to search for."""
    ranges: tuple[Range, ...] = ()
    place: str = ""
    """Where to search, if the text was in quotes."""
    is_quoted: bool = False
    """Whether a path after the text was told from it by quotes."""
    problem: str = ""
    """Why this asks for nothing that can be shown."""


def looks_in(text: str) -> tuple[str, ...] | None:
    """Return the lines of the fenced blocks `look` in an answer, None without any."""
    found: list[str] = []
    has_block = False
    is_inside = False
    for line in scan(text):
        if line.kind is LineKind.FENCE:
            info = line.info.casefold()
            is_look = info.strip(" \t:.") in INFO
            is_inside = is_look and not is_inside
            has_block = has_block or is_inside
        elif line.kind is not LineKind.CODE:
            is_inside = False
        elif is_inside:
            found.append(line.text.strip())
    if not has_block:
        return None
    return tuple(filter(None, found))


def parse_looks(lines: Iterable[str]) -> list[Look]:
    """Return what the lines ask for; blank lines and comments ask for nothing."""
    looks = []
    for entry in lines:
        for line in entry.splitlines():
            plain = _strip_markers(line)
            if not plain:
                continue
            if plain.startswith("#"):
                continue
            look = _parse(plain)
            looks.append(look)
    return looks


def show_line(text: str) -> str:
    """Return untrusted text on one line, short and without keys."""
    characters = []
    for character in text[:_SHOWN]:
        if not character.isprintable():
            character = "?"
        characters.append(character)
    shown = "".join(characters)
    if len(text) > _SHOWN:
        shown += "..."
    return redact(shown)


def _strip_markers(line: str) -> str:
    """Return a line without the bullets, numbers and quotes that models add."""
    plain = line.strip()
    marker = _MARKER.match(plain)
    if marker:
        plain = plain[marker.end() :]
    return _unquote(plain)


def _parse(line: str) -> Look:
    shown = show_line(line)
    if len(line) > _LONGEST_LINE:
        return Look(shown, problem=f"longer than {_LONGEST_LINE:,} characters")
    if "\0" in line:
        return Look(shown, problem="has a NUL character; leave it out")
    word, _, rest = line.partition(" ")
    verb = word.strip("*_:`").casefold()
    if verb not in VERBS:
        forms = "; ".join(VERBS.values())
        return Look(shown, problem=f"no such look; the looks are: {forms}")
    rest = rest.strip()
    look = Look(shown, verb, _unquote(rest))
    if verb == "read":
        look = _parse_read(rest, shown)
    elif verb == "search":
        look = _parse_search(rest, shown)
    if not look.target and not look.problem:
        return Look(shown, problem=f"incomplete; write {VERBS[verb]}")
    return look


def _parse_read(rest: str, shown: str) -> Look:
    match = _READ.fullmatch(rest)
    if match is None:
        return Look(shown, "read", _unquote(rest))
    ranges = []
    for part in match["ranges"].split(","):
        numbers = _NUMBER.findall(part)
        first = int(numbers[0])
        last = int(numbers[-1])
        if first < 1:
            return Look(shown, problem="lines are counted from 1")
        if last < first:
            problem = f"ends before it begins; write {last}-{first}"
            return Look(shown, problem=problem)
        ranges.append((first, last))
    if len(ranges) > _MOST_RANGES:
        return Look(shown, problem=f"more than {_MOST_RANGES} ranges of lines")
    path = _unquote(match["path"])
    return Look(
        shown,
        "read",
        path,
        tuple(ranges),
    )


def _parse_search(rest: str, shown: str) -> Look:
    quote = rest[:1]
    if not quote or quote not in _QUOTES:
        return Look(shown, "search", rest)
    opened = rest[1:]
    for match in re.finditer(rf"{quote}(?: |\Z)", opened):
        text = opened[: match.start()]
        after = opened[match.end() :]
        place = _unquote(after)
        # The text may have quotes inside; a path has none.
        if quote in place:
            continue
        # Some models escape the quotes inside.
        escaped = f"\\{quote}"
        text = text.replace(escaped, quote)
        if text.isspace():
            text = ""
        return Look(
            shown,
            "search",
            text,
            place=place,
            is_quoted=True,
        )
    return Look(shown, "search", rest)


def _unquote(text: str) -> str:
    stripped = text.strip()
    if len(stripped) < 2:
        return stripped
    quote = stripped[0]
    if quote not in _QUOTES:
        return stripped
    if not stripped.endswith(quote):
        return stripped
    inside = stripped[1:-1]
    return inside.strip()
