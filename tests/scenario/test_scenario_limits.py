"""Limits are those of a group, hold exactly, and are told truthfully."""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scenario import ScriptError, load_script, serve
from tests.scenario.clients import FORMATS, Outcome, ask
from tests.scenario.formats.openai import _span
from tests.scenario.ledger import Entry, Ledger
from tests.scenario.limits import GroupLimits
from tests.scenario.script import Group, Script, change_script
from tests.support import wait_until

TWO_KEYS = [{"secret": "sk-1", "group": "g"}, {"secret": "sk-2", "group": "g"}]


@pytest.mark.parametrize("format", FORMATS)
def test_fifty_calls_at_once_by_two_keys_share_one_limit_exactly(format: str) -> None:
    script = {
        "key": TWO_KEYS,
        "group": [{"name": "g", "requests_per_window": 17}],
        "latency": 0.05,
    }
    with serve(script) as server, ThreadPoolExecutor(50) as pool:
        asked = [
            pool.submit(ask, format, server.url, f"{n}", key=f"sk-{1 + n % 2}")
            for n in range(50)
        ]
        statuses = [future.result().status or 0 for future in asked]
        assert sorted(statuses) == [200] * 17 + [429] * 33
        peak = server.ledger.most_in_window("g")
        assert (peak.requests, peak.offered) == (17, 50)
        assert server.ledger.rejected_share() == pytest.approx(33 / 50)
        assert not server.ledger.repeated()


def test_tokens_are_counted_at_arrival_and_answers_when_they_are_done() -> None:
    script = {
        "key": TWO_KEYS,
        "group": [{"name": "g", "tokens_per_window": 1000}],
        "answer": [{"text": "y" * 400}],
    }
    with serve(script) as server:
        first = ask("openai", server.url, "x" * 2000, key="sk-1")
        assert first.headers is not None
        assert first.headers["x-ratelimit-remaining-tokens"] == "500"
        second = ask("openai", server.url, "x" * 1604, key="sk-2")
        assert (second.status, second.body["type"]) == (429, "tokens")
        assert "Limit 1000, Used 600, Requested 401" in second.body["message"]
        assert ask("openai", server.url, "x" * 1600, key="sk-2").status == 200
        assert server.ledger.most_in_window("g").tokens == 1100


def told_delay(format: str, outcome: Outcome) -> float:
    """Return the seconds that a provider's refusal asks to wait."""
    if format == "gemini":
        (told,) = (
            detail["retryDelay"]
            for detail in outcome.body["error"]["details"]
            if "retryDelay" in detail
        )
        return float(told.removesuffix("s"))
    assert outcome.headers is not None
    if format == "openai":
        return float(outcome.headers["retry-after-ms"]) / 1000
    return float(outcome.headers["retry-after"])


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_whoever_waits_as_long_as_told_is_admitted(format: str) -> None:
    script = {"window": 2.0, "group": [{"name": "g", "requests_per_window": 2}]}
    with serve(script) as server, ThreadPoolExecutor(6) as pool:
        refused: list[Outcome] = []
        while not refused:
            outcomes = list(
                pool.map(lambda number: ask(format, server.url, str(number)), range(6))
            )
            refused = [outcome for outcome in outcomes if outcome.status == 429]
        # The promise is about time, so that time has to pass.
        time.sleep(max(told_delay(format, outcome) for outcome in refused))
        assert ask(format, server.url).status == 200
        assert server.ledger.most_in_window("g").requests <= 2


@pytest.mark.parametrize("format", FORMATS)
def test_a_daily_quota_is_told_as_one(format: str) -> None:
    with serve({"group": [{"name": "g", "requests_per_day": 1}]}) as server:
        assert ask(format, server.url).status == 200
        refused = ask(format, server.url)
        assert refused.status == 429
        assert "day" in str(refused.body).casefold()
        delay = server.ledger.calls()[-1].delay
        assert delay is not None
        assert 86_000 < delay <= 86_400


def test_a_spend_cap_stops_a_group_once_it_is_reached() -> None:
    script = {
        "price_output": 1_000_000.0,
        "group": [{"name": "g", "spend_cap": 20.0}],
        "answer": [{"text": "y" * 40}],
    }
    with serve(script) as server:
        statuses = [ask("anthropic", server.url).status for _ in range(4)]
        assert statuses == [200, 200, 429, 429]
        assert server.ledger.bill() == pytest.approx(20.0)


def test_more_calls_at_once_than_allowed_are_refused() -> None:
    script: dict[str, Any] = {
        "group": [{"name": "g", "max_parallel": 3}],
        "fault": [{"kind": "silence"}],
    }
    with serve(script) as server, ThreadPoolExecutor(10) as pool:
        asked = [
            pool.submit(ask, "openai", server.url, str(number)) for number in range(10)
        ]
        wait_until(
            lambda: sum(not future.done() for future in asked) == 3,
            "all but three are refused",
        )
        server.change(fault=[])
        assert (
            sorted(future.result().status or 0 for future in asked)
            == [200] * 3 + [429] * 7
        )
        assert server.ledger.most_in_window("g").at_once == 3


