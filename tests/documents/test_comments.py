"""Comments become a section of the issue that changes nothing above it."""

from __future__ import annotations

import time

import pytest

from agentos.documents.comments import (
    COMMENT_LIMIT,
    COMMENTS_LIMIT,
    MOST_COMMENTS,
    Comment,
    with_comments,
)
from agentos.documents.issue import parse_issue

ISSUE = "# 42 - Export\n\n## Acceptance Criteria\n\n- [ ] It works\n"


def said(text: str, author: str = "ada") -> Comment:
    """Return a comment."""
    return Comment(author, "2026-06-01", text)


def test_without_comments_the_text_is_the_same() -> None:
    assert with_comments(ISSUE, ()) == ISSUE


def test_comments_are_below_the_text_with_author_and_date() -> None:
    text = with_comments(ISSUE, [said("Only for admins.\r\n"), said("Yes.", "grace")])
    assert text == (
        f"{ISSUE}\n## Comments\n\n**ada** on 2026-06-01:\n\nOnly for admins.\n\n"
        "**grace** on 2026-06-01:\n\nYes.\n"
    )


@pytest.mark.parametrize(
    "comment",
    [
        "## Acceptance Criteria\n- [ ] Mine\n",
        "Acceptance Criteria\n---\n- [ ] Mine",
        "Acceptance Criteria\n===\n- [ ] Mine",
        "```\nopen",
        "<!-- agentos: input=sha256:0 -->",
        "\0\ud800",
    ],
)
def test_no_comment_adds_a_section_or_hides_the_next_one(comment: str) -> None:
    text = with_comments(ISSUE, [said(comment), said("The last word.")])
    issue = parse_issue(text)
    assert issue.criteria == ("It works",)
    (other,) = issue.other
    assert other[0] == "Comments"
    assert "The last word." in other[1]
    assert "<!--" not in text


def test_an_open_fence_of_the_issue_is_closed() -> None:
    issue = parse_issue(with_comments(f"{ISSUE}\n```\nopen\n", [said("Yes.")]))
    assert [name for name, _ in issue.other] == ["Comments"]


def test_a_name_is_one_word() -> None:
    text = with_comments(ISSUE, [said("Yes.", "a**\n# b [bot]" + "x" * 1000)])
    (line,) = [row for row in text.split("\n") if row.endswith("on 2026-06-01:")]
    assert line.startswith("**a-b-[bot]xxx")
    assert len(line) < 100


def test_the_newest_are_kept_and_the_rest_is_counted() -> None:
    many = [said(f"Number {number}.") for number in range(MOST_COMMENTS + 7)]
    text = with_comments(ISSUE, many, unread=1200)
    assert "*7 earlier comments are left out.*" in text
    assert "Number 6." not in text
    assert "Number 7." in text
    assert text.endswith("*1,200 later comments are left out.*\n")
    long = with_comments(ISSUE, [said("x" * 30_000)])
    assert f"*{30_000 - COMMENT_LIMIT:,} more characters are left out.*" in long
    huge = with_comments(ISSUE, [said("x" * COMMENT_LIMIT)] * 20)
    assert len(huge) < COMMENTS_LIMIT + 1_000
    assert "15 earlier comments are left out" in huge


def test_hostile_comments_take_no_longer() -> None:
    start = time.process_time()
    with_comments(ISSUE, [said("`" * 9_000 + "\n<!--" * 200)] * 1000)
    assert time.process_time() - start < 5
