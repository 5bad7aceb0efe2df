"""Write the sections of a design other than 2, 5, 6 and 10."""

from __future__ import annotations

import re

from agentos.documents.headings import split_label
from agentos.documents.tables import render_table
from agentos.documents.words import keywords, stem
from agentos.providers.offline.blueprint import Blueprint, measured_promises
from agentos.providers.offline.proofs import shorten

_CODE = re.compile(r"`[^`]{0,300}`")
NOTICE = (
    "> Drafted by rules from the words of the issue; no language model was asked. What the issue does not say is "
    "marked as a decision, so that a reader can overrule it."
)


def write_context(blueprint: Blueprint) -> str:
    """Return section 1."""
    issue = blueprint.issue
    number = f"#{blueprint.item}" if blueprint.item.isdecimal() else blueprint.item
    lines = [
        "## 1. Context & Goal",
        "",
        f"* **Issue:** {number}",
        f"* **Objective:** {blueprint.objective}",
        "* **Status:** Draft",
        f"* **Related Issues:** {'; '.join(issue.dependencies) or 'the issue names none'}",
    ]
    if issue.user_story:
        lines.append(f"* **User Story:** {issue.user_story}")
    lines += [f"* **Background:** {text}" for text in issue.context[:8] if text != issue.objective]
    lines += [f"* **{title}:** {shorten(' '.join(body.split()), 300)}" for title, body in issue.other[:6] if body]
    lines += ["", "### Open Questions", ""]
    if not issue.open_questions:
        lines.append("None: the issue leaves no question open.")
    for question in issue.open_questions:
        if question.answer:
            lines.append(f"- [x] {question.text} **Answer: {question.answer}**")
        else:
            lines.append(f"- [ ] {question.text}")
    return "\n".join(lines)


def write_requirements(blueprint: Blueprint) -> str:
    """Return section 3."""
    lines = ["## 3. Requirements", "", "What must be true when this is done, in the words of the issue.", ""]
    lines += [f"{n}. {demand.text}" for n, demand in enumerate(blueprint.demands, 1)]
    criteria = len(blueprint.issue.criteria)
    total = len(blueprint.demands)
    sources = []
    if criteria:
        sources.append(f"R1 to R{criteria} are the acceptance criteria" if criteria > 1 else "R1 is the criterion")
    if total > criteria:
        span = f"R{criteria + 1} to R{total}" if total > criteria + 1 else f"R{criteria + 1}"
        rest = ", ".join(sorted({demand.source.split(" ")[0] for demand in blueprint.demands[criteria:]}))
        sources.append(f"{span} from the issue's other parts ({rest}), where they say more than the criteria")
    notes = [f"*Sources: {'; '.join(sources)}.*"]
    if blueprint.left_out:
        notes.append(f"\n**{blueprint.left_out} more are not designed here: the issue has to be split.**")
    return "\n".join([*lines, "", *notes])


def write_alternatives(blueprint: Blueprint) -> str:
    """Return section 4: the proposed ways, what was put out of scope, and doing nothing."""
    rows = []
    for text in blueprint.issue.technical_approach[:8]:
        label, value = split_label(text)
        rows.append((label or shorten(text, 60), value or text, "None that the issue names", "**Selected**"))
    if not rows:
        rows.append(
            (
                "Smallest change to existing code",
                "Little to review",
                "Keeps today's structure",
                "**Selected**",
            )
        )
    for text in blueprint.issue.out_of_scope[:8]:
        name, _, why = text.replace("**", "").partition(" — ")
        rows.append((shorten(name, 80), "Would go further", why or "Out of scope in the issue", "**Rejected**"))
    rows.append(("Leave it as it is", "No effort, no risk", f"Not reached: {blueprint.objective}", "**Rejected**"))
    table = render_table(("Option", "Pros", "Cons", "Decision"), rows)
    chosen = (
        "what the issue's technical approach proposes" if blueprint.issue.technical_approach else "the least change"
    )
    rationale = f"**Rationale:** {chosen}, limited to the requirements of section 3."
    return f"## 4. Alternatives Considered\n\n{table}\n\n{rationale}"


def write_security(blueprint: Blueprint) -> str:
    """Return section 7."""
    security = [(shorten(text, 160), "As stated in the issue", "Stated") for text in blueprint.issue.security]
    safety: list[tuple[str, str, str]] = []
    for raised in blueprint.signals:
        row = (
            f'{raised.signal.concern} (issue: "{shorten(raised.evidence, 90)}")',
            raised.signal.mitigation,
            "Addressed",
        )
        (security if raised.signal.area == "security" else safety).append(row)
    for path in blueprint.failures[:8]:
        after = "; ".join(path.outcome) or path.cause
        safety.append((f"{path.scenario.title}: {shorten(path.cause, 90)}", shorten(after, 200), "Addressed"))
    silent = "The issue states no {} concern and its words raise none"
    security = security or [
        (silent.format("security"), "Decision: no new permission, no new input from outside", "None")
    ]
    safety = safety or [(silent.format("safety"), "Decision: the change writes nothing outside its own result", "None")]
    head = ("Concern", "Mitigation", "Status")
    return (
        f"## 7. Security & Safety Considerations\n\n### 7.1 Security\n\n{render_table(head, security)}\n\n"
        f"### 7.2 Safety\n\n{render_table(head, safety)}\n\n"
        f"**Fail Mode:** {_fail_mode(blueprint)}\n\n**Recovery Strategy:** {_recovery(blueprint)}"
    )


