"""A finding has one id for ever, and only what somebody says changes its state."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.documents.findings import Basis, Category, Finding, Quote, Tier
from agentos.documents.ledger import (
    Contest,
    FindingState,
    Ledger,
    LedgerFile,
    Said,
    contest,
    decline,
    find_silence,
    questions_for_person,
    read_ledger_file,
    record_review,
    settle_questions,
    waive,
    withdraw_open,
)
from agentos.documents.verdict import (
    Decision,
    EarlierFinding,
    EarlierState,
    ResolvedQuestion,
    SourceError,
    Verdict,
)

REVIEWER = Said("a model", "2026-11-18")
WRITER = Said("writer", "2026-11-18")
PERSON = Said("a person", "2026-11-19")
FULL_DISK = "The export has no retry when the disk is full; say what happens then."
NAMES = "Column names of the report differ between two sections and the criteria."
LOGS = "Nothing is logged when a member is skipped, so that nobody could tell why."


def finding(id: str, text: str, tier: Tier = Tier.HIGH, section: str = "") -> Finding:
    return Finding(id, tier, Category.QUALITY, section, text)


def review(
    ledger: Ledger,
    *findings: Finding,
    decision: Decision = Decision.REVISE,
    earlier: tuple[EarlierFinding, ...] = (),
    text: str = "t",
    questions: tuple[str, ...] = (),
    resolved: tuple[ResolvedQuestion, ...] = (),
) -> Ledger:
    """Return the ledger after a review."""
    verdict = Verdict(
        decision,
        "As found.",
        findings,
        resolved_questions=resolved,
        questions=questions,
        earlier=earlier,
    )
    return record_review(ledger, verdict, REVIEWER, text, "s")[0]


def states(ledger: Ledger) -> dict[str, str]:
    return {entry.id: str(entry.state) for entry in ledger.entries}


def said_of(id: str, state: EarlierState, reason: str = "because") -> EarlierFinding:
    return EarlierFinding(id, state, reason)


def test_reviewers_number_anew_and_ids_are_never_given_twice() -> None:
    ledger = review(Ledger(), finding("N1", FULL_DISK), finding("N2", NAMES))
    ledger = review(
        ledger,
        finding("N1", LOGS),
        earlier=(said_of("F1", EarlierState.RESOLVED),),
    )
    assert states(ledger) == {"F1": "resolved", "F2": "open", "F3": "open"}
    assert withdraw_open(ledger, PERSON, "edited").last == 3


def test_silence_resolves_nothing() -> None:
    ledger = review(Ledger(), finding("N1", FULL_DISK))
    assert states(review(ledger)) == {"F1": "open"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "The exit code for a missing file is not said; name it.",
            "The exit code for a missing key is not said; name it.",
        ),
        (
            "Scenario 020 expects no value; name the file that is written.",
            "Scenario 040 expects no value; name the file that is written.",
        ),
        (
            "Nothing says what is left if the disk is full before the rename.",
            "Nothing says what is left if the disk is full after the rename.",
        ),
        ("apply(True) returns 2; refuse it.", "apply(2.5) returns 3.5; refuse it."),
        ("A limit of `<` is wrong in 2.5.", "A limit of `<=` is wrong in 2.5."),
        ("エラーの場合が書かれていない", "終了コードが決まっていない"),
    ],
)
@pytest.mark.parametrize("state", list(EarlierState))
def test_distinct_defects_that_share_most_of_their_words_stay_distinct(
    one: str, other: str, state: EarlierState
) -> None:
    ledger = review(Ledger(), finding("N1", one))
    found = finding("N1", other, Tier.BLOCKING)
    ledger = review(ledger, found, earlier=(said_of("F1", state),))
    assert states(ledger) == {"F1": str(state), "F2": "open"}
    assert ledger.entries[1].text == other
    assert ledger.entries[1].is_binding


def test_the_same_words_about_another_place_are_another_finding() -> None:
    ledger = review(Ledger(), finding("N1", FULL_DISK, section="2.4"))
    ledger = review(ledger, finding("N1", FULL_DISK, section="2.5"))
    assert states(ledger) == {"F1": "open", "F2": "open"}


def test_a_finding_that_is_listed_again_is_still_open_and_says_so() -> None:
    ledger = review(Ledger(), finding("N1", FULL_DISK))
    ledger = review(ledger, finding("N7", FULL_DISK.replace(" ", "\n")))
    assert states(ledger) == {"F1": "open"}
    assert ledger.entries[0].changes[-1].reason == "found again, as high"


def test_what_a_review_settles_and_lists_again_is_kept_as_a_new_finding() -> None:
    ledger = review(Ledger(), finding("N1", FULL_DISK))
    resolved = said_of("F1", EarlierState.RESOLVED)
    ledger = review(ledger, finding("N1", FULL_DISK), earlier=(resolved,))
    assert states(ledger) == {"F1": "resolved", "F2": "open"}


def test_a_repeated_finding_gets_the_higher_tier_the_better_basis_and_all_quotes() -> (
    None
):
    quote = Quote("src/export.py", 12, "with retry():")
    remembered = replace(finding("N1", FULL_DISK, Tier.SUGGESTION), basis=Basis.MEMORY)
    shown = replace(
        finding("N1", FULL_DISK, Tier.BLOCKING), basis=Basis.CODE, quotes=(quote,)
    )
    for pair in ((remembered, shown), (shown, remembered)):
        ledger = review(review(Ledger(), pair[0]), pair[1])
        (entry,) = ledger.entries
        assert (entry.tier, entry.basis) == (Tier.BLOCKING, Basis.CODE)
        assert entry.quotes == (quote,)
        approval = Verdict(Decision.APPROVED, "Good.")
        assert "F1" in find_silence(ledger, approval)


def test_what_was_resolved_and_comes_back_is_open_again() -> None:
    ledger = review(Ledger(), finding("N1", FULL_DISK))
    ledger = review(ledger, earlier=(said_of("F1", EarlierState.RESOLVED),))
    ledger = review(ledger, finding("N1", FULL_DISK))
    assert states(ledger) == {"F1": "open"}


def test_a_finding_that_still_binds_after_the_second_contest_asks_a_person() -> None:
    ledger = review(Ledger(), finding("N1", FULL_DISK))
    quote = Quote("src/export.py", 12, "with retry():")
    ledger = contest(ledger, [Contest("F1", "it retries", quote)], WRITER)
    assert states(ledger) == {"F1": "contested"}
    assert ledger.questions == ()
    ledger = review(ledger, earlier=(said_of("F1", EarlierState.OPEN, "not there"),))
    ledger = contest(ledger, [Contest("F1", "it does", quote)], WRITER)
    assert ledger.questions == ()
    asked = review(ledger)
    (question,) = asked.questions
    assert FULL_DISK in question
    assert "src/export.py:12 `with retry():`: it does" in question
    answered = settle_questions(asked, f"- [x] {question} **Answer:** The writer.")
    assert review(answered).questions == ()
    withdrawn = said_of("F1", EarlierState.WITHDRAWN)
    assert review(ledger, earlier=(withdrawn,)).questions == ()


def test_nobody_is_asked_about_a_suggestion() -> None:
    ledger = review(Ledger(), finding("N1", NAMES, Tier.SUGGESTION))
    for _ in range(3):
        ledger = contest(ledger, [Contest("F1", "they agree")], WRITER)
        ledger = decline(ledger, "F1", WRITER, "they agree")
        ledger = review(ledger)
    assert ledger.questions == ()
    assert states(ledger) == {"F1": "open"}
    assert ledger.entries[0].changes[-1].reason == "declined: they agree"


def test_a_contested_finding_can_be_withdrawn() -> None:
    ledger = review(Ledger(), finding("N1", FULL_DISK))
    ledger = contest(ledger, [Contest("F1", "it retries")], WRITER)
    ledger = review(ledger, earlier=(said_of("F1", EarlierState.WITHDRAWN),))
    assert states(ledger) == {"F1": "withdrawn"}
    assert ledger.open == ()


def test_what_is_not_open_or_not_known_cannot_be_contested() -> None:
    ledger = review(Ledger(), finding("N1", FULL_DISK))
    ledger = review(ledger, earlier=(said_of("F1", EarlierState.RESOLVED),))
    contests = [Contest("F1", "no"), Contest("F9", "no")]
    assert contest(ledger, contests, WRITER) == ledger


def test_a_waived_finding_stays_waived() -> None:
    ledger = review(Ledger(), finding("N1", FULL_DISK, Tier.BLOCKING))
    ledger = waive(ledger, "F1", PERSON, "we live with it")
    ledger = review(ledger, finding("N1", FULL_DISK, Tier.BLOCKING))
    assert states(ledger) == {"F1": "waived"}
    approval = Verdict(Decision.APPROVED, "Good.")
    assert find_silence(ledger, approval) == ""


def test_what_is_more_severe_than_what_was_waived_is_a_new_finding() -> None:
    ledger = review(Ledger(), finding("N1", FULL_DISK, Tier.SUGGESTION))
    ledger = waive(ledger, "F1", PERSON, "we live with it")
    ledger = review(ledger, finding("N1", FULL_DISK, Tier.BLOCKING))
    assert states(ledger) == {"F1": "waived", "F2": "open"}


@pytest.mark.parametrize(
    ("earlier", "words"),
    [
        ((), "does not say what became of F1"),
        ((said_of("F1", EarlierState.OPEN),), "with the blocking finding F1 open"),
        ((said_of("F1", EarlierState.RESOLVED),), ""),
        ((said_of("F1", EarlierState.WITHDRAWN),), ""),
    ],
)
def test_an_approval_states_what_became_of_every_blocking_finding(
    earlier: tuple[EarlierFinding, ...], words: str
) -> None:
    ledger = review(Ledger(), finding("N1", FULL_DISK, Tier.BLOCKING))
    approval = Verdict(Decision.APPROVED, "Good.", earlier=earlier)
    said = find_silence(ledger, approval)
    assert words in said
    assert bool(words) == bool(said)
    revision = replace(approval, decision=Decision.REVISE)
    assert find_silence(ledger, revision) == ""


def test_questions_are_kept_until_they_are_answered_or_settled() -> None:
    ledger = review(Ledger(), questions=("Which  format?", "How many?"))
    settled = ResolvedQuestion("how many?", "Ten.")
    ledger = review(ledger, questions=("Which  format?",), resolved=(settled,))
    assert ledger.questions == ("Which  format?",)
    answers = "- [x] Which format? **Answer:** CSV"
    assert settle_questions(ledger, answers).questions == ()
    assert settle_questions(ledger, "- [x] What else? **Answer:** CSV") == ledger


def test_an_answer_from_memory_settles_no_question() -> None:
    ledger = review(Ledger(), questions=("How many?",))
    remembered = ResolvedQuestion("How many?", "Ten.", Basis.MEMORY)
    ledger = review(ledger, resolved=(remembered,))
    assert ledger.questions == ("How many?",)


def test_a_review_belongs_to_a_text_and_a_source() -> None:
    ledger = review(Ledger(), finding("N1", FULL_DISK), text="one")
    assert ledger.review_of("one", "s") == ledger.reviews[0]
    assert ledger.review_of("two", "s") is None
    assert ledger.review_of("one", "another source") is None


def test_a_wrong_sentence_of_the_source_is_kept_once() -> None:
    error = SourceError("Sorted by name.", Quote("a.py", 1, "sorted(x)"), "by id")
    again = replace(error, sentence="sorted  by name.", reading="by age")
    verdict = Verdict(Decision.REVISE, "?", source_errors=(error, again))
    ledger, _ = record_review(Ledger(), verdict, REVIEWER, "t", "s")
    assert ledger.source_errors == (error,)


def test_what_a_person_has_answered_about_the_source_is_not_asked_again() -> None:
    quote = Quote("a.py", 1, "sorted(x)")
    error = SourceError("Members are sorted by name.", quote, "by id")
    verdict = Verdict(Decision.REVISE, "?", source_errors=(error,))
    ledger, _ = record_review(Ledger(), verdict, REVIEWER, "t", "s")
    (question,) = questions_for_person(ledger)
    ledger = settle_questions(ledger, f"- [x] {question} **Answer:** Yes.")
    assert questions_for_person(ledger) == ()
    assert ledger.answered_errors == (error,)
    part = replace(error, sentence="sorted by name")
    other = replace(part, quote=Quote("a.py", 9, "members = set(x)"))
    verdict = replace(verdict, source_errors=(error, part))
    ledger, _ = record_review(ledger, verdict, REVIEWER, "t", "s")
    assert questions_for_person(ledger) == ()
    verdict = replace(verdict, source_errors=(other,))
    ledger, _ = record_review(ledger, verdict, REVIEWER, "t", "s")
    assert len(questions_for_person(ledger)) == 1


def test_a_ledger_file_is_read_as_it_was_written_and_nothing_else_is() -> None:
    quoted = replace(
        finding("N1", FULL_DISK),
        basis=Basis.CODE,
        quotes=(Quote("a.py", 3, "x = 1"),),
    )
    ledger = contest(review(Ledger(), quoted), [Contest("F1", "no")], WRITER)
    stored = LedgerFile(ledger, "hash", "003-best-draft.md")
    assert read_ledger_file(stored.to_json()) == stored
    data = json.loads(stored.to_json())
    assert data["ledger"]["entries"][0]["changes"][-1]["state"] == "contested"
    for text in ("", "[]", "{}", '{"schema": 2}', "[" * 100_000):
        with pytest.raises(ValueError, match=r"\w"):
            read_ledger_file(text)


ACTIONS = st.lists(
    st.one_of(
        st.tuples(
            st.just("find"),
            st.sampled_from((FULL_DISK, NAMES, LOGS, "", "Short.")),
            st.sampled_from(("N1", "F1", "F2", "x")),
        ),
        st.tuples(
            st.just("say"),
            st.sampled_from(list(EarlierState)),
            st.sampled_from(("F1", "F2", "F3", "F9")),
        ),
        st.tuples(st.just("contest"), st.just(""), st.sampled_from(("F1", "F2"))),
    ),
    max_size=12,
)


@given(ACTIONS)
def test_whatever_is_said_ids_are_unique_and_no_finding_is_lost(
    actions: list[tuple[str, str, str]],
) -> None:
    ledger = Ledger()
    seen: dict[str, str] = {}
    for what, text, id in actions:
        if what == "find":
            ledger = review(ledger, finding(id, text))
            assert text in [entry.text for entry in ledger.open]
        elif what == "say":
            ledger = review(ledger, earlier=(said_of(id, EarlierState(text)),))
        else:
            ledger = contest(ledger, [Contest(id, "no")], WRITER)
        for entry in ledger.entries:
            assert seen.setdefault(entry.id, entry.text) == entry.text
        ids = [entry.id for entry in ledger.entries]
        assert ids == [f"F{number}" for number in range(1, len(ids) + 1)]
        assert seen.keys() == set(ids)
        assert all(entry.state in FindingState for entry in ledger.entries)
