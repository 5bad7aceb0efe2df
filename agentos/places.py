"""Where the documents of an item are in a repository."""

from __future__ import annotations

from agentos.task import Workflow


def document_path(workflow: Workflow, item: str) -> str:
    """Return the path of an item's finished document."""
    if workflow is Workflow.ISSUE:
        return f"docs/issues/{item}.md"
    # Three digits, so that files sort.
    return f"docs/lld/active/LLD-{item.zfill(3) if item.isdigit() else item}.md"


def lineage_path(workflow: Workflow, item: str) -> str:
    """Return the folder of an item's papers."""
    return f"docs/lineage/active/{item}-{workflow}"


def answers_path(workflow: Workflow, item: str) -> str:
    """Return the file with what people answered to the questions of an item's reviewer."""
    return f"docs/answers/{item}-{workflow}.md"
