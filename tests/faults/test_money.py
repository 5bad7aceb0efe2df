"""Short versions of what could cost money, overrun a limit, or give a key away."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults import (
    billing,
    bills,
    canary,
    kill_in_conversation,
    kill_while_looking,
    purse,
    shared_keys,
)
from tests.faults.figures import find_misses
from tests.support import NO_CLAUDE, find_claudes


def test_only_calls_under_way_at_a_kill_are_asked_twice_and_the_summary_says_so(
    tmp_path: Path,
) -> None:
    figures = billing.measure(seed=1, count=2, folder=tmp_path, items=3)
    assert not figures.misses, figures.to_json()


def test_no_turn_of_a_conversation_that_was_answered_is_sent_again(
    tmp_path: Path,
) -> None:
    whole = kill_in_conversation.plain_talks()
    talks = [replace(talk, items=2, turns=5) for talk in whole]
    figures = kill_in_conversation.measure(1, len(talks), tmp_path, talks)
    assert not figures.misses, figures.to_json()


@pytest.mark.skipif(not find_claudes(), reason=NO_CLAUDE)
def test_no_turn_that_a_claude_command_answered_is_sent_again(tmp_path: Path) -> None:
    whole = kill_in_conversation.claude_talks()
    talks = [replace(talk, items=2, turns=3) for talk in whole]
    figures = kill_in_conversation.measure(1, len(talks), tmp_path, talks)
    assert not figures.misses, figures.to_json()


def test_the_bill_stays_below_the_cap_across_kills(tmp_path: Path) -> None:
    figures = purse.measure(seed=1, count=1, folder=tmp_path, items=10)
    assert not figures.misses, figures.to_json()


def test_what_is_said_to_be_spent_brackets_the_bill_however_requests_fail(
    tmp_path: Path,
) -> None:
    figures = bills.measure(seed=1, count=len(bills.WAYS), folder=tmp_path, items=2)
    assert not figures.misses, figures.to_json()


def test_two_commands_share_keys_within_every_limit(tmp_path: Path) -> None:
    figures = shared_keys.measure(seed=1, count=1, folder=tmp_path, items=7)
    assert not figures.misses, figures.to_json()


def test_no_key_is_lent_twice_or_lost_when_holders_are_killed() -> None:
    assert not find_misses("credentials", "--count", "200")


def test_a_canary_key_is_found_nowhere(tmp_path: Path) -> None:
    figures = canary.measure(seed=1, count=1, folder=tmp_path)
    assert not figures.misses, figures.to_json()


def test_kills_while_models_look_at_the_repository(tmp_path: Path) -> None:
    figures = kill_while_looking.measure(1, 3, tmp_path)
    assert not figures.misses, figures.to_json()
