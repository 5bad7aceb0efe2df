"""Lines that no test can reach are found again when the code around them changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentos.documents.changes import UnreachableLines
from agentos.documents.findings import Tier
from agentos.documents.ledger import Ledger, Said, record_review
from agentos.documents.verdict import Decision, EarlierFinding, EarlierState, Verdict
from agentos.proving.runners.runs import FileCoverage
from agentos.workflows.implementation.unreachable import (
    ACCEPTED,
    REFUSED,
    Claim,
    add_claims,
    as_data,
    ask_reviewer,
    claims_of,
    counted,
    find_missed,
    missed_in,
    read_claims,
    say_claims,
    say_refused,
    settle,
)
from tests.workflows.implementation.test_describing import Files
from tests.workflows.implementation.test_reports import make_state

CODE = "a = 1\nif b:\n    c()\n    d()\ne = 2\n    c()\n"
FILES = Files({"a.py": CODE}, {})
PROOF = Said("the proof", "2026-01-01")
CLAIM = Claim("a.py", 3, 4, "    c()\n    d()", "only on Windows")


def test_only_lines_that_no_test_runs_can_be_named() -> None:
    missing = {"a.py": FileCoverage((1, 2, 5), (3, 4))}
    state = make_state(missed=as_data(find_missed(missing, FILES)))
    named = [
        UnreachableLines("a.py", 1, 9999, "only on Windows"),
        UnreachableLines("a.py", 1, 2, "never"),
        UnreachableLines("b.py", 3, 4, "never"),
    ]
    claims, problems = read_claims(named, missed_in(state))
    assert claims == [CLAIM]
    assert [problem.rpartition(": ")[0] for problem in problems] == [
        "`unreachable:` names none of the lines that no test runs: a.py, lines 1-2",
        "`unreachable:` names none of the lines that no test runs: b.py, lines 3-4",
    ]
    assert read_claims(named, [])[0] == []


def test_the_same_lines_are_claimed_once() -> None:
    other = replace(CLAIM, reason="a race")
    assert add_claims([CLAIM], [other]) == [CLAIM]
    refused = replace(CLAIM, judged=REFUSED)
    assert add_claims([refused], [other]) == [refused, other]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (CODE, (3, 4)),
        (f"x = 0\n{CODE}", (4, 5)),
        (CODE.replace("a = 1\n", ""), (2, 3)),
        (CODE.replace("d()", "d(1)"), None),
        (f"x = 0\n{CODE}    c()\n    d()\n", None),
        ("", None),
    ],
)
def test_claims_follow_their_lines(text: str, lines: tuple[int, int] | None) -> None:
    found = counted([CLAIM], Files({"a.py": text}, {}))
    assert [(one.first, one.last) for one in found] == ([lines] if lines else [])


def judge(state: EarlierState) -> tuple[Claim, Ledger]:
    """Return the claim and the ledger after a review."""
    (asked,), ledger = ask_reviewer([CLAIM], Ledger(), FILES, PROOF)
    (entry,) = ledger.open
    assert (entry.id, entry.tier) == (asked.finding, Tier.BLOCKING)
    assert "a.py, lines 3-4" in entry.text
    assert "only on Windows" in entry.text
    earlier = (EarlierFinding(asked.finding, state, "c() is called by d"),)
    verdict = Verdict(Decision.REVISE, "Read.", earlier=earlier)
    ledger, _ = record_review(ledger, verdict, Said("m", "2026-01-02"), "a", "b")
    (claim,), ledger = settle([asked], ledger)
    return claim, ledger


def test_the_reviewer_decides_and_nothing_stays_open() -> None:
    claim, ledger = judge(EarlierState.RESOLVED)
    assert (claim.judged, ledger.open) == (ACCEPTED, ())
    assert counted([claim], FILES)
    assert say_claims([claim]) == [
        "a.py, lines 3-4: no test can reach this here: only on Windows; the reviewer"
        " accepts it: c() is called by d"
    ]
    claim, ledger = judge(EarlierState.OPEN)
    assert (claim.judged, ledger.open) == (REFUSED, ())
    assert (ledger.entries, ledger.last) == ((), 1)
    assert counted([claim], FILES) == []
    assert say_claims([claim]) == []
    assert say_refused([claim]) == [
        "a.py, lines 3-4: a test can reach this: c() is called by d"
    ]
    # It is asked about once.
    assert ask_reviewer([claim], ledger, FILES, PROOF) == ([claim], ledger)


def test_silence_accepts_nothing_and_claims_survive_the_state() -> None:
    asked, ledger = ask_reviewer([CLAIM], Ledger(), FILES, PROOF)
    (claim,), _ = settle(asked, ledger)
    assert (claim.judged, claim.answer) == (REFUSED, "")
    assert claims_of(make_state(claims=as_data([claim]))) == [claim]
