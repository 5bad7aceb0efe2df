"""Remove the worktrees of ended items, never before all in them is saved."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from agentos.cli.holding import held
from agentos.errors import AgentOSError, UsageError
from agentos.files import list_names
from agentos.home import Home, repository_key
from agentos.task import Task, Workflow
from agentos.untrusted import print_clean
from agentos.wording import count
from agentos.worktrees.cleanup import forget_merged, remove_worktree
from agentos.worktrees.git import WorktreeConflict
from agentos.worktrees.opening import read_record
from agentos.worktrees.repository import find_repository
from agentos.worktrees.salvage import list_snapshots

REMOVED, FORGOTTEN, KEPT, LEFT = "removed", "forgotten", "kept", "left"


@dataclass(frozen=True, slots=True)
class Step:
    """What became of one item's worktree or of what was saved of it."""

    label: str
    did: str
    """`removed`, `forgotten`, `kept` because it is still worked on, or `left` because it could not be removed."""
    why: str
    refs: tuple[str, ...] = ()


def clear(home: Home, repository: Path, item: str | None, *, is_forgetting: bool, as_json: bool) -> int:
    """Clear away what is safe elsewhere, and say of each item what was done; 1 when something had to be left."""
    key = repository_key(repository)
    saved = {kept.item for kept in list_snapshots(repository)}
    folder = home.worktree(key, "_").parent
    present = {name for name in list_names(folder) if not name.startswith(".") and (folder / name).is_dir()}
    if item is not None:
        if item not in saved | present:
            raise UsageError(f"IMPL-{item}: nothing was saved of it; agentos salvage lists what there is")
        saved, present = saved & {item}, present & {item}
    home.prepare(key)
    steps = [_remove(home, key, repository, name, is_named=item is not None) for name in sorted(present)]
    if is_forgetting:
        done = {step.label for step in steps if step.did != REMOVED}
        names = sorted(name for name in saved | present if _task(name).label not in done)
        steps += [step for name in names if (step := _forget(home, key, repository, name))]
    _tell(steps, as_json=as_json)
    return 1 if any(step.did == LEFT for step in steps) else 0


def _remove(home: Home, key: str, repository: Path, item: str, *, is_named: bool) -> Step:
    task = _task(item)
    try:
        with held(home, key, task, "agentos salvage --clean"):
            if home.item(key, task).checkpoint.exists() and not is_named:
                why = f"it is not finished; to remove its worktree all the same: agentos salvage {item} --clean"
                return Step(task.label, KEPT, why)
            found = find_repository(repository)
            place = home.worktree(key, item)
            place = place.parent.resolve() / place.name
            worktree = read_record(found.git(), str(found.path), str(place), item)
            if worktree is None:
                raise WorktreeConflict(f"{place}: nothing says which branch it belongs to; look at it and move it away")
            snapshot = remove_worktree(worktree)
    except (AgentOSError, OSError) as error:
        return Step(task.label, LEFT, str(error))
    if snapshot is None:
        return Step(task.label, REMOVED, "its folder was gone already")
    name = snapshot.ref.rpartition("/")[2]
    return Step(task.label, REMOVED, f"all in it is saved as {name}", (snapshot.ref,))


def _forget(home: Home, key: str, repository: Path, item: str) -> Step | None:
    task = _task(item)
    try:
        with held(home, key, task, "agentos salvage --clean"):
            refs = forget_merged(repository, item)
    except (AgentOSError, OSError) as error:
        return Step(task.label, LEFT, str(error))
    return Step(task.label, FORGOTTEN, "its branch is merged", refs) if refs else None


def _task(item: str) -> Task:
    return Task(Workflow.IMPLEMENTATION, item, "")


def _tell(steps: Iterable[Step], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps({"schema": 1, "steps": [asdict(step) for step in steps]}, indent=2) + "\n")
        return
    lines = [f"{step.label}: {_words(step)}: {' '.join(step.why.split())}\n" for step in steps]
    print_clean("".join(lines) or "nothing to clear away\n")


def _words(step: Step) -> str:
    match step.did:
        case "forgotten":
            return f"{count(len(step.refs), 'ref')} forgotten"
        case "left":
            return "left as it is"
        case "kept":
            return "worktree kept"
    return "worktree removed"
