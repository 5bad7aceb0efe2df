"""The numbered papers of an item, one folder each: what went in, every draft, every judgement, what came out."""

from __future__ import annotations

import re

from agentos.artefacts import Artefacts
from agentos.documents.verdict import parse_verdict, render_verdict
from agentos.task import State
from agentos.workflows.kind import Kind
from agentos.workflows.nodes import best_round
from agentos.workflows.state import DraftingState, RoundState


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
    elif best := best_round(state):
        papers.append(("best-draft", best["draft"]))
    is_approved = state["decision"] == State.APPROVED
    return Artefacts(
        papers={f"{position:03d}-{name}.md": text for position, (name, text) in enumerate(papers, start=1)},
        document=state["final"] if is_approved else "",
    )


def _render_review(entry: RoundState, title: str) -> str:
    """Render the verdict with the answer it was read from beside it."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", entry["answer"])), default=0))
    rendered = render_verdict(parse_verdict(entry["verdict"]), title).rstrip()
    return f"{rendered}\n\n## The reviewer's answer as it came\n\n{fence}json\n{entry['answer'].strip()}\n{fence}\n"


def _render_problems(entry: RoundState) -> str:
    lines = [f"- **{p['id']}** ({p['tier']}, {p['section']}): {p['text']}" for p in entry["problems"]]
    return "# Mechanical check\n\nFound before a reviewer was asked:\n\n" + "\n".join(lines) + "\n"
