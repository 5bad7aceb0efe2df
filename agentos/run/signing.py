"""Let a person sign a document or waive a finding, and stamp documents that were
approved before stamps named their text.
"""

from __future__ import annotations

import getpass
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

from agentos.backlog.inbox.answered import AnsweredInbox
from agentos.backlog.preview import open_folder
from agentos.documents.answers import without_answers
from agentos.documents.findings import blocks_approval
from agentos.documents.judged_text import (
    source_hash,
    stamp_text,
    text_hash,
    without_log,
)
from agentos.documents.ledger import (
    PERSON,
    Ledger,
    LedgerFile,
    Said,
    record_review,
    waive,
)
from agentos.documents.provenance import APPROVED_STATUS
from agentos.documents.verdict import Decision, Verdict
from agentos.errors import BadInput, UsageError
from agentos.item import Item, Outcome, State
from agentos.kinds import Kind
from agentos.repository.completion import lacks_text_hash
from agentos.repository.paths import document_path, lineage_folders
from agentos.repository.publish import DOCUMENT_LIMIT, Artifacts
from agentos.run.recovery import publication_of
from agentos.state import locks
from agentos.state.files import (
    SHARED_FILE,
    is_inside,
    list_names,
    read_regular,
    write_atomically,
)
from agentos.state.home import Home, ItemPaths
from agentos.state.records import ItemRecord, read_record, write_record
from agentos.state.scratch import Scratch
from agentos.workflows.drafting.memory import LEDGER_FILE, read_ledger
from agentos.workflows.engine.checkpoints import discard
from agentos.workflows.engine.flow import build_marker
from agentos.workflows.engine.flows import flow_of

if TYPE_CHECKING:
    from agentos.workflows.drafting.flow import Drafting


@dataclass(frozen=True, slots=True)
class Document:
    """A document that can be signed: what it says, and what was found in it."""

    item: Item
    text: str
    path: str
    """The file that the text is from."""
    ledger: Ledger
    source: str
    """The input with its answers."""
    digest: str
    """Hash of the input."""


def name_person() -> str:
    """Return who signs: the account's name."""
    try:
        return f"{PERSON} ({getpass.getuser()})"
    except (KeyError, OSError):
        return PERSON


def open_document(repository: Path, home: Home, key: str, item: Item) -> Document:
    """Return the finished document of an item, or else the draft of its last run; raise
    `UsageError` if it has neither.
    """
    stored = read_ledger(repository, item.kind, item.id)
    places = [document_path(item.kind, item.id)]
    if stored is not None and stored.draft and "/" not in stored.draft:
        (folder, *_) = lineage_folders(item.kind, item.id)
        places.insert(0, f"{folder}/{stored.draft}")
    for path in places:
        text = _read(repository, path)
        if text:
            break
    else:
        raise UsageError(
            f"{item.label}: has no document and no draft; run"
            f" {item.kind.record.command} --ids {item.id} first"
        )
    source, digest = _find_source(repository, home, key, item)
    ledger = stored.ledger if stored else Ledger()
    return Document(item, text, path, ledger, source, digest)


def _find_source(repository: Path, home: Home, key: str, item: Item) -> tuple[str, str]:
    """Return the input of an item with its answers, and its hash."""
    inbox = AnsweredInbox(open_folder(repository, item.kind), repository, item.kind)
    try:
        collected = inbox.collect()
    except UsageError:
        collected = None
    for known in collected.items if collected else ():
        if known.id == item.id:
            source = inbox.load(known)
            if source.problem:
                raise UsageError(f"{item.label}: {source.problem}")
            return source.text, source.digest
    record = read_record(home.item(key, item).record)
    if record is None:
        raise UsageError(
            f"{item.label}: there is no input with this id in"
            f" {item.kind.record.inputs}, and no run of it is known"
        )
    # An item of a forge is known by the record of its last run.
    return "", record.digest


def sign(
    document: Document, repository: Path, home: Home, key: str, because: str
) -> str:
    """Approve a document in the name of a person; return its path. The caller has locked
    the item.
    """
    item = document.item
    said = Said(name_person(), _today())
    ledger = document.ledger
    for entry in ledger.open:
        if blocks_approval(entry.finding):
            ledger = waive(ledger, entry.id, said, because or "signed as it stands")
    draft = without_log(document.text)
    verdict = Verdict(Decision.APPROVED, because or "Signed as it stands.")
    ledger, _ = record_review(
        replace(ledger, questions=()),
        verdict,
        said,
        text_hash(draft),
        source_hash(document.source),
    )
    flow = cast("Drafting", flow_of(item.kind))
    marker = build_marker(item.kind, flow.version, document.digest)
    final = flow.kind.finalize(
        draft, item=item.id, status=APPROVED_STATUS, ledger=ledger, provenance=marker
    )
    final = stamp_text(final)
    lineage = _read_lineage(repository, item)
    lineage[_next_name(lineage, "signed")] = final
    bare = without_answers(document.source)
    stored = LedgerFile(ledger, source_hash(bare))
    lineage[LEDGER_FILE] = stored.to_json()
    outcome = Outcome(
        State.APPROVED,
        verdict.summary,
        findings=tuple(f"{entry.id}: {entry.text}" for entry in ledger.open),
    )
    paths = home.item(key, item)
    _publish(repository, home, paths, document, lineage, final, outcome)
    return document_path(item.kind, item.id)


