"""Answer a request for a draft: a fresh one, or a revision of the previous one."""

from __future__ import annotations

import json
from collections.abc import Mapping

from agentos.documents.findings import Category, Finding, Tier
from agentos.errors import ProviderError
from agentos.providers.offline.blueprint import make_blueprint
from agentos.providers.offline.issue_drafter import draft_issue, revise_issue
from agentos.providers.offline.lld_drafter import draft_lld
from agentos.providers.offline.lld_revision import revise_lld


def write_draft(purpose: str, inputs: Mapping[str, str]) -> str:
    """Return the Markdown for `lld.draft` or `issue.draft`."""
    item = inputs.get("item", "")
    previous = inputs.get("previous_draft", "")
    findings = read_findings(inputs.get("findings", ""))
    if purpose == "issue.draft":
        brief = inputs.get("brief", "")
        return revise_issue(previous, brief, findings) if previous.strip() else draft_issue(item, brief)
    blueprint = make_blueprint(item, inputs.get("issue", ""))
    return revise_lld(previous, blueprint, findings) if previous.strip() else draft_lld(blueprint)


def read_findings(text: str) -> tuple[Finding, ...]:
    """Read the findings of the previous round."""
    if not text.strip():
        return ()
    try:
        return tuple(
            Finding(
                str(entry["id"]),
                Tier(entry["tier"]),
                Category(entry["category"]),
                str(entry["section"]),
                str(entry["text"]),
            )
            for entry in json.loads(text)
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ProviderError(f"offline: the findings of the request cannot be read: {error}") from None
