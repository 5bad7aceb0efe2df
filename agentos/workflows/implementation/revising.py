"""Have a design revised whose test plan is not approved: by the steps with which it was
drafted, in its own ledger and lineage.

A revision is one draft, its mechanical check and its review. If the design's reviewer
approves the draft, its test plan is reviewed again. Approved twice, the draft takes the
place of the design, and the item begins again on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from agentos.documents.answers import without_answers
from agentos.documents.findings import Category, Finding, Tier, blocks_approval
from agentos.documents.judged_text import last_stamp, without_log
from agentos.documents.ledger import (
    Ledger,
    ledger_file_from_data,
    ledger_from_data,
    questions_for_person,
)
from agentos.documents.lld import Tree
from agentos.documents.provenance import RULES
from agentos.documents.verdict import Verdict, parse_verdict, render_verdict
from agentos.errors import BadInput
from agentos.gateway.providers import Completion
from agentos.item import State
from agentos.kinds import Kind
from agentos.plain_data import to_data
from agentos.repository.look import Looker, Snapshot
from agentos.repository.paths import document_path, lineage_folders
from agentos.repository.publish import Amendment
from agentos.state.files import list_names
from agentos.state.wording import count
from agentos.workflows.drafting import nodes
from agentos.workflows.drafting.lineage import files_of_round
from agentos.workflows.drafting.lld import KIND
from agentos.workflows.drafting.memory import (
    AS_IT_STANDS,
    LEDGER_FILE,
    Memory,
    hash_ledger,
    read_source,
)
from agentos.workflows.drafting.nodes import NO_MODEL, DraftingContext
from agentos.workflows.drafting.repository_tree import RepositoryTree
from agentos.workflows.drafting.state import (
    DraftingState,
    RoundState,
    initial_state,
    new_round,
)
from agentos.workflows.engine.steps import Update
from agentos.workflows.implementation.blueprint import (
    read_blueprint,
)
from agentos.workflows.implementation.context import (
    PLAN,
    REVISE,
    BuildContext,
    bill,
)
from agentos.workflows.implementation.state import ImplementationState
from agentos.workflows.prompts.overrides import load_for_item

MOST_REVISIONS = 2
_NODES = (PLAN, REVISE, REVISE, REVISE, REVISE)
_NO_ISSUE = (
    "The issue is not kept with this design. What is wanted stands in the design itself,"
    " in sections 1 and 3: keep all of it.\n"
)


def rounds_of(state: ImplementationState) -> list[RoundState]:
    """Return the rounds of the design: as it was, then its revisions; none while it is
    not revised.
    """
    design = state.get("design")
    if not design:
        return []
    rounds: list[RoundState] = design["rounds"]
    return rounds


def ledger_of(state: ImplementationState) -> Ledger:
    """Return the design's ledger."""
    return ledger_from_data(state["ledger"])


def last_reviewed_plan(rounds: Sequence[RoundState]) -> str:
    """Return the last text whose test plan was reviewed."""
    for round in reversed(rounds):
        if round.get("plan"):
            return round["draft"]
    return ""


def open_looker(context: BuildContext, item: str) -> Looker | None:
    """Return what answers looks at the base of the item; None if nobody may look."""
    return _open_looker(context, _snapshot(context, item))


def _snapshot(context: BuildContext, item: str) -> Snapshot:
    own = []
    for kind in (Kind.LLD, Kind.IMPLEMENTATION):
        own.append(document_path(kind, item))
        own += lineage_folders(kind, item)
    return context.workspace.snapshot_of_base(own)


def _open_looker(context: BuildContext, snapshot: Snapshot) -> Looker | None:
    limits = context.limits
    if limits is None:
        return None
    return context.workspace.open_looker(snapshot, limits)


def begin_or_end(
    state: ImplementationState, context: BuildContext, verdict: Verdict
) -> Update:
    """Have the design revised, or end the item if that is not possible any more."""
    design = state.get("design")
    rounds = rounds_of(state)
    if state["reviewer"] in NO_MODEL:
        return _end(f"the test plan: {verdict.summary}")
    if context.design_path != document_path(Kind.LLD, state["item"]):
        usual = document_path(Kind.LLD, state["item"])
        return _end(
            f"the test plan: {verdict.summary} Revise {context.design_path}, or rename"
            f" it to {usual} to have it revised"
        )
    if not design:
        design = _begin(state, context)
        rounds = design["rounds"]
    rounds = _with_plan(rounds, state["plan"])
    design = DraftingState(**{**design, "rounds": rounds, "decision": ""})
    update: Update = {"design": design}
    if len(rounds) > MOST_REVISIONS:
        reason = _first_obstacle(ledger_of(state), verdict)
        ended = _end(
            f"the test plan is not approved after {MOST_REVISIONS} revisions of the"
            f" design: {reason}{_what_to_do(state)}"
        )
        return {**update, **ended}
    _say_revising(context, len(rounds), "the test plan is sent back")
    return update


