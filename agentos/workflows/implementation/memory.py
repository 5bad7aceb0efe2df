"""What a run of an implementation leaves for the next one: the reviewed plan, the tests
that were proven red, and the best code.

It is one file beside the worktree that is written whole, so that a kill leaves the old
one or the new one. The files of the item are in snapshots of its own repository, which
the memory names. All that is kept is proven again on the commit that the next run builds
on; what cannot be put there is dropped.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from agentos.documents.answers import without_answers
from agentos.documents.changes import is_pytest_module
from agentos.documents.judged_text import text_hash
from agentos.documents.ledger import Ledger, settle_questions
from agentos.documents.provenance import RECORDED
from agentos.errors import BadInput
from agentos.gateway.providers import gives_recorded
from agentos.item import State
from agentos.plain_data import from_data, to_data
from agentos.repository.git.worktree import MEMORY, beside
from agentos.state.files import read_regular, remove_file, write_atomically
from agentos.state.wording import count, enumerate_words
from agentos.workflows.engine.assignment import Assignment
from agentos.workflows.engine.steps import Update
from agentos.workflows.implementation.context import BuildContext
from agentos.workflows.implementation.existing_tests import compare
from agentos.workflows.implementation.proving import best_iteration
from agentos.workflows.implementation.state import (
    Data,
    ImplementationState,
    Iteration,
    Remembered,
    Scaffold,
)

FORMAT = 1
LARGEST = 50_000_000
TESTS, CODE, ALL = "tests", "code", "all"
RESTARTS = (TESTS, CODE, ALL)
"""What can be written anew: the tests and the code, the code, or everything."""
PLAN_KEYS = ("plan", "plan_answer", "reviewer", "plan_findings", "kept", "changed")
"""The state of a plan that was reviewed."""
CODE_KEYS = ("code", "under", "answers", "findings", "claims")
"""What is kept with the code."""
_LOST = "what was saved of it is gone"


@dataclass(frozen=True, slots=True)
class Memory:
    """What is remembered of an item."""

    design: str
    """The hash of the design's judged text, without what people have answered."""
    note: str = ""
    """What a person said and no finished work answers yet."""
    kept: Remembered = field(default_factory=Remembered)
    format: int = FORMAT


def begin(state: ImplementationState, assignment: Assignment) -> ImplementationState:
    """Return the initial state of an item with what earlier runs left of it."""
    config = assignment.config
    wanted = _wanted(assignment)
    begun = state.copy()
    begun["begun"] = wanted
    begun["note"] = config.note
    path = _path(assignment)
    try:
        memory = recall(path, state["source"])
    except BadInput:
        begun["remembered"] = Remembered(
            says=["what was kept of it is damaged; it begins anew"]
        )
        return begun
    if memory is None:
        return begun
    if wanted == ALL:
        begun["remembered"] = Remembered(
            says=["nothing is kept of what was built before"]
        )
        return begun
    if _is_recorded(memory.kept) and not gives_recorded(config.reviewer):
        return begun
    begun["note"] = config.note or memory.note
    begun["remembered"] = _leave_out(memory.kept, wanted)
    return begun


def resumes(state: ImplementationState, assignment: Assignment) -> bool:
    """Tell whether an interrupted item goes on where it was: nothing is asked for that
    it did not begin with.
    """
    wanted = _wanted(assignment)
    note = assignment.config.note
    begun = state.get("begun", "")
    if wanted not in ("", begun):
        return False
    said = state.get("note", "")
    return note in ("", said)


def remember(state: ImplementationState, assignment: Assignment) -> None:
    """Write what another run can go on from; remove the file if there is nothing."""
    path = _path(assignment)
    kept = _collect(state)
    if not kept:
        remove_file(path)
        return
    note = state.get("note", "")
    if state["decision"] == State.IMPLEMENTED:
        note = ""
    design = _hash_design(state["source"])
    memory = Memory(design, note, kept)
    fields = asdict(memory)
    data = json.dumps(fields, ensure_ascii=False)
    # A fixed name: what a kill leaves of it is replaced by the next run.
    temporary = path.with_name(f"{path.name}-new")
    remove_file(temporary)
    written = data.encode("utf-8", "surrogatepass")
    write_atomically(path, written, temporary=temporary)


