"""Tell whether an item is complete, for its selection and for its run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from agentos.documents.judged_text import is_edited, stamped_hash
from agentos.documents.provenance import (
    SIMULATED_STATUS,
    SKELETON_STATUS,
    final_status,
    states_approval,
)
from agentos.errors import BadInput
from agentos.item import ENDED, Item, State
from agentos.kinds import Kind
from agentos.repository.paths import document_path
from agentos.repository.publish import DOCUMENT_LIMIT
from agentos.state.files import read_regular
from agentos.state.records import ItemRecord

_PROVENANCE_WINDOW = 512
_INPUT = " input=sha256:"
_REVIEWED_BY_RULES = "Reviewed by rules; no model was asked."
"""End of the message of every item that the rules of version 0.2.0 approved."""


def is_complete(
    item: Item,
    record: ItemRecord | None,
    digest: str,
    repository: Path,
    *,
    redo_skeletons: bool = False,
) -> bool:
    """Tell whether an item has ended with this input and its result still exists.

    Without a record, as in a colleague's clone, the finished document says which input it
    is of. A skeleton is not complete for a run that asks a model.
    """
    if record is None:
        return _is_complete_document(
            item, digest, repository, redo_skeletons=redo_skeletons
        )
    record = settle(record, repository)
    if record.state not in ENDED or record.digest != digest:
        return False
    if record.state is State.SKELETON and redo_skeletons:
        return False
    if not record.artefact:
        return True
    if record.state is State.APPROVED and keeps_verdicts(item.kind):
        text = _read_first(repository / record.artefact)
        return bool(text) and not is_edited(text)
    return any(map(Path.exists, _possible_paths(repository / record.artefact)))


def keeps_verdicts(kind: Kind) -> bool:
    """Tell whether an edit of an approved document takes its approval away.

    An approved issue is its team's to edit, and a report is nobody's.
    """
    return not kind.record.builds and not kind.record.writes_issues


def _is_complete_document(
    item: Item, digest: str, repository: Path, *, redo_skeletons: bool
) -> bool:
    """Tell whether there is a finished document, which nobody remembers writing here."""
    text = _read_first(repository / document_path(item.kind, item.id))
    if keeps_verdicts(item.kind):
        if states_approval(text) and is_edited(text):
            return False
        if _INPUT not in text[-_PROVENANCE_WINDOW:]:
            # Written by hand, with its approval.
            return states_approval(text)
    status = ""
    if _names_input(text, digest):
        status = final_status(text)
    if status == SKELETON_STATUS:
        return not redo_skeletons
    return status not in ("", SIMULATED_STATUS)


def lacks_text_hash(item: Item, repository: Path) -> bool:
    """Tell whether a document is approved and its stamp does not say which text that
    was about: it was written by hand, or by version 0.2.0.
    """
    if not keeps_verdicts(item.kind):
        return False
    text = _read_first(repository / document_path(item.kind, item.id))
    return states_approval(text) and not stamped_hash(text)


def _names_input(text: str, digest: str) -> bool:
    return f"input=sha256:{digest} -->" in text[-_PROVENANCE_WINDOW:]


def _read_first(document: Path) -> str:
    """Return the text of a document, where it was written or where implemented items
    go.
    """
    for path in _possible_paths(document):
        text = _read(path)
        if text:
            return text
    return ""


def status_for_input(item: Item, digest: str, repository: Path) -> str:
    """Return the status of the finished document of this input, empty if there is none."""
    document = repository / document_path(item.kind, item.id)
    for path in _possible_paths(document):
        text = _read(path)
        if _names_input(text, digest):
            return final_status(text)
    return ""


def settle(record: ItemRecord, repository: Path) -> ItemRecord:
    """Return the record, as a skeleton if version 0.2.0 approved it by rules alone."""
    is_approved = record.state is State.APPROVED
    if not is_approved or not record.message.endswith(_REVIEWED_BY_RULES):
        return record
    for path in _possible_paths(repository / record.artefact):
        if final_status(_read(path)) == SKELETON_STATUS:
            return replace(record, state=State.SKELETON)
    return record


def _read(document: Path) -> str:
    try:
        return read_regular(document, DOCUMENT_LIMIT).decode("utf-8", "replace")
    except BadInput:
        return ""


def _possible_paths(result: Path) -> tuple[Path, ...]:
    """Return the paths of a result: where it was written, and where implemented items
    go.
    """
    return result, result.parent.parent / "done" / result.name
