"""Find what a path means in a snapshot, or say in one line why it shows nothing."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping

from agentos.repository.context.exclusion import is_left_out
from agentos.repository.context.listing import base_name
from agentos.repository.look.asking import show_line
from agentos.repository.look.opening import FileRefused, Opened
from agentos.repository.look.snapshot import FileRecord, Snapshot, is_copy
from agentos.state.path_rules import unsafe_path
from agentos.state.wording import count

_MOST_COMPARED = 4_000
_LONGEST_COMPARED = 200
_MOST_ENTRIES = 40


class Places:
    """The files of a snapshot by path, without those that are hidden."""

    def __init__(
        self, snapshot: Snapshot, files: Opened, hidden: Collection[str]
    ) -> None:
        self._files = files
        self._hidden = tuple(path.strip("/") for path in hidden)
        self.records: Mapping[str, FileRecord] = {
            record.path: record
            for record in snapshot.files
            if not self._is_hidden(record.path)
        }

    def find(self, path: str) -> FileRecord:
        """Return a file; raise `FileRefused` with the reason if it cannot be shown."""
        plain = _plain(path)
        record = self.records.get(plain)
        if record is not None:
            return record
        raise FileRefused(self._explain(plain))

    def below(self, path: str) -> list[FileRecord]:
        """Return the file at a path, or the files of the folder there."""
        plain = _plain(path)
        if plain in self.records:
            return [self.records[plain]]
        start = f"{plain}/"
        if plain in ("", "."):
            start = ""
        return [
            record for name, record in self.records.items() if name.startswith(start)
        ]

    def _is_hidden(self, path: str) -> bool:
        for hidden in self._hidden:
            if path == hidden or path.startswith(f"{hidden}/"):
                return True
        return False

    def _explain(self, path: str) -> str:
        why = unsafe_path(path)
        if why and path not in ("", "."):
            return f"refused: {why}"
        if self._is_hidden(path):
            return "left out: it belongs to the document that is being written"
        inside = self.below(path)
        if inside:
            return _describe_folder(path, inside)
        if is_left_out(path) or is_copy(path):
            return "left out: keys, binaries, copies and generated files are not shown"
        kind = self._files.kind(path)
        if kind == "is a folder":
            return "is a folder without files to show: empty, ignored or a submodule"
        if kind:
            return f"refused: {kind}"
        if self._files.exists(path):
            return "not shown: git ignores it, or it is newer than this item"
        nearest = self._nearest(path)
        if nearest:
            return f"no such file, nearest is {show_line(nearest)}"
        return f"no such file among {count(len(self.records), 'file')}"

    def _nearest(self, path: str) -> str:
        """Return the path that is most alike, preferably with the same file name."""
        wanted = base_name(path).casefold()
        same = []
        for name in self.records:
            if base_name(name).casefold() == wanted:
                same.append(name)
        names = same or list(self.records)
        short = path[:_LONGEST_COMPARED]
        cutoff = 0.5
        if same:
            cutoff = 0.0
        found = difflib.get_close_matches(short, names[:_MOST_COMPARED], 1, cutoff)
        if found:
            return found[0]
        return ""


def _plain(path: str) -> str:
    plain = path.strip()
    while plain.startswith("./"):
        plain = plain[2:].lstrip("/")
    if len(plain) > 1:
        plain = plain.rstrip("/") or "/"
    return plain


def _describe_folder(path: str, inside: list[FileRecord]) -> str:
    start = len(path) + 1
    if path in ("", "."):
        start = 0
    names: dict[str, None] = {}
    for record in inside:
        rest = record.path[start:]
        name, slash, _ = rest.partition("/")
        names[show_line(name + slash)] = None
    listed = ", ".join(list(names)[:_MOST_ENTRIES])
    more = len(names) - _MOST_ENTRIES
    if more > 0:
        listed += f" and {more} more"
    return f"is a folder with {count(len(inside), 'file')}: {listed}"