def save_waiver(
    document: Document, repository: Path, home: Home, key: str, id: str, because: str
) -> bool:
    """Record that a person accepts a document with a finding; return whether that makes
    the item pending again. The caller has locked the item.
    """
    item = document.item
    entry = document.ledger.find(id)
    if entry is None:
        known = ", ".join(each.id for each in document.ledger.entries) or "none"
        raise UsageError(
            f"--waive {id}: {item.label} has no such finding; it has {known}"
        )
    if not entry.is_open:
        raise UsageError(
            f"--waive {id}: it is {entry.state}, there is nothing to waive"
        )
    stored = read_ledger(repository, item.kind, item.id)
    if stored is None:
        raise UsageError(f"{item.label}: has no ledger of findings")
    said = Said(name_person(), _today())
    ledger = waive(document.ledger, id, said, because or "accepted as it is")
    (folder, *_) = lineage_folders(item.kind, item.id)
    path = repository / folder / LEDGER_FILE
    text = replace(stored, ledger=ledger).to_json()
    write_atomically(path, text.encode(), mode=SHARED_FILE)
    is_answered = bool(document.ledger.questions) and not ledger.questions
    return _reopen(home, home.item(key, item), f"{id} was waived", is_answered)


def _reopen(home: Home, paths: ItemPaths, why: str, is_answered: bool) -> bool:
    """Let the next run take an item that did not come to an approval; one that waits
    for a person, only if nothing is asked any more.
    """
    record = read_record(paths.record)
    if record is None:
        return False
    is_waiting = record.state is State.NEEDS_DISCUSSION and is_answered
    if record.state is not State.NEEDS_REVISION and not is_waiting:
        return False
    record = replace(record, state=State.INTERRUPTED, message=why)
    with closing(Scratch(home.temporary)) as scratch:
        write_record(paths.record, record, scratch.fresh())
    return True


def _publish(
    repository: Path,
    home: Home,
    paths: ItemPaths,
    document: Document,
    lineage: dict[str, str],
    final: str,
    outcome: Outcome,
) -> None:
    """Publish as a run does: prepared, recorded, then revealed together."""
    item = document.item
    publication = publication_of(item, paths, repository)
    publication.prepare(Artifacts(files=[lineage], document=final))
    superseded = publication.name_for_superseded()
    record = ItemRecord.of(
        item,
        outcome,
        digest=document.digest,
        artefact=publication.result,
        run="",
        attempts=1,
        seconds=0.0,
        superseded=superseded,
    )
    with closing(Scratch(home.temporary)) as scratch:
        write_record(paths.record, record, scratch.fresh())
    publication.reveal(publication.result, superseded)
    discard(paths.checkpoint)


def _read_lineage(repository: Path, item: Item) -> dict[str, str]:
    (folder, *_) = lineage_folders(item.kind, item.id)
    lineage = {}
    for name in sorted(list_names(repository / folder)):
        text = _read(repository, f"{folder}/{name}")
        if text:
            lineage[name] = text
    return lineage


def _next_name(lineage: dict[str, str], name: str) -> str:
    numbers = [int(file[:3]) for file in lineage if file[:3].isdigit()]
    number = max(numbers, default=0) + 1
    return f"{number:03d}-{name}.md"


def accept_as_they_stand(
    repository: Path, home: Home, key: str, items: Iterable[Item]
) -> Iterator[str]:
    """Stamp the approved designs whose stamp does not say which text was approved, and
    yield a line about each.
    """
    for item in items:
        if not lacks_text_hash(item, repository):
            continue
        path = repository / document_path(item.kind, item.id)
        home.prepare(key)
        try:
            lock = locks.try_acquire(home.item(key, item).lock)
            if lock is None:
                continue
            try:
                text = read_regular(path, DOCUMENT_LIMIT).decode("utf-8")
                stamped = stamp_text(text).encode()
                write_atomically(path, stamped, mode=SHARED_FILE)
            finally:
                lock.release()
        except (BadInput, OSError, UnicodeDecodeError):
            # Nothing is lost: it is accepted again the next time.
            continue
        yield (
            f"{item.label}: approved before approvals named their text; accepted as it"
            " stands, an edit from now on is reviewed"
        )


def is_signable(kind: Kind) -> bool:
    """Tell whether a person can sign the documents of a kind."""
    return not kind.record.builds


def _read(repository: Path, name: str) -> str:
    path = repository / name
    try:
        if not is_inside(path, repository):
            return ""
        return read_regular(path, DOCUMENT_LIMIT).decode("utf-8", "replace")
    except (BadInput, OSError):
        return ""


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
