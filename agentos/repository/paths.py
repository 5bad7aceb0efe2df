"""Name the files of an item in a repository."""

from __future__ import annotations

from agentos.kinds import Kind


def document_path(kind: Kind, item: str) -> str:
    """Return the path of an item's finished document, or of the report on its code."""
    number = item
    if item.isdigit():
        # Three digits, so that files sort.
        number = item.zfill(3)
    return kind.record.document.format(id=item, number=number)


def lineage_folders(kind: Kind, item: str) -> tuple[str, ...]:
    """Return the folders of an item's lineage files and reports."""
    folders = kind.record.folders
    return tuple(folder.format(id=item) for folder in folders)


def answers_path(kind: Kind, item: str) -> str:
    """Return the path of the answers to questions of an item's reviewer."""
    return f"docs/answers/{item}-{kind}.md"
