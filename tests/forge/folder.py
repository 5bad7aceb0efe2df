"""A forge in a folder of JSON files, which shares nothing with GitHub but the Protocol.

Each repository is a file; numbers of issues and of pull requests are counted
separately, milestones are known by title alone, and roles have words of their own.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from agentos.repository.forge import (
    Absent,
    Author,
    Forge,
    ForgeComment,
    ForgeIssue,
    ForgeRepository,
    Invalid,
    Limits,
    Milestone,
    Proposal,
    Pull,
    RepositoryFacts,
)

SCHEME = "folder"
TRUSTED = ("maintainer", "developer")


def never_stopped(seconds: float) -> bool:
    """Wait for nothing: what a folder was told is there."""
    return False


class FolderForge:
    """A repository as a file of a folder."""

    label = "the folder"
    limits = Limits(title=80, body=5_000, settling=0.0)
    token_advice = ""

    def __init__(self, root: Path, name: str) -> None:
        self._root = root
        self.repository = ForgeRepository(SCHEME, name)
        self.now = time.time()
        self.pause: Callable[[float], bool] = never_stopped
        root.mkdir(exist_ok=True)

    def clear(self) -> None:
        """Create the repository, without issues."""
        empty: dict[str, Any] = {
            "issues": {},
            "pulls": [],
            "labels": [],
            "milestones": [],
            "branches": {},
        }
        self._write(empty)

    def put_issue(self, number: int, **facts: Any) -> None:
        """Create an issue, or replace the one with its number."""
        usual = {
            "title": "",
            "body": "",
            "author": "ada",
            "role": "maintainer",
            "labels": [],
            "milestone": "",
            "is_open": True,
            "created": time.time(),
            "comments": [],
        }
        data = self._read()
        issue = {**usual, **facts}
        data["issues"][str(number)] = issue
        data["labels"] = sorted({*data["labels"], *issue["labels"]})
        milestones = {*data["milestones"], issue["milestone"]} - {""}
        data["milestones"] = sorted(milestones)
        self._write(data)

    def put_comment(
        self, number: int, body: str, author: str = "ada", role: str = "maintainer"
    ) -> None:
        """Comment on an issue."""
        data = self._read()
        comment = {"body": body, "author": author, "role": role, "date": "2026-06-01"}
        data["issues"][str(number)]["comments"].append(comment)
        self._write(data)

    def put_branch(self, name: str, commit: str) -> None:
        """Have a branch be at a commit."""
        data = self._read()
        data["branches"][name] = commit
        self._write(data)

    def close_pull(self, number: int, state: str) -> None:
        """End a pull request."""
        data = self._read()
        data["pulls"][number - 1]["state"] = state
        self._write(data)

    def at(self, name: str) -> FolderForge:
        """Return another repository in the same folder."""
        return FolderForge(self._root, name)

    def describe(self) -> RepositoryFacts:
        """Return facts about the repository; nothing is ever renamed here."""
        self._read()
        return RepositoryFacts(
            is_archived=False, has_issues=True, default_branch="trunk"
        )

    def list_issues(
        self,
        labels: tuple[str, ...] = (),
        milestone: Milestone | None = None,
    ) -> Iterator[ForgeIssue]:
        """Yield the open issues that have all the labels, the oldest first."""
        wanted = set(map(str.casefold, labels))
        for number, data in self._numbered():
            issue = _issue_of(number, data)
            names = set(map(str.casefold, issue.labels))
            is_of_milestone = milestone in (None, _milestone_of(data["milestone"]))
            if issue.is_open and wanted <= names and is_of_milestone:
                yield issue

    def list_created(self, since: float) -> Iterator[ForgeIssue]:
        """Yield the issues created since a time, open or not, the newest first."""
        for number, data in reversed(self._numbered()):
            if data["created"] >= since:
                yield _issue_of(number, data)

    def read_issue(self, number: int) -> ForgeIssue | None:
        """Return an issue in any state, None if it does not exist."""
        data = self._read()["issues"].get(str(number))
        return _issue_of(number, data) if data else None

    def create_issue(
        self,
        title: str,
        body: str,
        labels: tuple[str, ...],
    ) -> ForgeIssue:
        """Create an issue."""
        if not title or len(title) > self.limits.title or len(body) > self.limits.body:
            raise Invalid(f"{self.repository}: that is no issue")
        number = len(self._read()["issues"]) + 1
        self.put_issue(number, title=title, body=body, labels=list(labels))
        created = self.read_issue(number)
        assert created is not None
        return created

    def list_comments(self, number: int) -> Iterator[ForgeComment]:
        """Yield the comments on an issue, the oldest first."""
        data = self._read()["issues"].get(str(number))
        if data is None:
            raise Absent(f"{self.repository.refer(number)}: not found")
        for id, comment in enumerate(data["comments"], 1):
            yield _comment_of(id, comment)

    def create_comment(self, number: int, body: str) -> ForgeComment:
        """Comment on an issue."""
        list(self.list_comments(number))
        if not body or len(body) > self.limits.body:
            raise Invalid(f"{self.repository}: that is no comment")
        self.put_comment(number, body)
        return list(self.list_comments(number))[-1]

    def list_labels(self) -> Iterator[str]:
        """Yield the names of the labels."""
        yield from self._read()["labels"]

    def list_milestones(self) -> Iterator[Milestone]:
        """Yield the milestones."""
        yield from map(_milestone_of, self._read()["milestones"])

    def find_commit(self, branch: str) -> str:
        """Return the commit of a branch, empty if the branch is not there."""
        return str(self._read()["branches"].get(branch, ""))

    def list_pulls(self, branch: str) -> Iterator[Pull]:
        """Yield the pull requests of a branch."""
        for number, data in enumerate(self._read()["pulls"], 1):
            if data["branch"] == branch:
                yield _pull_of(number, data)

    def put_remark(
        self,
        number: int,
        body: str,
        *,
        author: str = "ada",
        role: str = "maintainer",
        place: str = "",
        written: float = 0.0,
    ) -> None:
        """Say something about a pull request."""
        data = self._read()
        remark = {
            "body": body,
            "author": author,
            "role": role,
            "date": "2026-06-01",
            "place": place,
            "written": written,
        }
        data["pulls"][number - 1].setdefault("remarks", []).append(remark)
        self._write(data)

    def list_pull_comments(self, number: int) -> Iterator[ForgeComment]:
        """Yield what was said about a pull request, the oldest first."""
        pulls = self._read()["pulls"]
        if number > len(pulls):
            raise Absent(f"{self.repository.refer(number)}: not found")
        remarks = pulls[number - 1].get("remarks", [])
        for id, remark in enumerate(sorted(remarks, key=lambda r: r["written"]), 1):
            yield _comment_of(id, remark)

    def create_pull(self, proposal: Proposal) -> Pull:
        """Open a pull request."""
        commit = self.find_commit(proposal.branch)
        taken = [
            pull for pull in self.list_pulls(proposal.branch) if pull.state == "open"
        ]
        if taken or not commit:
            raise Invalid(f"{self.repository}: {proposal.branch} cannot be proposed")
        data = self._read()
        pull = {
            "branch": proposal.branch,
            "base": proposal.base,
            "is_draft": proposal.is_draft,
            "commit": commit,
            "state": "open",
        }
        data["pulls"].append(pull)
        self._write(data)
        return _pull_of(len(data["pulls"]), pull)

    def _numbered(self) -> list[tuple[int, Any]]:
        issues = self._read()["issues"]
        return sorted((int(number), data) for number, data in issues.items())

    def _file(self) -> Path:
        return self._root / f"{self.repository.name.replace('/', '--')}.json"

    def _read(self) -> dict[str, Any]:
        path = self._file()
        if not path.exists():
            raise Absent(f"{self.repository}: not found in {self._root}")
        data: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return data

    def _write(self, data: dict[str, Any]) -> None:
        self._file().write_text(json.dumps(data), "utf-8")


def _issue_of(number: int, data: dict[str, Any]) -> ForgeIssue:
    role = data["role"]
    return ForgeIssue(
        number=number,
        title=data["title"],
        body=data["body"],
        author=Author(data["author"], role, role in TRUSTED),
        labels=tuple(data["labels"]),
        url=f"folder://{number}",
        is_open=data["is_open"],
        comments=len(data["comments"]),
    )


def _comment_of(id: int, data: dict[str, Any]) -> ForgeComment:
    role = data["role"]
    return ForgeComment(
        id=id,
        author=Author(data["author"], role, role in TRUSTED, is_bot=role == "robot"),
        body=data["body"],
        date=data["date"],
        url=f"folder://comments/{id}",
        written=data.get("written", 0.0),
        place=data.get("place", ""),
    )


def _milestone_of(title: str) -> Milestone:
    return Milestone("", title)


def _pull_of(number: int, data: dict[str, Any]) -> Pull:
    return Pull(
        number=number,
        url=f"folder://pulls/{number}",
        state=data["state"],
        is_draft=data["is_draft"],
        base=data["base"],
        commit=data["commit"],
    )


def as_forge(forge: FolderForge) -> Forge:
    """Have the type checker compare the fake with the Protocol."""
    return forge
