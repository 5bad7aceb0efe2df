"""A folder of Markdown and text files as inbox.

The id is the number in the name (`42.md`, `42-title.md`) or in the first heading, else
the name.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path

from agentos.backlog.inbox import Collected, Reject, Source
from agentos.documents.issue_title import title_of_file
from agentos.documents.judged_text import TEXT_HASH, has_log, without_log
from agentos.documents.markdown import MAX_CHARACTERS
from agentos.documents.shapes import is_blank
from agentos.errors import BadInput, InvalidIdentifier, UsageError
from agentos.item import Item
from agentos.kinds import Kind
from agentos.state.files import is_inside, read_regular
from agentos.workflows.parallel.input_sanitizer import sanitize_identifier

INPUT_LIMIT = MAX_CHARACTERS
LINE_LIMIT = 20_000
HEADING_WINDOW = 8_192
NOT_ITEMS = frozenset({"readme", "index", "template"})
ENDINGS = (".md", ".markdown", ".txt")
"""The endings of the files that may be items; a design is always Markdown."""

_NUMBERED_NAME = re.compile(r"0*([0-9]{1,18})(?:[-_. ].*)?", re.DOTALL)
_NUMBERED_HEADING = re.compile(
    r"#{1,6}[ \t]+(?:Issue[ \t]*)?#?0*([0-9]{1,18})[ \t]*(?:[:.\-\u2013\u2014)]|$)",
    re.IGNORECASE,
)


class DirectoryInbox:
    """The texts in one folder of a repository, or a single file."""

    def __init__(
        self, repository: Path, workflow: Kind, file: Path | None = None
    ) -> None:
        self._repository = repository
        self._workflow = workflow
        self._file = file

    @property
    def folder(self) -> Path:
        """The folder of the items."""
        return self._repository / self._workflow.record.inputs

    def collect(self) -> Collected:
        """List the items; reject files without a usable id or with the same id."""
        if self._file is not None:
            item = self._identify(self._file.name, str(self._file))
            return self._sort([item])
        if self.folder.exists() and not is_inside(self.folder, self._repository):
            raise UsageError(
                f"{self._workflow.record.inputs}: leads outside the repository; remove"
                " the link and run again"
            )
        try:
            with os.scandir(self.folder) as entries:
                found = list(filter(self._may_be_item, entries))
        except FileNotFoundError:
            raise UsageError(
                f"{self._workflow.record.inputs}: not found in {self._repository}; put"
                " Markdown or text files there or give --repo"
            ) from None
        except OSError as error:
            raise UsageError(
                f"{self.folder}: cannot be listed ({error.strerror})"
            ) from error
        items = []
        for name in sorted(entry.name for entry in found):
            source = f"{self._workflow.record.inputs}/{name}"
            items.append(self._identify(name, source))
        return self._sort(items)

    def load(self, item: Item) -> Source:
        """Return the item's text; one that cannot be used has a hash, too."""
        digest = ""
        try:
            data = self._read(item)
            digest = self._hash(data)
            name = Path(item.source).name
            text = decode_text(data, name)
            if not self._workflow.record.builds and has_log(text):
                # What reviewers said of the source is no part of it.
                text = without_log(text)
            return Source(text, digest, title=title_of_file(stem_of(name)))
        except BadInput as error:
            return Source("", digest, str(error))

    def digest(self, item: Item) -> str:
        """Return the hash of the item's bytes; an unreadable file has none, so that it
        never counts as unchanged.
        """
        try:
            return self._hash(self._read(item))
        except BadInput:
            return ""

    def _hash(self, data: bytes) -> str:
        if self._workflow.record.builds:
            # A design that is stamped after its approval is still the same design.
            data = TEXT_HASH.sub(b"", data)
        return hashlib.sha256(data).hexdigest()

    def _read(self, item: Item) -> bytes:
        path = self._repository / item.source
        is_link = self._file is None and path.is_symlink()
        if is_link and not is_inside(path, self._repository):
            raise BadInput(
                f"{path.name}: is a link that leaves the repository; copy the file"
                " there instead"
            )
        return read_regular(path, INPUT_LIMIT)

    def _identify(self, name: str, source: str) -> Item | Reject:
        stem = stem_of(name)
        if self._workflow.record.builds:
            # The design of an item without a number has a name: `LLD-audit-trail.md`.
            stem = stem.removeprefix("LLD-")
        match = _NUMBERED_NAME.fullmatch(stem)
        if match:
            number: str | None = match[1]
        else:
            number = self._heading_number(source)
        try:
            id = sanitize_identifier(number or stem)
        except InvalidIdentifier as error:
            shown = re.sub(r"[^A-Za-z0-9_-]", "?", stem)
            reason = (
                f"{source!r}: no number in the file's name or first heading, and"
                f" {error}; rename it as 42-title.md"
            )
            item = Item(self._workflow, shown[:40] or "?", source)
            return Reject(item, reason)
        return Item(self._workflow, id, source)

    def _may_be_item(self, entry: os.DirEntry[str]) -> bool:
        name = entry.name
        endings = ENDINGS[:1] if self._workflow.record.builds else ENDINGS
        if not name.endswith(endings) or name.startswith((".", "_")):
            return False
        # A text without a number is more likely somebody's notes.
        if name.endswith(".txt") and not name[0].isdigit():
            return False
        if stem_of(name).lower() in NOT_ITEMS:
            return False
        try:
            return not entry.is_dir()
        except OSError:
            # A link to itself is an item that cannot be read; the others still can.
            return True

    def _heading_number(self, source: str) -> str | None:
        try:
            data = read_regular(self._repository / source, INPUT_LIMIT)
        except BadInput:
            return None
        head = data[:HEADING_WINDOW].decode("utf-8-sig", "replace")
        for line in head.split("\n"):
            if line.startswith("#"):
                match = _NUMBERED_HEADING.match(line.rstrip())
                return match.group(1) if match else None
        return None

    def _sort(self, found: Iterable[Item | Reject]) -> Collected:
        """Reject items with the same id, and order the rest."""
        by_id: dict[str, list[Item]] = {}
        rejects = []
        for each in found:
            if isinstance(each, Reject):
                rejects.append(each)
            else:
                by_id.setdefault(each.id.casefold(), []).append(each)
        items = []
        for same in by_id.values():
            if len(same) == 1:
                items += same
                continue
            names = [Path(item.source).name for item in same]
            files = " and ".join(names)
            for item, name in zip(same, names, strict=True):
                reason = (
                    f"{name}: {files} have the same id {item.id}; rename all but one"
                )
                rejects.append(Reject(item, reason))
        free, rejected = set_apart_taken(
            items, rejects, self._repository, self._workflow
        )
        return Collected(free, rejected)


