"""Clear approvals in the shapes that reviewers use beside the form they are given."""

from __future__ import annotations

import json

from tests.documents.verdicts.bases import OBJECT, SHORT

_LABEL = "\n\n**Verdict:** APPROVED"
_APPROVED = OBJECT % "APPROVED"
_TIER = SHORT + "## Tier 1: Blocking\n\n%s" + _LABEL
_NOTHING = (
    "There are no blocking issues.",
    "I did not find any blocking issues.",
    "Nothing blocking.",
    "I found no issues.",
    "All previously raised blocking issues have been resolved.",
    "- ✅ Cost: bounded",
    "- [x] Cost: bounded",
    "- The key handling is sound; no findings.",
)
_SHAPES = (
    "**3. Verdict**\n\n**APPROVED**",
    "**3. Verdict:** APPROVED",
    "3. Verdict\n\nAPPROVED",
    "3. Verdict\nAPPROVED",
    "**Verdict**\nAPPROVED",
    "Verdict\nAPPROVED",
    "**Verdict:**\nAPPROVED",
    "## Round 2 Verdict: APPROVED",
    "## Verdict (Round 2): APPROVED",
    "**Verdict (Round 2):** APPROVED",
    "## Verdict for LLD-42: APPROVED",
    "# LLD-42 Review Verdict: APPROVED",
    "**Review Status:** ✅ Approved",
    "**Status:** APPROVED",
    "Overall Assessment: APPROVED",
    "## Overall Assessment: APPROVED",
    "Implementation Readiness: APPROVED",
    "Gate Decision: APPROVED",
    "**Current verdict:** APPROVED",
    "My final verdict is: APPROVED.",
    "Urteil: APPROVED",
    "Ergebnis: APPROVED",
    "Entscheidung: APPROVED",
)
_OPENINGS = ("# APPROVED", "APPROVED", "✅ **Approved for implementation**", "# LLD Review #42: APPROVED")
_TAILS = (
    " as-is",
    " because every limit is tested",
    " since every limit is tested.",
    " as all prior findings are resolved",
    " (only Tier 3 suggestions remain)",
    ". Only suggestions remain.",
    ". After two rounds, all findings are closed.",
    ". Not a single blocking issue was found.",
    ". Although the suggestions would help, none is required.",
    ". If time allows, consider a shorter name.",
    " w/ minor suggestions",
    " | Confidence: High",
    "\\\\",
    "&nbsp;",
    " :white_check_mark:",
)
_OBJECTS: dict[str, str] = {
    "small letters": OBJECT % "approved",
    "unknown field": _APPROVED.replace("{", '{"confidence": 0.9,', 1),
    "missing lists": '{"decision": "APPROVED", "summary": "It is small."}',
    "no section, tier in capitals": json.dumps(
        {
            "decision": "Approved",
            "summary": "It is small.",
            "findings": [{"id": "S1", "tier": "Suggestion", "category": "Quality", "section": None, "text": "Rename."}],
        }
    ),
    "trailing comma": _APPROVED.replace('"coverage": []', '"coverage": [],'),
    "comments": _APPROVED.replace('"findings"', '// nothing was found\n "findings"'),
    "jsonc fence": f"```jsonc\n{_APPROVED}\n```",
    "wrapped in a field": f'{{"verdict": {_APPROVED}}}',
    "wrapped in a list": f"[{_APPROVED}]",
    "wrapped in a fence": f'```json\n{{"verdict": {_APPROVED}}}\n```',
    "line end in a string": _APPROVED.replace("names every", "names\nevery"),
    "thoughts before": f"<think>\nShould it be REVISE?\n</think>\n\n{_APPROVED}",
}
_WHOLE: dict[str, str] = {
    "boxes after a label": SHORT + "**Verdict:** [x] APPROVED [ ] REVISE [ ] DISCUSS",
    "element": SHORT + "<verdict>APPROVED</verdict>",
    "heading element": SHORT + "<h2>Verdict</h2>\n\nAPPROVED",
    "yaml": "```yaml\nverdict: APPROVED\nsummary: It is small.\n```",
    "conclusion": SHORT + "## Verdict\n\nThe open questions are settled. The LLD is therefore APPROVED.",
    "fence and courtesy": f"```markdown\n{SHORT}**Verdict:** APPROVED\n```\n\nLet me know if you need more.",
    "table of the reviewer": SHORT + "| Reviewer | Date | Verdict |\n|---|---|---|\n| a model | today | APPROVED |",
    "earlier round": SHORT + "**Verdict:** APPROVED\n\nThe previous REVISE items have been addressed.",
    "thoughts": f"<think>\nREVISE?\n</think>\n{SHORT}**Verdict:** APPROVED",
}
_TEXTS: dict[str, str] = {
    **{f"empty tier: {text}": _TIER % text for text in _NOTHING},
    **{f"shape: {text}": SHORT + text for text in _SHAPES},
    **{f"tail:{text}": f"{SHORT}**Verdict:** APPROVED{text}" for text in _TAILS},
    **{f"object: {name}": text for name, text in _OBJECTS.items()},
    **_WHOLE,
    **{f"opening: {text}": f"{text}\n\nEvery file that the design writes is named." for text in _OPENINGS},
}
USUAL = [(name, text, "APPROVED") for name, text in _TEXTS.items()]
