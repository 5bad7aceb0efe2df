"""Designs drafted and reviewed by the genuine claude command, in each version that
there is.
"""

from __future__ import annotations

import pytest

from tests.commands.asking import PRICES, key, status_of, summary_of, write_keys
from tests.scenario import Serving, serve
from tests.support import NO_CLAUDE, World, find_claudes

CLAUDES = find_claudes()
COMMAND = (
    "lld-workflow",
    "--all",
    "--parallel",
    "2",
    "--drafter",
    "claude-cli",
    "--reviewer",
    "claude-cli:sonnet",
)
SLOWEST = 240.0
"""Seconds; the command takes seconds of computing for each call."""


@pytest.fixture(
    params=CLAUDES or [""],
    ids=lambda path: path and f"claude-{CLAUDES.index(path) + 1}",
)
def claude(request: pytest.FixtureRequest) -> str:
    """Each genuine command."""
    if not request.param:
        pytest.skip(NO_CLAUDE)
    return str(request.param)


def write_designs(world: World, *more: str, **environ: str) -> None:
    with world.start(*COMMAND, *more, environ=environ) as running:
        running.ends_within(SLOWEST)
        ended = running.finish()
    assert ended.code == 0, ended.text
    assert "Traceback" not in ended.text
    assert set(status_of(world).values()) == {("approved", None)}


def assert_each_call_was_one_request(world: World, server: Serving) -> None:
    calls = server.ledger.calls()
    assert sorted((call.item, call.purpose) for call in calls) == [
        (item, purpose)
        for item in ("1", "2", "3")
        for purpose in ("lld.draft", "lld.review")
    ]
    assert {call.status for call in calls} == {200}
    assert not any(call.has_left for call in calls)
    assert summary_of(world.run_folders[-1])["calls"]["answered"] == len(calls)


def test_a_draft_and_a_review_are_one_request_each_and_cost_what_the_server_bills(
    world: World, claude: str
) -> None:
    with serve(PRICES) as server:
        write_keys(world, key("claude-cli", server.url))
        write_designs(
            world, "--price", "claude-cli:*=3/15", AGENTOS_CLAUDE_COMMAND=claude
        )
        assert_each_call_was_one_request(world, server)
        assert summary_of(world.run_folders[-1])["cost"] == pytest.approx(
            server.ledger.bill(), abs=1e-9
        )


def test_a_token_and_an_address_of_the_users_own_need_no_key_and_no_price(
    world: World, claude: str
) -> None:
    with serve({**PRICES, "key": [{"secret": "the-users-own-token"}]}) as server:
        own = {
            "ANTHROPIC_BASE_URL": server.url,
            "ANTHROPIC_AUTH_TOKEN": "the-users-own-token",
        }
        write_designs(world, AGENTOS_CLAUDE_COMMAND=claude, **own)
        assert_each_call_was_one_request(world, server)
        assert summary_of(world.run_folders[-1])["cost"] == 0
