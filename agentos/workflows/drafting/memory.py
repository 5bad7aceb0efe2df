"""What earlier runs left of a document: its ledger, and the text to go on from.

Both are files of the repository, so that a colleague's clone has them too.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path

from agentos.documents.answers import without_answers
from agentos.documents.judged_text import (
    is_edited,
    source_hash,
    text_hash,
    without_log,
)
from agentos.documents.ledger import (
    AGENTOS,
    Ledger,
    LedgerFile,
    Said,
    drop_questions,
    is_waived,
    read_ledger_file,
    settle_questions,
    withdraw_open,
)
from agentos.documents.provenance import states_approval
from agentos.documents.verdict import Decision
from agentos.errors import BadInput
from agentos.kinds import Kind
from agentos.repository.paths import document_path, lineage_folders
from agentos.repository.publish import DOCUMENT_LIMIT
from agentos.state.files import is_inside, read_regular

LEDGER_FILE = "findings.json"
EDITED = "it was edited since its approval; reviewing it as it is"
APPROVED_BEFORE = "it was approved before; reviewing it as it is"
SETTLED = "nothing is left to be revised; going on with the last draft as it is"
AS_IT_STANDS = "the document as it stands"
"""Stands for the drafter of a text that somebody edited."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What is known of a document before it is worked on."""

    ledger: Ledger = field(default_factory=Ledger)
    draft: str = ""
    """The draft to go on from; empty to begin anew."""
    as_it_stands: str = ""
    """Why the draft is reviewed as it stands, before it is revised; empty if it is
    revised first.
    """


def recall(repository: Path, kind: Kind, item: str, source: str, today: str) -> Memory:
    """Return what earlier runs left of a document."""
    stored = read_ledger(repository, kind, item)
    document = _read(repository, document_path(kind, item))
    is_approved = states_approval(document)
    ledger = Ledger()
    draft = ""
    if stored is not None:
        ledger, draft = _go_on(repository, kind, item, stored, source, today)
    if is_approved and is_edited(document):
        # The edit may be the answer to an edit of the source.
        return Memory(ledger, without_log(document), EDITED)
    if is_approved and _is_of_source(stored, source) and not draft:
        # Only an answer is new, and what it says may be what the document says.
        return Memory(ledger, without_log(document), APPROVED_BEFORE)
    review = ledger.review_of(text_hash(draft), source_hash(source))
    if review is None:
        return Memory(ledger, draft)
    if review.decision is Decision.APPROVED or is_waived(ledger, review):
        return Memory(ledger, draft, SETTLED)
    return Memory(ledger, draft)


def _is_of_source(stored: LedgerFile | None, source: str) -> bool:
    """Tell whether a ledger is about a source, whatever was answered since."""
    if stored is None:
        return False
    bare = without_answers(source)
    return stored.source == source_hash(bare)


def _go_on(
    repository: Path, kind: Kind, item: str, stored: LedgerFile, source: str, today: str
) -> tuple[Ledger, str]:
    """Return the ledger as it holds for a source, and the draft of the last run."""
    ledger = stored.ledger
    if not _is_of_source(stored, source):
        said = Said(AGENTOS, today)
        ledger = withdraw_open(ledger, said, "the source was edited")
        return drop_questions(ledger), ""
    bare = without_answers(source)
    ledger = settle_questions(ledger, source[len(bare) :])
    draft = ""
    if stored.draft and "/" not in stored.draft:
        (folder, *_) = lineage_folders(kind, item)
        draft = _read(repository, f"{folder}/{stored.draft}")
    return ledger, draft


def begin_anew(memory: Memory, today: str) -> Memory:
    """Return what still holds if an item is done again from its beginning: the ids.

    What earlier reviews said of a text does not count for the same text again.
    """
    said = Said(AGENTOS, today)
    ledger = withdraw_open(memory.ledger, said, "the item was done again")
    ledger = drop_questions(ledger)
    reviews = [replace(review, text="") for review in ledger.reviews]
    return Memory(replace(ledger, reviews=tuple(reviews)))


def read_source(repository: Path, kind: Kind, item: str) -> str:
    """Return the source that a document was drafted from, as its lineage keeps it; empty
    if it is not kept.
    """
    (folder, *_) = lineage_folders(kind, item)
    return _read(repository, f"{folder}/001-{kind.record.source}.md")


def ledger_hash(repository: Path, kind: Kind, item: str) -> str:
    """Return the hash of a document's ledger as it is now, empty if there is none."""
    (folder, *_) = lineage_folders(kind, item)
    text = _read(repository, f"{folder}/{LEDGER_FILE}")
    if not text:
        return ""
    return hash_ledger(text)


def hash_ledger(text: str) -> str:
    """Return the hash of the text of a ledger."""
    return hashlib.sha256(text.encode()).hexdigest()


def read_ledger(repository: Path, kind: Kind, item: str) -> LedgerFile | None:
    """Return the ledger of a document, None if it has none that can be read."""
    (folder, *_) = lineage_folders(kind, item)
    text = _read(repository, f"{folder}/{LEDGER_FILE}")
    if not text:
        return None
    try:
        return read_ledger_file(text)
    except ValueError:
        return None


def _read(repository: Path, name: str) -> str:
    path = repository / name
    try:
        if not is_inside(path, repository):
            return ""
        return read_regular(path, DOCUMENT_LIMIT).decode("utf-8", "replace")
    except (BadInput, OSError):
        return ""