def recall(path: Path, source: str) -> Memory | None:
    """Return what is remembered of this design, None if there is nothing or if it is of
    another text; raise `BadInput` if it cannot be read.
    """
    if not path.exists():
        return None
    try:
        data = read_regular(path, LARGEST)
        fields = json.loads(data)
        memory = Memory(**fields)
    except (BadInput, ValueError, TypeError) as error:
        raise BadInput(f"{path}: {error}") from error
    if memory.format != FORMAT or memory.design != _hash_design(source):
        return None
    return memory


def _hash_design(source: str) -> str:
    """Return the hash of a design: an answer changes nothing of what is built, until
    whoever reads it says so.
    """
    return text_hash(without_answers(source))


async def take_up(state: ImplementationState, context: BuildContext) -> Update:
    """Go on with the plan that is kept, and put the tests that are kept onto the base."""
    kept = _kept(state)
    for line in kept.get("says", ()):
        context.observe("noted", line)
    update: Update = dict(kept.get("plan", {}))
    scaffold = kept.get("tests")
    if scaffold is None:
        return update
    base = state["base"]
    if scaffold["problems"]:
        # They were refused: the next attempt is told why.
        update["scaffolds"] = [_mark_scaffold(scaffold)]
        return update
    snapshot = kept.get("snapshot", "")
    written_on = kept.get("base", "")
    problem = await _put_on(context, base, written_on, snapshot)
    if problem:
        context.observe("noted", f"the tests that were kept are dropped: {problem}")
        return update
    workspace = context.workspace
    tests = {}
    earlier = []
    for path in scaffold["tests"]:
        text = workspace.read(path) or ""
        tests[path] = text
        if is_pytest_module(path):
            original = workspace.read_base(path)
            comparison = compare(text, original)
            earlier += [f"{path}::{name}" for name in comparison.existing]
    present = _mark_scaffold(scaffold)
    present["tests"] = tests
    present["earlier"] = earlier
    present["snapshot"] = workspace.snapshot("tests")
    update["scaffolds"] = [present]
    update["snapshot"] = present["snapshot"]
    return update


async def take_up_code(state: ImplementationState, context: BuildContext) -> Update:
    """Put the code that is kept beside the tests, to be proven like an attempt."""
    kept = _kept(state)
    code = kept["code"]
    under = kept.get("under", "")
    onto = state["snapshot"]
    problem = await _put_on(context, onto, under, code["snapshot"])
    if problem:
        context.observe("noted", f"the code that was kept is dropped: {problem}")
        without = kept.copy()
        del without["code"]
        return {"remembered": without}
    workspace = context.workspace
    # Its snapshot may have other tests than those that were accepted since.
    scaffold = state["scaffolds"][-1]
    workspace.write(scaffold["tests"])
    snapshot = workspace.snapshot("kept")
    iteration = _mark_iteration(code, snapshot)
    iteration["scaffold"] = len(state["scaffolds"])
    update: Update = {"iterations": [iteration]}
    if "findings" in kept:
        update["code_ledger"] = _settle(kept["findings"], state["source"])
    if "claims" in kept:
        update["claims"] = kept["claims"]
    return update


def _settle(findings: Data, source: str) -> Data:
    """Return what reviews of the code found, without the questions that a person has
    answered since.
    """
    design = without_answers(source)
    answers = source[len(design) :]
    ledger = settle_questions(from_data(Ledger, findings), answers)
    return to_data(ledger)


def has_kept_code(state: ImplementationState) -> bool:
    """Tell whether code of an earlier run is still to be put beside the tests."""
    if state["iterations"]:
        return False
    kept = _kept(state)
    return "code" in kept


def is_unanswered(state: ImplementationState) -> bool:
    """Tell whether the present code was written before the person's note."""
    note = state.get("note", "")
    current = state["iterations"][-1]
    if not note:
        return False
    if not current.get("is_kept"):
        return False
    kept = _kept(state)
    return note != kept.get("answers", "")


async def _put_on(context: BuildContext, onto: str, old: str, commit: str) -> str:
    """Restore the worktree to the changes of a snapshot since an old commit, put onto
    another commit; return why that is impossible, empty if it is done.
    """
    workspace = context.workspace
    if not workspace.has({old, commit}):
        return _LOST
    if old == onto:
        await workspace.restore(commit)
        return ""
    moved, conflicts = workspace.move(old, commit, onto)
    if not moved:
        listed = enumerate_words(conflicts)
        return f"the repository has changed since and conflicts in {listed}"
    await workspace.restore(moved)
    return ""


