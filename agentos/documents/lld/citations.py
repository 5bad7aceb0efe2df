"""Read the ids of requirements, and which of them a text cites, in every usual form."""

from __future__ import annotations

import itertools
import re
import string
from collections.abc import Iterator, Sequence

_PREFIXES = {
    "": "R",
    "R": "R",
    "REQ": "R",
    "REQS": "R",
    "REQUIREMENT": "R",
    "REQUIREMENTS": "R",
    "FR": "FR",
    "NFR": "NFR",
    "AC": "AC",
    "CRITERION": "AC",
}
_WORDS = r"requirements?|reqs?|criterion|nfr|fr|ac|r"
_ID = re.compile(r"([A-Za-z]*)[-_ ]*([0-9]{1,7})")
_OWN_ID = re.compile(
    r"[*`\[( ]*([A-Za-z]+[-_ ]*[0-9]{1,7})"
    r"(?=[*`)\]]|[:.\-—\u2013]| [*`)\] ]*[:.\-—\u2013])"
)
_SIGNS = ":.-—\u2013"
_CLOSING = re.compile(r"[*`)\]]*(?: [*`)\] ]*(?=[:.\-—\u2013]))?")
_NAMED = re.compile(
    rf"(?<![^\W_])(?P<prefix>{_WORDS})[-_ .:#]{{0,3}}(?P<number>\d{{1,7}})(?![^\W_]|\.\d)",
    re.IGNORECASE,
)
_BARE = re.compile(
    rf"(?<!\w)(?<!\d\.)(?:(?P<prefix>{_WORDS})[-_ .:#]{{0,3}}|3\.)?(?P<number>\d{{1,7}})"
    r"(?![^\W_]|\.\d)",
    re.IGNORECASE,
)
_REMARK = re.compile(r"\([^()]{0,300}\)")
_BRACKETS = re.compile(r"[(\[]([^()\[\]]{1,300})[)\]]")
_FILLER = re.compile(r"\b(?:and|to|through|section|no|nr)\b", re.IGNORECASE)
_RANGES = frozenset({"-", "\u2013", "—", "..", "...", "…", "to", "through"})
_ALL = frozenset({"all", "all requirements", "all of them", "every requirement", "r*"})
_MAX_CELL = 2_000
_MAX_CITED = 500
_MAX_IN_RANGE = 100

Ids = tuple[str, ...]


class KnownIds:
    """The ids of a design's requirements, to be found in whatever form they are cited."""

    def __init__(self, ids: Sequence[str]) -> None:
        self.ids = tuple(ids)
        self.has_criteria = False
        self._own: dict[str, str] = {}
        self._by_number: dict[str, list[str]] = {}
        for id in self.ids:
            self._own[id.casefold()] = id
            if id.startswith("AC"):
                self.has_criteria = True
            number = id.lstrip(string.ascii_uppercase)
            same = self._by_number.setdefault(number, [])
            same.append(id)

    def __contains__(self, id: str) -> bool:
        return id.casefold() in self._own

    def find(self, token: str) -> str:
        """Return the id that is written exactly so, or nothing."""
        folded = token.casefold()
        return self._own.get(folded, "")

    def resolve(self, letters: str, number: int) -> str:
        """Return the id of a requirement cited as `REQ-3`, `AC3` or `3`.

        An id that section 3 does not have is returned as it is cited. Criteria are
        those of the issue, unless the requirements are numbered so.
        """
        cited = f"{letters}{number}"
        if cited in self:
            return cited
        digits = str(number)
        same = self._by_number.get(digits, [])
        if len(same) == 1:
            return same[0]
        if letters == "AC" and not self.has_criteria:
            return ""
        return cited


def requirement_id(token: str) -> str:
    """Return `R3` for `R3`, `REQ-003`, `#3` or `3`, `FR2` for `FR-2`, else nothing."""
    bare = token.strip("`*#()[]:. \t")
    found = _ID.fullmatch(bare)
    if found is None:
        return ""
    letters, digits = found.groups()
    prefix = _PREFIXES.get(letters.upper())
    if prefix is None:
        return ""
    number = int(digits)
    return f"{prefix}{number}"