def _fail_mode(blueprint: Blueprint) -> str:
    if blueprint.failures:
        path = blueprint.failures[0]
        outcome = shorten(path.outcome[0] if path.outcome else path.cause, 140)
        return f'Fail closed, as the issue describes it: on "{shorten(path.cause, 100)}": {outcome}'
    silent = "Fail closed - the issue describes no failure; decision: "
    return f"{silent}stop with a message that names the input, change nothing"


def _recovery(blueprint: Blueprint) -> str:
    wanted = {stem(word) for word in ("resume", "retry", "restore", "rollback", "rerun", "rolls", "recover")}
    for text in blueprint.sentences[:1000]:
        if keywords(_CODE.sub(" ", text)) & wanted:
            return f'"{shorten(text, 200)}" (issue). Repeating a call with the same input gives the same result.'
    return (
        "The issue states none; decision: a call can be repeated with the same input, and a failed one leaves no trace."
    )


def write_performance(blueprint: Blueprint) -> str:
    """Return section 8."""
    rows: list[tuple[str, str, str]] = []
    for text in blueprint.sentences[:1000]:
        budget = [figure.text for figure in measured_promises(text)]
        if budget and len(rows) < 10:
            rows.append((shorten(text, 110), ", ".join(budget), "Measured by the scenario that tests the sentence"))
    if not rows:
        rows = [
            (
                "Time and memory of the changed path",
                "The issue states none; decision: not slower than before the change",
                "Measured before and after on the fixture of 5.3",
            )
        ]
    words = frozenset().union(*(keywords(text) for text in blueprint.sentences[:1000]))
    calls_out = words & {stem(w) for w in ("api", "llm", "gemini", "openai", "cloud", "smtp", "webhook", "sms")}
    cost = (
        (
            "Calls to an outside service",
            "As the service bills them",
            "As many as before, or as section 3 states",
            "See note",
        )
        if calls_out
        else ("Local computing", "0", "The user's own machine", "0")
    )
    note = (
        "The issue states no price; decision: the number of calls is counted in the log, and a retry is bounded."
        if calls_out
        else "No paid service is called."
    )
    return (
        "## 8. Performance & Cost Considerations\n\n### 8.1 Performance\n\n"
        f"{render_table(('Metric', 'Budget', 'Approach'), rows)}\n\n### 8.2 Cost Analysis\n\n"
        f"{render_table(('Resource', 'Unit Cost', 'Estimated Usage', 'Monthly Cost'), [cost])}\n\n"
        f"**Cost Controls:** {note}"
    )


def write_legal(blueprint: Blueprint) -> str:
    """Return section 9."""
    raised = {entry.signal.name: entry.evidence for entry in blueprint.signals}
    personal = raised.get("personal-data")
    network = raised.get("network")
    kept = raised.get("logging") or raised.get("storage") or raised.get("files")
    stated = "; ".join(blueprint.issue.dependencies)
    packages = "" if stated.casefold().startswith(("none", "no ")) or "#" in stated else stated
    rows = [
        (
            "PII/Personal Data",
            "Yes" if personal else "No",
            f'Issue: "{shorten(personal, 100)}"; only these fields, not in logs'
            if personal
            else "The issue names none",
        ),
        ("Third-Party Licenses", "Check" if packages else "No", packages or "No package is added"),
        (
            "Terms of Service",
            "Yes" if network else "No",
            f'Issue: "{shorten(network, 100)}"; limits of the service are kept' if network else "No outside service",
        ),
        (
            "Data Retention",
            "Yes" if kept else "No",
            f'Issue: "{shorten(kept, 100)}"; kept where the user can delete it' if kept else "Nothing is stored",
        ),
        ("Export Controls", "No", "No cryptography of its own"),
    ]
    return f"## 9. Legal & Compliance\n\n{render_table(('Concern', 'Applies?', 'Mitigation'), rows)}"


def write_risks(blueprint: Blueprint) -> str:
    """Return section 11."""
    rows = [
        (shorten(text, 160), "Med", "Med", "Named in the issue; a scenario of 10.1 watches it")
        for text in blueprint.issue.risks
    ]
    rows += [
        (entry.signal.concern, entry.signal.impact, entry.signal.likelihood, entry.signal.mitigation)
        for entry in blueprint.signals
    ]
    rows += [
        (
            f"Open question: {shorten(question.text, 120)}",
            "Med",
            "Med",
            "Answered by a person before work begins",
        )
        for question in blueprint.issue.open_questions
        if not question.answer
    ]
    rows.append(
        (
            "A rule read the issue's words otherwise than its author meant them",
            "Med",
            "Low",
            "Sections 3 and 10.1 quote the issue; a person reads them before implementation",
        )
    )
    table = render_table(("Risk", "Impact", "Likelihood", "Mitigation"), rows)
    return f"## 11. Risks & Mitigations\n\n{table}"


def write_done(blueprint: Blueprint) -> str:
    """Return section 12."""
    groups: dict[str, list[str]] = {}
    for note in blueprint.issue.definition_of_done:
        groups.setdefault(note.group or "From the issue", []).append(note.text)
    if not groups:
        groups["Code"] = ["Every file of 2.1 changed as described, linted and typed"]
        groups["Documentation"] = ["What a user sees of this change is documented where its neighbours are"]
    groups.setdefault("Tests", []).append("Every scenario of 10.1 is automated and passes")
    groups.setdefault("Review", []).append("Deviations from this design are written into it before the issue is closed")
    blocks = [f"### {name}\n\n" + "\n".join(f"- [ ] {text}" for text in texts) for name, texts in groups.items()]
    return "## 12. Definition of Done\n\n" + "\n\n".join(blocks)
