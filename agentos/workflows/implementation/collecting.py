"""Find what a role has made in its turns: whatever differs from where it began, and
nothing that it says about it.
"""

from __future__ import annotations

from collections.abc import Iterable

from agentos.documents.changes import (
    Change,
    Contest,
    Deletion,
    Kept,
    UnreachableLines,
    WholeFile,
    judge,
)
from agentos.documents.changes.contract import UNDECLARED
from agentos.plain_data import from_data
from agentos.state.confinement.folder import PathRefused
from agentos.workflows.implementation.accepting import AcceptedChanges
from agentos.workflows.implementation.phase import Phase
from agentos.workflows.implementation.state import Writing
from agentos.workflows.implementation.workspace import Workspace

_HOW = f"in a line {UNDECLARED}"
_PUT_BACK = "put back, because they are not the role's to change: {}"


def collect(workspace: Workspace, phase: Phase, writing: Writing) -> AcceptedChanges:
    """Return the work of a phase. Files that are not the role's to change get their
    bytes back; what the design does not declare and nobody explains is a slip.
    """
    accepted = AcceptedChanges()
    for test, reason in writing["contested"]:
        accepted.contested += (Contest(test, reason),)
    for scenario, reason in writing["kept"].items():
        accepted.kept += (Kept((scenario,), reason),)
    for lines in writing["unreachable"]:
        accepted.unreachable += (from_data(UnreachableLines, lines),)
    changed = workspace.changed_files(phase.start, writing["snapshot"])
    own = _put_back(workspace, phase, changed, accepted)
    changes = _read_changes(workspace, own, writing, accepted)
    judgment = judge(
        changes,
        declared=phase.declared,
        protected=tuple(phase.own_tests),
        how_to_explain=_HOW,
    )
    for refusal in judgment.refusals:
        accepted.slips.append(refusal.text)
    for change in judgment.allowed:
        if isinstance(change, WholeFile):
            accepted.files[change.path] = change.text
        else:
            accepted.deleted.append(change.path)
    for change in judgment.extras:
        accepted.extras[change.path] = change.reason
    return accepted


def _put_back(
    workspace: Workspace,
    phase: Phase,
    changed: Iterable[str],
    accepted: AcceptedChanges,
) -> list[str]:
    """Revert the changes that are not the role's to make; return the other files."""
    before = frozenset(workspace.files_of(phase.start))
    own = []
    reverted = []
    for path in changed:
        if path in before and phase.is_protected(path):
            workspace.revert(path, phase.start)
            reverted.append(path)
        else:
            own.append(path)
    if reverted:
        listed = ", ".join(reverted)
        accepted.notes.append(_PUT_BACK.format(listed))
    return own


def _read_changes(
    workspace: Workspace,
    paths: Iterable[str],
    writing: Writing,
    accepted: AcceptedChanges,
) -> list[Change]:
    changes: list[Change] = []
    for path in paths:
        reason = writing["extras"].get(path, "")
        try:
            text = workspace.read(path)
        except PathRefused as error:
            accepted.slips.append(str(error))
            continue
        change: Change = Deletion(path, reason=reason)
        if text is not None:
            change = WholeFile(path, text, reason=reason)
        changes.append(change)
    return changes
