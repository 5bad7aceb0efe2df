"""Read what an answer says outside its blocks: that its writer is blocked, that a test is
wrong, that scenarios are about behavior that exists, that no test can reach some lines.

A statement is a line of its own, in a list or in bold if the model likes, and its reason
goes on until the next blank line. What is quoted or in a fence is no statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from agentos.documents.changes.contract import BLOCKED, CONTEST, KEPT, UNREACHABLE
from agentos.documents.changes.model import (
    Contest,
    Kept,
    Problem,
    Rows,
    UnreachableLines,
    problem_at,
)

WORDS = ("blocked", "contest", "kept", "unreachable")
_MAX_ROW = 4_000
_MAX_REASON = 2_000
_MAX_ROWS = 40
_MAX_STATEMENTS = 500
_LIST = re.compile(r"(?:[-*+]|\d{1,3}[.)]|#{1,6})[ \t]++")
_STATEMENT = re.compile(
    r"[*_`]{0,3}(blocked|contest(?:ed)?|kept|unreachable)[*_`]{0,3}[ \t]*:[*_`]{0,3}(.*)",
    re.IGNORECASE | re.DOTALL,
)
_MAX_NAMES = 100
_DASHES = frozenset({"-", "\u2013", "\u2014"})
_JOINERS = frozenset({"and", "&"})
_ID = re.compile(r"[A-Z]{0,4}-?\d[\w.]*", re.IGNORECASE)
_PLACE = re.compile(r"`?([^\s`,:]{1,500})`?(?:[:,][ ]?|[ ])(?:lines? )?(?=[0-9])")
_RANGE = re.compile(r"([0-9]{1,7})(?:[-\u2013]([0-9]{1,7}))?")
_NOTHING = frozenset(
    {"", "no", "none", "nothing", "n/a", "na", "false", "not blocked", "reason", "-"}
)


@dataclass(slots=True)
class Statements:
    """The statements of an answer, and those that lack something."""

    blocked: str
    contested: list[Contest]
    kept: list[Kept]
    problems: list[Problem]
    unreachable: list[UnreachableLines]


def read_statements(
    rows: Rows,
    candidates: Iterable[int],
    covered: bytes | bytearray,
) -> Statements:
    """Return the statements in the rows that are in no block."""
    found = Statements("", [], [], [], [])
    reasons = []
    count = 0
    for number in candidates:
        if covered[number]:
            continue
        match = _match(rows[number])
        if match is None:
            continue
        count += 1
        if count > _MAX_STATEMENTS:
            break
        word = match[1].casefold()
        said = _with_following(match[2], rows, number, covered)
        rest = _clean(said)
        line = number + 1
        if word == "blocked":
            if rest.strip(". ").casefold() not in _NOTHING:
                reasons.append(rest)
        elif word == "kept":
            _add_kept(found, rest, line)
        elif word == "unreachable":
            _add_unreachable(found, rest, line)
        else:
            _add_contest(found, rest, line)
    found.blocked = "; ".join(reasons)[:_MAX_REASON]
    return found


def _match(row: str) -> re.Match[str] | None:
    if len(row) > _MAX_ROW or ":" not in row:
        return None
    bare = row.strip(" \t\r")
    opening = _LIST.match(bare)
    if opening:
        bare = bare[opening.end() :]
    return _STATEMENT.fullmatch(bare)


def _with_following(
    first: str,
    rows: Rows,
    number: int,
    covered: bytes | bytearray,
) -> str:
    """Return a reason with the lines that go on with it."""
    parts = [first]
    end = min(len(rows), number + _MAX_ROWS)
    for below in range(number + 1, end):
        row = rows[below]
        if covered[below] or _ends_reason(row):
            break
        parts.append(row)
    return " ".join(parts)


def _ends_reason(row: str) -> bool:
    """Tell whether a row is blank, too long or the beginning of something else."""
    bare = row.strip(" \t\r")
    if not bare or len(row) > _MAX_ROW or _match(row):
        return True
    return bare.startswith(("```", "~~~", "# ", "## ", "### ", "<<<<<<<"))


def _clean(text: str) -> str:
    """Return a reason on one line, without the marks around the whole statement."""
    words = text[: 2 * _MAX_REASON].split()
    flat = " ".join(words)
    for mark in ("**", "__", "`"):
        is_odd = flat.count(mark) % 2 == 1
        if is_odd and flat.endswith(mark):
            flat = flat.removesuffix(mark).rstrip()
    return flat[:_MAX_REASON]


def _add_kept(
    found: Statements,
    rest: str,
    line: int,
) -> None:
    scenarios, reason = _split_ids(rest)
    if not scenarios:
        # A sentence, such as "Kept: everything else".
        return
    if _is_missing(reason):
        listed = ", ".join(scenarios)
        text = f"says nothing about why {listed} are kept; write {KEPT}."
        found.problems.append(problem_at(line, text))
        return
    kept = Kept(tuple(scenarios), reason, line)
    found.kept.append(kept)


def _split_ids(rest: str) -> tuple[list[str], str]:
    """Split the ids of scenarios from the reason."""
    ids: list[str] = []
    while rest:
        word, _, after = rest.partition(" ")
        bare = word.strip("`*,:")
        if _ID.fullmatch(bare):
            ids.append(bare)
        elif word in _DASHES:
            rest = after
            break
        elif word not in _JOINERS:
            break
        rest = after
        if word.rstrip("`*").endswith(":"):
            break
    return ids, rest.strip(" *`")


def _add_unreachable(found: Statements, rest: str, line: int) -> None:
    place = _PLACE.match(rest)
    if place is None:
        # A sentence, such as "Unreachable: nothing".
        return
    path = place[1]
    ranges, reason = _split_ranges(rest[place.end() :])
    if _is_missing(reason):
        text = f"says nothing about why no test reaches {path}; write {UNREACHABLE}."
        found.problems.append(problem_at(line, text))
        return
    for first, last in ranges:
        lines = UnreachableLines(path, first, last, reason, line)
        found.unreachable.append(lines)


def _split_ranges(rest: str) -> tuple[list[tuple[int, int]], str]:
    """Split the numbers of lines from the reason."""
    ranges: list[tuple[int, int]] = []
    while rest:
        word, _, after = rest.partition(" ")
        numbers = _RANGE.fullmatch(word.strip("`*,:"))
        if numbers is not None:
            first = int(numbers[1])
            last = int(numbers[2] or first)
            ranges.append((first, last))
        elif word in _DASHES:
            rest = after
            break
        elif word not in _JOINERS:
            break
        rest = after
        if word.rstrip("`*").endswith(":"):
            break
    return ranges, rest.strip()


def _add_contest(found: Statements, rest: str, line: int) -> None:
    names, reason = _split_names(rest)
    for name in names:
        if name.casefold() in _NOTHING:
            continue
        if _is_missing(reason):
            _miss_reason(found, name, line)
        else:
            contest = Contest(name, reason, line)
            found.contested.append(contest)


def _split_names(rest: str) -> tuple[list[str], str]:
    """Split a contest into the names of tests and the reason.

    There are no names if the line is a sentence.
    """
    names: list[str] = []
    while rest and len(names) < _MAX_NAMES:
        name, sign, rest = _split_name(rest)
        names.append(name)
        following, _, after = rest.partition(" ")
        if sign == ":":
            break
        if following in _DASHES:
            rest = after
            break
        if following in _JOINERS:
            rest = after
        elif sign != ",":
            if rest and not _is_test_name(name):
                return [], ""
            break
    return names, rest.strip(" *`")


def _split_name(rest: str) -> tuple[str, str, str]:
    """Split off a name, the comma or colon behind it, and what follows."""
    if rest.startswith("`"):
        name, _, rest = rest[1:].partition("`")
        sign = rest[:1]
        if sign not in (",", ":"):
            sign = ""
        rest = rest.removeprefix(sign)
        return name.strip(), sign, rest.lstrip(" *")
    end = rest.find(" ")
    bracket = rest.find("[")
    if 0 <= bracket < end:
        # The values of a parameter may have blanks.
        closing = rest.find("]", bracket)
        end = rest.find(" ", closing)
    if end < 0:
        end = len(rest)
    word = rest[:end].strip("*")
    name = word.rstrip(",:*`")
    sign = word.removeprefix(name).strip("*`")
    following = rest[end:].lstrip(" ")
    return name, sign[:1], following


def _miss_reason(found: Statements, name: str, line: int) -> None:
    shown = name[:200]
    text = f"says nothing about why {shown} is wrong; write {CONTEST}."
    problem = problem_at(line, text)
    found.problems.append(problem)


def _is_test_name(word: str) -> bool:
    return "::" in word or word.startswith("test_")


def _is_missing(reason: str) -> bool:
    return reason.strip(". ").casefold() in _NOTHING


def say_both() -> str:
    """Say what to do about an answer that is blocked and has changes."""
    return (
        f"the answer says {BLOCKED} and has changes too; send the changes alone if you"
        " can go on, or that line alone if you cannot"
    )
