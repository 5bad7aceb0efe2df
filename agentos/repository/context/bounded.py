"""Read the files of a snapshot, up to a limit."""

from __future__ import annotations

from collections.abc import Sequence

from agentos.repository.look.definitions import (
    Definition,
    find_definitions,
    is_python,
)
from agentos.repository.look.opening import FileRefused
from agentos.repository.look.recorded import RecordedFiles
from agentos.repository.look.texts import FileText

_MOST_FILES = 3_000
_MOST_CHARACTERS = 12_000_000
_MOST_PARSED = 3_000_000

_ByName = dict[str, list[Definition]]


class BoundedFiles:
    """Texts and definitions by path; none once a limit is reached.

    Which files still fit depends on the order in which they are asked for.
    """

    def __init__(self, files: RecordedFiles) -> None:
        self._files = files
        self._texts: dict[str, FileText | None] = {}
        self._definitions: dict[str, Sequence[Definition]] = {}
        self._by_name: dict[str, _ByName] = {}
        self._characters_left = _MOST_CHARACTERS
        self._parsed_left = _MOST_PARSED

    def read(self, path: str) -> FileText | None:
        """Return the text of a file, None if it has none or no more may be read."""
        if path in self._texts:
            return self._texts[path]
        if len(self._texts) >= _MOST_FILES:
            return None
        if self._characters_left <= 0:
            return None
        text = None
        if path in self._files.paths:
            text = self._read(path)
        self._texts[path] = text
        return text

    def _read(self, path: str) -> FileText | None:
        try:
            text = self._files.read(path)
        except FileRefused:
            return None
        self._characters_left -= len(text.source)
        return text

    def why_not(self, path: str) -> str:
        """Return why a file has no text."""
        try:
            self._files.read(path)
        except FileRefused as error:
            return str(error)
        return "not read: too many other files were"

    def definitions(self, path: str) -> Sequence[Definition]:
        """Return the definitions or headings of a file in the order of their lines."""
        if path not in self._definitions:
            self._definitions[path] = self._find(path)
        return self._definitions[path]

    def _find(self, path: str) -> Sequence[Definition]:
        text = self.read(path)
        if text is None:
            return ()
        if is_python(path):
            if self._parsed_left <= 0:
                return ()
            self._parsed_left -= len(text.source)
        last = len(text.lines)
        found = find_definitions(path, text.source)
        return [definition for definition in found if definition.line <= last]

    def named(self, path: str, name: str) -> Sequence[Definition]:
        """Return the definitions of a file whose names have this last part."""
        if path not in self._by_name:
            by_name: _ByName = {}
            for definition in self.definitions(path):
                _, _, last = definition.name.rpartition(".")
                same = by_name.setdefault(last, [])
                same.append(definition)
            self._by_name[path] = by_name
        return self._by_name[path].get(name, ())
