"""Branches and pull requests of the loopback GitHub, and the repositories that git
itself talks to.
"""

from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.forge.hub import Repo

BODY_LIMIT = 65_536


class Invalid(Exception):
    """A pull request that GitHub does not take; the errors as it would tell them."""

    def __init__(self, field: str, code: str = "invalid", message: str = "") -> None:
        super().__init__(message or field)
        error = {"resource": "PullRequest", "field": field, "code": code}
        self.errors = [error | ({"message": message} if message else {})]


def tip_of(repo: Repo, branch: str) -> str:
    """Return the commit that a branch has, empty when there is none."""
    if repo.git_dir is None:
        return repo.branches.get(branch, "")
    found = run_git(
        repo.git_dir,
        "for-each-ref",
        "--format=%(objectname) %(refname)",
        f"refs/heads/{branch}",
    )
    tips = [line.split(" ") for line in found.decode().splitlines()]
    return next((commit for commit, ref in tips if ref == f"refs/heads/{branch}"), "")


def list_pulls(repo: Repo, query: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the pull requests that a query asks for, the newest first; a `head`
    without owner is left out of it.
    """
    owner, colon, branch = query.get("head", "").partition(":")
    state = query.get("state", "open")
    return [
        pull
        for pull in reversed(repo.pulls)
        if state in ("all", pull["state"])
        and (
            not colon
            or pull["head"]["label"].casefold() == f"{owner}:{branch}".casefold()
        )
    ]


def create_pull(
    repo: Repo, content: Mapping[str, Any], base_address: str
) -> dict[str, Any]:
    """Create a pull request, or refuse it as GitHub does."""
    head, base = str(content.get("head", "")), str(content.get("base", ""))
    if not content.get("title"):
        raise Invalid("title", "missing_field")
    if len(str(content.get("body") or "")) > BODY_LIMIT:
        raise Invalid(
            "body", "custom", f"body is too long (maximum is {BODY_LIMIT} characters)"
        )
    owner = repo.full_name.partition("/")[0]
    for field, branch in (("head", head), ("base", base)):
        if not tip_of(repo, branch):
            raise Invalid(field)
    ours = [
        pull
        for pull in repo.pulls
        if pull["head"]["repo"]["full_name"] == repo.full_name
    ]
    if any(
        (pull["state"], pull["head"]["ref"], pull["base"]["ref"])
        == ("open", head, base)
        for pull in ours
    ):
        raise Invalid(
            "base", "custom", f"A pull request already exists for {owner}:{head}."
        )
    if tip_of(repo, head) == tip_of(repo, base):
        raise Invalid("base", "custom", f"No commits between {base} and {head}")
    if content.get("draft") and not repo.has_drafts:
        raise Invalid(
            "base",
            "custom",
            "Draft pull requests are not supported in this repository.",
        )
    return add_pull(
        repo,
        head,
        base,
        str(content["title"]),
        str(content.get("body") or ""),
        base_address,
    ) | (mark_draft(repo.pulls[-1]) if content.get("draft") else {})


def add_pull(
    repo: Repo,
    head: str,
    base: str = "main",
    title: str = "A change",
    body: str = "",
    address: str = "https://github.invalid",
    owner: str = "",
) -> dict[str, Any]:
    """Put a pull request there; `owner` is that of a fork it comes from."""
    issue = repo.add(title, body, is_pull=True, login="opener", base=address)
    place = f"{owner}/{repo.full_name.partition('/')[2]}" if owner else repo.full_name
    pull: dict[str, Any] = {
        "number": issue["number"],
        "html_url": issue["html_url"],
        "title": title,
        "body": body,
        "state": "open",
        "draft": False,
        "merged_at": None,
        "head": {
            "ref": head,
            "sha": tip_of(repo, head),
            "label": f"{place.partition('/')[0]}:{head}",
            "repo": {"full_name": place},
        },
        "base": {"ref": base, "sha": tip_of(repo, base)},
    }
    repo.pulls.append(pull)
    return pull


def mark_draft(pull: dict[str, Any]) -> dict[str, Any]:
    """Make it a draft."""
    pull["draft"] = True
    return pull


def talk_git(
    git_dir: Path,
    verb: str,
    path: str,
    query: str,
    headers: Mapping[str, str],
    body: bytes,
) -> tuple[int, dict[str, str], bytes]:
    """Let git's own server answer what a git asks over HTTP."""
    environ = {
        "PATH": os.environ["PATH"],
        "GIT_PROJECT_ROOT": str(git_dir),
        "GIT_HTTP_EXPORT_ALL": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
        "HOME": str(git_dir.parent),
        "REMOTE_USER": "pusher",
        "REQUEST_METHOD": verb,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "CONTENT_TYPE": headers.get("content-type", ""),
        "CONTENT_LENGTH": str(len(body)),
        "HTTP_CONTENT_ENCODING": headers.get("content-encoding", ""),
        "GIT_PROTOCOL": headers.get("git-protocol", ""),
    }
    done = subprocess.run(
        ["git", "http-backend"],
        env=environ,
        input=body,
        capture_output=True,
        check=True,
    )
    head, _, answer = done.stdout.partition(b"\r\n\r\n")
    told = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
    return int(told.pop("Status", "200").split()[0]), told, answer


def password_of(authorization: str) -> str:
    """Return the password of a `Basic` header, empty when there is none."""
    kind, _, value = authorization.partition(" ")
    return (
        base64.b64decode(value).decode().partition(":")[2]
        if kind.lower() == "basic"
        else ""
    )


def run_git(folder: Path, *arguments: str) -> bytes:
    """Run git as somebody without a configuration."""
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder / "no-home"),
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    return subprocess.run(
        ["git", *arguments], cwd=folder, env=environ, capture_output=True, check=True
    ).stdout
