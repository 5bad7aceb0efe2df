"""Turn an issue into a reviewed low-level design."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentos.documents.findings import Finding
from agentos.documents.issue import parse_issue
from agentos.documents.lld import Tree, check_lld, finalize_lld, parse_lld, unwrap
from agentos.kinds import Kind
from agentos.workflows.drafting.kind import DraftingKind

if TYPE_CHECKING:
    from agentos.workflows.engine.flow import Flow


def _check(draft: str, source: str, previous: str, tree: Tree) -> tuple[Finding, ...]:
    return check_lld(
        parse_lld(draft),
        parse_issue(source),
        parse_lld(previous) if previous else None,
        tree,
    )


KIND = DraftingKind(
    workflow=Kind.LLD,
    check=_check,
    nodes=("N0_load", "N1_design", "N2_validate", "N3_review", "N4_finalize"),
    unwrap=unwrap,
    finalize=finalize_lld,
)


def make_flow() -> Flow:
    """Return the drafting flow of this kind."""
    from agentos.workflows.drafting.flow import Drafting

    return Drafting(KIND)
