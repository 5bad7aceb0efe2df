"""Apply edits to a text.

Each SEARCH is whole lines of the text that the model was shown, and it must be found
once; `matching.py` says how closely lines are compared. Only a SEARCH that is not in
that text, such as one for lines that an edit before it made, is looked for in the text
with the edits so far. Lines that stay keep their line ends, and new lines take those of
the lines they replace, so a file with CRLF keeps CRLF. A file without a line feed at its
end stays without one.

All edits of a file are applied, or none: half of a change is what nobody meant, and what
has to be sent again can then be read off the file.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from agentos.documents.changes.contract import NAME_WHOLE
from agentos.documents.changes.hints import (
    say_absent,
    say_found_often,
    say_not_found,
)
from agentos.documents.changes.indentation import Unclear, rewrite
from agentos.documents.changes.matching import (
    LEVELS,
    Level,
    Source,
    is_blank,
    without_returns,
)
from agentos.documents.changes.model import Edit, Rows
from agentos.documents.changes.near_matches import near_spellings
from agentos.documents.changes.spellings import Spelling, spellings
from agentos.errors import AgentOSError

_MAX_REFUSED = 5
"""Maximum number of edits that are refused in a file: each one costs a search for what
is similar.
"""
_MAX_NEAR = 60
"""Maximum number of edits of a file that are looked for in other blank lines, or within
a line: each one costs several walks through the file.
"""


class EditRefused(AgentOSError, ValueError):
    """An edit that cannot be applied; `line` is where it begins in the answer."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(f"Line {line}: {text}")
        self.line = line


@dataclass(frozen=True, slots=True)
class Edited:
    """A text with its edits, and those that could not be applied."""

    text: str
    """The text with all edits, or as it was if one is refused."""
    notes: tuple[str, ...] = ()
    """The edits that did not match exactly, a line each."""
    refused: tuple[EditRefused, ...] = ()
    applicable: tuple[int, ...] = ()
    """The lines of the edits that could be applied, if others are refused."""


def apply_edits(original: str, edits: Sequence[Edit]) -> str:
    """Return the text with all edits applied in order, or raise `EditRefused`.

    An empty text stands for a file that does not exist.
    """
    edited = edit_text(original, edits)
    for error in edited.refused:
        raise error
    return edited.text


def edit_text(original: str, edits: Sequence[Edit], path: str = "PATH") -> Edited:
    """Apply the edits of a file, and say which cannot be."""
    working = _Working(original, path)
    refused: list[EditRefused] = []
    applicable = []
    for edit in edits:
        try:
            working.apply(edit)
        except EditRefused as error:
            refused.append(error)
            if len(refused) == _MAX_REFUSED:
                break
        else:
            applicable.append(edit.line)
    if refused:
        return Edited(original, (), tuple(refused), tuple(applicable))
    return Edited(working.text(), tuple(working.notes))


class _Span(NamedTuple):
    """Rows of a text and what replaces them."""

    start: int
    end: int
    rows: list[str]


@dataclass(frozen=True, slots=True)
class _Match:
    """Where a section was found, and in which reading of it."""

    start: int
    level: Level
    search: Rows
    replace: Rows
    remark: str = ""

    @property
    def end(self) -> int:
        """The row after the last one found."""
        return self.start + len(self.search)


