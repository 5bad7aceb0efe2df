"""Read the text of a snapshot's files, without what must not be shown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agentos.errors import BadInput
from agentos.repository.context.showing import mask_secrets
from agentos.repository.git.names import checked_commit
from agentos.repository.git.repository import find_repository
from agentos.repository.git.run import Git, GitError
from agentos.repository.look.opening import READ_LIMIT, FileData, FileRefused, Opened
from agentos.repository.look.snapshot import FileRecord, content_id
from agentos.state.redaction import redact

WITHHELD = "[line withheld: it looks like a secret]"
CHANGED = "changed since this item began; shown as it is now"
_OTHER_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_MOST_BLOBS = 200


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file, and what a reader has to know about it."""

    text: str
    notes: tuple[str, ...] = ()


class Texts:
    """Reads files as they were recorded, as long as that is possible."""

    def __init__(self, root: Path, files: Opened, hashing: str) -> None:
        self._root = root
        self._files = files
        self._hashing = hashing
        self._blobs: dict[str, bytes | None] = {}

    def read(self, record: FileRecord) -> FileText:
        """Return a file's text; raise `FileRefused` with the reason if it has none."""
        data, notes = self._find(record)
        if data.size > len(data.data):
            shown = f"{len(data.data):,} of {data.size:,} bytes"
            notes.append(f"a large file; only the first {shown} were read")
        text, encoding = _decode(data.data)
        if encoding:
            notes.append(encoding)
        return FileText(text.replace("\r\n", "\n"), tuple(notes))

    def _find(self, record: FileRecord) -> tuple[FileData, list[str]]:
        """Return the recorded content, or the present one with a note."""
        reason = "deleted since this item began"
        found = None
        try:
            found = self._files.read(record.path)
        except FileNotFoundError:
            pass
        except FileRefused as error:
            reason = str(error)
        if found is not None and self._is_same(record, found):
            return found, []
        recorded = self._recorded(record)
        if recorded is not None:
            return FileData(len(recorded), recorded), []
        if found is None:
            raise FileRefused(reason)
        return found, [CHANGED]

    def _is_same(self, record: FileRecord, found: FileData) -> bool:
        if record.size != found.size:
            return False
        if not record.content:
            return True
        return content_id(found.data, self._hashing) == record.content

    def _recorded(self, record: FileRecord) -> bytes | None:
        """Return the recorded content if git still has it."""
        content = record.content
        if not content:
            return None
        if content not in self._blobs:
            if len(self._blobs) >= _MOST_BLOBS:
                return None
            self._blobs[content] = self._ask_git(content)
        return self._blobs[content]

    def _ask_git(self, content: str) -> bytes | None:
        git = find_git(self._root)
        if git is None:
            return None
        try:
            blob = checked_commit(content)
            return git.run("cat-file", "blob", blob, limit=READ_LIMIT)
        except (BadInput, GitError, OSError):
            return None


def find_git(root: Path) -> Git | None:
    """Return the hardened git of a repository, None if it has none."""
    try:
        return find_repository(root).git()
    except (BadInput, GitError, OSError):
        return None


def withhold(path: str, text: str) -> list[str]:
    """Return the lines of a text, with a remark in place of those with secrets."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    masked = mask_secrets(path, text)
    if masked is None:
        return [WITHHELD] * len(lines)
    # Most texts have no secret, and are compared as a whole.
    if masked == text and redact(f"{text}\n") == f"{text}\n":
        return lines
    pairs = zip(lines, masked.split("\n"), strict=False)
    shown = []
    for line, other in pairs:
        ended = f"{line}\n"
        if line != other or redact(ended) != ended:
            shown.append(WITHHELD)
        else:
            shown.append(line)
    return shown


def _decode(data: bytes) -> tuple[str, str]:
    """Return a text and a note on its encoding; raise `FileRefused` for a binary."""
    encoding = _OTHER_MARKS.get(data[:2])
    if encoding:
        text = data[2:].decode(encoding, "replace")
        if "\0" not in text:
            return text, f"decoded from {encoding}"
    if b"\0" in data:
        raise FileRefused("is a binary file, not text")
    try:
        return data.decode("utf-8-sig"), ""
    except UnicodeDecodeError as error:
        is_cut = len(data) == READ_LIMIT and error.start > READ_LIMIT - 4
        text = data.decode("utf-8-sig", "replace")
        if is_cut:
            return text, ""
        return text, "not UTF-8; what cannot be decoded is shown as \ufffd"