def set_apart_taken(
    items: Iterable[Item],
    rejects: Iterable[Reject],
    repository: Path,
    workflow: Kind,
) -> tuple[tuple[Item, ...], tuple[Reject, ...]]:
    """Return the items in order, and the rejects, to which briefs are added whose id an
    issue already has.
    """
    taken: dict[str, str] = {}
    if workflow.record.writes_issues:
        taken = _taken_ids(repository)
    free, colliding = [], []
    for item in items:
        if item.id in taken:
            reason = _explain_taken(item, taken[item.id])
            colliding.append(Reject(item, reason))
        else:
            free.append(item)
    free.sort(key=item_order)
    return tuple(free), (*rejects, *colliding)


def _taken_ids(repository: Path) -> dict[str, str]:
    """Return id and file name of the issues that were not written from a brief; those
    that were are named `42.md`.
    """
    if not (repository / Kind.LLD.record.inputs).is_dir():
        return {}
    issues = DirectoryInbox(repository, Kind.LLD).collect()
    rejected = [reject.item for reject in issues.rejects]
    taken = {}
    for item in (*issues.items, *rejected):
        taken[item.id] = Path(item.source).name
    for id, name in list(taken.items()):
        if name == f"{id}.md":
            del taken[id]
    return taken


def _explain_taken(item: Item, name: str) -> str:
    folder = Kind.LLD.record.inputs
    source = Path(item.source).name
    return (
        f"{source}: {folder}/{name} has the id {item.id} already; give the brief"
        " another number"
    )


def item_order(item: Item) -> tuple[int, int, str]:
    """Return a sort key: numbers by value, then names by spelling."""
    if item.id.isdigit():
        return 0, int(item.id), ""
    return 1, 0, item.id


def decode_text(data: bytes, name: str) -> str:
    """Return the text of an input file, or raise `BadInput` saying why it has none."""
    is_utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    if b"\0" in data[:HEADING_WINDOW] and not is_utf16:
        raise BadInput(
            f"{name}: is binary, not Markdown text; replace it with a text file"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{name}: is not UTF-8 text (byte {error.start}); save it as UTF-8"
        ) from error
    if "\0" in text:
        raise BadInput(
            f"{name}: is binary, not Markdown text; replace it with a text file"
        )
    if text.count("\n") > LINE_LIMIT:
        raise BadInput(f"{name}: has more than {LINE_LIMIT:,} lines; split it up")
    if is_blank(text):
        raise BadInput(f"{name}: is empty; describe the work in it, or remove it")
    return text


def stem_of(name: str) -> str:
    """Return the name of an item's file without its ending."""
    for ending in ENDINGS:
        if name.endswith(ending):
            return name.removesuffix(ending)
    return name
