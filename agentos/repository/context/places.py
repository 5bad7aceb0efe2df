"""Find where a name of an issue is defined, and which of the places is meant."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from agentos.documents.changes import is_test
from agentos.repository.context.bounded import BoundedFiles
from agentos.repository.context.query import is_weak, looks_like_code
from agentos.repository.look.definitions import Definition, is_python
from agentos.repository.look.naming import definitions_of, is_stub
from agentos.repository.look.texts import FileText

_MOST_PLACES = 4
DOCUMENT_ENDS = (".md", ".markdown", ".rst", ".txt")
"""Files with headings, which are quoted and not named."""


@dataclass(frozen=True, slots=True)
class Place:
    """A definition that may be meant."""

    path: str
    definition: Definition
    missing: int
    """How many of the first parts of the name it does not have."""


_Judge = Callable[[Place], bool]


class WantedName:
    """A name that an issue has, and the places where it is defined."""

    def __init__(
        self,
        name: str,
        *,
        is_guess: bool = False,
    ) -> None:
        self.name = name
        self.is_guess = is_guess
        _, _, self._last = name.rpartition(".")
        self.is_weak = is_weak(name)
        plain = re.escape(self._last)
        self._word = re.compile(rf"(?<!\w){plain}(?!\w)")
        # How Python may define it; nothing else has to be parsed.
        self._definition = re.compile(
            rf"\b(?:def|class)[ \t]+{plain}\b"
            rf"|[\"']?\b{plain}[\"']?[ \t]*(?:[:,]|=(?!=))"
        )
        if is_guess:
            self._definition = re.compile(
                rf"^(?:async[ ]+def|def|class)[ ]+{plain}\b", re.MULTILINE
            )
        self._places: list[Place] = []

    @property
    def tells_much(self) -> bool:
        """Tell whether a file matters that only uses the name."""
        if self.is_weak or self.is_guess or is_builtin(self.name):
            return False
        return bool(self._places) or looks_like_code(self._last)

    def is_in(
        self,
        text: FileText,
    ) -> bool:
        """Tell whether a file has the last part of the name as a word."""
        if self._last not in text.source:
            return False
        return self._word.search(text.source) is not None

    def look_in(
        self,
        text: FileText,
        files: BoundedFiles,
    ) -> None:
        """Remember the definitions of a file that have the name, or its last parts; a
        document has none.
        """
        path = text.path
        if path.casefold().endswith(DOCUMENT_ENDS):
            return
        has_words = is_python(path) or self.is_guess
        if has_words and not self._definition.search(text.source):
            return
        candidates = files.named(path, self._last)
        for missing, suffix in enumerate(_suffixes(self.name)):
            found = definitions_of(path, candidates, suffix)
            for definition in found:
                place = Place(path, definition, missing)
                self._places.append(place)
            if found:
                return

    def choose(
        self,
        named: Collection[str],
    ) -> list[Place]:
        """Return the places that are meant, preferably in files that the issue names."""
        if not self._places:
            return []
        missing = [place.missing for place in self._places]
        least = min(missing)
        kinds: list[_Judge] = [
            lambda place: place.missing == least,
            lambda place: not place.definition.is_entry,
            lambda place: place.path in named,
            lambda place: not is_test(place.path),
            lambda place: not is_stub(place.path),
        ]
        places = self._places
        for is_better in kinds:
            better = list(filter(is_better, places))
            places = better or places
        return places

    def is_whole_in(
        self,
        places: Collection[Place],
    ) -> bool:
        """Tell whether the text means these places and says so: of a short word or of
        what a variable has, nobody misses the definitions.
        """
        if self.is_guess or self.is_weak:
            return False
        return not any(place.missing for place in places)

    def is_clear(
        self,
        places: Collection[Place],
    ) -> bool:
        """Tell whether so few places are meant that each may be shown; overloads are
        one.
        """
        most = _MOST_PLACES
        is_partial = any(place.missing for place in places)
        if is_partial or self.is_weak:
            most = 1
        if self.is_guess:
            if any(is_test(place.path) for place in places):
                return False
            most = 1
        return count_distinct(places) <= most


def count_distinct(places: Iterable[Place]) -> int:
    """Return how many different things are defined at some places."""
    return len({(place.path, place.definition.name) for place in places})


def is_builtin(name: str) -> bool:
    """Tell whether Python itself defines a name."""
    return hasattr(builtins, name)


def _suffixes(name: str) -> Iterator[str]:
    """Yield a name, then without its first part, and so on."""
    yield name
    while "." in name:
        _, _, name = name.partition(".")
        yield name
