"""A folder of Markdown files as inbox: `42.md`, `42-title.md`, or a first heading with the number."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path

from agentos.errors import BadInput, InvalidIdentifier, UsageError
from agentos.files import is_inside, read_regular
from agentos.inbox import Collected, Reject, Source
from agentos.task import Task, Workflow
from agentos.workflows.parallel.input_sanitizer import sanitize_identifier

INPUT_LIMIT = 2_000_000
LINE_LIMIT = 20_000
HEADING_WINDOW = 8_192
FOLDERS = {
    Workflow.LLD: Path("docs/issues"),
    Workflow.ISSUE: Path("docs/briefs"),
    Workflow.IMPLEMENTATION: Path("docs/lld/active"),
}
NOT_ITEMS = frozenset({"readme", "index", "template"})

_NUMBERED_NAME = re.compile(r"0*([0-9]{1,18})(?:[-_. ].*)?", re.DOTALL)
_NUMBERED_HEADING = re.compile(
    r"#{1,6}[ \t]+(?:Issue[ \t]*)?#?0*([0-9]{1,18})[ \t]*(?:[:.\-\u2013\u2014)]|$)", re.IGNORECASE
)


class DirectoryInbox:
    """The Markdown files of one folder of a repository, or one file given by name."""

    def __init__(self, repository: Path, workflow: Workflow, file: Path | None = None) -> None:
        self._repository = repository
        self._workflow = workflow
        self._file = file

    @property
    def folder(self) -> Path:
        """The folder that is listed."""
        return self._repository / FOLDERS[self._workflow]

    def collect(self) -> Collected:
        """List the items; what has no usable id, or one that another file has too, is a reject."""
        if self._file is not None:
            return self._sort([self._identify(self._file.name, str(self._file))])
        try:
            with os.scandir(self.folder) as entries:
                names = sorted(e.name for e in entries if _may_be_item(e))
        except FileNotFoundError:
            raise UsageError(
                f"{FOLDERS[self._workflow]}: not found in {self._repository}; put Markdown files there or give --repo"
            ) from None
        except OSError as error:
            raise UsageError(f"{self.folder}: cannot be listed ({error.strerror})") from error
        return self._sort(self._identify(name, f"{FOLDERS[self._workflow]}/{name}") for name in names)

    def load(self, task: Task) -> Source:
        """Return the item's file; one that cannot be used is known by its hash too."""
        digest = ""
        try:
            data = self._read(task)
            digest = hashlib.sha256(data).hexdigest()
            return Source(decode_text(data, Path(task.source).name), digest)
        except BadInput as error:
            return Source("", digest, str(error))

    def digest(self, task: Task) -> str:
        """Hash the item's bytes; an unreadable file has no digest and so never counts as unchanged."""
        try:
            return hashlib.sha256(self._read(task)).hexdigest()
        except BadInput:
            return ""

    def _read(self, task: Task) -> bytes:
        path = self._repository / task.source
        if self._file is None and path.is_symlink() and not is_inside(path, self._repository):
            raise BadInput(f"{path.name}: is a link that leaves the repository; copy the file there instead")
        return read_regular(path, INPUT_LIMIT)

    def _identify(self, name: str, source: str) -> Task | Reject:
        stem = name.removesuffix(".md")
        if self._workflow is Workflow.IMPLEMENTATION:
            # The design of an item without a number bears its name: `LLD-audit-trail.md`.
            stem = stem.removeprefix("LLD-")
        match = _NUMBERED_NAME.fullmatch(stem)
        number = match.group(1) if match else self._heading_number(source)
        try:
            return Task(self._workflow, sanitize_identifier(number or stem), source)
        except InvalidIdentifier as error:
            shown = re.sub(r"[^A-Za-z0-9_-]", "?", stem)[:40] or "?"
            reason = f"{source!r}: no number in the file's name or first heading, and {error}; rename it as 42-title.md"
            return Reject(Task(self._workflow, shown, source), reason)

    def _heading_number(self, source: str) -> str | None:
        try:
            head = read_regular(self._repository / source, INPUT_LIMIT)[:HEADING_WINDOW]
        except BadInput:
            return None
        for line in head.decode("utf-8-sig", "replace").split("\n"):
            if line.startswith("#"):
                match = _NUMBERED_HEADING.match(line.rstrip())
                return match.group(1) if match else None
        return None

    def _sort(self, found: Iterable[Task | Reject]) -> Collected:
        by_id: dict[str, list[Task]] = {}
        rejects = []
        for entry in found:
            if isinstance(entry, Reject):
                rejects.append(entry)
            else:
                by_id.setdefault(entry.item.casefold(), []).append(entry)
        tasks = []
        for same in by_id.values():
            if len(same) == 1:
                tasks.append(same[0])
                continue
            files = " and ".join(Path(task.source).name for task in same)
            rejects.extend(
                Reject(
                    task,
                    f"{Path(task.source).name}: {files} have the same id {task.item}; rename all but one",
                )
                for task in same
            )
        return Collected(*set_apart_taken(tasks, rejects, self._repository, self._workflow))


def set_apart_taken(
    tasks: Iterable[Task], rejects: Iterable[Reject], repository: Path, workflow: Workflow
) -> tuple[tuple[Task, ...], tuple[Reject, ...]]:
    """Return the tasks in order, and as rejects the briefs whose issue would come to lie beside one of the same id."""
    taken = _taken_targets(repository) if workflow is Workflow.ISSUE else {}
    colliding = [Reject(task, _explain_taken(task, taken[task.item])) for task in tasks if task.item in taken]
    free = sorted((task for task in tasks if task.item not in taken), key=item_order)
    return tuple(free), (*rejects, *colliding)


def _taken_targets(repository: Path) -> dict[str, str]:
    if not (repository / FOLDERS[Workflow.LLD]).is_dir():
        return {}
    issues = DirectoryInbox(repository, Workflow.LLD).collect()
    named = {task.item: Path(task.source).name for task in (*issues.tasks, *(r.task for r in issues.rejects))}
    return {item: name for item, name in named.items() if name != f"{item}.md"}


def _explain_taken(task: Task, name: str) -> str:
    folder = FOLDERS[Workflow.LLD]
    source = Path(task.source).name
    return f"{source}: {folder}/{name} has the id {task.item} already; give the brief another number"


def item_order(task: Task) -> tuple[int, int, str]:
    """Order numbers by value, then names by spelling."""
    return (0, int(task.item), "") if task.item.isdigit() else (1, 0, task.item)


def decode_text(data: bytes, name: str) -> str:
    """Return the text of an input file, or raise `BadInput` saying what the bytes are instead."""
    if b"\0" in data[:HEADING_WINDOW] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BadInput(f"{name}: is binary, not Markdown text; replace it with a text file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{name}: is not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    if "\0" in text:
        raise BadInput(f"{name}: is binary, not Markdown text; replace it with a text file")
    if text.count("\n") > LINE_LIMIT:
        raise BadInput(f"{name}: has more than {LINE_LIMIT:,} lines; split it up")
    if not text.strip():
        raise BadInput(f"{name}: is empty; describe the work in it, or remove it")
    return text


def _may_be_item(entry: os.DirEntry[str]) -> bool:
    name = entry.name
    if not name.endswith(".md") or name.startswith((".", "_")) or name[:-3].lower() in NOT_ITEMS:
        return False
    try:
        return not entry.is_dir()
    except OSError:
        # A link that leads to itself: an item that cannot be read, not a reason to refuse the others.
        return True
