"""Send requests to GitHub, wait for its rate limits, and repeat a read that failed.

A write whose response is lost raises `Unclear`. It is not repeated here: callers look
for what it may have created before they send it again.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from agentos.repository.forge import (
    Absent,
    Announce,
    ForgeError,
    ForgeRepository,
    Invalid,
    Unavailable,
    Unclear,
)
from agentos.repository.forge.github.address import VARIABLE, Server
from agentos.repository.forge.github.answers import (
    Answer,
    Done,
    Refused,
    RetryLater,
    TemporaryFailure,
    next_page,
    read_answer,
    server_time,
)
from agentos.repository.forge.github.http import Http, NoResponse
from agentos.repository.forge.github.token import Token
from agentos.state.wording import describe_seconds

PAGE = 100
PATIENCE = 900.0
"""Total seconds that a run waits for GitHub."""
ATTEMPTS = 5
FIRST_BACKOFF = 0.5
SHORTEST_WAIT = 0.2
"""Shortest wait, so that a server that always says "later" is given up at last."""
PAGES_LIMIT = 1000
ERRORS = {404: Absent, 410: Absent, 422: Invalid}
"""Errors that a caller may handle, by the status of the response."""


def sleep(seconds: float) -> bool:
    """Wait without a way to be stopped."""
    time.sleep(seconds)
    return False


def backoff(retries: int) -> float:
    """Return the seconds to wait after so many retries: twice as long each time."""
    longer: float = FIRST_BACKOFF * 2**retries
    return longer * random.uniform(0.8, 1.2)


class Client:
    """A client for one repository of a server; it sends one request at a time."""

    def __init__(
        self,
        repository: ForgeRepository,
        server: Server,
        token: Token | None,
        announce: Announce,
        pause: Callable[[float], bool] = sleep,
    ) -> None:
        self.repository = repository
        """The one that is asked about."""
        self._server = server
        self._token = token
        self._announce = announce
        self.pause = pause
        """Waits, and tells whether it was stopped because the run ends."""
        self._patience = PATIENCE
        self._http = Http(server, token)
        self.now = time.time()
        """Time of the last response, by the server's clock."""

    def get(self, path: str) -> Mapping[str, Any]:
        """Return the object at a path; every path is one below the repository."""
        data = self._ask("GET", path).data
        if not isinstance(data, dict):
            raise self._not_the_api()
        return data

    def list(self, path: str, **parameters: str) -> Iterator[Mapping[str, Any]]:
        """Yield the entries of a list, page by page."""
        asked: Mapping[str, str] = {**parameters, "per_page": str(PAGE)}
        for _ in range(PAGES_LIMIT):
            page = self._ask("GET", path, asked)
            if not isinstance(page.data, list):
                raise self._not_the_api()
            for entry in page.data:
                if isinstance(entry, dict):
                    yield entry
            following = next_page(page.headers)
            if following is None:
                return
            path = following
            # The address of the next page contains the parameters.
            asked = {}
        raise ForgeError(
            f"{self.repository}: more than {PAGES_LIMIT:,} pages of issues; name a label or"
            " a milestone"
        )

    def create(self, path: str, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """Create something; raise `Unclear` if it is unknown whether it was created."""
        data = self._ask("POST", path, content=content).data
        if not isinstance(data, dict):
            raise Unclear("GitHub's answer cannot be read")
        return data

    def _ask(
        self,
        verb: str,
        path: str,
        parameters: Mapping[str, str] | None = None,
        content: Mapping[str, Any] | None = None,
    ) -> Done:
        faults = 0
        while True:
            match self._send(verb, path, parameters, content):
                case Done() as done:
                    return done
                case RetryLater(delay=delay, why=why):
                    self._wait(delay, why)
                case TemporaryFailure(why=why):
                    faults += 1
                    if verb != "GET":
                        raise Unclear(
                            f"the answer of {self._server.host} did not arrive ({why})"
                        )
                    if faults >= ATTEMPTS:
                        raise Unavailable(
                            f"{self._server.host} cannot be reached ({why}), {faults}"
                            " times; run again"
                        )
                    self._wait(backoff(faults - 1), "")
                case Refused(status=status, words=words):
                    raise self._explain(verb, path, status, words)

    def _send(
        self,
        verb: str,
        path: str,
        parameters: Mapping[str, str] | None,
        content: Mapping[str, Any] | None,
    ) -> Answer:
        if "://" not in path:
            path = f"/repos/{self.repository}{path}"
        try:
            response = self._http.send(verb, path, parameters or {}, content)
        except NoResponse as error:
            return TemporaryFailure(str(error))
        self.now = server_time(response.headers) or time.time()
        answer = read_answer(
            response.status, response.headers, response.body, time.time()
        )
        if isinstance(answer, Refused) and answer.status == 0 and verb != "GET":
            return TemporaryFailure(answer.words)
        return answer

    def _wait(self, delay: float, why: str) -> None:
        """Wait, or raise `Unavailable` if the run would wait longer than `PATIENCE` in
        all.
        """
        delay = max(delay, SHORTEST_WAIT)
        if delay > self._patience:
            end = datetime.fromtimestamp(time.time() + delay, UTC)
            message = why or "GitHub fails again and again"
            message += f": run again after {end:%H:%M UTC}"
            if self._token is None:
                message += "; with a token in GITHUB_TOKEN the limits are far higher"
            raise Unavailable(message)
        self._patience -= delay
        if why:
            self._announce(f"{why}: continuing in {describe_seconds(delay)}")
        if self.pause(delay):
            raise Unavailable("stopped")

    def _explain(self, verb: str, path: str, status: int, words: str) -> ForgeError:
        repository = self.repository
        kind = ERRORS.get(status, ForgeError)
        said = f" ({words})" if words else ""
        host = self._server.host
        origin = self._token.origin if self._token else ""
        match status:
            case 0:
                return self._not_the_api()
            case 401 if not origin:
                message = f"{host} wants a token: set GITHUB_TOKEN"
            case 401:
                message = (
                    f"{host} refuses the token of {origin}: it is wrong, expired or"
                    " revoked; renew it"
                )
            case 403:
                right = "read" if verb == "GET" else "write"
                message = (
                    f"{repository}: {host} does not allow that{said}; the token needs"
                    f" to {right} {_subject_of(path)} there"
                )
            case 404 if not origin:
                message = (
                    f"{repository}: not found on {host}: misspelled, or private; for that"
                    " set GITHUB_TOKEN"
                )
            case 404:
                hidden = f"private and out of reach for the token of {origin}"
                message = f"{repository}: not found on {host}: misspelled, or {hidden}"
            case 410:
                message = f"{repository}: issues are switched off there{said}"
            case _:
                message = (
                    f"{repository}: {host} refuses the request with status"
                    f" {status}{said}"
                )
        return kind(message)

    def _not_the_api(self) -> ForgeError:
        return ForgeError(
            f"{self._server.api} answered something that is not GitHub's API; check"
            f" {VARIABLE}"
        )


def _subject_of(path: str) -> str:
    """Return what a token must be allowed to read or write for a path."""
    if "/pulls" in path:
        return "pull requests"
    if "/git/" in path:
        return "contents"
    return "issues"
