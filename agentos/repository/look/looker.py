"""Answer the looks of a model from one snapshot, within limits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from agentos.repository.git.run import Git
from agentos.repository.look.answers import answer_look
from agentos.repository.look.asking import Look, parse_looks
from agentos.repository.look.history import has_one_commit
from agentos.repository.look.opening import FileRefused
from agentos.repository.look.passages import Passages
from agentos.repository.look.quotes import find_quote
from agentos.repository.look.recorded import RecordedFiles
from agentos.repository.look.showing import fit
from agentos.repository.look.snapshot import Snapshot
from agentos.state.wording import count

_LEAST_ROOM = 300
"""With fewer characters left, a look is not worth an answer."""
_CLOSING = 1_000
"""What is kept for the last lines, which say what was not answered and what is left."""
_MOST_NAMED = 5
_BETWEEN = "\n\n"


@dataclass(frozen=True, slots=True)
class LookLimits:
    """How much a role may look at before it answers."""

    turns: int = 6
    looks: int = 12
    """In one turn."""
    look_characters: int = 10_000
    characters: int = 64_000
    """In all turns together."""


@dataclass(frozen=True, slots=True)
class LookAnswer:
    """What a model is shown."""

    text: str
    summary: tuple[str, ...]
    """One line about each look, for the audit: `read a.py 1-9: lines 1-9 of 80`."""


class Looker:
    """Answers looks at one repository as it was when an item began.

    It keeps no account: the same lines, turn, number of spent characters and passages
    give the same answer, also in another process. With `git`, that is asked for the commit, and
    nothing that the folder says about a repository is believed.
    """

    def __init__(
        self,
        repository: Path,
        snapshot: Snapshot,
        limits: LookLimits | None = None,
        git: Git | None = None,
    ) -> None:
        self._repository = repository
        self._git = git
        self._snapshot = snapshot
        self._limits = limits or LookLimits()
        self._git = git

    @property
    def limits(self) -> LookLimits:
        """How much may be looked at."""
        return self._limits

    def answer(
        self,
        lines: Iterable[str],
        turn: int,
        spent: int = 0,
        passages: Passages | None = None,
    ) -> LookAnswer:
        """Answer the looks of one turn.

        Turns are counted from 1; `spent` is the length of the answers of the turns
        before, and `passages` what they have shown: it is not shown again.
        """
        limits = self._limits
        if turn > limits.turns:
            used = count(limits.turns, "turn")
            said = f"Not answered: all {used} are used. Answer with what you have seen."
            return LookAnswer(said, ())
        looks = parse_looks(lines)
        left = limits.characters - spent
        parts: list[str] = []
        summary = []
        seen = passages or Passages()
        for look in looks[: limits.looks]:
            room = min(left - _CLOSING, limits.look_characters)
            if room < _LEAST_ROOM:
                break
            number = len(parts) + 1
            title = f"look {number}: {look.line}"
            seen.begin(turn, number)
            rows = self._rows(look, seen, room - len(title) - 1)
            part = fit([title, *rows], room)
            parts.append(part)
            first = rows[0].removesuffix(":")
            summary.append(f"{look.line}: {first}")
            left -= len(part)
            left -= len(_BETWEEN)
        unanswered = looks[len(parts) :]
        parts += _name_unanswered(unanswered, limits.looks)
        if not looks:
            parts.append("Nothing was asked: write one look on each line.")
        parts.append(self._balance(left, turn))
        text = _BETWEEN.join(parts)
        return LookAnswer(text, tuple(summary))

    def find_quote(self, path: str, line: int, text: str) -> int | None:
        """Return the line at which a quoted text begins, None if the file has no such
        text or cannot be shown. White space does not count; of several places, the
        one nearest to `line` is meant.
        """
        try:
            found = self.files.find(path)
            file = self.files.read(found)
        except FileRefused:
            return None
        return find_quote(file.lines, line, text)

    @cached_property
    def has_history(self) -> bool:
        """Tell whether a look at the history can tell anything."""
        return self.files.has_history and not has_one_commit(self.files)

    @cached_property
    def files(self) -> RecordedFiles:
        """The files of the snapshot."""
        return RecordedFiles(self._repository, self._snapshot, self._git)

    def _rows(self, look: Look, passages: Passages, room: int) -> list[str]:
        if look.problem:
            return [look.problem]
        try:
            return answer_look(self.files, look, passages, room)
        except FileRefused as error:
            return [str(error)]

    def _balance(self, left: int, turn: int) -> str:
        limits = self._limits
        characters = max(0, left - _CLOSING)
        turns = limits.turns - turn
        if turns <= 0 or characters < _LEAST_ROOM:
            return "Nothing is left to look with: answer now."
        more = count(turns, "turn")
        looks = count(limits.looks, "look")
        return (
            f"Left: about {characters:,} of {limits.characters:,} characters,"
            f" {more} with up to {looks} each."
        )


def _name_unanswered(looks: Sequence[Look], most: int) -> list[str]:
    if not looks:
        return []
    names = [look.line for look in looks[:_MOST_NAMED]]
    more = len(looks) - _MOST_NAMED
    if more > 0:
        names.append(f"and {more} more")
    listed = "; ".join(names)
    rule = f"a turn has at most {count(most, 'look')}, or no characters are left"
    return [f"Not answered, because {rule}: {listed}"]
