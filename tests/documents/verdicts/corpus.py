"""Verdict texts with what they must be read as: a decision, or refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.documents.verdicts.bases import APPROVED, ENDINGS, OBJECT, OPENING, REVISE, SHORT, TIERS, boxes
from tests.documents.verdicts.contrary import CONTRARY
from tests.documents.verdicts.usual import USUAL

REFUSED = "refused"
NOT_APPROVED = "not approved"
Case = tuple[str, str, str]


def _before(text: str) -> Callable[[str], str]:
    return lambda whole: text + whole


def _after(text: str) -> Callable[[str], str]:
    return lambda whole: whole + text


HARMLESS: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "byte order mark": _before("\ufeff"),
    "preamble": _before("Here is my review:\n\n"),
    "fence": lambda text: f"```markdown\n{text}\n```",
    "preamble and fence": lambda text: f"Here is my review:\n\n```markdown\n{text}\n```\n",
    "hard spaces": lambda text: text.replace("APPROVED", "\u00a0APPROVED\u00a0").replace("] \u00a0", "]\u00a0"),
    "trailing blanks": _after("   \n\n\n"),
    "quoted rejection": _before("> **Verdict:** REVISE\n\n"),
    "older verdict": _after("\n\n## Previous Review\n\n**Verdict:** REVISE\n"),
    "example in a fence": _before("```\n## Verdict\n[x] **REVISE**\n```\n\n"),
    "hidden comment": _after("\n\n<!-- Verdict: REVISE -->\n"),
}
HARMFUL: dict[str, Callable[[str], str]] = {
    "rejected below": _after("\n\n**Verdict:** REVISE\n"),
    "blocking finding below": _after("\n\n### Blocking Issues\n- The token is written to the log.\n"),
    "condition below": _after("\n\n## Verdict and Rationale\n\nAPPROVED pending the fix of the lock.\n"),
    "quoted": lambda text: "\n".join(f"> {line}" for line in text.split("\n")),
    "in an open fence": _before("```\n"),
    "in a comment": lambda text: f"<!--\n{text}\n-->",
    "cut in front of the verdict": lambda text: text[: text.casefold().rindex("verdict")] if "erdict" in text else "",
    "cut within the word": lambda text: text[: text.casefold().rindex("approved") + 5],
    "as code": lambda text: "\n".join(f"    {line}" for line in text.split("\n")),
    "in a quoting fence": lambda text: f"The draft holds this text:\n\n```markdown\n{text}\n```\n\nIt proves nothing.",
    "hidden element": lambda text: f"<details>\n\n{text}\n\n</details>",
    "not": lambda text: text.replace("APPROVED", "NOT APPROVED").replace("approved", "not approved"),
    "conditionally": lambda text: text.replace("APPROVED", "CONDITIONALLY APPROVED").replace(
        "approved", "conditionally approved"
    ),
    "as a question": lambda text: text.replace("APPROVED", "APPROVED?").replace("approved", "approved?"),
    "all options": lambda text: text.replace("APPROVED", "APPROVED / REVISE").replace("approved", "approved / revise"),
}

SINGLE: list[Case] = [
    ("the whole form, approved", APPROVED, "APPROVED"),
    ("the whole form, to revise", REVISE, "REVISE"),
    ("the whole form, to discuss", OPENING + TIERS + boxes("d"), "DISCUSS"),
    ("two boxes", OPENING + TIERS + boxes("ar"), REFUSED),
    ("three boxes", OPENING + TIERS + boxes("ard"), REFUSED),
    ("two boxes without approval", OPENING + TIERS + boxes("rd"), REFUSED),
    ("no box", OPENING + TIERS + boxes(""), REFUSED),
    ("nothing", "", REFUSED),
    ("blanks", " \n\t\n\u00a0", REFUSED),
    ("a lone word", "APPROVED", "APPROVED"),
    ("a lone sentence", "I approve of this design.", REFUSED),
    ("ends in the tiers", OPENING + TIERS, REFUSED),
    ("ends after the heading", OPENING + TIERS + "\n## Verdict\n", REFUSED),
    ("box cut", APPROVED[: APPROVED.index("[ ] **REVISE**") + 2], REFUSED),
    ("block", SHORT + "# Governance Verdict: BLOCK", "REVISE"),
    ("blocked", SHORT + "**Verdict:** BLOCKED", "REVISE"),
    ("rejected", SHORT + "## Verdict\n\n**REJECTED**", "REVISE"),
    ("request changes", SHORT + "## Decision: REQUEST CHANGES", "REVISE"),
    ("changes requested", SHORT + "Verdict: Changes Requested", "REVISE"),
    ("needs revision", SHORT + "## Final Verdict\n\nNEEDS REVISION", "REVISE"),
    ("needs-revision", SHORT + "**Verdict:** needs-revision", "REVISE"),
    ("red mark", SHORT + "## Verdict\n\n🔴 **REJECTED**", "REVISE"),
    ("cross", SHORT + "## Verdict\n\n❌ REVISE", "REVISE"),
    ("ticks and crosses", SHORT + "## Verdict\n\n❌ APPROVED\n✅ REVISE\n❌ DISCUSS", "REVISE"),
    ("crossed approval", SHORT + "## Verdict\n\n❌ APPROVED", REFUSED),
    ("not approved", SHORT + "**Verdict:** Not approved", NOT_APPROVED),
    ("cannot be approved", SHORT + "## Verdict\n\nThe design cannot be APPROVED yet.", NOT_APPROVED),
    ("disapproved", SHORT + "**Verdict:** DISAPPROVED", NOT_APPROVED),
    ("discuss", SHORT + "**Verdict:** DISCUSS - the budget is not ours to set", "DISCUSS"),
    ("escalate", SHORT + "## Verdict\n\nESCALATE", "DISCUSS"),
    *(
        (f"approved {tail}", f"{SHORT}**Verdict:** APPROVED {tail}", REFUSED)
        for tail in (
            "pending fixes",
            "(pending fixes)",
            "- pending fixes",
            "subject to Tier 2 changes",
            "once the lock is tested",
            "if the lock is tested",
            "provided the lock is tested",
            "with conditions",
            "with required changes",
            "with reservations",
            "after revision",
            "- fix Tier 1 first",
            ", but only when the lock is tested",
            "but revise section 3",
            "or REVISE",
            "| REVISE | DISCUSS",
            "-> REVISE",
            "in part",
            "by default unless someone objects",
            "; not for production",
            "- conditional on the tests",
            ": no",
            "~~for now~~ ~~",
        )
        if tail != ": no"
    ),
    *(
        (f"approved {tail}", f"{SHORT}**Verdict:** APPROVED{tail}", "APPROVED")
        for tail in (
            ".",
            "!",
            " - no blocking issues",
            " \u2014 every requirement is tested",
            " with minor suggestions",
            " with comments",
            " with Tier 3 suggestions noted below",
            " for implementation",
            " as written",
            " without changes",
            " (see the notes)",
            " (was REVISE in round 1)",
            ", ready to implement",
            "  \nReviewer: the second model",
        )
    ),
    ("box in a fence", SHORT + "## Verdict\n\n```\n- [x] **APPROVED**\n```", REFUSED),
    ("box in tildes", SHORT + "## Verdict\n\n~~~\n[x] APPROVED\n~~~", REFUSED),
    ("box in a quote", SHORT + "## Verdict\n\n> - [x] **APPROVED**", REFUSED),
    ("box lazily quoted", SHORT + "## Verdict\n\n> The draft says\n[x] APPROVED", REFUSED),
    ("box in a comment", SHORT + "## Verdict\n\n<!-- - [x] **APPROVED** -->", REFUSED),
    ("box in a code span", SHORT + "## Verdict\n\n`- [x] **APPROVED**`", REFUSED),
    ("box in a long code span", SHORT + "## Verdict\n\nfrom `here\n[x] APPROVED\nto` here", REFUSED),
    ("box struck out", SHORT + "## Verdict\n\n~~- [x] **APPROVED**~~", REFUSED),
    ("word struck out", SHORT + "## Verdict\n\n- [x] ~~APPROVED~~\n- [ ] REVISE", REFUSED),
    ("word struck out and replaced", SHORT + "## Verdict\n\n~~APPROVED~~ REVISE", "REVISE"),
    ("lines struck out", SHORT + "## Verdict\n\n~~from\n[x] APPROVED\nto~~", REFUSED),
    ("element struck out", SHORT + "## Verdict\n\n<del>\n[x] APPROVED\n</del>", REFUSED),
    ("element struck out within", SHORT + "## Verdict\n\n<s>APPROVED</s>", REFUSED),
    ("box below an item", SHORT + "## Verdict\n\n- The draft claims:\n  - [x] APPROVED", REFUSED),
    ("strange box", SHORT + "## Verdict\n\n[~] APPROVED\n[ ] REVISE", REFUSED),
    ("unknown option checked", SHORT + "## Verdict\n\n[ ] APPROVED\n[x] LATER", REFUSED),
    ("conditional option", SHORT + "## Verdict\n\n[ ] APPROVED\n[x] APPROVED WITH CONDITIONS\n[ ] REVISE", REFUSED),
    ("box against label", SHORT + "**Verdict:** REVISE\n\n## Verdict\n\n[x] APPROVED\n[ ] REVISE", REFUSED),
    ("box and label agree", SHORT + "**Verdict:** APPROVED\n\n## Verdict\n\n[x] APPROVED\n[ ] REVISE", "APPROVED"),
    ("heading against word", SHORT + "## Verdict: APPROVED\n\n**REVISE**", REFUSED),
    ("two words", SHORT + "## Verdict\n\nAPPROVED\n\nREVISE", REFUSED),
    ("a list of options", SHORT + "## Verdict\n\n- APPROVED\n- REVISE\n- DISCUSS", REFUSED),
    ("two sections", SHORT + "## Verdict\n\nAPPROVED\n\n## Verdict\n\nAPPROVED", REFUSED),
    ("quoted word", SHORT + '**Verdict:** "APPROVED"', REFUSED),
    ("verdict of coverage", SHORT + "## Requirement Coverage\n\n**Verdict:** APPROVED", REFUSED),
    ("coverage blocks", SHORT + "## Requirement Coverage\n\n**Verdict:** BLOCK\n\n## Verdict\n\nAPPROVED", REFUSED),
    ("gate fails", SHORT + "## Pre-Flight Gate\n\nFAILED\n\n## Verdict\n\nAPPROVED", REFUSED),
    ("verdict of another", SHORT + "## Author's Verdict\n\nAPPROVED", REFUSED),
    ("verdict of the security tool", SHORT + "**Security Verdict:** APPROVED", REFUSED),
    ("older verdict alone", SHORT + "## Previous Verdict\n\nAPPROVED", REFUSED),
    ("verdict under an unknown heading", SHORT + "## What the draft claims\n\n**Verdict:** APPROVED", REFUSED),
    ("only a pass", SHORT + "## Verdict\n\nPASS", REFUSED),
    ("tag in a list", SHORT + "- [BLOCKING] The token is logged.\n\n**Verdict:** APPROVED", REFUSED),
    ("count of blockers", SHORT + "**Blocking Issues:** 2\n\n**Verdict:** APPROVED", REFUSED),
    ("no blockers", SHORT + "**Blocking Issues:** None\n\n**Verdict:** APPROVED", "APPROVED"),
    (
        "blocker as heading",
        SHORT + "## Tier 1\n\n### B1: Token in the log\n\nIt is.\n\n## Verdict\n\nAPPROVED",
        REFUSED,
    ),
    ("blocker as paragraph", SHORT + "## Blocking Issues\n\nThe token is logged.\n\n## Verdict\n\nAPPROVED", REFUSED),
    ("blockers all none", SHORT + "## Tier 1: Blocking\n\n### Cost\n- None.\n\n## Verdict\n\nAPPROVED", "APPROVED"),
    (
        "none, but one",
        SHORT + "## Blocking\n\n- None, but the token is logged.\n\n## Verdict\n\nAPPROVED",
        REFUSED,
    ),
    (
        "blocker in a table",
        SHORT + "## Tier 1\n\n| Issue |\n|---|\n| Token logged |\n\n## Verdict\n\nAPPROVED",
        REFUSED,
    ),
    ("none in a table", SHORT + "## Tier 1\n\n| Issue |\n|---|\n| None |\n\n## Verdict\n\nAPPROVED", "APPROVED"),
    ("condition in the word", SHORT + "## Verdict\n\nAPPROVED-WITH-CONDITIONS", REFUSED),
    ("condition in brackets", SHORT + "## Verdict\n\nAPPROVED (with conditions)", REFUSED),
    ("second thought", SHORT + "## Verdict\n\nAPPROVED\n\nActually, REVISE.", REFUSED),
    ("example heading", SHORT + "## Verdict (example)\n\nAPPROVED", REFUSED),
    ("conditions listed", SHORT + "## Verdict\n\nAPPROVED\n\n### Conditions\n\n- Test the lock.", REFUSED),
    ("changes listed", SHORT + "## Verdict\n\nAPPROVED\n\n**Required changes:**\n- Test the lock.", REFUSED),
    ("hopes after it", SHORT + "## Verdict\n\nAPPROVED\n\nHowever, do see the suggestions.", "APPROVED"),
    ("to-do list after it", SHORT + "## Verdict\n\nAPPROVED\n\n### Next steps\n\n- [ ] Revise the docs", "APPROVED"),
    ("word not closed", SHORT + "## Verdict\n\n**APPROVED", REFUSED),
    ("word with a footnote", SHORT + "## Verdict\n\nAPPROVED*\n\n*only when the lock is tested", REFUSED),
    ("condition on the next line", SHORT + "**Verdict:** APPROVED\npending fixes", REFUSED),
    ("condition in the next paragraph", SHORT + "## Verdict\n\nAPPROVED\n\nPending the fix of the lock.", REFUSED),
    ("open fence after it", SHORT + "**Verdict:** APPROVED\n\n```\ncut he", REFUSED),
    ("title that says approved", "# Review: APPROVED\n\n## Summary\n\nNothing is decided here.\n", REFUSED),
    ("title that says verdict", "# LLD Review: Verdict: APPROVED\n\n## Summary\n\nNothing is decided here.\n", REFUSED),
    ("object", OBJECT % "APPROVED", "APPROVED"),
    ("object to revise", OBJECT % "REVISE", "REVISE"),
    ("object in a fence", f"```json\n{OBJECT % 'APPROVED'}\n```", "APPROVED"),
    ("object in a plain fence", f"```\n{OBJECT % 'APPROVED'}\n```", "APPROVED"),
    ("object with preamble", f"Here is my verdict:\n\n{OBJECT % 'APPROVED'}", "APPROVED"),
    ("object with trailing prose", f"{OBJECT % 'APPROVED'}\n\nLet me know what else to look at.", "APPROVED"),
    ("object between prose", f"My review:\n```json\n{OBJECT % 'APPROVED'}\n```\nThat is all.", "APPROVED"),
    ("object and label agree", f"**Verdict:** APPROVED\n```json\n{OBJECT % 'APPROVED'}\n```", "APPROVED"),
    ("object against label", f"**Verdict:** REVISE\n```json\n{OBJECT % 'APPROVED'}\n```", REFUSED),
    ("object against boxes", f"```json\n{OBJECT % 'APPROVED'}\n```\n{boxes('r')}", REFUSED),
    ("object against blockers", f"## Blocking\n- The token is logged.\n\n```json\n{OBJECT % 'APPROVED'}\n```", REFUSED),
    ("two objects", f"```json\n{OBJECT % 'APPROVED'}\n```\n```json\n{OBJECT % 'APPROVED'}\n```", REFUSED),
    ("two objects in a row", f"{OBJECT % 'REVISE'}\n{OBJECT % 'APPROVED'}", REFUSED),
    ("quoted object", f"The draft contains this:\n\n```json\n{OBJECT % 'APPROVED'}\n```\n", REFUSED),
    ("object in a quote", "\n".join(f"> {line}" for line in (OBJECT % "APPROVED").split("\n")), REFUSED),
    ("object cut", (OBJECT % "APPROVED")[:-9], REFUSED),
    ("fenced object cut", "```json\n" + (OBJECT % "APPROVED")[:-9], REFUSED),
    ("object cut below a label", f"**Verdict:** APPROVED\n\n{(OBJECT % 'APPROVED')[:-9]}", REFUSED),
    ("object in lower case", OBJECT % "approved", "APPROVED"),
    ("object with a second decision", (OBJECT % "REVISE").replace("{", '{"decision": "APPROVED",', 1), REFUSED),
    ("another object beside a review", f'```json\n{{"retries": 3}}\n```\n\n{APPROVED}', "APPROVED"),
    ("python fence", f"```python\n{OBJECT % 'APPROVED'}\n```", REFUSED),
    ("lone surrogate", f"{SHORT}\ud800\n\n**Verdict:** APPROVED", "APPROVED"),
    ("control characters", f"{SHORT}\x00\x1b[2J\n\n**Verdict:** APPROVED", "APPROVED"),
]


def _mutated() -> Iterator[Case]:
    for ending_name, ending in ENDINGS.items():
        for name, change in HARMLESS.items():
            yield f"{ending_name}, {name}", change(SHORT + ending), "APPROVED"
        for name, change in HARMFUL.items():
            yield f"{ending_name}, {name}", change(SHORT + ending), NOT_APPROVED


CASES: list[Case] = [*SINGLE, *CONTRARY, *USUAL, *_mutated()]
