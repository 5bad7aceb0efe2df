"""Ask GitHub for the pull requests of a branch, and have one opened where there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentos.github import GitHubError, Repository, Unavailable, Unclear
from agentos.github.client import FIRST_BACKOFF, Client
from agentos.pulling import Proposal, Pull

ATTEMPTS = 3
ABSENT = 404
INVALID = 422


def find_commit(client: Client, repository: Repository, branch: str) -> str:
    """Return the commit that a branch has on GitHub, empty when it is not there."""
    try:
        data = client.get(repository, f"{repository.path}/git/ref/heads/{branch}")
    except GitHubError as error:
        if error.status == ABSENT:
            return ""
        raise
    return str(_part(data, "object").get("sha", ""))


def find_pulls(client: Client, repository: Repository, branch: str) -> tuple[Pull, ...]:
    """Return the pull requests of a branch of this very repository, the open one first, then the newest."""
    head = f"{repository.owner}:{branch}"
    listed = client.list(repository, f"{repository.path}/pulls", head=head, state="all")
    pulls = [pull for data in listed if _is_of(data, repository, branch) and (pull := _read_pull(data))]
    return tuple(sorted(pulls, key=lambda pull: (pull.state != "open", -pull.number)))


def open_pull(client: Client, repository: Repository, proposal: Proposal) -> tuple[Pull, bool]:
    """Return the branch's open pull request and whether it is new.

    An answer that does not arrive leaves open whether there is one now, so it is looked for again. Asking twice does no
    harm: GitHub has at most one for a branch and its base.
    """
    content = {
        "title": proposal.title,
        "head": proposal.branch,
        "base": proposal.base,
        "body": proposal.body,
        "draft": proposal.is_draft,
    }
    trouble = ""
    for attempt in range(ATTEMPTS):
        if attempt and client.pause(FIRST_BACKOFF * 2**attempt):
            raise Unavailable("stopped")
        if found := _find_open(client, repository, proposal.branch):
            return found, bool(trouble)
        try:
            created = _read_pull(client.create(repository, f"{repository.path}/pulls", content))
        except Unclear as error:
            trouble = str(error)
            continue
        except GitHubError as error:
            if error.status == INVALID and (found := _find_open(client, repository, proposal.branch)):
                return found, bool(trouble)
            raise _explain(error, proposal) from error
        if created is not None:
            return created, True
        trouble = "no number came back"
    if found := _find_open(client, repository, proposal.branch):
        return found, True
    raise Unavailable(f"{trouble}, {ATTEMPTS} times; run again")


def _find_open(client: Client, repository: Repository, branch: str) -> Pull | None:
    return next((pull for pull in find_pulls(client, repository, branch) if pull.state == "open"), None)


def _explain(error: GitHubError, proposal: Proposal) -> GitHubError:
    """Add what may help; what GitHub said is quoted, not understood."""
    if error.status == INVALID and proposal.is_draft:
        return GitHubError(f"{error}; where drafts are not offered use --ready", error.status)
    return error


def _is_of(data: Mapping[str, Any], repository: Repository, branch: str) -> bool:
    """Tell whether a pull request is ours: a filter that GitHub does not understand it leaves out without a word."""
    head = _part(data, "head")
    place = str(_part(head, "repo").get("full_name", ""))
    return head.get("ref") == branch and place.casefold() == str(repository).casefold()


def _read_pull(data: Mapping[str, Any]) -> Pull | None:
    number = data.get("number")
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        return None
    state = "open" if data.get("state") == "open" else "merged" if data.get("merged_at") else "closed"
    return Pull(
        number=number,
        url=str(data.get("html_url", ""))[:500],
        state=state,
        is_draft=data.get("draft") is True,
        base=str(_part(data, "base").get("ref", ""))[:300],
        commit=str(_part(data, "head").get("sha", ""))[:64],
    )


def _part(data: object, name: str) -> Mapping[str, Any]:
    part = data.get(name) if isinstance(data, Mapping) else None
    return part if isinstance(part, Mapping) else {}
