"""Read the files of a snapshot as they were, and say why a path shows nothing.

What a path means is decided by the snapshot alone and never by what is there now, so
that a resumed item gets the same answers.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from pathlib import Path

from agentos.repository.git.names import checked_commit
from agentos.repository.git.repository import find_repository
from agentos.repository.git.run import Git
from agentos.repository.look.asking import show_line
from agentos.repository.look.exclusion import is_left_out
from agentos.repository.look.listing import base_name
from agentos.repository.look.opening import (
    READ_LIMIT,
    FileData,
    FileRefused,
    read_file,
)
from agentos.repository.look.snapshot import (
    NO_GIT,
    FileRecord,
    Snapshot,
    content_id,
    is_copy,
    is_own,
    read_commit,
    snapshot_of_commit,
)
from agentos.repository.look.texts import FileText, read_text, restore_text
from agentos.state.path_rules import unsafe_path
from agentos.state.wording import count

_CHANGED = "changed since this item began; shown as it is now"
_MOST_BLOBS = 2_000
_MOST_REMEMBERED = 50_000_000
_MOST_COMPARED = 4_000
_LONGEST_COMPARED = 200
_MOST_ENTRIES = 40


class RecordedFiles:
    """The files of a snapshot by path, sorted.

    With `git`, that is asked for the commit, and nothing that the folder says about a
    repository is believed.
    """

    def __init__(self, root: Path, snapshot: Snapshot, git: Git | None = None) -> None:
        self.root = root
        self.snapshot = snapshot
        self._git = git
        self._others: Mapping[str, str] = {}
        records = {}
        if snapshot.head:
            commit = read_commit(*self.git(), snapshot)
            self._others = commit.others
            for path, content in commit.files.items():
                records[path] = FileRecord(path, content=content)
        for path in snapshot.missing:
            records.pop(path, None)
        for record in snapshot.changed:
            records[record.path] = record
        self._records = dict(sorted(records.items()))
        self._texts: dict[str, FileText] = {}
        self._remembered = 0
        self._blobs_left = _MOST_BLOBS

    def git(self) -> tuple[Git, str]:
        """Return git, and the path of the folder in its repository."""
        if self._git is not None:
            return self._git, ""
        found = find_repository(self.root)
        return found.git(), found.prefix

    @property
    def has_history(self) -> bool:
        """Tell whether git knows the commits before that of the snapshot; the
        repository of an item has only its base.
        """
        return bool(self.snapshot.head) and self._git is None

    @property
    def paths(self) -> Collection[str]:
        """All files that may be shown."""
        return self._records.keys()

    def find(self, path: str) -> str:
        """Return the path of a file; raise `FileRefused` with the reason if there is
        none to show.
        """
        plain = _normalize(path)
        if plain in self._records:
            return plain
        raise FileRefused(self._explain(plain))

    def find_any(self, path: str) -> str:
        """Return the path of a file or of a folder with files to show."""
        plain = _normalize(path)
        if plain != "." and self.below(plain):
            return plain
        return self.find(path)

    def below(self, path: str) -> list[str]:
        """Return the file at a path, or the files of the folder there."""
        plain = _normalize(path)
        if plain in self._records:
            return [plain]
        start = f"{plain}/"
        if plain == ".":
            start = ""
        return [name for name in self._records if name.startswith(start)]

    def read(self, path: str) -> FileText:
        """Return the text of a file; raise `FileRefused` if it has none."""
        text = self._texts.get(path)
        if text is not None:
            return text
        text = self._read(self._records[path])
        size = len(text.source)
        if self._remembered + size <= _MOST_REMEMBERED:
            self._texts[path] = text
            self._remembered += size
        return text

    def _read(self, record: FileRecord) -> FileText:
        reason = ""
        found = None
        try:
            found = read_file(self.root, record.path)
        except FileRefused as error:
            reason = str(error)
        if found is not None and self._is_recorded(found, record):
            return read_text(record.path, found)
        blob = self._ask_git(record.content)
        if blob is not None:
            return read_text(record.path, blob)
        if record.text is not None:
            return restore_text(record.path, record.text, record.notes)
        if found is None:
            raise FileRefused(reason)
        text = read_text(record.path, found)
        notes = (*text.notes, _CHANGED)
        return FileText(text.path, text.source, text.lines, notes)

    def _is_recorded(self, found: FileData, record: FileRecord) -> bool:
        return content_id(found, self.snapshot.hashing) == record.content

    def _ask_git(self, content: str) -> FileData | None:
        """Return recorded content if git has it."""
        if self._blobs_left <= 0:
            return None
        self._blobs_left -= 1
        try:
            git, _ = self.git()
            blob = checked_commit(content)
            with git.start("cat-file", "blob", blob) as output:
                data = output.read(READ_LIMIT)
                size = len(data)
                while part := output.read(READ_LIMIT):
                    size += len(part)
        except NO_GIT:
            return None
        return FileData(size, data)

    def _explain(self, path: str) -> str:
        why = unsafe_path(path)
        if why:
            return f"refused: the path {why}"
        if is_own(path, self.snapshot.own_documents):
            return "left out: it belongs to the document that is being written"
        inside = self.below(path)
        if inside:
            return _describe_folder(path, inside)
        if is_left_out(path) or is_copy(path):
            return "left out: keys, binaries, copies and generated files are not shown"
        for name, what in self._others.items():
            if path == name or path.startswith(f"{name}/"):
                return f"refused: {show_line(name)} is {what}, which is not followed"
        seen = f"no such file among the {count(len(self._records), 'file')} to look at"
        nearest = self._find_nearest(path)
        if nearest:
            return f"{seen}, nearest is {show_line(nearest)}"
        return f"{seen}; links, devices and what git ignores are not shown"

    def _find_nearest(self, path: str) -> str:
        """Return the path that is most alike, preferably with the same file name."""
        wanted = base_name(path).casefold()
        names = list(self._records)
        same = [name for name in names if base_name(name).casefold() == wanted]
        likeness = 0.5
        if same:
            names = same
            likeness = 0.0
        short = path[:_LONGEST_COMPARED]
        found = difflib.get_close_matches(short, names[:_MOST_COMPARED], 1, likeness)
        if found:
            return found[0]
        return ""


def open_snapshot(repository: Path, snapshot: Snapshot) -> RecordedFiles:
    """Return the files of a snapshot."""
    return RecordedFiles(repository, snapshot)


def open_commit(folder: Path, git: Git, commit: str) -> RecordedFiles:
    """Return the files of a commit that is checked out in a folder."""
    snapshot = snapshot_of_commit(commit)
    return RecordedFiles(folder, snapshot, git)


def _normalize(path: str) -> str:
    """Return a path without needless parts; one that leads outside stays as it is."""
    plain = path.strip()
    if unsafe_path(plain):
        return plain
    parts = [part for part in plain.split("/") if part not in ("", ".")]
    return "/".join(parts) or "."


def _describe_folder(path: str, inside: list[str]) -> str:
    start = len(path) + 1
    if path == ".":
        start = 0
    names: dict[str, None] = {}
    for file in inside:
        name, slash, _ = file[start:].partition("/")
        names[show_line(name + slash)] = None
    listed = ", ".join(list(names)[:_MOST_ENTRIES])
    more = len(names) - _MOST_ENTRIES
    if more > 0:
        listed += f" and {more} more"
    return f"a folder with {count(len(inside), 'file')}: {listed}"
