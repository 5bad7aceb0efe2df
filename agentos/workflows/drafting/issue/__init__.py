"""Turn a brief into a reviewed issue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentos.documents.brief import parse_brief
from agentos.documents.findings import Finding
from agentos.documents.issue import parse_issue
from agentos.documents.issue_spec import check_issue_spec, finalize_issue
from agentos.documents.lld import Tree
from agentos.kinds import Kind
from agentos.workflows.drafting.kind import DraftingKind

if TYPE_CHECKING:
    from agentos.workflows.engine.flow import Flow


def _check(draft: str, source: str, previous: str, tree: Tree) -> tuple[Finding, ...]:
    del tree
    return check_issue_spec(
        parse_issue(draft),
        parse_brief(source),
        parse_issue(previous) if previous else None,
    )


KIND = DraftingKind(
    workflow=Kind.ISSUE,
    check=_check,
    finalize=finalize_issue,
)


def make_flow() -> Flow:
    """Return the drafting flow of this kind."""
    from agentos.workflows.drafting.flow import Drafting

    return Drafting(KIND)
