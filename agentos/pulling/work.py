"""Find what an implemented item has to show: its branch, its reports, the issue that it came from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agentos.errors import BadInput, UsageError
from agentos.files import is_inside, read_regular
from agentos.github import SCHEME, Repository, find_repository
from agentos.home import Home, repository_key
from agentos.places import document_path
from agentos.records import read_record
from agentos.redaction import find_line_to_hide
from agentos.task import State, Task, Workflow
from agentos.worktrees import opening, repository, stacking

REPORT_LIMIT = 2_000_000
_DESIGN = "* **Design:**"
_TESTS = "test-report.md"


@dataclass(frozen=True, slots=True)
class Work:
    """An implemented item."""

    task: Task
    branch: str
    commit: str
    """The tip of its branch."""
    is_as_built: bool
    """Whether that is the commit of the implementation, so that the reports speak of all there is."""
    title: str
    reports: tuple[str, ...]
    where: str
    """The folder of the reports."""
    issue: str
    """The issue on GitHub that it came from, as `owner/name#42`; empty when it came from elsewhere."""


def find_work(home: Home, place: Path, item: str) -> Work:
    """Return an item that was implemented here, or say why there is nothing to open a pull request for."""
    key = repository_key(place)
    task = Task(Workflow.IMPLEMENTATION, item, "")
    found = repository.find_repository(place)
    record = read_record(home.item(key, task).record)
    if record is None:
        raise UsageError(f"{task.label}: has not been implemented here; run: implement-workflow --issue {item}")
    if record.state is not State.IMPLEMENTED:
        raise UsageError(f"{task.label} is {record.state}; a pull request is for implemented items: see agentos status")
    git = found.git()
    worktree = opening.read_record(git, str(found.path), str(home.worktree(key, item)), item)
    if worktree is None:
        raise UsageError(f"{task.label}: its branch is gone; what is kept of it: agentos salvage {item}")
    tip = repository.read_ref(git, worktree.branch_ref)
    if tip == worktree.base:
        raise UsageError(f"{task.label}: {worktree.branch} has no commit of its own; nothing can be pulled from it")
    main = document_path(task.workflow, item)
    where = main.rpartition("/")[0]
    report = _read_report(place, main)
    tests = f"{where}/{_TESTS}"
    reports = (report, _read_report(place, tests)) if (place / tests).exists() else (report,)
    return Work(
        task=task,
        branch=worktree.branch,
        commit=tip,
        is_as_built=tip == stacking.latest_commit(git, item),
        title=_title_of(report),
        reports=reports,
        where=where,
        issue=_issue_of(home, key, item),
    )


def check_reports(work: Work) -> None:
    """Raise `BadInput` when a report holds a key or what looks like one: it is published as it is, or not at all."""
    main = document_path(work.task.workflow, work.task.item)
    for name, text in zip((main, f"{work.where}/{_TESTS}"), work.reports, strict=False):
        if line := find_line_to_hide(text):
            raise BadInput(f"{name}, line {line}: holds a key, or what looks like one; take it out, and run again")


def say_closes(issue: str, target: Repository) -> str:
    """Return the words by which GitHub closes an issue when the pull request is merged."""
    if not issue:
        return ""
    place, _, number = issue.partition("#")
    return f"Closes #{number}" if place.casefold() == str(target).casefold() else f"Closes {issue}"


def _read_report(place: Path, name: str) -> str:
    """Return a report; a link is refused, as what it leads to is nobody's to publish."""
    path = place / name
    if path.is_symlink() or not is_inside(path, place):
        raise BadInput(f"{name}: is a link; put the report itself there")
    if not path.exists():
        raise BadInput(f"{name}: is gone, and it is the body of the pull request; bring it back")
    return read_regular(path, REPORT_LIMIT).decode("utf-8", "replace")


def _title_of(report: str) -> str:
    for row in report.split("\n", 50)[:50]:
        if row.startswith(_DESIGN):
            return row.removeprefix(_DESIGN).strip()
    return ""


def _issue_of(home: Home, key: str, item: str) -> str:
    """Return the issue that the design was drafted from, if it was one of GitHub with the item's number."""
    for workflow in (Workflow.LLD, Workflow.IMPLEMENTATION):
        record = read_record(home.item(key, Task(workflow, item, "")).record)
        scheme, _, reference = (record.source if record is not None else "").partition(":")
        place, _, number = reference.partition("#")
        target = find_repository(place)
        if scheme == SCHEME and target is not None and number == item and item.isascii() and item.isdigit():
            return target.refer(int(item))
    return ""