def _kept(state: ImplementationState) -> Remembered:
    return state.get("remembered") or Remembered()


def _wanted(assignment: Assignment) -> str:
    if assignment.is_redo:
        return ALL
    return assignment.config.restart


def _path(assignment: Assignment) -> Path:
    if assignment.build is None:
        raise BadInput("an implementation needs a place to be built in")
    return beside(Path(assignment.build.worktree), MEMORY)


def _is_recorded(kept: Remembered) -> bool:
    plan = kept.get("plan", {})
    return plan.get("reviewer") == RECORDED


def _leave_out(kept: Remembered, restart: str) -> Remembered:
    """Return what is kept by a run that writes something anew, with the line that says
    so.
    """
    left = kept.copy()
    dropped = []
    if restart == TESTS and "tests" in left:
        del left["tests"]
        dropped.append("the tests")
    if restart in (TESTS, CODE) and "code" in left:
        del left["code"]
        dropped.append("the code")
    parts = []
    if left.get("plan"):
        parts.append("the reviewed plan")
    tests = left.get("tests")
    if tests is not None and not tests["problems"]:
        number = len(tests["names"])
        parts.append(count(number, "test"))
    elif tests is not None:
        parts.append("what was wrong with the last tests")
    if "code" in left:
        parts.append("the best code")
    says = f"it goes on with {enumerate_words(parts)}"
    if dropped:
        says += f"; {enumerate_words(dropped)} of before are dropped"
    left["says"] = [says]
    return left


def _collect(state: ImplementationState) -> Remembered:
    """Return what a state has of plan, tests and code; of what it has not come to, what
    it began with.
    """
    began_with = _kept(state)
    kept = Remembered()
    plan = began_with.get("plan", {})
    if state["plan"]:
        plan = _accepted_plan(state)
    if not plan:
        return kept
    kept["plan"] = plan
    if state["scaffolds"]:
        kept["tests"] = state["scaffolds"][-1]
        kept["base"] = state["base"]
        kept["snapshot"] = state["snapshot"]
    elif "tests" in began_with:
        kept["tests"] = began_with["tests"]
        kept["base"] = began_with["base"]
        kept["snapshot"] = began_with["snapshot"]
    _collect_code(kept, state, began_with)
    return kept


def _accepted_plan(state: ImplementationState) -> Data:
    """Return the review of the plan; nothing if it did not let the tests be written."""
    if "kept" not in state and not state["scaffolds"]:
        return {}
    plan: Data = {}
    for key in PLAN_KEYS:
        if key in state:
            plan[key] = state[key]  # type: ignore[literal-required]
    return plan


def _collect_code(
    kept: Remembered, state: ImplementationState, began_with: Remembered
) -> None:
    best = _best(state)
    if best is not None:
        kept["code"] = _without_proofs(best)
        kept["under"] = state["snapshot"]
        answers = state.get("note", "")
        if best.get("is_kept"):
            answers = began_with.get("answers", "")
        kept["answers"] = answers
        if "code_ledger" in state:
            kept["findings"] = state["code_ledger"]
        if "claims" in state:
            kept["claims"] = state["claims"]
    elif "code" in began_with:
        for key in CODE_KEYS:
            if key in began_with:
                kept[key] = began_with[key]  # type: ignore[literal-required]


def _best(state: ImplementationState) -> Iteration | None:
    best = best_iteration(state["iterations"], state["before"])
    if best is not None:
        return best
    # One that was interrupted before its tests ran is better than none.
    written = [attempt for attempt in state["iterations"] if attempt["snapshot"]]
    if not written:
        return None
    return written[-1]


def _mark_scaffold(scaffold: Scaffold) -> Scaffold:
    marked = scaffold.copy()
    marked["is_kept"] = True
    return marked


def _mark_iteration(iteration: Iteration, snapshot: str) -> Iteration:
    """Return an iteration of an earlier run that is to be proven again."""
    marked = _without_proofs(iteration)
    marked["snapshot"] = snapshot
    marked["is_kept"] = True
    return marked


def _without_proofs(iteration: Iteration) -> Iteration:
    bare = iteration.copy()
    bare["refusals"] = []
    bare["run"] = {}
    bare["suite"] = {}
    bare["feedback"] = ""
    bare["slips"] = []
    bare["contested"] = []
    bare["has_code"] = True
    return bare
