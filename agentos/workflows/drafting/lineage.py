"""The numbered papers of an item, one folder each: what went in, every draft, every judgement, what came out."""

from __future__ import annotations

import re

from agentos.artefacts import Artefacts
from agentos.documents.tracking import Fate
from agentos.documents.verdict import parse_verdict, render_verdict
from agentos.task import State
from agentos.workflows.drafting.kind import Kind
from agentos.workflows.drafting.loop import findings_of, last_word, say_finding
from agentos.workflows.drafting.state import DraftingState, RoundState


def artefacts_of(kind: Kind, state: DraftingState) -> Artefacts:
    """Return all files that the item's end makes visible."""
    papers = [(kind.source, state["source"])]
    for number, entry in enumerate(state["rounds"], start=1):
        papers.append(("draft", entry["draft"]))
        if entry["problems"]:
            papers.append(("validation", _render_problems(entry)))
        if entry["verdict"]:
            title = f"{state['item']}, round {number}"
            papers.append(("verdict", _render_review(entry, title)))
    if state["decision"] == State.APPROVED:
        papers.append(("final", state["final"]))
    elif telling := last_word(state["rounds"], state["decision"]):
        papers.append(("best-draft", telling["draft"]))
        papers.append(("open", _render_open(state, telling)))
    is_approved = state["decision"] == State.APPROVED
    return Artefacts(
        papers=[{f"{position:03d}-{name}.md": text for position, (name, text) in enumerate(papers, start=1)}],
        document=state["final"] if is_approved else "",
    )


def _render_review(entry: RoundState, title: str) -> str:
    """Render the verdict with the answer it was read from beside it."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", entry["answer"])), default=0))
    rendered = render_verdict(parse_verdict(entry["verdict"]), title).rstrip()
    rendered += _render_fates(entry)
    return f"{rendered}\n\n## The reviewer's answer as it came\n\n{fence}json\n{entry['answer'].strip()}\n{fence}\n"


def _render_problems(entry: RoundState) -> str:
    lines = [f"- **{p['id']}** ({p['tier']}, {p['section']}): {p['text']}" for p in entry["problems"]]
    return "# Mechanical check\n\nFound before a reviewer was asked:\n\n" + "\n".join(lines) + "\n"


def _render_fates(entry: RoundState) -> str:
    """Say what became of the findings of the round before; nothing after a first review."""
    # A checkpoint of an earlier version has none.
    fates = entry.get("fates", {})
    if all(fate == Fate.NEW for fate in fates.values()):
        return ""
    lines = [f"- {fate}: {', '.join(ids)}" for fate in Fate if (ids := [id for id in fates if fates[id] == fate])]
    return "\n\n## Since the last review\n\n" + "\n".join(lines)


def _render_open(state: DraftingState, telling: RoundState) -> str:
    """Say what keeps the draft from being approved."""
    number = state["rounds"].index(telling) + 1
    lines = [f"- {say_finding(finding)}" for finding in findings_of(telling)]
    if telling["verdict"]:
        asked = parse_verdict(telling["verdict"]).questions
        lines += [f"- Question: {' '.join(question.split())}" for question in asked]
    head = f"# What is open\n\n{state['message']}\n\nThe draft beside this is that of round {number}."
    return f"{head}\n\n" + ("\n".join(lines) or "Nothing was found in it.") + "\n"