class _Working:
    """A text while its edits are applied."""

    def __init__(self, text: str, path: str) -> None:
        self.notes: list[str] = []
        self._path = path
        self._has_end = text.endswith("\n")
        self._is_new = not text
        rows: list[str] = []
        if text:
            rows = text.removesuffix("\n").split("\n")
        self._source = Source(rows)
        self._spans: list[_Span] = []
        self._present: Source | None = None
        self._near = 0

    def text(self) -> str:
        """Return the text with the edits so far."""
        rows = self._merged()
        result = "\n".join(rows)
        if rows and (self._has_end or self._is_new):
            result += "\n"
        return result

    def apply(self, edit: Edit) -> None:
        """Apply an edit, or raise `EditRefused`."""
        search = _split(edit.search)
        replace = _split(edit.replace)
        if all(map(is_blank, search)):
            self._begin(edit, replace)
            return
        if not self._source.rows and not self._spans:
            raise EditRefused(edit.line, say_absent(self._path))
        match = self._find(edit.line, search, replace)
        found = self._source.plain[match.start : match.end]
        try:
            new = rewrite(match.level, match.search, found, match.replace)
        except Unclear as error:
            line = str(error).strip()[:100]
            raise EditRefused(
                edit.line,
                f"the SEARCH text is found at {_lines(match)} of the file with another"
                f" indentation, and that of `{line}` cannot be told; write both parts"
                " with the indentation of the file",
            ) from None
        self._note(match)
        self._replace(match.start, match.end, new)

    def _begin(self, edit: Edit, replace: list[str]) -> None:
        """Take a section with an empty SEARCH for the text of a file."""
        present = self._merged()
        if not all(map(is_blank, present)):
            whole = NAME_WHOLE.format(path=self._path)
            raise EditRefused(
                edit.line,
                "an empty SEARCH is only for a new file; name the lines that are"
                f" replaced, or send the file whole: {whole}",
            )
        self._reset(replace)
        self._has_end = True

    def _find(self, line: int, search: Rows, replace: Rows) -> _Match:
        """Return where a section is found, or raise `EditRefused`."""
        exact = (Level.EXACT,)
        loose = LEVELS[1:]
        plain = Spelling(search, replace, "", LEVELS)
        for levels in (exact, loose):
            match = self._find_spelled(line, plain, levels)
            if match:
                return match
        for spelling in spellings(search, replace):
            match = self._find_spelled(line, spelling, spelling.levels)
            if match:
                return match
        match = self._find_near(line, search, replace)
        if match:
            return match
        present = self._see_present()
        raise EditRefused(line, say_not_found(present, search, replace))

    def _find_near(self, line: int, search: Rows, replace: Rows) -> _Match | None:
        """Look for what the file has with other blank lines, or within a line."""
        self._near += 1
        if self._near > _MAX_NEAR:
            return None
        sources = [self._source]
        if self._spans:
            sources.append(self._see_present())
        for source in sources:
            near = list(near_spellings(source, search, replace))
            if len(near) > 1:
                return None
            for spelling in near:
                match = self._find_spelled(line, spelling, spelling.levels)
                if match:
                    return match
        return None

    def _find_spelled(
        self, line: int, spelling: Spelling, levels: Sequence[Level]
    ) -> _Match | None:
        """Look in the text that was shown, and then in the one with the edits so far."""
        if not spelling.search:
            return None
        match, found, how = _locate(self._source, spelling, levels)
        if match and not self._is_touched(match):
            return match
        if self._spans:
            present = self._see_present()
            again, found, how = _locate(present, spelling, levels)
            if again:
                self._reset(present.rows)
                return again
        if found:
            raise EditRefused(line, say_found_often(found, how))
        if match:
            raise EditRefused(
                line,
                f"{_lines(match)} of the file are changed by a section before this one;"
                " join the two sections",
            )
        return None

    def _is_touched(self, match: _Match) -> bool:
        for span in self._spans:
            if match.end <= span.start:
                continue
            if match.start < span.end:
                return True
        return False

    def _see_present(self) -> Source:
        if not self._spans:
            return self._source
        if self._present is None:
            self._present = Source(self._merged())
        return self._present

    def _merged(self) -> list[str]:
        """Return the rows with the edits so far."""
        if not self._spans:
            return list(self._source.rows)
        rows: list[str] = []
        done = 0
        for span in self._spans:
            rows += self._source.rows[done : span.start]
            rows += span.rows
            done = span.end
        rows += self._source.rows[done:]
        return rows

    def _reset(self, rows: Rows) -> None:
        """Go on from the text with the edits so far."""
        self._source = Source(list(rows))
        self._spans = []
        self._present = None

    def _replace(self, start: int, end: int, new: list[str]) -> None:
        rows = self._source.rows
        is_tail = not self._has_end and end == len(rows)
        # The last line of a file without a final line feed has no line end of its own,
        # so the line above it tells which one to use.
        above = max(0, start - is_tail)
        new = without_returns(new)
        plain = self._source.plain
        if rows[above:end] != plain[above:end]:
            new = [f"{row}\r" for row in new]
        before = start - 1
        if is_tail and new:
            last = new.pop()
            new.append(last.removesuffix("\r"))
        insort(self._spans, _Span(start, end, new))
        self._present = None
        if is_tail and not new and before >= 0:
            # What is above becomes the last line, which has no line end either.
            merged = self._merged()
            last = merged.pop()
            merged.append(last.removesuffix("\r"))
            self._reset(merged)

    def _note(self, match: _Match) -> None:
        how = match.remark or match.level.value
        if how:
            lines = _lines(match)
            self.notes.append(f"{lines} matched {how}")


def _locate(
    source: Source, spelling: Spelling, levels: Sequence[Level]
) -> tuple[_Match | None, list[int], str]:
    """Return the match at the first level that has any; if there are more than one,
    their rows and how they were compared.
    """
    for level in levels:
        if spelling.normalize is None:
            found = source.locate(spelling.search, level)
        else:
            found = source.find(spelling.search, spelling.normalize)
        if len(found) > 1:
            return None, found, spelling.remark or level.value
        if not found:
            continue
        match = _Match(
            found[0], level, spelling.search, spelling.replace, spelling.remark
        )
        rows = source.plain[match.start : match.end]
        if spelling.absent.isdisjoint("".join(rows)):
            return match, [], ""
    return None, [], ""


def _split(text: str) -> list[str]:
    """Return the rows of a part of a section, which ends with a line feed."""
    *rows, _ = text.split("\n")
    return without_returns(rows)


def _lines(match: _Match) -> str:
    first = match.start + 1
    if match.end == first:
        return f"line {first}"
    return f"lines {first}-{match.end}"
