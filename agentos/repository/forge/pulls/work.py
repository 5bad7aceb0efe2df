"""Find the branch, the reports and the issue of an implemented item."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agentos.errors import BadInput, UsageError
from agentos.item import Item, State
from agentos.kinds import Kind
from agentos.repository.forge import ForgeRepository, find_package, is_source
from agentos.repository.forge.pulls.joining import find_change_logs
from agentos.repository.git import opening, repository, stacking
from agentos.repository.git.worktree import Worktree
from agentos.repository.paths import document_path
from agentos.state.files import is_inside, read_regular
from agentos.state.home import Home, repository_key
from agentos.state.records import read_record
from agentos.state.redaction import find_line_to_hide

REPORT_LIMIT = 2_000_000
_DESIGN = "* **Design:**"
_TESTS = "test-report.md"


@dataclass(frozen=True, slots=True)
class Work:
    """An implemented item."""

    item: Item
    branch: str
    commit: str
    """The last commit of its branch."""
    is_as_built: bool
    """Whether that is the commit of the implementation, which the reports describe."""
    change_logs: tuple[str, ...]
    """The change logs that the branch adds to."""
    title: str
    reports: tuple[str, ...]
    where: str
    """The folder of the reports."""
    issue: str
    """The issue on GitHub that it came from, as `owner/name#42`; empty if there is
    none.
    """


def find_work(home: Home, place: Path, id: str) -> Work:
    """Return an item that was implemented here, or raise `UsageError` with the reason."""
    key = repository_key(place)
    item = Item(Kind.IMPLEMENTATION, id, "")
    found = repository.find_repository(place)
    record = read_record(home.item(key, item).record)
    if record is None:
        raise UsageError(
            f"{item.label}: has not been implemented here; run: implement-workflow"
            f" --issue {id}"
        )
    if record.state is not State.IMPLEMENTED:
        raise UsageError(
            f"{item.label} is {record.state}; a pull request is for implemented items:"
            " see agentos status"
        )
    git = found.git()
    worktree, tip = _find_branch(place, item)
    main = document_path(item.kind, id)
    where = main.rpartition("/")[0]
    report = _read_report(place, main)
    tests = f"{where}/{_TESTS}"
    reports = [report]
    if (place / tests).exists():
        reports.append(_read_report(place, tests))
    return Work(
        item=item,
        branch=worktree.branch,
        commit=tip,
        is_as_built=tip == stacking.latest_commit(git, id),
        change_logs=find_change_logs(git, worktree.base, tip),
        title=_title_of(report),
        reports=tuple(reports),
        where=where,
        issue=_issue_of(home, key, id),
    )


def find_proposed(place: Path, id: str) -> tuple[str, float]:
    """Return the branch of an item that was implemented, and the time of its last
    commit; raise `UsageError` if it has none.
    """
    worktree, tip = _find_branch(place, Item(Kind.IMPLEMENTATION, id, ""))
    git = repository.find_repository(place).git()
    seconds = git.line("show", "--no-patch", "--format=%ct", tip)
    return worktree.branch, float(seconds)


def _find_branch(place: Path, item: Item) -> tuple[Worktree, str]:
    worktree = opening.find_record(place, item.id)
    if worktree is None:
        raise UsageError(
            f"{item.label}: its branch is gone; what is kept of it: agentos salvage"
            f" {item.id}"
        )
    git = repository.find_repository(place).git()
    tip = repository.read_ref(git, worktree.branch_ref)
    if tip == worktree.base:
        raise UsageError(
            f"{item.label}: {worktree.branch} has no commit of its own; there is"
            " nothing to propose"
        )
    return worktree, tip


def check_reports(work: Work) -> None:
    """Raise `BadInput` if a report contains a key or what looks like one: reports are
    published unchanged.
    """
    main = document_path(work.item.kind, work.item.id)
    names = (main, f"{work.where}/{_TESTS}")
    for name, text in zip(names, work.reports, strict=False):
        line = find_line_to_hide(text)
        if line:
            raise BadInput(
                f"{name}, line {line}: holds a key, or what looks like one; take it"
                " out, and run again"
            )


def say_closes(issue: str, target: ForgeRepository) -> str:
    """Return the words with which GitHub closes an issue when the pull request is
    merged.
    """
    if not issue:
        return ""
    repository_name, _, number = issue.partition("#")
    if target.is_named(repository_name):
        return f"Closes #{number}"
    return f"Closes {issue}"


def _read_report(place: Path, name: str) -> str:
    """Return a report; a link is refused, as its target may be private."""
    path = place / name
    if path.is_symlink() or not is_inside(path, place):
        raise BadInput(f"{name}: is a link; put the report itself there")
    if not path.exists():
        raise BadInput(
            f"{name}: is missing, and the pull request needs it as its body; restore it"
        )
    return read_regular(path, REPORT_LIMIT).decode("utf-8", "replace")


def _title_of(report: str) -> str:
    for row in report.split("\n", 50)[:50]:
        if row.startswith(_DESIGN):
            return row.removeprefix(_DESIGN).strip()
    return ""


def _issue_of(home: Home, key: str, item: str) -> str:
    """Return the issue on GitHub with the item's number that its design came from."""
    if not item.isascii() or not item.isdigit():
        return ""
    for kind in (Kind.LLD, Kind.IMPLEMENTATION):
        record = read_record(home.item(key, Item(kind, item, "")).record)
        if record is None or not is_source(record.source):
            continue
        scheme, _, reference = record.source.partition(":")
        name, _, number = reference.partition("#")
        target = find_package(scheme).find_repository(name)
        if target is not None and number == item:
            return target.refer(int(item))
    return ""
