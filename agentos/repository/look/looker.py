"""Answer the looks of a model from one snapshot, within limits."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agentos.repository.look.asking import Look, Problem, parse_looks, show_line
from agentos.repository.look.definitions import find_definitions
from agentos.repository.look.history import list_commits
from agentos.repository.look.opening import FileRefused, open_files
from agentos.repository.look.places import Places
from agentos.repository.look.scanning import (
    Scan,
    find_symbol,
    find_tests,
    is_test_file,
    search,
)
from agentos.repository.look.showing import fit, merge, number_lines, shorten
from agentos.repository.look.snapshot import FileRecord, Snapshot
from agentos.repository.look.texts import Texts, withhold
from agentos.state.redaction import redact
from agentos.state.wording import count

_LEAST_ROOM = 300
"""With fewer characters left, a look is not worth an answer."""
_MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class LookLimits:
    """How much may be looked at: turns, looks a turn, and characters."""

    turns: int = 6
    looks: int = 12
    look_characters: int = 10_000
    characters: int = 64_000
    """Of all answers of all turns together."""


@dataclass(frozen=True, slots=True)
class LookAnswer:
    """What a model is shown, and what it has spent so far."""

    text: str
    spent: int
    asked: tuple[str, ...]
    """One line about each look, for a journal."""


class Looker:
    """Answers looks at one repository, as it was when the item began."""

    def __init__(
        self,
        root: Path,
        snapshot: Snapshot,
        limits: LookLimits | None = None,
        hidden: Collection[str] = (),
    ) -> None:
        self._root = root
        self._snapshot = snapshot
        self._limits = limits or LookLimits()
        self._hidden = tuple(hidden)

    def answer(self, lines: Sequence[str], spent: int, turn: int) -> LookAnswer:
        """Answer the looks of one turn; turns are counted from 1, and `spent` is what
        the answer before said.
        """
        limits = self._limits
        looks = parse_looks(lines)
        if turn > limits.turns:
            said = f"Not answered: all {count(limits.turns, 'turn')} are used."
            return LookAnswer(said, spent, ())
        left = max(0, limits.characters - spent)
        parts = []
        asked = []
        with self._opened() as desk:
            for look in looks[: limits.looks]:
                room = min(left, limits.look_characters)
                part, summary = _answer_one(desk, look, room)
                parts.append(part)
                asked.append(summary)
                left -= min(left, len(part))
        parts += _name_unanswered(looks[limits.looks :], limits.looks)
        if not looks:
            parts.append("Nothing was asked.")
        parts.append(self._balance(left, turn))
        text = "\n\n".join(parts)
        return LookAnswer(text, limits.characters - left, tuple(asked))

    def find_quote(self, path: str, line: int, text: str) -> bool:
        """Tell whether a text stands in a file of the snapshot, white space aside.

        A quote is as good at another line than the one given, so any line will do.
        """
        del line
        wanted = " ".join(text.split())
        if not wanted:
            return False
        with self._opened() as desk:
            try:
                record = desk.places.find(path)
                content = desk.texts.read(record).text
            except (FileRefused, OSError):
                return False
        shown = "\n".join(withhold(record.path, content))
        if wanted in " ".join(shown.split()):
            return True
        bare = "".join(text.split())
        return bare in "".join(shown.split())

    @contextmanager
    def _opened(self) -> Iterator[_Desk]:
        with open_files(self._root) as files:
            texts = Texts(self._root, files, self._snapshot.hashing)
            places = Places(self._snapshot, files, self._hidden)
            yield _Desk(self._root, self._snapshot, texts, places)

    def _balance(self, left: int, turn: int) -> str:
        turns = count(max(0, self._limits.turns - turn), "turn")
        return f"Left: {left:,} of {self._limits.characters:,} characters, {turns}."


@dataclass(frozen=True, slots=True)
class _Desk:
    """What is open while looks are answered."""

    root: Path
    snapshot: Snapshot
    texts: Texts
    places: Places

    def show(self, look: Look) -> list[str]:
        """Return the rows of an answer; raise `FileRefused` with the reason if there
        is none.
        """
        match look.verb:
            case "outline":
                return self._outline(look)
            case "read":
                return self._read(look)
            case "search":
                return self._search(look)
            case "symbol":
                return find_symbol(self._scan(), look.target)
            case "tests":
                return self._tests(look)
            case _:
                record = self.places.find(look.target)
                return list_commits(self.root, self.snapshot.head, record.path)

    def _scan(self) -> Scan:
        return Scan(self.texts, self.places.records.values())

    def _lines(self, path: str) -> tuple[str, list[str], list[str]]:
        """Return the text of a file, its lines to show, and the notes on it."""
        record = self.places.find(path)
        file = self.texts.read(record)
        lines = withhold(record.path, file.text)
        notes = [f"({note})" for note in file.notes]
        return file.text, lines, notes

    def _outline(self, look: Look) -> list[str]:
        text, lines, notes = self._lines(look.target)
        path = self.places.find(look.target).path
        rows = []
        for definition in find_definitions(path, text):
            if definition.is_entry or definition.line > len(lines):
                continue
            row = lines[definition.line - 1].strip()
            indent = "  " * definition.depth
            place = f"{definition.first}-{definition.last}"
            rows.append(f"{place:>11}  {indent}{shorten(row)}")
        found = count(len(rows), "definition or heading")
        found = found.replace("definition or headings", "definitions and headings")
        return [f"{found} in {count(len(lines), 'line')}", *notes, *rows]

    def _read(self, look: Look) -> list[str]:
        _, lines, notes = self._lines(look.target)
        total = len(lines)
        if not total:
            return ["an empty file", *notes]
        ranges = merge(look.ranges or [(1, total)])
        inside = [pair for pair in ranges if pair[0] <= total]
        if not inside:
            return [f"no such lines: it has {count(total, 'line')}", *notes]
        names = []
        for first, last in inside:
            names.append(f"{first}-{min(last, total)}")
        shown = ", ".join(names)
        head = f"lines {shown} of {total}:"
        return [head, *notes, *number_lines(lines, inside)]

    def _search(self, look: Look) -> list[str]:
        text = look.target
        place = look.place
        if not look.is_quoted:
            text, place = self._split(text)
        if not place:
            return search(self._scan(), text)
        records = self.places.below(place)
        if not records:
            # It says why there is no such file.
            self.places.find(place)
        return search(Scan(self.texts, records), text)

    def _split(self, text: str) -> tuple[str, str]:
        """Return the text and the path after it, if the last word is one."""
        before, _, last = text.rpartition(" ")
        if not before.strip():
            return text, ""
        if not self._is_place(last):
            return text, ""
        return before.strip(), last

    def _is_place(self, word: str) -> bool:
        if word == ".":
            return False
        return bool(self.places.below(word))

    def _tests(self, look: Look) -> list[str]:
        records: list[FileRecord] = []
        for path, record in self.places.records.items():
            if is_test_file(path):
                records.append(record)
        return find_tests(Scan(self.texts, records), look.target)


def _answer_one(desk: _Desk, look: Look | Problem, room: int) -> tuple[str, str]:
    """Return the answer to a look, and one line about it."""
    if isinstance(look, Problem):
        line = redact(look.line)
        return f"{line}\n{look.reason}"[:room], f"{line}: {look.reason}"
    title = redact(describe_look(look))
    if room < _LEAST_ROOM:
        reason = "not answered: no characters are left"
        return f"{title}\n{reason}", f"{title}: {reason}"
    try:
        rows = desk.show(look)
    except FileRefused as error:
        rows = [str(error)]
    except OSError as error:
        rows = [f"cannot be read ({error.strerror})"]
    text = fit([title, *rows], room)
    return text, f"{title}: {rows[0]}"


def describe_look(look: Look) -> str:
    """Return a look as it is written, on one line."""
    ranges = ",".join(f"{first}-{last}" for first, last in look.ranges)
    words = [look.verb, show_line(look.target), ranges, show_line(look.place)]
    return " ".join(filter(None, words))


def _name_unanswered(looks: Sequence[Look | Problem], most: int) -> list[str]:
    if not looks:
        return []
    names = []
    for look in looks[:_MOST_NAMED]:
        if isinstance(look, Look):
            names.append(describe_look(look))
        else:
            names.append(look.line)
    more = len(looks) - _MOST_NAMED
    if more > 0:
        names.append(f"and {more} more")
    listed = redact("; ".join(names))
    return [f"Not answered, because a turn has at most {most} looks: {listed}"]
