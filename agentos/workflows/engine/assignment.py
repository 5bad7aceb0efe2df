"""The input of a worker that runs one item: plain data that crosses processes."""

from __future__ import annotations

from dataclasses import dataclass

from agentos.item import Item
from agentos.settings import RunConfig
from agentos.workflows.implementation.config import BuildConfig


@dataclass(frozen=True, slots=True)
class Assignment:
    """One item to run, with everything that its result depends on."""

    item: Item
    text: str
    digest: str
    """Hash of the item's input."""
    repository: str
    """Key of the repository in the journal and in `AGENTOS_HOME`."""
    config: RunConfig
    is_redo: bool = False
    """Whether a complete item is done again from its beginning."""
    build: BuildConfig | None = None
    """Where it is built; None for kinds that only write a document."""
