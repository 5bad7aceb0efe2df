"""The client waits as it is told, tries again where that may help, and says what is
wrong where not.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from agentos.errors import UsageError
from agentos.repository.forge import (
    ForgeError,
    ForgeRepository,
    Unavailable,
    Unclear,
)
from agentos.repository.forge.github.address import Server
from agentos.repository.forge.github.client import ATTEMPTS, PATIENCE
from agentos.repository.forge.github.forge import GitHub
from agentos.repository.forge.github.token import Token
from tests.forge import Cut, Expire, Hub, Limit, Slow, Status, serve
from tests.forge.hub import TOKEN

SHOP = ForgeRepository("github", "acme/shop")
ISSUES = "/issues"


@dataclass
class Desk:
    """A client that does not really wait, and what it said and waited."""

    hub: Hub
    said: list[str] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)
    token: str = TOKEN
    repository: ForgeRepository = SHOP

    def __post_init__(self) -> None:
        token = Token(self.token, "GITHUB_TOKEN") if self.token else None
        server = Server(self.hub.url, "127.0.0.1")
        self.client = GitHub(
            self.repository, server, token, self.said.append, self._pause
        )

    def _pause(self, seconds: float) -> bool:
        self.waited.append(seconds)
        self.hub.resting_until = 0.0
        return False

    def numbers(self) -> list[int]:
        """List everything."""
        return [
            issue["number"]
            for issue in self.client.list(ISSUES, state="all", direction="asc")
        ]


@pytest.fixture
def hub() -> Iterator[Hub]:
    """A GitHub with 250 issues."""
    with serve() as hub:
        repo = hub.repo("acme/shop")
        for number in range(250):
            repo.add(f"Issue {number}")
        yield hub


def test_all_pages_are_read_in_as_few_requests_as_there_are_pages(hub: Hub) -> None:
    assert Desk(hub).numbers() == list(range(1, 251))
    assert len(hub.seen) == 3
    assert {seen.token for seen in hub.seen} == {TOKEN}


def test_a_fault_in_between_is_tried_again_with_growing_pauses_and_nothing_is_lost(
    hub: Hub,
) -> None:
    hub.fault(Status(lambda seen: seen.query.get("page") == "2", times=2, status=502))
    hub.fault(Cut(lambda seen: seen.query.get("page") == "3"))
    desk = Desk(hub)
    assert desk.numbers() == list(range(1, 251))
    assert len(desk.waited) == 3
    assert desk.waited[1] > desk.waited[0]
    assert desk.said == []


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_fault_that_stays_ends_the_conversation_after_a_few_attempts(
    hub: Hub, status: int
) -> None:
    hub.fault(Status(lambda seen: True, times=99, status=status))
    with pytest.raises(Unavailable, match=str(status)):
        Desk(hub).numbers()
    assert len(hub.seen) == ATTEMPTS


def test_a_server_that_is_not_there_is_named(hub: Hub) -> None:
    desk = Desk(Hub(url="http://127.0.0.1:1"))
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1 cannot be reached"):
        desk.numbers()


@pytest.mark.parametrize("status", [403, 429])
def test_a_secondary_limit_is_waited_for_as_long_as_it_says_with_one_line(
    hub: Hub, status: int
) -> None:
    hub.fault(Limit(lambda seen: seen.index == 1, status=status, retry_after=7))
    desk = Desk(hub)
    assert desk.numbers() == list(range(1, 251))
    assert desk.waited == [7.0]
    assert desk.said == ["GitHub asks for a pause: continuing in 7.0 s"]


def test_a_secondary_limit_that_names_no_time_is_given_a_minute(hub: Hub) -> None:
    hub.fault(Limit(lambda seen: seen.index == 0, retry_after=None))
    desk = Desk(hub)
    assert desk.numbers()
    assert desk.waited == [60.0]


def test_a_primary_limit_is_waited_for_until_its_reset(hub: Hub) -> None:
    hub.remaining, hub.reset = 1, time.time() + 40
    desk = Desk(hub)

    def pause(seconds: float) -> bool:
        desk.waited.append(seconds)
        hub.reset = 0.0
        return False

    desk.client.pause = pause
    assert desk.numbers() == list(range(1, 251))
    (waited,) = desk.waited
    assert 35 < waited < 45
    assert "GitHub's rate limit is reached" in desk.said[0]


def test_patience_has_an_end_and_the_error_says_when_to_come_back(hub: Hub) -> None:
    hub.fault(Limit(lambda seen: True, times=99, retry_after=400))
    desk = Desk(hub)
    with pytest.raises(Unavailable, match=r"run again after \d\d:\d\d UTC"):
        desk.numbers()
    assert sum(desk.waited) <= PATIENCE


def test_a_server_that_says_later_without_end_and_without_time_is_given_up(
    hub: Hub,
) -> None:
    hub.fault(Limit(lambda seen: True, times=10_000_000, retry_after=0))
    desk = Desk(hub)
    desk.client._patience = 5.0
    with pytest.raises(Unavailable):
        desk.numbers()
    assert len(hub.seen) < 100


def test_a_pause_that_is_cut_short_ends_the_conversation(hub: Hub) -> None:
    hub.fault(Limit(lambda seen: True))
    desk = Desk(hub)
    desk.client.pause = lambda seconds: True
    with pytest.raises(Unavailable, match="stopped"):
        desk.numbers()


def test_a_token_that_expires_between_two_pages_is_one_clear_error_that_does_not_tell_it(
    hub: Hub,
) -> None:
    hub.fault(Expire(lambda seen: seen.index == 1))
    with pytest.raises(
        ForgeError,
        match="refuses the token of GITHUB_TOKEN: it is wrong, expired or revoked",
    ) as told:
        Desk(hub).numbers()
    assert TOKEN not in str(told.value)
    assert not isinstance(told.value, Unavailable)
    assert len(hub.seen) == 2


@pytest.mark.parametrize(
    ("token", "words"),
    [("", "for that set GITHUB_TOKEN"), (TOKEN, "out of reach for the token")],
)
def test_a_repository_that_is_not_found_is_misspelled_or_private(
    hub: Hub, token: str, words: str
) -> None:
    shup = ForgeRepository("github", "acme/shup")
    client = Desk(hub, token=token, repository=shup).client
    with pytest.raises(ForgeError, match="acme/shup: not found on") as told:
        client.describe()
    assert words in str(told.value)


def test_a_private_repository_is_found_with_a_token_only(hub: Hub) -> None:
    hub.repo("acme/vault", is_private=True)
    vault = ForgeRepository("github", "acme/vault")
    assert Desk(hub, repository=vault).client.describe().has_issues
    with pytest.raises(ForgeError, match="not found"):
        Desk(hub, token="", repository=vault).client.describe()


def test_a_renamed_repository_is_used_under_its_new_name(hub: Hub) -> None:
    hub.moved["acme/store"] = "acme/shop"
    store = Desk(hub, repository=ForgeRepository("github", "acme/store")).client
    store.describe()
    assert store.repository == SHOP


@pytest.mark.parametrize(
    "fault",
    [
        Status(lambda seen: True),
        Cut(lambda seen: True),
        Cut(lambda seen: True, 1, 0, True),
    ],
)
def test_a_request_that_changes_something_is_not_sent_again_when_its_answer_is_lost(
    hub: Hub, fault: Status | Cut
) -> None:
    fault.struck = 0
    hub.fault(fault)
    with pytest.raises(Unclear):
        Desk(hub).client.create(ISSUES, {"title": "New"})
    assert hub.count("POST") == 1


def test_a_request_that_changes_something_is_sent_again_after_a_limit(hub: Hub) -> None:
    hub.fault(Limit(lambda seen: True, retry_after=3))
    desk = Desk(hub)
    assert desk.client.create(ISSUES, {"title": "New"})["number"] == 251
    assert desk.waited == [3.0]
    assert len(hub.repos["acme/shop"].issues) == 251


def test_a_request_that_is_not_valid_is_refused_with_the_details(hub: Hub) -> None:
    with pytest.raises(
        ForgeError, match=r"status 422 \(Validation Failed; title: missing_field\)"
    ):
        Desk(hub).client.create(ISSUES, {"title": ""})


def test_a_slow_answer_is_waited_for(hub: Hub) -> None:
    hub.fault(Slow(lambda seen: True, seconds=0.3))
    assert len(Desk(hub).numbers()) == 250


def test_the_clock_is_that_of_the_server(hub: Hub) -> None:
    desk = Desk(hub)
    desk.client.now = 0.0
    desk.client.describe()
    assert abs(desk.client.now - time.time()) < 60


def test_nothing_of_the_environment_overrides_the_token(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    netrc = f"{tmp_path}/netrc"
    with open(netrc, "w", encoding="utf-8") as file:
        file.write("machine 127.0.0.1 login somebody password else\n")
    monkeypatch.setenv("NETRC", netrc)
    Desk(hub).client.describe()
    assert hub.seen[0].token == TOKEN


def test_an_answer_of_something_else_is_told_as_such(hub: Hub) -> None:
    hub.fault(Status(lambda seen: True, status=200))
    with pytest.raises(UsageError, match="not GitHub's API; check GITHUB_API_URL"):
        Desk(hub).numbers()
