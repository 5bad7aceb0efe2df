"""Write the lineage files of an item: the source, every draft and review, the result."""

from __future__ import annotations

import re

from agentos.documents.answers import without_answers
from agentos.documents.judged_text import source_hash
from agentos.documents.ledger import Ledger, LedgerFile, questions_for_person
from agentos.documents.provenance import (
    RECORDED,
    RULES,
    SCRIPTED,
    SIMULATED,
    mark_recorded,
)
from agentos.documents.verdict import parse_verdict, render_verdict
from agentos.repository.publish import Artifacts
from agentos.workflows.drafting.kind import DraftingKind
from agentos.workflows.drafting.loop import deciding_round, findings_of, say_finding
from agentos.workflows.drafting.memory import LEDGER_FILE
from agentos.workflows.drafting.nodes import ledger_of
from agentos.workflows.drafting.state import DraftingState, RoundState

_REVIEW = """\
{verdict}

## The reviewer's answer as it came

{fence}json
{answer}
{fence}
"""
_PROBLEMS = """\
# Mechanical check

Found before a reviewer was asked:

{problems}
"""
_PROBLEM = "- **{id}** ({tier}, {section}): {text}"
_OPEN = """\
# What is open

{message}

The draft beside this is that of round {number}.

{findings}
"""


def artifacts_of(kind: DraftingKind, state: DraftingState) -> Artifacts:
    """Return the lineage files, and the document if there is one."""
    files = [(kind.source, state["source"])]
    for number, round in enumerate(state["rounds"], start=1):
        files += files_of_round(round, f"{state['item']}, round {number}")
    ledger = ledger_of(state)
    best = deciding_round(state["rounds"], state["decision"])
    if state["final"]:
        files.append(("final", state["final"]))
    elif best:
        files.append(("best-draft", best["draft"]))
        files.append(("open", _render_open(state, best, ledger)))
    lineage = {}
    kept = ""
    for number, (name, text) in enumerate(files, start=1):
        file = f"{number:03d}-{name}.md"
        lineage[file] = text
        if name == "best-draft":
            kept = file
    bare = without_answers(state["source"])
    stored = LedgerFile(ledger, source_hash(bare), kept)
    lineage[LEDGER_FILE] = stored.to_json()
    return Artifacts(files=[lineage], document=state["final"])


def files_of_round(round: RoundState, title: str) -> list[tuple[str, str]]:
    """Return the files of one round by name: the draft, its check and its review."""
    files = [("draft", round["draft"])]
    if round["problems"]:
        files.append(("validation", _render_problems(round)))
    if round["verdict"]:
        files.append(("verdict", _render_review(round, title)))
    return files


def _render_review(round: RoundState, title: str) -> str:
    """Render the verdict and the answer from which it was read."""
    if round["reviewer"] in (RULES, SCRIPTED, SIMULATED):
        return _render_rules(round, title)
    verdict = parse_verdict(round["verdict"])
    rendered = render_verdict(verdict, title).rstrip()
    if round["reviewer"] == RECORDED:
        # The answer as it came is in the folder of recorded answers.
        return mark_recorded(f"{rendered}\n")
    answer = round["answer"].strip()
    # A fence must be longer than any run of backquotes inside it.
    runs = re.findall("`+", answer)
    longest = max(map(len, runs), default=0)
    fence = "`" * max(3, longest + 1)
    return _REVIEW.format(verdict=rendered, fence=fence, answer=answer)


def _render_rules(round: RoundState, title: str) -> str:
    """Render findings and questions alone, without check boxes that could show an
    approval.
    """
    verdict = parse_verdict(round["verdict"])
    lines = [f"- {say_finding(finding)}" for finding in verdict.findings]
    lines += [f"- Question: {question}" for question in verdict.questions]
    findings = "\n".join(lines) or "Nothing was found."
    return f"# {title}: {round['reviewer']}\n\n{findings}\n"


def _render_problems(round: RoundState) -> str:
    lines = [_PROBLEM.format(**problem) for problem in round["problems"]]
    return _PROBLEMS.format(problems="\n".join(lines))


def _render_open(state: DraftingState, best: RoundState, ledger: Ledger) -> str:
    """Render the open findings and questions that prevent approval."""
    findings = [entry.finding for entry in ledger.open]
    if not best["verdict"]:
        findings = [*findings_of(best), *findings]
    lines = [f"- {say_finding(finding)}" for finding in findings]
    for question in questions_for_person(ledger):
        flat = " ".join(question.split())
        lines.append(f"- Question: {flat}")
    return _OPEN.format(
        message=state["message"],
        number=state["rounds"].index(best) + 1,
        findings="\n".join(lines) or "Nothing was found in it.",
    )
