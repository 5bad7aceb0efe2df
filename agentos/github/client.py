"""Ask GitHub: the one place that waits for limits and tries again. The client library's own retries are off."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from agentos import __version__
from agentos.errors import UsageError
from agentos.github import GitHubError, Repository, Unavailable, Unclear, find_repository
from agentos.github.address import VARIABLE, Server
from agentos.github.answers import Answer, Done, Faulty, Later, Refused, next_page, read_answer, server_time
from agentos.github.token import Token
from agentos.wording import describe_seconds

if TYPE_CHECKING:
    from github.Requester import Requester

TIMEOUT = 30
PAGE = 100
PATIENCE = 900.0
"""Seconds that one run waits for GitHub in all."""
ATTEMPTS = 5
FIRST_BACKOFF = 0.5
SHORTEST_WAIT = 0.2
"""So that patience has an end also with a server that says "later" and asks for no time."""
PAGES_LIMIT = 1000


def sleep(seconds: float) -> bool:
    """Wait; nobody can cut this short."""
    time.sleep(seconds)
    return False


class Client:
    """A conversation with one GitHub, one request at a time."""

    def __init__(
        self,
        server: Server,
        token: Token | None,
        announce: Callable[[str], None],
        pause: Callable[[float], bool] = sleep,
        subject: str = "issues",
    ) -> None:
        self._server = server
        self._token = token
        self._announce = announce
        self._subject = subject
        self.pause = pause
        """Waits, and says whether that was cut short because the run ends."""
        self._patience = PATIENCE
        self._requester = _open_requester(server, token)
        self.now = time.time()
        """The moment of the last answer, by the server's clock."""

    def close(self) -> None:
        """Let go of the connection."""
        self._requester.close()

    def find_repository(self, wanted: Repository) -> tuple[Repository, Mapping[str, Any]]:
        """Return a repository under its present name, with what GitHub says about it."""
        data = self.get(wanted, wanted.path)
        if not isinstance(data, dict):
            raise self._not_the_api()
        # The library follows the redirect of a renamed one without its parameters, so the old name is used only here.
        return find_repository(str(data.get("full_name", ""))) or wanted, data

    def get(self, repository: Repository, path: str) -> Any:
        """Return what is at a path."""
        return self._ask(repository, "GET", path).data

    def list(self, repository: Repository, path: str, **parameters: str) -> Iterator[Mapping[str, Any]]:
        """Give the entries of a list, page by page."""
        asked: Mapping[str, str] = {**parameters, "per_page": str(PAGE)}
        for _ in range(PAGES_LIMIT):
            page = self._ask(repository, "GET", path, asked)
            if not isinstance(page.data, list):
                raise self._not_the_api()
            yield from (entry for entry in page.data if isinstance(entry, dict))
            # The next address has the parameters in it.
            following, asked = next_page(page.headers), {}
            if following is None:
                return
            path = following
        raise GitHubError(f"{repository}: more than {PAGES_LIMIT:,} pages of issues; name a label or a milestone")

    def create(self, repository: Repository, path: str, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """Have something created; raise `Unclear` when it is not known whether it was."""
        data = self._ask(repository, "POST", path, content=content).data
        if not isinstance(data, dict):
            raise Unclear("GitHub's answer cannot be read")
        return data

    def _ask(
        self,
        repository: Repository,
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
                case Later(delay=delay, why=why):
                    self._wait(delay, why)
                case Faulty(why=why):
                    faults += 1
                    if verb != "GET":
                        raise Unclear(f"the answer of {self._server.host} did not arrive ({why})")
                    if faults >= ATTEMPTS:
                        raise Unavailable(f"{self._server.host} cannot be reached ({why}), {faults} times; run again")
                    self._wait(FIRST_BACKOFF * 2 ** (faults - 1) * random.uniform(0.8, 1.2), "")
                case Refused(status=status, words=words):
                    raise self._explain(repository, verb, status, words)

    def _send(
        self, verb: str, path: str, parameters: Mapping[str, str] | None, content: Mapping[str, Any] | None
    ) -> Answer:
        import requests

        headers = {"Accept": "application/vnd.github+json"}
        try:
            status, received, body = self._requester.requestJson(
                verb, path, dict(parameters or {}), headers, None if content is None else dict(content)
            )
        except requests.exceptions.SSLError:
            raise GitHubError(f"{self._server.host}: its certificate cannot be verified; check {VARIABLE}") from None
        except (
            requests.exceptions.ConnectionError,
            requests.exceptions.Timeout,
            requests.exceptions.ChunkedEncodingError,
            requests.exceptions.ContentDecodingError,
        ) as error:
            return Faulty(type(error).__name__)
        except (requests.exceptions.RequestException, RuntimeError, RecursionError) as error:
            why = type(error).__name__
            raise GitHubError(f"{self._server.api}: cannot be asked ({why}); check {VARIABLE}") from None
        answered = {str(name).lower(): str(value) for name, value in received.items()}
        self.now = server_time(answered) or time.time()
        answer = read_answer(status, answered, body, time.time())
        if isinstance(answer, Refused) and answer.status == 0 and verb != "GET":
            return Faulty(answer.words)
        return answer

    def _wait(self, delay: float, why: str) -> None:
        """Wait as long as it takes, but not longer than there is patience for."""
        delay = max(delay, SHORTEST_WAIT)
        if delay > self._patience:
            moment = datetime.fromtimestamp(time.time() + delay, UTC).strftime("%H:%M UTC")
            hint = "" if self._token else "; with a token in GITHUB_TOKEN the limits are far higher"
            raise Unavailable(f"{why or 'GitHub fails again and again'}: run again after {moment}{hint}")
        self._patience -= delay
        if why:
            self._announce(f"{why}: going on in {describe_seconds(delay)}")
        if self.pause(delay):
            raise Unavailable("stopped")

    def _explain(self, repository: Repository, verb: str, status: int, words: str) -> GitHubError:
        said = f" ({words})" if words else ""
        host = self._server.host
        origin = self._token.origin if self._token else ""
        match status:
            case 0:
                return self._not_the_api()
            case 401 if not origin:
                message = f"{host} wants a token: set GITHUB_TOKEN"
            case 401:
                message = f"{host} refuses the token of {origin}: it is wrong, expired or revoked; renew it"
            case 403:
                right = f"{'read' if verb == 'GET' else 'write'} {self._subject}"
                message = f"{repository}: {host} does not allow that{said}; the token needs to {right} there"
            case 404 if not origin:
                message = f"{repository}: not found on {host}: misspelt, or private; for that set GITHUB_TOKEN"
            case 404:
                hidden = f"private and out of reach for the token of {origin}"
                message = f"{repository}: not found on {host}: misspelt, or {hidden}"
            case 410:
                message = f"{repository}: issues are switched off there{said}"
            case _:
                message = f"{repository}: {host} refuses the request with status {status}{said}"
        return GitHubError(message, status)

    def _not_the_api(self) -> GitHubError:
        return GitHubError(f"{self._server.api} answered something that is not GitHub's API; check {VARIABLE}")


def _open_requester(server: Server, token: Token | None) -> Requester:
    """Load the client library and return its HTTP side, with nothing tried again behind our back."""
    import logging

    try:
        from github import Auth, Github
    except ImportError as error:
        missing = error.name or "github"
        raise UsageError(
            f"GitHub needs a package that is not installed ({missing}): pip install 'agentos[github]'"
        ) from None
    # It would write to stderr by itself.
    logging.getLogger("github").setLevel(logging.CRITICAL)
    return Github(
        auth=Auth.Token(token.secret) if token else None,
        base_url=server.api,
        timeout=TIMEOUT,
        user_agent=f"agentos/{__version__}",
        per_page=PAGE,
        retry=None,
        seconds_between_requests=None,
        lazy=True,
    ).requester
