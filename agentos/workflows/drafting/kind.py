"""What tells one drafting workflow from another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from agentos.documents.findings import Finding
from agentos.documents.lld import Tree
from agentos.documents.review_log import Review
from agentos.task import Workflow


class Finalise(Protocol):
    """Set the status and write the review log into a draft."""

    def __call__(self, text: str, *, item: str, status: str, reviews: Sequence[Review], stamp: str) -> str: ...


@dataclass(frozen=True, slots=True)
class Kind:
    """A workflow that drafts a document from a source and has it reviewed."""

    workflow: Workflow
    version: int
    """Raised when a checkpoint of the former graph can no longer be resumed."""
    package: str
    """Where its prompts are."""
    source: str
    """What it starts from, as prompts and lineage name it: `issue`, `brief`."""
    nodes: tuple[str, str, str, str, str]
    """Names of the steps: load, draft, validate, review, finalise."""
    find_defects: Callable[[str], Sequence[str]]
    """Tell why a source is no usable spec at all."""
    unwrap: Callable[[str], str]
    """Take the document out of what a model wrote around it."""
    check: Callable[[str, str, str, Tree], Sequence[Finding]]
    """Check a draft mechanically against its source, the previous draft and the repository."""
    finalise: Finalise