def _begin(state: ImplementationState, context: BuildContext) -> DraftingState:
    """Return the state of a design before its first revision."""
    design = without_answers(state["source"])
    answers = state["source"][len(design) :]
    issue = read_source(context.repository, Kind.LLD, state["item"]) or _NO_ISSUE
    begun = initial_state(state["item"], issue.rstrip() + answers)
    bare = without_log(design)
    snapshot = _snapshot(context, state["item"])
    return DraftingState(
        **{
            **begun,
            "material": state["material"],
            "snapshot": to_data(snapshot),
            "earlier_draft": bare,
            "rounds": [new_round(bare, AS_IT_STANDS)],
        }
    )


def _with_plan(rounds: Sequence[RoundState], plan: str) -> list[RoundState]:
    """Return the rounds, with the review of the last one's test plan."""
    *earlier, current = rounds
    return [*earlier, RoundState(**{**current, "plan": plan})]


def _first_obstacle(ledger: Ledger, verdict: Verdict) -> str:
    for entry in ledger.open:
        if blocks_approval(entry.finding):
            return f"{entry.id}: {entry.text}"
    return verdict.summary


def _what_to_do(state: ImplementationState) -> str:
    item = state["item"]
    (folder, *_) = lineage_folders(Kind.LLD, item)
    return (
        f" The revisions are in {folder}; edit {document_path(Kind.LLD, item)} and run"
        f" lld-workflow --ids {item}, or sign it as it is: agentos approve LLD-{item}"
    )


def _end(message: str, state: State = State.NEEDS_REVISION) -> Update:
    return {"decision": str(state), "message": message}


def _say_revising(context: BuildContext, number: int, why: str) -> None:
    context.observe(
        "noted",
        f"{why}: revising the design, revision {number} of at most {MOST_REVISIONS}",
    )


async def revise(state: ImplementationState, context: BuildContext) -> Update:
    """Revise the design once: draft, check and review."""
    answers: list[Completion] = []
    drafting = _open_drafting(state, context, answers)
    design = DraftingState(**{**state["design"], "ledger": state["ledger"]})
    design = _join(design, await nodes.draft(design, drafting))
    if design["rounds"][-1]["drafter"] == RULES:
        ended = _end(f"the test plan: {_summary_of(state)}; rules cannot revise it")
        return {**ended, **bill(state, *answers)}
    design = _join(design, await nodes.validate(design, drafting))
    if not design["decision"] and not design["rounds"][-1]["problems"]:
        design = _join(design, await nodes.review(design, drafting))
    update: Update = {
        "design": design,
        "ledger": design["ledger"],
        **bill(state, *answers),
    }
    return {**update, **_judge(state, context, design)}


def _summary_of(state: ImplementationState) -> str:
    return parse_verdict(state["plan"]).summary


def _join(design: DraftingState, update: Mapping[str, Any]) -> DraftingState:
    return cast("DraftingState", {**design, **update})


def _judge(
    state: ImplementationState, context: BuildContext, design: DraftingState
) -> Update:
    """Decide what follows a revision: the review of its test plan, another one, or the
    end.
    """
    decision = design["decision"]
    number = len(design["rounds"]) - 1
    if decision == State.APPROVED:
        context.observe(
            "noted",
            f"revision {number} of the design is approved; its test plan is reviewed"
            " again",
        )
        return {}
    if not decision:
        _say_revising(context, number + 1, f"revision {number} is sent back")
        return {}
    ledger = ledger_from_data(design["ledger"])
    findings = [f"{entry.id} ({entry.tier}): {entry.text}" for entry in ledger.open]
    if decision == State.NEEDS_DISCUSSION:
        questions = list(questions_for_person(ledger, design["message"]))
        ended = _end(design["message"], State.NEEDS_DISCUSSION)
        return {**ended, "questions": questions, "findings": findings}
    ended = _end(
        f"the design was revised and is not approved: {design['message']}"
        f"{_what_to_do(state)}"
    )
    return {**ended, "findings": findings}


