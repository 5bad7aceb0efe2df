"""Where the documents of an item are in a repository."""

from __future__ import annotations

from agentos.task import Workflow


def document_path(workflow: Workflow, item: str) -> str:
    """Return the path of an item's finished document: of an implementation, the report that stands for it."""
    if workflow is Workflow.ISSUE:
        return f"docs/issues/{item}.md"
    if workflow is Workflow.IMPLEMENTATION:
        return f"docs/reports/{item}/implementation-report.md"
    # Three digits, so that files sort.
    return f"docs/lld/active/LLD-{item.zfill(3) if item.isdigit() else item}.md"


def paper_folders(workflow: Workflow, item: str) -> tuple[str, ...]:
    """Return the folders of an item's papers: its lineage and, of an implementation, its reports."""
    lineage = f"docs/lineage/active/{item}-{workflow}"
    return (lineage, f"docs/reports/{item}") if workflow is Workflow.IMPLEMENTATION else (lineage,)


def answers_path(workflow: Workflow, item: str) -> str:
    """Return the file with what people answered to the questions of an item's reviewer."""
    return f"docs/answers/{item}-{workflow}.md"