@pytest.mark.parametrize("format", ["anthropic", "openai"])
def test_every_answer_tells_what_is_left(format: str) -> None:
    group = {"name": "g", "requests_per_window": 2, "tokens_per_window": 10_000}
    names = {
        "anthropic": (
            "anthropic-ratelimit-requests-remaining",
            "anthropic-ratelimit-tokens-limit",
        ),
        "openai": ("x-ratelimit-remaining-requests", "x-ratelimit-limit-tokens"),
    }[format]
    with serve({"group": [group]}) as server:
        seen = [ask(format, server.url).headers or {} for _ in range(3)]
    assert [[headers[name] for name in names] for headers in seen] == [
        ["1", "10000"],
        ["0", "10000"],
        ["0", "10000"],
    ]


def test_a_changed_script_keeps_what_was_used() -> None:
    with serve({"group": [{"name": "g", "requests_per_window": 1}]}) as server:
        assert [ask("gemini", server.url).status for _ in range(2)] == [200, 429]
        server.change(group=[{"name": "g", "requests_per_window": 2}])
        assert [ask("gemini", server.url).status for _ in range(2)] == [200, 429]


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(0, 3), st.integers(0, 40), st.integers(0, 40)), max_size=60
    ),
    st.integers(1, 5),
    st.integers(1, 100),
)
def test_no_window_holds_more_than_the_limit_and_every_delay_is_true(
    calls: list[tuple[float, int, int]], requests: int, tokens: int
) -> None:
    group, script = (
        Group("g", requests_per_window=requests, tokens_per_window=tokens),
        Script(window=2.0),
    )
    limits, ledger, now = GroupLimits(0.0), Ledger(2.0), 0.0
    for number, (pause, read, written) in enumerate(calls):
        now += pause
        refusal = limits.admit(group, script, read, now)
        ledger.add(
            Entry(
                str(number),
                now,
                now,
                "",
                "g",
                "",
                "",
                "",
                "",
                "",
                refusal is None,
                read,
            )
        )
        if refusal is None:
            limits.settle(written, 0.0, now)
            ledger.finish(str(number), output_tokens=written, done_clock=now)
        elif read <= tokens:
            assert refusal.delay is not None
            assert 0 < refusal.delay <= script.window + 1e-6
            now += math.ceil(refusal.delay * 1000 + 1) / 1000
            assert limits.admit(group, script, read, now) is None
            ledger.add(
                Entry(f"{number}b", now, now, "", "g", "", "", "", "", "", True, read)
            )
    peak = ledger.most_in_window("g")
    assert peak.requests <= requests
    assert peak.tokens <= tokens + 40


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ({"widow": 1}, "unknown entry 'widow'"),
        ({"window": 0}, "more than 0"),
        ({"window": "long"}, "must be a number"),
        ({"group": {"name": "g"}}, r"write \[\[group\]\]"),
        ({"group": [{}]}, "group 1: missing 1 required positional argument: 'name'"),
        ({"group": [{"name": "g"}, {"name": "g"}]}, "the same"),
        ({"key": [{"secret": "a", "state": "lost"}]}, "unknown state 'lost'"),
        (
            {"group": [{"name": "g"}], "key": [{"secret": "a", "group": "h"}]},
            "no group 'h'",
        ),
        ({"fault": [{"kind": "rate-limit", "after": 1, "rate": 0.5}]}, "only one of"),
        ({"fault": [{"kind": "rate-limit", "at": ["1"]}]}, "list of call numbers"),
        ({"fault": [{"kind": "rate-limit", "in_stream": 1}]}, "true or false"),
        ("window = ", "no TOML"),
    ],
)
def test_a_script_with_a_fault_is_refused_with_the_place(
    script: Any, complaint: str
) -> None:
    with pytest.raises(ScriptError, match=complaint):
        load_script(script)


def test_a_change_replaces_whole_entries_only() -> None:
    script = load_script(
        {"window": 2, "fault": [{"kind": "html"}], "group": [{"name": "g"}]}
    )
    changed = change_script(script, {"fault": []})
    assert (changed.window, changed.fault, changed.group) == (2.0, (), (Group("g"),))
    with pytest.raises(ScriptError):
        change_script(script, {"fault": [{"kind": "nothing"}]})


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.02, "20ms"),
        (13.694, "13.694s"),
        (1, "1s"),
        (360, "6m0s"),
        (3723.5, "1h2m3.5s"),
    ],
)
def test_openai_writes_times_as_it_does(seconds: float, text: str) -> None:
    assert _span(seconds) == text
