"""Find the finished items of a repository and the commits that would be merged of them. Nothing here writes."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from agentos.errors import BadInput, UsageError
from agentos.files import list_names, read_regular
from agentos.home import Home, repository_key
from agentos.places import paper_folders
from agentos.records import Record, read_record
from agentos.rehearsal.candidates import Candidate, natural_key
from agentos.task import State, Task, Workflow
from agentos.worktrees.git import Git
from agentos.worktrees.names import REFS, checked_commit, checked_item, is_branch
from agentos.worktrees.opening import read_record as read_opening
from agentos.worktrees.repository import is_ancestor, read_ref, resolve_commit
from agentos.worktrees.snapshots import COMMITTED

_PAPER_LIMIT = 4_000_000
_COMMITS_LIMIT = 64_000_000


@dataclass(frozen=True, slots=True)
class Found:
    """What there is to merge, and what there is not."""

    candidates: tuple[Candidate, ...]
    merged: tuple[Candidate, ...] = ()
    """Those that the target has in it already."""
    gone: tuple[str, ...] = ()
    """Items that were implemented and of which there is no commit any more."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Work:
    """What is known of an implemented item's commits."""

    item: str
    branch: str
    tip: str
    commits: frozenset[str]
    """All that AgentOS put on its branch."""
    is_edited: bool = False


def find_candidates(repository: Path, home: Home, git: Git, ids: Collection[str], target: str) -> Found:
    """Return the implemented items, all or those that are named; a named one that is not implemented is refused."""
    items = _implemented(repository, home, ids)
    works, gone = list[_Work](), list[str]()
    for item in items:
        work = _find_work(git, repository, item)
        if work is None:
            gone.append(item)
        else:
            works.append(work)
    merged = [work for work in works if is_ancestor(git, work.tip, target)]
    left = [work for work in works if work not in merged]
    edited = [work.branch for work in left if work.is_edited]
    notes = [f"{branch} is not as AgentOS left it; it is merged as it is now" for branch in edited]
    return Found(
        tuple(_with_contained(git, left, target)),
        tuple(Candidate(work.item, work.branch, work.tip) for work in merged),
        tuple(gone),
        tuple(notes),
    )


def _implemented(repository: Path, home: Home, ids: Collection[str]) -> list[str]:
    records = dict(_records(home, repository_key(repository)))
    for item in ids:
        record = records.get(item)
        if record is None or record.state is not State.IMPLEMENTED:
            state = f"is {record.state}" if record is not None else "was never built"
            raise UsageError(
                f"{item}: {state}, only implemented items are rehearsed; run: agentos implement --ids {item}"
            )
    wanted = set(ids) if ids else {item for item, record in records.items() if record.state is State.IMPLEMENTED}
    return sorted(wanted, key=natural_key)


def _records(home: Home, key: str) -> Iterator[tuple[str, Record]]:
    for task in home.tasks_with_state(key, ended=True):
        if task.workflow is Workflow.IMPLEMENTATION and (record := _read(home, key, task)):
            yield task.item, record


def _read(home: Home, key: str, task: Task) -> Record | None:
    try:
        checked_item(task.item)
    except BadInput:
        return None
    return read_record(home.item(key, task).record)


def _find_work(git: Git, repository: Path, item: str) -> _Work | None:
    """Return the branch where it is, with what people added; without it, what AgentOS committed last."""
    commits = _committed(git, item)
    opened = read_opening(git, str(repository), str(git.git_dir / "none"), item)
    branch = opened.branch if opened is not None else ""
    if not commits:
        paper = _read_paper(repository, item)
        branch = branch or paper.get("branch", "")
        commits = [commit for commit in (_existing(git, paper.get("commit", "")),) if commit]
    if not commits:
        return None
    tip = read_ref(git, f"refs/heads/{branch}") if branch else ""
    is_edited = bool(tip) and tip != commits[-1]
    return _Work(item, branch, tip or commits[-1], frozenset(commits), is_edited)


def _committed(git: Git, item: str) -> list[str]:
    """Return what was put on an item's branch, the oldest first."""
    prefix = f"{REFS}/{item}/{COMMITTED}-"
    lines = git.run("for-each-ref", "--format=%(refname) %(objectname)", "--", f"{REFS}/{item}/").decode().split("\n")
    pairs = (line.partition(" ")[::2] for line in lines if line.startswith(prefix))
    numbered = [(ref.removeprefix(prefix), commit) for ref, commit in pairs]
    return [commit for _, commit in sorted((int(number), commit) for number, commit in numbered if number.isdigit())]


def _read_paper(repository: Path, item: str) -> Mapping[str, str]:
    """Return what the item's last paper says, for when its refs were cleaned up."""
    folder = repository / paper_folders(Workflow.IMPLEMENTATION, item)[0]
    for name in sorted((name for name in list_names(folder) if name.endswith("-final.json")), reverse=True):
        try:
            data = json.loads(read_regular(folder / name, _PAPER_LIMIT))
            branch, commit = str(data["branch"]), checked_commit(str(data["commit"]))
        except (BadInput, ValueError, KeyError, TypeError, RecursionError):
            continue
        return {"branch": branch if is_branch(branch) else "", "commit": commit}
    return {}


def _existing(git: Git, commit: str) -> str:
    try:
        return resolve_commit(git, commit) if commit else ""
    except BadInput:
        return ""


def _with_contained(git: Git, works: Iterable[_Work], target: str) -> Iterator[Candidate]:
    """Return candidates that know whose work is in theirs: of those, any commit that the target has not got."""
    works = list(works)
    owners: dict[str, set[str]] = {}
    for work in works:
        for commit in {*work.commits, work.tip}:
            owners.setdefault(commit, set()).add(work.item)
    for work in works:
        listed = git.run("rev-list", work.tip, f"^{target}", limit=_COMMITS_LIMIT).decode("ascii").split()
        inside = {owner for commit in listed for owner in owners.get(commit, ())} - {work.item}
        yield Candidate(work.item, work.branch, work.tip, frozenset(inside))