def split_id(text: str) -> tuple[str, str]:
    """Split an item that begins with its own id, such as `**REQ-1:** text`."""
    found = _OWN_ID.match(text)
    if found is None:
        return "", text
    written = found[1]
    own = requirement_id(written)
    if not own:
        return "", text
    opening, after = text.split(written, 1)
    closed = ""
    closing = _CLOSING.match(after)
    if closing:
        closed = closing[0]
    after = after.removeprefix(closed)
    after = after.lstrip(_SIGNS)
    for mark in ("*", "`"):
        # As in `**R1:** text`; a mark that is closed already begins the text.
        is_open = mark in opening
        if is_open and mark not in closed:
            after = after.lstrip(" ")
            after = after.lstrip(mark)
    return own, after.strip()


def read_cited(cell: str, known: KnownIds) -> Ids:
    """Return the ids that a cell of a column of citations names.

    It may say `R1, R2`, `REQ-1/REQ-2`, `1 & 2`, `#3`, `R1-R3` or `All`. Bare numbers
    count only in a cell without other words.
    """
    text = cell[:_MAX_CELL]
    bare = text.strip("`*# ()[].")
    folded = bare.casefold()
    if folded in _ALL:
        return known.ids[:_MAX_CITED]
    shown = _REMARK.sub(_keep_named, text)
    rest = _BARE.sub("", shown)
    rest = _FILLER.sub("", rest)
    pattern = _BARE
    if any(map(str.isalpha, rest)):
        pattern = _NAMED
    return _read(pattern, shown, known)


def _keep_named(found: re.Match[str]) -> str:
    """Cut words in brackets, unless they name a requirement."""
    remark = found[0]
    if _NAMED.search(remark):
        return remark
    if any(map(str.isalpha, remark)):
        return " "
    return remark


def find_named(text: str, known: KnownIds) -> Ids:
    """Return the ids of requirements that a text names, as in `Label in time (REQ-3)`.

    Without a column of their own they must have letters. An id that section 3 does not
    have counts only in brackets that hold nothing else.
    """
    text = text[:_MAX_CELL]
    found: dict[str, None] = {}
    for id in _read(_NAMED, text, known):
        if id in known:
            found[id] = None
    for inside in _BRACKETS.findall(text):
        rest = _NAMED.sub("", inside)
        rest = _FILLER.sub("", rest)
        if any(map(str.isalnum, rest)):
            continue
        cited = _read(_NAMED, inside, known)
        for id in cited:
            found[id] = None
    return tuple(found)


def _read(pattern: re.Pattern[str], text: str, known: KnownIds) -> Ids:
    found: dict[str, None] = {}
    for token in text.split():
        bare = token.strip("`*#()[]{}.,;:/")
        found[known.find(bare)] = None
    cited = _find_cited(pattern, text, known)
    bounded = itertools.islice(cited, _MAX_CITED)
    for id in bounded:
        found[id] = None
    found.pop("", None)
    return tuple(found)


def _find_cited(pattern: re.Pattern[str], text: str, known: KnownIds) -> Iterator[str]:
    """Yield the ids of all matches, and those between the ends of a range."""
    end = 0
    letters = ""
    first = 0
    for match in pattern.finditer(text):
        prefix = match["prefix"] or ""
        number = int(match["number"])
        # The end of `FR1-3` is a bare number.
        if prefix or not letters:
            letters = _PREFIXES[prefix.upper()]
        between = text[end : match.start()]
        sign = between.strip(" `*[]()")
        if end and sign.casefold() in _RANGES:
            inner = range(first + 1, number)
            for other in inner[:_MAX_IN_RANGE]:
                yield known.resolve(letters, other)
        yield known.resolve(letters, number)
        first = number
        end = match.end()
