"""The differences between the drafting kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from agentos.documents.findings import Finding
from agentos.documents.ledger import Ledger
from agentos.documents.lld import Tree
from agentos.documents.review_log import finalize_document
from agentos.documents.wrapping import unwrap
from agentos.kinds import Kind

STEPS = ("N0_load", "N1_draft", "N2_validate", "N3_review", "N4_finalize")


class Finalize(Protocol):
    """Sets the status of a draft and writes its review log."""

    def __call__(
        self,
        text: str,
        *,
        item: str,
        status: str,
        ledger: Ledger,
        provenance: str,
    ) -> str: ...


@dataclass(frozen=True, slots=True)
class DraftingKind:
    """A kind that drafts a document from a source and has it reviewed."""

    workflow: Kind
    check: Callable[[str, str, str, Tree], Sequence[Finding]]
    """Check a draft mechanically against its source, the previous draft and the
    repository.
    """
    version: int = 1
    """Increase it when checkpoints of the previous graph can no longer be resumed."""
    nodes: tuple[str, str, str, str, str] = STEPS
    """Names of the steps: load, draft, validate, review, finalize."""
    unwrap: Callable[[str], str] = unwrap
    """Extract the document from a model's answer."""
    finalize: Finalize = finalize_document

    @property
    def source(self) -> str:
        """Name of its input in prompts and lineage files: `issue`, `brief`."""
        return self.workflow.record.source
