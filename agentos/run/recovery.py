"""Finish or undo what a kill interrupted."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from agentos.errors import BadInput
from agentos.item import Item
from agentos.kinds import Kind
from agentos.repository.paths import document_path, lineage_folders
from agentos.repository.publish import Publication
from agentos.state import locks, scratch
from agentos.state.home import Home, ItemPaths
from agentos.state.records import ItemRecord, read_record
from agentos.workflows.engine import checkpoints


def publication_of(item: Item, paths: ItemPaths, repository: Path) -> Publication:
    """Return what moves an item's files into its repository."""
    # The path of the checkpoint is unique to the item, the repository and the home.
    digest = hashlib.sha256(os.fsencode(paths.checkpoint)).hexdigest()
    folders = lineage_folders(item.kind, item.id)
    if not item.kind.record.builds:
        document = document_path(item.kind, item.id)
        return Publication(str(repository), folders, document, digest[:16])
    (amended, *_) = lineage_folders(Kind.LLD, item.id)
    return Publication(
        str(repository),
        folders,
        "",
        digest[:16],
        amended_folder=amended,
        amended_document=document_path(Kind.LLD, item.id),
    )


def recover(publication: Publication, paths: ItemPaths) -> ItemRecord | None:
    """Complete a recorded publication and return its record; undo one that was not
    recorded. The caller has locked the item.
    """
    if not publication.is_prepared:
        return None
    record = read_record(paths.record)
    if record is None or not record.outcome.is_decided:
        publication.abandon()
        return None
    publication.reveal(record.artefact, record.superseded)
    checkpoints.discard(paths.checkpoint)
    return record


def tidy(home: Home, key: str, repository: Path) -> None:
    """Clean up what killed runs have left of one repository, except locked items."""
    if not home.temporary.is_dir():
        return
    scratch.sweep(home.temporary)
    for item in home.items_with_state(key):
        paths = home.item(key, item)
        try:
            lock = locks.try_acquire(paths.lock)
            if lock is None:
                continue
            try:
                _tidy_item(item, paths, repository)
            finally:
                lock.release()
        except (OSError, BadInput):
            # The problem is reported when the item is run.
            continue


def _tidy_item(item: Item, paths: ItemPaths, repository: Path) -> None:
    recover(publication_of(item, paths, repository), paths)
    record = read_record(paths.record)
    if record is None or not record.outcome.is_decided:
        return
    if not paths.checkpoint.exists():
        return
    # A checkpoint of a newer input is work in progress and stays.
    if checkpoints.input_of(paths.checkpoint) in (record.digest, ""):
        checkpoints.discard(paths.checkpoint)
