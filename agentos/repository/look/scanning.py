"""Go through the files of a snapshot, up to a limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agentos.repository.look.opening import FileRefused
from agentos.repository.look.recorded import RecordedFiles
from agentos.repository.look.texts import FileText
from agentos.state.wording import count

_MOST_CHARACTERS = 200_000_000


class Scan:
    """Reads files one after the other; as text it says how many."""

    def __init__(self, files: RecordedFiles, paths: Iterable[str]) -> None:
        self._files = files
        self._paths = list(paths)
        self._read = 0
        self._refused = 0

    def __iter__(self) -> Iterator[FileText]:
        left = _MOST_CHARACTERS
        for path in self._paths:
            try:
                text = self._files.read(path)
            except FileRefused:
                self._refused += 1
                continue
            left -= len(text.source)
            if left < 0:
                return
            self._read += 1
            yield text

    def __str__(self) -> str:
        said = count(self._read, "file")
        if self._refused:
            said += f" ({self._refused} more are not text)"
        missing = len(self._paths) - self._read - self._refused
        if missing:
            said += f"; stopped at a limit, {missing} more were not looked at"
        return said
