"""An issue becomes a reviewed low-level design."""

from agentos.documents.findings import Finding
from agentos.documents.issue import parse_issue
from agentos.documents.lld import Tree, check_lld, finalise_lld, parse_lld, unwrap
from agentos.task import Workflow
from agentos.workflows.drafting.kind import Kind


def _find_defects(source: str) -> tuple[str, ...]:
    return parse_issue(source).defects


def _check(draft: str, source: str, previous: str, tree: Tree) -> tuple[Finding, ...]:
    return check_lld(parse_lld(draft), parse_issue(source), parse_lld(previous) if previous else None, tree)


KIND = Kind(
    workflow=Workflow.LLD,
    version=1,
    package=__name__,
    source="issue",
    nodes=("N0_load", "N1_design", "N2_validate", "N3_review", "N4_finalize"),
    find_defects=_find_defects,
    unwrap=unwrap,
    check=_check,
    finalise=finalise_lld,
)
