"""Find the finished items of a repository and their commits. Nothing here writes."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentos.errors import BadInput, UsageError
from agentos.item import State
from agentos.kinds import Kind
from agentos.proving.trial_merge.candidates import Candidate, Items, natural_key
from agentos.repository.git.names import checked_commit, checked_item, is_branch
from agentos.repository.git.opening import find_record
from agentos.repository.git.repository import is_ancestor, read_ref, resolve_commit
from agentos.repository.git.run import Git
from agentos.repository.git.stacking import numbered_commits
from agentos.repository.paths import lineage_folders
from agentos.state.files import list_names, read_regular
from agentos.state.home import Home, repository_key
from agentos.state.records import ItemRecord, read_record

_LINEAGE_FILE_LIMIT = 4_000_000
_COMMITS_LIMIT = 64_000_000

_Candidates = tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class FoundItems:
    """The items that can be merged, and those that cannot."""

    candidates: _Candidates
    merged: _Candidates = ()
    """Those that the target already contains."""
    gone: Items = ()
    """Implemented items whose commits no longer exist."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Work:
    """The commits of an implemented item."""

    item: str
    branch: str
    tip: str
    commits: frozenset[str]
    """All commits that AgentOS put on its branch."""
    is_edited: bool = False
    """Whether people changed the branch since."""


def find_candidates(
    repository: Path, home: Home, git: Git, ids: Collection[str], target: str
) -> FoundItems:
    """Return all implemented items or the named ones; refuse a named one that is not
    implemented.
    """
    works: list[_Work] = []
    merged: list[Candidate] = []
    gone: list[str] = []
    notes: list[str] = []
    for item in _implemented(repository, home, ids):
        work = _find_work(git, repository, item)
        if work is None:
            gone.append(item)
            continue
        if is_ancestor(git, work.tip, target):
            candidate = Candidate(item, work.branch, work.tip)
            merged.append(candidate)
            continue
        works.append(work)
        if work.is_edited:
            notes.append(
                f"{work.branch} is not as AgentOS left it; it is merged as it is now"
            )
    candidates = _with_contained(git, works, target)
    return FoundItems(
        candidates=tuple(candidates),
        merged=tuple(merged),
        gone=tuple(gone),
        notes=tuple(notes),
    )


def _implemented(repository: Path, home: Home, ids: Collection[str]) -> list[str]:
    records = _read_records(home, repository_key(repository))
    implemented = set[str]()
    for item, record in records.items():
        if record.state is State.IMPLEMENTED:
            implemented.add(item)
    for item in ids:
        if item in implemented:
            continue
        state = "was never built"
        if item in records:
            state = f"is {records[item].state}"
        raise UsageError(
            f"{item}: {state}, only implemented items can be merged; run: agentos"
            f" implement --ids {item}"
        )
    return sorted(set(ids) or implemented, key=natural_key)


def _read_records(home: Home, key: str) -> dict[str, ItemRecord]:
    records: dict[str, ItemRecord] = {}
    for item in home.items_with_state(key, ended=True):
        if item.kind is not Kind.IMPLEMENTATION:
            continue
        try:
            checked_item(item.id)
        except BadInput:
            continue
        paths = home.item(key, item)
        record = read_record(paths.record)
        if record:
            records[item.id] = record
    return records


def _find_work(git: Git, repository: Path, item: str) -> _Work | None:
    """Return the branch of an item with what people added to it, or if it is gone, the
    last commit of AgentOS.
    """
    branch = ""
    opened = find_record(repository, item)
    if opened is not None:
        branch = opened.branch
    commits = _committed(git, item)
    if not commits:
        recorded_branch, commit = _read_lineage(repository, item)
        commit = _existing(git, commit)
        if not commit:
            return None
        branch = branch or recorded_branch
        commits = [commit]
    last = commits[-1]
    tip = ""
    if branch:
        tip = read_ref(git, f"refs/heads/{branch}")
    tip = tip or last
    is_edited = tip != last
    return _Work(item, branch, tip, frozenset(commits), is_edited)


def _committed(git: Git, item: str) -> list[str]:
    """Return the commits that AgentOS put on an item's branch, oldest first."""
    numbered = numbered_commits(git, item)
    return [numbered[number] for number in sorted(numbered)]


def _read_lineage(repository: Path, item: str) -> tuple[str, str]:
    """Return the branch and the commit that the item's last lineage file names, for
    when its refs were removed.
    """
    names = lineage_folders(Kind.IMPLEMENTATION, item)
    folder = repository / names[0]
    for name in sorted(list_names(folder), reverse=True):
        if not name.endswith("-final.json"):
            continue
        try:
            text = read_regular(folder / name, _LINEAGE_FILE_LIMIT)
            data = json.loads(text)
            branch = str(data["branch"])
            commit = checked_commit(str(data["commit"]))
        except (BadInput, ValueError, KeyError, TypeError, RecursionError):
            continue
        if not is_branch(branch):
            branch = ""
        return branch, commit
    return "", ""


def _existing(git: Git, commit: str) -> str:
    if not commit:
        return ""
    try:
        return resolve_commit(git, commit)
    except BadInput:
        return ""


def _with_contained(
    git: Git, works: Sequence[_Work], target: str
) -> Iterator[Candidate]:
    """Yield candidates with the other candidates they contain: those with any commit
    among theirs that the target does not have.
    """
    owners: dict[str, set[str]] = {}
    for work in works:
        for commit in {*work.commits, work.tip}:
            sharing = owners.setdefault(commit, set())
            sharing.add(work.item)
    for work in works:
        listed = git.run("rev-list", work.tip, f"^{target}", limit=_COMMITS_LIMIT)
        contained = set[str]()
        for commit in listed.decode("ascii").split():
            contained |= owners.get(commit, set())
        contains = frozenset(contained - {work.item})
        yield Candidate(work.item, work.branch, work.tip, contains)