def _open_drafting(
    state: ImplementationState, context: BuildContext, answers: list[Completion]
) -> DraftingContext:
    """Return what the steps of a draft need; the answers are added to the list."""
    tree: Tree = RepositoryTree(context.workspace.folder)
    item = state["item"]
    design = without_answers(state["source"])

    async def ask(*, role: str, **question: Any) -> Completion:
        # The prompts and the models are those of the design.
        answer = await context.ask(role=f"{Kind.LLD}.{role}", **question)
        answers.append(answer)
        return answer

    def check(draft: str, source: str, previous: str) -> Sequence[Finding]:
        found = list(KIND.check(draft, source, previous, tree))
        if not any(map(blocks_approval, found)):
            found += _check_plan(draft, item)
        return found

    return DraftingContext(
        kind=replace(KIND, nodes=_NODES),
        ask=ask,
        prompts=load_for_item(context.repository, Kind.LLD),
        take_snapshot=lambda: _snapshot(context, item),
        gather=lambda *_: state["material"],
        open_looker=lambda snapshot: _open_looker(context, snapshot),
        recall=lambda _: Memory(ledger_of(state), design),
        check=check,
        config=replace(context.config, max_rounds=1 + MOST_REVISIONS),
        today=_today,
        provenance=last_stamp(design),
        observe=context.observe,
    )


def _check_plan(draft: str, item: str) -> list[Finding]:
    """Return why a revised design could not be built."""
    try:
        read_blueprint(draft, item, is_draft=True)
    except BadInput as error:
        problem = str(error)
        return [Finding("plan-1", Tier.HIGH, Category.QUALITY, "10.1", problem)]
    return []


async def approve(state: ImplementationState, context: BuildContext) -> Update:
    """Finish the revised design, whose text and test plan are approved."""
    design = DraftingState(
        **{
            **state["design"],
            "rounds": _with_plan(rounds_of(state), state["plan"]),
            "ledger": state["ledger"],
            "decision": str(State.APPROVED),
        }
    )
    drafting = _open_drafting(state, context, [])
    design = _join(design, await nodes.finalize(design, drafting))
    path = document_path(Kind.LLD, state["item"])
    revisions = count(len(design["rounds"]) - 1, "revision")
    return {
        "design": design,
        "decision": str(State.REVISED),
        "message": f"{path} is approved after {revisions}",
        "findings": [],
    }


def after_revision(state: ImplementationState) -> str:
    """Return the step that follows a revision; empty for the end."""
    if state["decision"]:
        return ""
    if state["design"]["decision"] == State.APPROVED:
        return PLAN
    return REVISE


def amendment_of(state: ImplementationState, repository: Path) -> Amendment | None:
    """Return what the item adds to the design's lineage, and the revised design if it
    is approved; None if there is nothing new.
    """
    opened = state.get("ledger_file")
    if opened is None:
        return None
    stored = replace(ledger_file_from_data(opened), ledger=ledger_of(state))
    document = ""
    files: dict[str, str] = {}
    design = state.get("design")
    if design:
        names = list_names(repository / lineage_folders(Kind.LLD, state["item"])[0])
        files = _lineage_of(design, names)
        document = design["final"]
    if document:
        stored = replace(stored, draft="")
    ledger = stored.to_json()
    if not files and hash_ledger(ledger) == state["ledger_hash"]:
        return None
    files[LEDGER_FILE] = ledger
    return Amendment(files, document, state["ledger_hash"])


def _lineage_of(design: DraftingState, present: Iterable[str]) -> dict[str, str]:
    """Return the files of the revisions, numbered after those that are there."""
    texts = []
    item = design["item"]
    for number, round in enumerate(design["rounds"]):
        if number:
            texts += files_of_round(round, f"{item}, revision {number}")
        if round.get("plan"):
            verdict = parse_verdict(round["plan"])
            title = f"{item}, test plan"
            texts.append(("plan-review", render_verdict(verdict, title)))
    if design["final"]:
        texts.append(("final", design["final"]))
    numbers = [int(name[:3]) for name in present if name[:3].isdecimal()]
    first = max(numbers, default=0) + 1
    files = {}
    for number, (name, text) in enumerate(texts, start=first):
        files[f"{number:03d}-{name}.md"] = text
    return files


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
