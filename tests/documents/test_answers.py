"""Answers are written, read back and become part of the source."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentos.documents.answers import (
    Answer,
    parse_answers,
    render_answers,
    with_answers,
)
from agentos.documents.issue import parse_issue

LINES = st.lists(
    st.sampled_from(("yes", "## Answer, no", "> quoted", "# head", "```", "", "a | b")),
    min_size=1,
)
WORDS = st.lists(
    st.sampled_from(("what", "which", ">", "## Answer", "?")), max_size=4
).map(" ".join)


@given(st.lists(st.tuples(WORDS, LINES), max_size=4))
def test_what_is_written_is_read_back(pairs: list[tuple[str, list[str]]]) -> None:
    answers = [
        Answer(question.lstrip("> "), "\n".join(rows).strip(), "2026-11-15")
        for question, rows in pairs
    ]
    answers = [answer for answer in answers if answer.text]
    read = parse_answers(render_answers("LLD-42", answers))
    assert [answer.question for answer in read] == [
        " ".join(answer.question.split()) for answer in answers
    ]
    assert [answer.text.split() for answer in read] == [
        answer.text.split() for answer in answers
    ]
    assert all(answer.date == "2026-11-15" for answer in read)


def test_a_file_that_a_person_has_edited_is_understood() -> None:
    text = "some words\n\n## Answer\r\n\r\n> Which one?\r\n> This or that?\r\n\r\nThat.\n## Answer (later)\n\nAlso.\n"
    assert parse_answers(text) == (
        Answer("Which one? This or that?", "That.", ""),
        Answer("", "Also.", "later"),
    )


def test_the_answers_are_settled_questions_of_the_issue() -> None:
    issue = "# 42 - Export\n\n## Objective\n\nExport.\n\n## Open Questions\n\n- [ ] How large?\n"
    merged = with_answers(issue, [Answer("Which format?", "CSV,\nalways.")])
    asked = parse_issue(merged).open_questions
    assert [(question.text, question.answer) for question in asked] == [
        ("How large?", ""),
        ("Which format?", "CSV, always."),
    ]
    assert with_answers(issue, []) == issue


SOURCE = "# 42 - Export\n\n## Objective\n\nExport.\n"
ROWS = st.sampled_from(
    (
        *(
            "yes",
            "# head",
            "## Objective",
            "===",
            "- other",
            "- [ ] new?",
            "1. one",
            "```",
            "~~~~",
            "```sql",
        ),
        *(
            "",
            "<!--",
            "-->",
            "a <!-- b",
            "\u3000## x",
            "\ufeff# y",
            "| a | b |",
            "|---|---|",
            "    deep",
            "``` <!-- ` -->",
        ),
    )
)
TEXTS = (
    st.lists(ROWS, min_size=1, max_size=8)
    .map(lambda rows: "\n".join(rows).strip())
    .filter(bool)
)


def test_the_lines_of_an_answer_are_kept_below_its_question() -> None:
    text = "Both:\n\n- CSV\n- JSON\n\n```sql\nSELECT 1\n\n  FROM t\n```\nNothing else."
    merged = with_answers(
        SOURCE, [Answer("Which formats?", text), Answer("And size?", "1 MB")]
    )
    assert merged.endswith(
        "- [x] Which formats? **Answer:** Both:\n\n  - CSV\n  - JSON\n\n  ```sql\n  SELECT 1\n\n    FROM t\n  ```\n"
        "  Nothing else.\n- [x] And size? **Answer:** 1 MB\n"
    )
    asked = parse_issue(merged).open_questions
    assert [question.text for question in asked] == ["Which formats?", "And size?"]
    assert asked[0].answer.startswith("Both: CSV; JSON")
    assert "SELECT 1 FROM t" in asked[0].answer
    assert "Nothing else." in asked[0].answer


def test_an_answer_of_code_alone_is_read() -> None:
    merged = with_answers(SOURCE, [Answer("Which query?", "```\nSELECT 1\n```")])
    assert [
        (asked.text, asked.answer) for asked in parse_issue(merged).open_questions
    ] == [("Which query?", "SELECT 1")]


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_nothing_in_an_answer_begins_a_section_or_an_entry(texts: list[str]) -> None:
    merged = with_answers(
        SOURCE, [Answer(f"Question {n}?", text) for n, text in enumerate(texts)]
    )
    read = parse_issue(merged)
    assert [question.text for question in read.open_questions] == [
        f"Question {n}?" for n in range(len(texts))
    ]
    assert all(question.answer for question in read.open_questions)
    assert (read.title, read.objective, read.other) == ("Export", "Export.", ())


def test_a_fence_that_the_source_leaves_open_does_not_swallow_the_answers() -> None:
    merged = with_answers(SOURCE + "\n````\ncode\n", [Answer("Which?", "That.")])
    assert [
        (asked.text, asked.answer) for asked in parse_issue(merged).open_questions
    ] == [("Which?", "That.")]


def test_a_quoting_mark_inside_an_answer_is_read_back_as_it_was() -> None:
    answers = parse_answers("## Answer, today\n```json\n>\n```\n")
    assert answers == (Answer("", "```json\n>\n```", "today"),)
    assert parse_answers(render_answers("LLD-7", answers)) == answers
