"""All keys run out in mid-run: everything pauses, says until when, and goes on; nothing
fails and no retry is spent.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from agentos.state.redaction import fingerprint
from tests.commands.asking import (
    CONTINUING_AT,
    PAUSED,
    PRICES,
    command,
    events_of,
    key,
    lines_with,
    status_of,
    summary_of,
    write_keys,
)
from tests.scenario import Serving, serve
from tests.support import SIGINT, Finished, World, ended_by, wait_gone

FIRST, SECOND, THIRD = "sk-first-0000001", "sk-second-000001", "sk-third-0000001"
FOREVER = {"kind": "rate-limit", "after": 3, "delay": 900.0}


def limited(*secrets: str, **fault: Any) -> list[dict[str, Any]]:
    """Return one fault for each key."""
    return [{**fault, "key": secret} for secret in secrets]


def give_keys(
    world: World, server: Serving, *secrets: str, provider: str = "openai", **more: Any
) -> None:
    """Put keys of as many groups into the key file."""
    write_keys(
        world, *(key(provider, server.url, secret, **more) for secret in secrets)
    )


def assert_nothing_was_lost(folder: Path, ended: Finished, items: int = 5) -> None:
    """See that every item was approved at its first try, and that no call was
    retried.
    """
    assert ended.code == 0, ended.text
    assert f"{items} approved" in ended.stdout
    assert "FAILED" not in ended.text
    assert "Traceback" not in ended.text
    assert [item["attempts"] for item in summary_of(folder)["items"]] == [1] * items
    assert list(events_of(folder, "retry")) == []
    calls = list(events_of(folder, "call"))
    assert calls
    assert all(call["retries"] == 0 and "failure" not in call for call in calls)


def times_of(lines: Sequence[str], pattern: str) -> int:
    """Return how many lines a pattern is found in."""
    return sum(bool(re.search(pattern, line)) for line in lines)


def test_all_pause_with_the_time_and_go_on_by_themselves_at_the_reset(
    make_world: Callable[..., World],
) -> None:
    world = make_world(issues=5)
    faults = limited(FIRST, SECOND, kind="rate-limit", after=2, lasts=3.0)
    with serve({**PRICES, "fault": faults}) as server:
        give_keys(world, server, FIRST, SECOND)
        ended = world.run(*command("openai"))
        said = ended.stderr.splitlines()
        assert_nothing_was_lost(world.run_folders[-1], ended)
        assert times_of(said, PAUSED) == 1
        assert times_of(said, CONTINUING_AT) == 1
        assert (
            times_of(said, r"^\[COORDINATOR\] openai can be asked again; continuing$")
            == 1
        )
        refused = [call for call in server.ledger.calls() if not call.is_admitted]
        assert {call.key for call in refused} == {
            fingerprint("openai", secret) for secret in (FIRST, SECOND)
        }
        # Nobody asked while it was told to wait: at most those calls that were under
        # way with the refused one.
        assert len(refused) <= 5
        assert server.ledger.repeated() == {}
        waited = max(
            call["waited_for_key"] for call in events_of(world.run_folders[-1], "call")
        )
        assert waited > 1.0


def test_a_daily_quota_pauses_all_until_a_key_is_added_and_a_broken_edit_is_told(
    make_world: Callable[..., World],
) -> None:
    world = make_world(issues=5)
    with serve(
        {**PRICES, "fault": limited(FIRST, SECOND, kind="daily-quota", after=2)}
    ) as server:
        give_keys(world, server, FIRST, SECOND, provider="gemini")
        with world.start(*command("gemini")) as running:
            running.wait_for(PAUSED)
            running.wait_for(CONTINUING_AT)
            write_keys(world, text='[[key]]\nprovider = "gemini\n')
            running.wait_for(
                r"^\[COORDINATOR\] the edited key file is not used: keys\.toml: is not valid TOML at line 2"
            )
            give_keys(world, server, FIRST, SECOND, THIRD, provider="gemini")
            running.wait_for(r"^\[COORDINATOR\] 1 new key found; continuing$")
            ended = running.finish()
        assert_nothing_was_lost(world.run_folders[-1], ended)
        assert len(lines_with(ended.stderr, "the edited key file is not used")) == 1
        assert len(lines_with(ended.stderr, "Credential pool exhausted")) == 1
        assert re.search(
            r"its quota is used up; continuing at \d\d:\d\d:\d\d UTC, in \d+ h",
            ended.stderr,
        ), ended.stderr
        assert {call["key"] for call in events_of(world.run_folders[-1], "call")} == {
            fingerprint("gemini", secret) for secret in (FIRST, SECOND, THIRD)
        }
        told = world.run("agentos", "keys", "list").stdout
        assert len(lines_with(told, "exhausted until")) == 2
        assert len(lines_with(told, "ready")) == 1


def test_a_pause_outlives_its_run_and_ctrl_c_ends_it_at_once(
    make_world: Callable[..., World],
) -> None:
    world, other, third = (
        make_world(issues=count, name=f"repo-{count}") for count in (5, 7, 8)
    )
    for repository, first in ((other, 6), (third, 8)):
        for number in range(1, first):
            (repository.repo / f"docs/issues/{number}-export.md").unlink()
    with serve({**PRICES, "fault": [{**FOREVER, "key": FIRST}]}) as server:
        give_keys(world, server, FIRST)
        with world.start(*command("openai")) as running:
            running.wait_for(CONTINUING_AT)
            everyone = running.descendants()
            asked = time.monotonic()
            running.signal(SIGINT)
            ended = running.finish()
        assert time.monotonic() - asked < 5
        assert ended_by(ended.code, SIGINT), ended.text
        assert "FAILED" not in ended.text
        assert "Traceback" not in ended.text
        assert wait_gone(everyone, 5.0) == []
        assert {status for status, _ in status_of(world).values()} <= {
            "interrupted",
            "pending",
            "approved",
        }

        seen = len(server.ledger.calls())
        with (
            other.start(*command("openai")) as second,
            world.start(*command("openai")) as again,
        ):
            for paused in (second, again):
                paused.wait_for(PAUSED)
                paused.wait_for(CONTINUING_AT)
            assert len(server.ledger.calls()) == seen
            # One that has a key of its own does not stand in line behind those that
            # have none.
            fresh = {"OPENAI_API_KEY": THIRD, "OPENAI_BASE_URL": f"{server.url}/v1"}
            lucky = third.run(*command("openai"), environ=fresh)
            assert_nothing_was_lost(third.run_folders[-1], lucky, items=1)
            assert "exhausted" not in lucky.stderr
            give_keys(world, server, FIRST, SECOND)
            ends = second.finish(), again.finish()
        for one in ends:
            assert one.code == 0, one.text
            assert len(lines_with(one.stderr, "1 new key found; continuing")) == 1
            assert "FAILED" not in one.text
        assert (
            set(status_of(world).values())
            == set(status_of(other).values())
            == {("approved", None)}
        )
        assert server.ledger.repeated() == {}
        for folder in world.run_folders:
            assert list(events_of(folder, "retry")) == []


def test_fewer_workflows_run_below_two_usable_groups_and_all_again_after(
    make_world: Callable[..., World],
) -> None:
    world = make_world(issues=12)
    fault = {"kind": "rate-limit", "key": FIRST, "at": [1], "delay": 3.0}
    with serve({**PRICES, "latency": 0.5, "fault": [fault]}) as server:
        give_keys(world, server, FIRST, SECOND, max_parallel=2)
        ended = world.run(*command("openai", parallel=10))
    assert_nothing_was_lost(world.run_folders[-1], ended, items=12)
    said = ended.stderr.splitlines()
    reduced = r"^\[COORDINATOR\] openai: fewer than 2 usable quota groups, so \d workflows? at a time for now$"
    restored = r"^\[COORDINATOR\] openai: 2 or more quota groups are usable again; back to full parallelism$"
    assert times_of(said, reduced) == times_of(said, restored) == 1
    assert [
        re.search(reduced, line) is not None
        for line in said
        if re.search(f"{reduced}|{restored}", line)
    ] == [
        True,
        False,
    ]
    assert times_of(said, PAUSED) == 0
