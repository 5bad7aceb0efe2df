"""Approvals in other forms: none is read, so the reviewer is asked again."""

from __future__ import annotations

from tests.documents.verdicts.bases import boxes

_SUMMARY = "# Review\n\n## Summary\n\nThe design names every file that it writes.\n\n"
_ENDINGS = {
    "boxes without the tiers": boxes("a").strip(),
    "symbol boxes": "## Verdict\n\n☑ APPROVED\n☐ REVISE\n☐ DISCUSS",
    "boxes in a line": "## Verdict\n\n[x] APPROVED [ ] REVISE [ ] DISCUSS",
    "label": "**Verdict:** APPROVED",
    "plain label": "Verdict: APPROVED",
    "label in a list": "- **Verdict:** APPROVED",
    "label above its value": "**Verdict:**\n\nAPPROVED",
    "heading with the value": "## Verdict: APPROVED",
    "governance heading": "# Governance Verdict: APPROVED",
    "heading and word": "## Verdict\n\nAPPROVED",
    "decision": "## Decision\n\n**APPROVED**",
    "sentence": "## Verdict\n\nThis design is **APPROVED** for implementation.",
    "table row": "| Field | Value |\n|---|---|\n| Verdict | APPROVED |",
    "underlined heading": "Verdict\n=======\n\nAPPROVED",
    "element": "<verdict>APPROVED</verdict>",
}
PROSE = {
    "a lone word": "APPROVED",
    "a lone heading": "# APPROVED",
    "a sentence": "I approve of this design.",
    "yaml": "```yaml\nverdict: APPROVED\nsummary: It is small.\n```",
    **{name: _SUMMARY + ending for name, ending in _ENDINGS.items()},
}
