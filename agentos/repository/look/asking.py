"""Read what a model asks to see: one look on each line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

VERBS = {
    "outline": "outline PATH",
    "read": "read PATH [120-220,300-340]",
    "search": "search TEXT [PATH]",
    "symbol": "symbol NAME",
    "tests": "tests NAME",
    "history": "history PATH",
}
LONGEST_LINE = 1_000
_SHOWN = 120
_MOST_RANGES = 20
_MOST_DIGITS = 9
_RANGES = re.compile(r"-?[0-9]+(?:--?[0-9]+)?(?:,-?[0-9]+(?:--?[0-9]+)?)*\Z")
_RANGE = re.compile(r"(-?[0-9]+)(?:-(-?[0-9]+))?\Z")
_QUOTES = "\"'`"

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Look:
    """One thing that a model asks to see."""

    verb: str
    target: str
    """A path, a name, or the text to search for."""
    ranges: tuple[Range, ...] = ()
    is_quoted: bool = False
    """Whether the text was in quotes; then what follows it can only be a path."""
    place: str = ""
    """The path after a quoted text."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A line that asks for nothing that can be shown, and why."""

    line: str
    reason: str


def parse_looks(lines: Sequence[str]) -> list[Look | Problem]:
    """Return what each line asks for; blank lines ask for nothing."""
    found = []
    for line in lines:
        asked = line.strip()
        if asked:
            found.append(_parse(asked))
    return found


def show_line(text: str) -> str:
    """Return untrusted text on one line, shortened."""
    characters = []
    for character in text[:_SHOWN]:
        if character.isprintable():
            characters.append(character)
        else:
            characters.append("?")
    shown = "".join(characters)
    if len(text) > _SHOWN:
        shown += "..."
    return shown


def _parse(line: str) -> Look | Problem:
    shown = show_line(line)
    if len(line) > LONGEST_LINE:
        return Problem(shown, f"a look has at most {LONGEST_LINE:,} characters")
    if "\0" in line:
        return Problem(shown, "has a NUL character; leave it out")
    words = line.split(None, 1)
    verb = words[0].casefold()
    if verb not in VERBS:
        forms = "; ".join(VERBS.values())
        return Problem(shown, f"no such look; the looks are: {forms}")
    rest = ""
    if len(words) > 1:
        rest = words[1].strip()
    if not rest:
        return Problem(shown, f"incomplete; write {VERBS[verb]}")
    if verb == "read":
        return _parse_read(rest, shown)
    if verb == "search":
        return _parse_search(rest, shown)
    target = _unquote(rest)
    if not target:
        return Problem(shown, f"incomplete; write {VERBS[verb]}")
    return Look(verb, target)


def _parse_read(rest: str, shown: str) -> Look | Problem:
    path, _, last = rest.rpartition(" ")
    if not path or not _RANGES.match(last):
        target = _unquote(rest)
        if not target:
            return Problem(shown, f"incomplete; write {VERBS['read']}")
        return Look("read", target)
    target = _unquote(path.strip())
    parts = last.split(",")
    if not target:
        return Problem(shown, f"incomplete; write {VERBS['read']}")
    if len(parts) > _MOST_RANGES:
        return Problem(shown, f"asks for more than {_MOST_RANGES} ranges of lines")
    ranges = []
    for part in parts:
        found = _read_range(part)
        if isinstance(found, str):
            return Problem(shown, found)
        ranges.append(found)
    return Look("read", target, tuple(ranges))


def _read_range(part: str) -> Range | str:
    """Return the first and the last line, or what is wrong with them."""
    match = _RANGE.match(part)
    if match is None:
        return f"{part}: is no range of lines; write 120-220"
    begin = match[1]
    end = match[2] or begin
    if max(len(begin), len(end)) > _MOST_DIGITS:
        return "no file has that many lines"
    first = int(begin)
    last = int(end)
    if first < 1 or last < 1:
        return f"{part}: lines are counted from 1"
    if last < first:
        return f"{part}: ends before it begins; write {last}-{first}"
    return first, last


def _parse_search(rest: str, shown: str) -> Look | Problem:
    quote = rest[0]
    end = rest.rfind(quote)
    is_quoted = quote in _QUOTES and end > 0 and rest[end + 1 : end + 2] in ("", " ")
    text = rest
    place = ""
    if is_quoted:
        text = rest[1:end]
        place = rest[end + 1 :].strip()
    if not text.strip():
        return Problem(shown, f"an empty search finds nothing; write {VERBS['search']}")
    return Look("search", text, is_quoted=is_quoted, place=place)


def _unquote(text: str) -> str:
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in _QUOTES
    if is_quoted:
        return text[1:-1].strip()
    return text
