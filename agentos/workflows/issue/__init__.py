"""A brief becomes a reviewed issue."""

from agentos.documents.brief import parse_brief
from agentos.documents.findings import Finding
from agentos.documents.issue import parse_issue
from agentos.documents.issue_spec import check_issue_spec, finalise_issue
from agentos.documents.lld import Tree
from agentos.documents.wrapping import unwrap
from agentos.task import Workflow
from agentos.workflows.drafting.kind import Kind


def _find_defects(source: str) -> tuple[str, ...]:
    return parse_brief(source).defects


def _check(draft: str, source: str, previous: str, tree: Tree) -> tuple[Finding, ...]:
    del tree
    return check_issue_spec(parse_issue(draft), parse_brief(source), parse_issue(previous) if previous else None)


KIND = Kind(
    workflow=Workflow.ISSUE,
    version=1,
    package=__name__,
    source="brief",
    nodes=("N0_load", "N1_draft", "N2_validate", "N3_review", "N4_finalize"),
    find_defects=_find_defects,
    unwrap=unwrap,
    check=_check,
    finalise=finalise_issue,
)
