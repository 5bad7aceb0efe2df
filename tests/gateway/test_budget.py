"""A cap is never broken: not by many calls, not by many processes, not by kills."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.errors import FailureCause
from agentos.gateway.budget import Caps, OverBudget, Scope, Spending, admit
from agentos.gateway.journal import request_key
from agentos.gateway.journal.memory import MemoryJournal
from agentos.gateway.journal.sqlite import SqliteJournal
from agentos.gateway.providers import Completion, Request, ask_once
from agentos.money import Cost

ROOT = Path(__file__).resolve().parents[2]
REQUEST = Request(
    "r", "lld", "7", "n", 1, 1, "lld.draft", "openai:m", ask_once("p"), {}
)
KEY = request_key(REQUEST)
amounts = st.integers(0, 1_000)
maybe = st.none() | amounts

SPENDER = """
import random, sys
from dataclasses import replace
from pathlib import Path
from agentos.gateway.budget import Caps, OverBudget
from agentos.gateway.journal import request_key
from agentos.gateway.journal.sqlite import SqliteJournal
from agentos.money import Cost
from agentos.gateway.providers import Completion, Request, ask_once
path, number, cap = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
chance = random.Random(number)
journal, reader = SqliteJournal(path, "run"), SqliteJournal.reader(path)
caps = Caps(per_run=cap)
print("ready", flush=True)
sys.stdin.readline()
admitted, held = 0, []
for round in range(100):
    request = Request("r", "lld", str(number), "n", round, 1, "lld.draft", "openai:m", ask_once("p"), {})
    try:
        held.append(journal.begin(request_key(request), request, 100, caps).call_id)
        admitted += 1
    except OverBudget:
        pass
    assert reader.spent("run").most <= cap
    if held and chance.random() < 0.6:
        journal.settle(held.pop(0), Completion("a", "m"), Cost.exactly(chance.randrange(4)), 0.1)
    elif held and chance.random() < 0.2:
        journal.abandon(held.pop(0), "refused", Cost())
    assert reader.spent("run").most <= cap
print(admitted)
"""


@given(
    maybe,
    maybe,
    maybe,
    amounts,
    st.tuples(amounts, amounts, amounts),
    st.tuples(amounts, amounts, amounts),
)
def test_a_call_is_admitted_exactly_when_every_cap_leaves_room(
    run: int | None,
    item: int | None,
    day: int | None,
    wanted: int,
    ended: tuple[int, ...],
    waiting: tuple[int, ...],
) -> None:
    spent = {
        scope: done + held
        for scope, done, held in zip(Scope, ended, waiting, strict=True)
    }
    held = dict(zip(Scope, waiting, strict=True))
    refusal = admit(
        Caps(run, item, day),
        wanted,
        lambda scope: Spending(Cost(0, spent[scope]), held[scope]),
    )
    caps = [
        (scope, cap)
        for scope, cap in zip(Scope, (run, item, day), strict=True)
        if cap is not None
    ]
    fits = all(spent[scope] + wanted <= cap for scope, cap in caps)
    assert (refusal is None) == (fits or wanted == 0)
    if refusal is not None:
        assert refusal.cause is FailureCause.BUDGET
        assert refusal.may_fit_later == all(
            spent[scope] - held[scope] + wanted <= cap for scope, cap in caps
        )


def test_without_caps_there_is_no_check() -> None:
    journal = MemoryJournal("run")
    for _ in range(3):
        journal.begin(KEY, REQUEST, 10**14)
    assert journal.spent().most == 3 * 10**14


def test_a_call_that_costs_nothing_is_always_admitted() -> None:
    journal = MemoryJournal("run")
    journal.settle(
        journal.begin(KEY, REQUEST, 5).call_id,
        Completion("a", "m"),
        Cost.exactly(500),
        0.1,
    )
    journal.begin(KEY, REQUEST, 0, Caps(per_run=100))


def test_the_line_says_which_cap_what_is_spent_what_it_could_cost_and_how_to_go_on() -> (
    None
):
    journal = MemoryJournal("run")
    journal.settle(
        journal.begin(KEY, REQUEST, 5).call_id,
        Completion("a", "m"),
        Cost.exactly(4_800_000),
        0.1,
    )
    with pytest.raises(OverBudget) as caught:
        journal.begin(KEY, REQUEST, 520_000, Caps(per_run=5_000_000))
    assert str(caught.value) == (
        "the cap of $5.00 for this run and the runs that it continues is reached: $4.80 is spent, this call could cost up "
        "to $0.52; run again with --max-cost 5.32 or more"
    )


def test_a_cap_that_waiting_cannot_help_is_named_first() -> None:
    def spending(scope: Scope) -> Spending:
        return Spending(Cost(0, 80), under_way=80 if scope is Scope.RUN else 0)

    refusal = admit(Caps(per_run=100, per_day=100), 60, spending)
    assert refusal is not None
    assert "for today" in str(refusal)
    assert refusal.remedy == ("--max-cost-per-day", "0.0002")
    assert not refusal.may_fit_later


def start_spender(path: Path, number: int, cap: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SPENDER, str(path), str(number), str(cap)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def release(children: list[subprocess.Popen[str]]) -> None:
    """Let all of them begin together."""
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()


@pytest.mark.slow
def test_ten_processes_never_spend_more_than_the_cap_together(tmp_path: Path) -> None:
    # Room for ten calls at their worst, so that the cap is what they all run into all
    # the time.
    path, cap = tmp_path / "journal.db", 1_050
    children = [start_spender(path, number, cap) for number in range(10)]
    release(children)
    reader = SqliteJournal.reader(path)
    assert reader is not None
    while any(child.poll() is None for child in children):
        assert reader.spent("run").most <= cap
    admitted = 0
    for child in children:
        said, trouble = child.communicate(timeout=60)
        assert (child.returncode, trouble) == (0, "")
        admitted += int(said)
    assert 0 < admitted < 1_000
    assert 0 < reader.spent("run").most <= cap
    reader.close()


def test_kills_in_the_middle_leave_their_reservations_counted(tmp_path: Path) -> None:
    path, cap = tmp_path / "journal.db", 2_000
    for generation in range(3):
        children = [
            start_spender(path, generation * 2 + number, cap) for number in range(2)
        ]
        release(children)
        reader = SqliteJournal.reader(path)
        assert reader is not None
        before = reader.spent("run").most
        enough = min(before + 200, cap - 200)
        while reader.spent("run").most <= enough and any(
            child.poll() is None for child in children
        ):
            pass
        for child in children:
            child.send_signal(signal.SIGKILL)
            child.communicate(timeout=60)
        assert reader.spent("run").most <= cap
        reader.close()
    journal = SqliteJournal(path, "run")
    assert 0 < journal.spent("run").most <= cap
    journal.close()


def test_the_line_names_what_may_have_been_billed_and_the_failure_before() -> None:
    journal = MemoryJournal("run")
    journal.abandon(
        journal.begin(KEY, REQUEST, 5).call_id,
        "openai: the connection was cut off",
        Cost(100_000, 4_000_000),
    )
    with pytest.raises(OverBudget) as caught:
        journal.begin(KEY, REQUEST, 2_000_000, Caps(per_day=5_000_000))
    said = str(caught.value)
    assert (
        "$0.10 is spent, up to $3.90 more may have been billed for 1 call without a whole answer"
        in said
    )
    assert "(the last: openai: the connection was cut off)" in said
    assert said.endswith(
        "wait until midnight UTC, or run again with --max-cost-per-day 6.00 or more"
    )
