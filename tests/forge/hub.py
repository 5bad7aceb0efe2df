"""The server: repositories with issues, labels and milestones behind GitHub's REST
interface.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.forge.pulls import (
    Invalid,
    create_pull,
    list_pulls,
    password_of,
    talk_git,
    tip_of,
)
from tests.forge.trouble import Cut, Expire, Fault, Hold, Limit, Slow, Status

TOKEN = "ghp_" + "Loopback0" * 4
BODY_LIMIT = 65_536


def moment(at: float | None = None) -> str:
    """Write a moment as GitHub does."""
    return datetime.fromtimestamp(time.time() if at is None else at, UTC).strftime(
        "%Y-%m-%dT%H:%M:%SZ"
    )


@dataclass
class Repo:
    """One repository."""

    full_name: str
    id: int
    is_private: bool = False
    has_issues: bool = True
    is_archived: bool = False
    may_push: bool = True
    issues: list[dict[str, Any]] = field(default_factory=list)
    comments: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)
    milestones: list[str] = field(default_factory=list)
    default_branch: str = "main"
    has_drafts: bool = True
    branches: dict[str, str] = field(default_factory=dict)
    pulls: list[dict[str, Any]] = field(default_factory=list)
    reviews: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    """What reviews say of a pull request as a whole, by its number."""
    remarks: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    """What reviews say about lines."""
    git_dir: Path | None = None
    """A bare repository that git can push to; then its branches are the branches."""

    def add(
        self,
        title: str,
        body: str | None = "",
        *,
        labels: tuple[str, ...] = (),
        milestone: str = "",
        state: str = "open",
        is_pull: bool = False,
        login: str = "somebody",
        association: str = "MEMBER",
        base: str = "https://github.invalid",
    ) -> dict[str, Any]:
        """Create an issue; labels and milestones come to be with it."""
        number = len(self.issues) + 1
        for label in labels:
            if label.casefold() not in (known.casefold() for known in self.labels):
                self.labels.append(label)
        if milestone and milestone not in self.milestones:
            self.milestones.append(milestone)
        kind = "pull" if is_pull else "issues"
        issue: dict[str, Any] = {
            "id": self.id * 100_000 + number,
            "number": number,
            "title": title,
            "body": body,
            "state": state,
            "user": {
                "login": login,
                "type": "Bot" if login.endswith("[bot]") else "User",
            },
            "author_association": association,
            "labels": [{"name": label, "color": "ededed"} for label in labels],
            "milestone": {
                "number": self.milestones.index(milestone) + 1,
                "title": milestone,
            }
            if milestone
            else None,
            "comments": 0,
            "created_at": moment(),
            "updated_at": moment(),
            "html_url": f"{base}/{self.full_name}/{kind}/{number}",
        }
        if is_pull:
            issue["pull_request"] = {"url": f"{base}/{self.full_name}/pull/{number}"}
        self.issues.append(issue)
        return issue

    def comment(
        self,
        number: int,
        body: str,
        *,
        login: str = "somebody",
        association: str = "MEMBER",
        created: str = "",
        base: str = "https://github.invalid",
    ) -> dict[str, Any]:
        """Comment on an issue."""
        below = self.comments.setdefault(number, [])
        id = self.id * 1_000_000 + sum(map(len, self.comments.values())) + 1
        comment = {
            "id": id,
            "body": body,
            "user": {
                "login": login,
                "type": "Bot" if login.endswith("[bot]") else "User",
            },
            "author_association": association,
            "created_at": created or moment(),
            "html_url": f"{base}/{self.full_name}/issues/{number}#issuecomment-{id}",
        }
        below.append(comment)
        self.issues[number - 1]["comments"] = len(below)
        return comment

    def review(
        self,
        number: int,
        body: str,
        *,
        login: str = "somebody",
        association: str = "MEMBER",
        written: str = "",
        path: str = "",
        line: int = 0,
    ) -> None:
        """Review a pull request, or one of its lines."""
        said: dict[str, Any] = {
            "id": self.id * 2_000_000 + len(self.reviews) + len(self.remarks) + 1,
            "body": body,
            "user": {"login": login, "type": "User"},
            "author_association": association,
            "html_url": f"https://github.invalid/{self.full_name}/pull/{number}",
        }
        moment_of = "created_at" if path else "submitted_at"
        said[moment_of] = written or moment()
        if path:
            said |= {"path": path, "line": line, "original_line": line}
        below = self.remarks if path else self.reviews
        below.setdefault(number, []).append(said)

    def describe(self) -> dict[str, Any]:
        """Return what GitHub says about a repository."""
        return {
            "id": self.id,
            "full_name": self.full_name,
            "private": self.is_private,
            "has_issues": self.has_issues,
            "archived": self.is_archived,
            "default_branch": self.default_branch,
            "permissions": {"push": self.may_push, "pull": True},
        }


@dataclass(frozen=True)
class Seen:
    """A request as it came."""

    index: int
    verb: str
    path: str
    query: Mapping[str, str]
    token: str
    at: float
    body: Any = None


@dataclass
class Hub:
    """All repositories, what goes wrong, and what happened."""

    repos: dict[str, Repo] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    tokens: set[str] = field(default_factory=lambda: {TOKEN})
    faults: list[Fault] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    answered: list[int] = field(default_factory=list)
    """Indices of the requests whose answer has been sent."""
    too_early: list[Seen] = field(default_factory=list)
    """Requests that came although a pause was asked for."""
    remaining: int = 5000
    reset: float = 0.0
    resting_until: float = 0.0
    url: str = ""
    changed: threading.Condition = field(default_factory=threading.Condition)

    def repo(self, full_name: str, **facts: Any) -> Repo:
        """Return a repository, made when it is not there."""
        if full_name not in self.repos:
            self.repos[full_name] = Repo(full_name, 700 + len(self.repos), **facts)
        return self.repos[full_name]

    def fault(self, fault: Fault) -> Any:
        """Put something in the way."""
        self.faults.append(fault)
        return fault

    def filed(self, full_name: str) -> list[dict[str, Any]]:
        """Return the issues of a repository that were filed by us."""
        return [
            issue
            for issue in self.repos[full_name].issues
            if "agentos-filing" in str(issue["body"])
        ]

    def count(self, verb: str) -> int:
        """Return how many requests there were."""
        return sum(seen.verb == verb for seen in self.seen)

    def wait_answered(self, index: int, patience: float = 60.0) -> bool:
        """Wait until the answer to a request has been sent."""
        with self.changed:
            return self.changed.wait_for(lambda: index in self.answered, patience)


class Refusal(Exception):
    """An answer that is no success."""

    def __init__(
        self,
        status: int,
        message: str,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})
        self.body = {
            "message": message,
            "documentation_url": "https://docs.github.com/rest",
            **more,
        }


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    hub: Hub
    lock: threading.Lock

    def do_GET(self) -> None:
        self._take("GET")

    def do_POST(self) -> None:
        self._take("POST")

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _take(self, verb: str) -> None:
        length = int(self.headers.get("content-length") or 0)
        data = self.rfile.read(length)
        address = urlsplit(self.path)
        is_git = ".git/" in address.path
        body = json.loads(data) if data and not is_git else None
        given = self.headers.get("authorization", "")
        token = password_of(given) if is_git else given.partition(" ")[2]
        self.raw = data
        with self.hub.changed:
            seen = Seen(
                len(self.hub.seen),
                verb,
                address.path,
                dict(parse_qsl(address.query)),
                token,
                time.time(),
                body,
            )
            self.hub.seen.append(seen)
            self.hub.changed.notify_all()
        struck = [fault for fault in self.hub.faults if fault.strikes(seen)]
        with suppress(BrokenPipeError, ConnectionResetError):
            self._play(seen, struck)
        with self.hub.changed:
            self.hub.answered.append(seen.index)
            self.hub.changed.notify_all()

    def _play(self, seen: Seen, struck: list[Fault]) -> None:
        for fault in struck:
            if isinstance(fault, Slow):
                time.sleep(fault.seconds)
            if isinstance(fault, Expire):
                self.hub.tokens.clear()
            if isinstance(fault, Hold) and not fault.after_effect:
                fault.wait()
                if fault.is_dropped:
                    return self._hang_up()
            if isinstance(fault, Cut) and not fault.after_effect:
                return self._hang_up()
        is_git = ".git/" in seen.path
        data: Any
        try:
            for fault in struck:
                self._refuse_by(fault, seen)
            with self.lock:
                if is_git:
                    status, headers, data = self._talk_git(seen)
                else:
                    status, data, headers = self._answer(seen)
        except Refusal as refusal:
            return self._send(refusal.status, refusal.body, refusal.headers)
        for fault in struck:
            if isinstance(fault, Hold) and fault.after_effect:
                fault.wait()
            if isinstance(fault, Cut) and fault.after_effect:
                return self._hang_up()
        return (
            self._send_as_it_is(status, headers, data)
            if is_git
            else self._send(status, data, headers)
        )

    def _talk_git(self, seen: Seen) -> tuple[int, dict[str, str], bytes]:
        name, _, rest = seen.path.strip("/").partition(".git/")
        repo = self.hub.repos.get(name)
        if seen.token not in self.hub.tokens:
            raise Refusal(
                401,
                "Requires authentication",
                {"www-authenticate": 'Basic realm="GitHub"'},
            )
        if repo is None or repo.git_dir is None:
            raise Refusal(404, "Not Found")
        asked = {name.lower(): value for name, value in self.headers.items()}
        return talk_git(
            repo.git_dir,
            seen.verb,
            f"/{rest}",
            urlsplit(self.path).query,
            asked,
            self.raw,
        )

    def _send_as_it_is(
        self, status: int, headers: Mapping[str, str], body: bytes
    ) -> None:
        self.send_response(status)
        for header, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(header, value)
        self.end_headers()
        self.wfile.write(body)

    def _refuse_by(self, fault: Fault, seen: Seen) -> None:
        if isinstance(fault, Status):
            raise Refusal(fault.status, "Server Error")
        if isinstance(fault, Limit):
            after = (
                {}
                if fault.retry_after is None
                else {"retry-after": str(fault.retry_after)}
            )
            self.hub.resting_until = seen.at + (fault.retry_after or 0)
            raise Refusal(
                fault.status,
                "You have exceeded a secondary rate limit. Please wait a few minutes.",
                after,
            )

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        self.connection.close()

    def _send(self, status: int, data: Any, headers: Mapping[str, str]) -> None:
        body = json.dumps(data).encode()
        self.send_response(status)
        limits = {
            "x-ratelimit-limit": "5000",
            "x-ratelimit-remaining": str(max(0, self.hub.remaining)),
            "x-ratelimit-reset": str(int(self.hub.reset or time.time() + 3600)),
            "x-ratelimit-resource": "core",
            "x-github-request-id": "0000:0000:0000",
        }
        for name, value in {
            **limits,
            **headers,
            "content-length": str(len(body)),
        }.items():
            self.send_header(name, value)
        self.send_header("content-type", "application/json; charset=utf-8")
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def _answer(self, seen: Seen) -> tuple[int, Any, dict[str, str]]:
        if seen.at < self.hub.resting_until:
            self.hub.too_early.append(seen)
            raise Refusal(
                403, "You have exceeded a secondary rate limit.", {"retry-after": "1"}
            )
        if seen.token and seen.token not in self.hub.tokens:
            raise Refusal(401, "Bad credentials")
        if self.hub.remaining <= 0 and time.time() < self.hub.reset:
            raise Refusal(403, "API rate limit exceeded for user ID 1.")
        self.hub.remaining = self.hub.remaining - 1 if self.hub.remaining > 0 else 4999
        if seen.path == "/search/issues":
            # The index is behind: what was created lately is not in it.
            return 200, {"total_count": 0, "incomplete_results": False, "items": []}, {}
        repo, rest = self._find(seen)
        match seen.verb, rest:
            case "GET", []:
                return 200, repo.describe(), {}
            case "GET", ["issues"]:
                return self._page(seen, repo, "issues", select(repo, seen.query))
            case "GET", ["issues", number] if number.isdecimal() and 0 < int(
                number
            ) <= len(repo.issues):
                return 200, repo.issues[int(number) - 1], {}
            case verb, ["issues", number, "comments"] if number.isdecimal() and 0 < int(
                number
            ) <= len(repo.issues):
                if verb == "POST":
                    return self._comment(seen, repo, int(number))
                below = repo.comments.get(int(number), [])
                return self._page(seen, repo, f"issues/{number}/comments", below)
            case "GET", ["labels"]:
                return self._page(
                    seen,
                    repo,
                    "labels",
                    [{"name": name, "color": "ededed"} for name in repo.labels],
                )
            case "GET", ["milestones"]:
                found = [
                    {"number": n, "title": title, "state": "open"}
                    for n, title in enumerate(repo.milestones, 1)
                ]
                return self._page(seen, repo, "milestones", found)
            case "POST", ["issues"]:
                return self._create(seen, repo)
            case "GET", ["git", "ref", "heads", *names] if tip := tip_of(
                repo, "/".join(names)
            ):
                ref = f"refs/heads/{'/'.join(names)}"
                return 200, {"ref": ref, "object": {"type": "commit", "sha": tip}}, {}
            case "GET", ["pulls"]:
                return self._page(seen, repo, "pulls", list_pulls(repo, seen.query))
            case "GET", ["pulls", number, "reviews" | "comments" as what] if any(
                pull["number"] == int(number) for pull in repo.pulls
            ):
                said = repo.reviews if what == "reviews" else repo.remarks
                below = said.get(int(number), [])
                return self._page(seen, repo, f"pulls/{number}/{what}", below)
            case "POST", ["pulls"]:
                return self._create_pull(seen, repo)
        raise Refusal(404, "Not Found")

    def _find(self, seen: Seen) -> tuple[Repo, list[str]]:
        # A company's server has its API below this path.
        parts = seen.path.removeprefix("/api/v3").strip("/").split("/")
        repo: Repo | None = None
        rest: list[str] = []
        if parts[0] == "repositories" and len(parts) > 1:
            repo = next(
                (repo for repo in self.hub.repos.values() if str(repo.id) == parts[1]),
                None,
            )
            rest = parts[2:]
        elif parts[0] == "repos" and len(parts) > 2:
            name = "/".join(parts[1:3])
            if name in self.hub.moved:
                target = self.hub.repos[self.hub.moved[name]]
                location = "/".join(
                    [f"{self.hub.url}/repositories/{target.id}", *parts[3:]]
                )
                status = 301 if seen.verb == "GET" else 307
                raise Refusal(
                    status, "Moved Permanently", {"location": location}, url=location
                )
            repo = next(
                (
                    r
                    for key, r in self.hub.repos.items()
                    if key.casefold() == name.casefold()
                ),
                None,
            )
            rest = parts[3:]
        if repo is None or (repo.is_private and not seen.token):
            raise Refusal(404, "Not Found")
        return repo, rest

    def _page(
        self, seen: Seen, repo: Repo, what: str, entries: list[dict[str, Any]]
    ) -> tuple[int, list[dict[str, Any]], dict[str, str]]:
        size = min(100, int(seen.query.get("per_page", "30")))
        page = int(seen.query.get("page", "1"))
        last = max(1, -(-len(entries) // size))
        links = []
        for name, number in (("next", page + 1), ("last", last)):
            if page < last:
                query = urlencode({**seen.query, "page": number})
                links.append(
                    f'<{self.hub.url}/repositories/{repo.id}/{what}?{query}>; rel="{name}"'
                )
        headers = {"link": ", ".join(links)} if links else {}
        return 200, entries[(page - 1) * size : page * size], headers

    def _create(self, seen: Seen, repo: Repo) -> tuple[int, Any, dict[str, str]]:
        if not seen.token:
            raise Refusal(401, "Requires authentication")
        if not repo.has_issues:
            raise Refusal(410, "Issues has been disabled in this repository.")
        if not isinstance(seen.body, dict) or not seen.body.get("title"):
            errors = [{"resource": "Issue", "code": "missing_field", "field": "title"}]
            raise Refusal(422, "Validation Failed", errors=errors)
        body = str(seen.body.get("body") or "")
        if len(body) > BODY_LIMIT:
            said = f"body is too long (maximum is {BODY_LIMIT} characters)"
            errors = [
                {
                    "resource": "Issue",
                    "code": "custom",
                    "field": "body",
                    "message": said,
                }
            ]
            raise Refusal(422, "Validation Failed", errors=errors)
        labels = tuple(seen.body.get("labels") or ()) if repo.may_push else ()
        return (
            201,
            repo.add(
                seen.body["title"],
                body,
                labels=labels,
                login="filer",
                base=self.hub.url,
            ),
            {},
        )

    def _comment(
        self, seen: Seen, repo: Repo, number: int
    ) -> tuple[int, Any, dict[str, str]]:
        if not seen.token:
            raise Refusal(401, "Requires authentication")
        body = str(seen.body.get("body") or "")
        if not body or len(body) > BODY_LIMIT:
            raise Refusal(422, "Validation Failed")
        made = repo.comment(number, body, login="filer", base=self.hub.url)
        return 201, made, {}

    def _create_pull(self, seen: Seen, repo: Repo) -> tuple[int, Any, dict[str, str]]:
        if not seen.token:
            raise Refusal(401, "Requires authentication")
        if not repo.may_push:
            raise Refusal(403, "Resource not accessible by personal access token")
        try:
            return 201, create_pull(repo, seen.body, self.hub.url), {}
        except Invalid as invalid:
            raise Refusal(422, "Validation Failed", errors=invalid.errors) from invalid


def select(repo: Repo, query: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the issues that a query asks for, in its order."""
    wanted = [label.casefold() for label in query.get("labels", "").split(",") if label]
    found = []
    for issue in repo.issues:
        names = {label["name"].casefold() for label in issue["labels"]}
        if (
            query.get("state", "open") not in ("all", issue["state"])
            or not set(wanted) <= names
        ):
            continue
        milestone = issue["milestone"]
        if (
            "milestone" in query
            and str(milestone and milestone["number"]) != query["milestone"]
        ):
            continue
        if issue["updated_at"] >= query.get("since", ""):
            found.append(issue)
    found.sort(
        key=lambda issue: issue["number"],
        reverse=query.get("direction", "desc") == "desc",
    )
    return found


@contextmanager
def serve(hub: Hub | None = None) -> Iterator[Hub]:
    """Serve a GitHub in this process until the block ends."""
    served = hub or Hub()
    handler = type(
        "BoundHandler", (Handler,), {"hub": served, "lock": threading.Lock()}
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    served.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(
        target=server.serve_forever, args=(0.02,), name="forge", daemon=True
    )
    thread.start()
    try:
        yield served
    finally:
        for fault in served.faults:
            if isinstance(fault, Hold):
                fault.released.set()
        server.shutdown()
        server.server_close()
        thread.join(30)
