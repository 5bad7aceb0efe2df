"""Answers are written, read back and become part of the source."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentos.documents.answers import Answer, parse_answers, render_answers, with_answers
from agentos.documents.issue import parse_issue

LINES = st.lists(st.sampled_from(("yes", "## Answer, no", "> quoted", "# head", "```", "", "a | b")), min_size=1)
WORDS = st.lists(st.sampled_from(("what", "which", ">", "## Answer", "?")), max_size=4).map(" ".join)


@given(st.lists(st.tuples(WORDS, LINES), max_size=4))
def test_what_is_written_is_read_back(pairs: list[tuple[str, list[str]]]) -> None:
    answers = [Answer(question.lstrip("> "), "\n".join(rows).strip(), "2026-11-15") for question, rows in pairs]
    answers = [answer for answer in answers if answer.text]
    read = parse_answers(render_answers("LLD-42", answers))
    assert [answer.question for answer in read] == [" ".join(answer.question.split()) for answer in answers]
    assert [answer.text.split() for answer in read] == [answer.text.split() for answer in answers]
    assert all(answer.date == "2026-11-15" for answer in read)


def test_a_file_that_a_person_has_edited_is_understood() -> None:
    text = "some words\n\n## Answer\r\n\r\n> Which one?\r\n> This or that?\r\n\r\nThat.\n## Answer (later)\n\nAlso.\n"
    assert parse_answers(text) == (Answer("Which one? This or that?", "That.", ""), Answer("", "Also.", "later"))


def test_the_answers_are_settled_questions_of_the_issue() -> None:
    issue = "# 42 - Export\n\n## Objective\n\nExport.\n\n## Open Questions\n\n- [ ] How large?\n"
    merged = with_answers(issue, [Answer("Which format?", "CSV,\nalways.")])
    asked = parse_issue(merged).open_questions
    assert [(question.text, question.answer) for question in asked] == [
        ("How large?", ""),
        ("Which format?", "CSV, always."),
    ]
    assert with_answers(issue, []) == issue
