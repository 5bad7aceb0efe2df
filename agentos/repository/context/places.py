"""Find where a name of an issue is defined, and which of the places is meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from agentos.documents.changes import is_test
from agentos.repository.context.bounded import BoundedFiles
from agentos.repository.context.query import is_weak
from agentos.repository.look.definitions import Definition, is_python
from agentos.repository.look.naming import definitions_of
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

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_weak = is_weak(name)
        _, _, self._last = name.rpartition(".")
        plain = re.escape(self._last)
        self._word = re.compile(rf"(?<!\w){plain}(?!\w)")
        # How Python may define it; nothing else has to be parsed.
        self._definition = re.compile(
            rf"\b(?:def|class)[ \t]+{plain}\b"
            rf"|[\"']?\b{plain}[\"']?[ \t]*(?:[:,]|=(?!=))"
        )
        self._places: list[Place] = []

    def is_in(self, text: FileText) -> bool:
        """Tell whether a file has the last part of the name as a word."""
        if self._last not in text.source:
            return False
        return self._word.search(text.source) is not None

    def look_in(self, text: FileText, files: BoundedFiles) -> None:
        """Remember the definitions of a file that have the name, or its last parts; a
        document has none.
        """
        path = text.path
        if path.casefold().endswith(DOCUMENT_ENDS):
            return
        if is_python(path) and not self._definition.search(text.source):
            return
        candidates = files.named(path, self._last)
        for missing, suffix in enumerate(_suffixes(self.name)):
            found = definitions_of(path, candidates, suffix)
            for definition in found:
                place = Place(path, definition, missing)
                self._places.append(place)
            if found:
                return

    def choose(self, named: Collection[str]) -> list[Place]:
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
        ]
        places = self._places
        for is_better in kinds:
            better = list(filter(is_better, places))
            places = better or places
        return places

    def is_clear(self, places: Collection[Place]) -> bool:
        """Tell whether so few places are meant that each may be shown."""
        most = _MOST_PLACES
        is_partial = any(place.missing for place in places)
        if is_partial or self.is_weak:
            most = 1
        return len(places) <= most


def _suffixes(name: str) -> Iterator[str]:
    """Yield a name, then without its first part, and so on."""
    yield name
    while "." in name:
        _, _, name = name.partition(".")
        yield name
