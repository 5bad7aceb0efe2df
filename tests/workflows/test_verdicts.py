"""A reviewer whose answer cannot be read is asked once more, and told why."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from agentos.documents.findings import Basis, Category, Finding, Tier
from agentos.documents.ledger import Ledger
from agentos.documents.verdict import VERDICT_SCHEMA, Decision, Verdict, verdict_json
from agentos.errors import ModelFormat
from agentos.gateway.providers import Completion, Message, Speaker
from agentos.workflows.verdicts import LONGEST_QUOTE, ask_for_verdict
from tests.documents.verdicts.bases import APPROVED
from tests.documents.verdicts.contrary import contrary
from tests.documents.verdicts.prose import PROSE

GOOD = verdict_json(Verdict(Decision.APPROVED, "Good."))


class Reviewer:
    """Gives scripted answers, and keeps what it was asked."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[int, Sequence[Message]]] = []

    async def __call__(self, attempt: int, said: Sequence[Message]) -> Completion:
        self.asked.append((attempt, said))
        return Completion(self._answers.pop(0), "scripted")


@pytest.mark.parametrize("answer", [GOOD, APPROVED], ids=["object", "form"])
def test_an_answer_that_is_read_is_not_asked_for_again(answer: str) -> None:
    reviewer = Reviewer(answer)
    judgment = asyncio.run(ask_for_verdict(reviewer))
    assert judgment.verdict.decision is Decision.APPROVED
    assert len(judgment.answers) == 1
    assert reviewer.asked == [(1, ())]


@pytest.mark.parametrize("prose", PROSE.values(), ids=PROSE.keys())
def test_an_approval_in_prose_is_asked_for_again(prose: str) -> None:
    reviewer = Reviewer(prose, GOOD)
    judgment = asyncio.run(ask_for_verdict(reviewer))
    assert judgment.verdict.summary == "Good."
    assert judgment.answer.text == GOOD
    assert len(judgment.answers) == 2
    (_, first), (attempt, second) = reviewer.asked
    assert (first, attempt) == ((), 2)
    quoted, complaint = second
    assert quoted == Message(Speaker.ASSISTANT, prose)
    assert complaint.speaker is Speaker.USER
    assert "could not be read" in complaint.text


def test_the_second_question_is_one_line_with_the_cause_and_the_form() -> None:
    reviewer = Reviewer('{"decision": "LA\\nTER", "summary": "?"}', GOOD)
    asyncio.run(ask_for_verdict(reviewer))
    line = reviewer.asked[1][1][-1].text
    assert "\n" not in line
    assert "must be one of APPROVED, REVISE, DISCUSS" in line
    for name in VERDICT_SCHEMA["properties"]:
        assert name in line


def test_an_endless_answer_is_sent_back_without_its_middle() -> None:
    prose = "a" * LONGEST_QUOTE + "b" * LONGEST_QUOTE
    reviewer = Reviewer(prose, GOOD)
    asyncio.run(ask_for_verdict(reviewer))
    quoted = reviewer.asked[1][1][0].text
    assert len(quoted) < LONGEST_QUOTE + 100
    assert quoted.startswith("aaa")
    assert quoted.endswith("bbb")
    assert f"[... {LONGEST_QUOTE} characters left out ...]" in quoted


def test_a_second_answer_that_cannot_be_read_ends_it() -> None:
    reviewer = Reviewer("APPROVED", "I said APPROVED.", GOOD)
    with pytest.raises(ModelFormat, match="no usable verdict in 2 answers"):
        asyncio.run(ask_for_verdict(reviewer))
    assert len(reviewer.asked) == 2


def test_no_contrary_answer_given_twice_is_an_approval() -> None:
    for name, text in contrary():
        try:
            judgment = asyncio.run(ask_for_verdict(Reviewer(text, text)))
        except ModelFormat:
            continue
        assert judgment.verdict.decision is not Decision.APPROVED, name


def test_what_a_reviewer_remembers_may_decide_where_no_text_is_judged() -> None:
    leak = Finding(
        "N1", Tier.HIGH, Category.QUALITY, "test_010", "It leaks.", Basis.MEMORY
    )
    answer = verdict_json(Verdict(Decision.REVISE, "It leaks.", (leak,)))
    judgment = asyncio.run(ask_for_verdict(Reviewer(answer)))
    assert judgment.verdict.decision is Decision.REVISE
    judgment = asyncio.run(ask_for_verdict(Reviewer(answer, answer), ledger=Ledger()))
    assert judgment.verdict.decision is Decision.APPROVED
    assert judgment.verdict.findings[0].tier is Tier.SUGGESTION
