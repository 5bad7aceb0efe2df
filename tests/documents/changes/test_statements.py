"""What an answer says outside its blocks is read, however it is marked, and no quote is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.documents.changes import (
    Changes,
    Contest,
    Kept,
    UnreachableLines,
    parse_changes,
)

WHY = "the design names no file"


@pytest.mark.parametrize(
    "row",
    [
        f"blocked: {WHY}",
        f"Blocked: {WHY}",
        f"**blocked:** {WHY}",
        f"**Blocked**: {WHY}",
        f"**blocked: {WHY}**",
        f"`blocked: {WHY}`",
        f"- blocked: {WHY}",
        f"* **BLOCKED:** {WHY}",
        f"1. blocked: {WHY}",
        f"  blocked:{WHY}  ",
        "blocked: the design\nnames no file",
        f"blocked:\n{WHY}\n\nThat is all.",
        f"I looked.\n\nblocked: {WHY}\n\n```python\nx = 1\n```",
        f"```markdown\n# Edit\n```\nblocked: {WHY}",
    ],
)
def test_a_role_says_that_it_cannot_go_on(row: str) -> None:
    assert parse_changes(row).blocked == WHY
    assert parse_changes(f"{row}\r\n".replace("\n", "\r\n")).blocked == WHY


@pytest.mark.parametrize(
    "text",
    [
        f"```\nblocked: {WHY}\n```\n",
        f"```python\n# File: a.py\n# blocked: {WHY}\nblocked: {WHY}\n```\n",
        f"```\n# Edit: a.md\n<<<<<<< SEARCH\nblocked: x\n=======\nblocked: {WHY}\n>>>>>>> REPLACE\n```\n",
        f"> blocked: {WHY}\n",
        f"The prompt says that `blocked: {WHY}` ends the item.\n",
        "blocked: none\n",
        "**Blocked:** no.\n",
        "blocked: REASON\n",
        f"<think>\nblocked: {WHY}\n</think>\nDone.\n",
        "This is blocked by the other one.\n",
    ],
)
def test_what_is_quoted_or_denied_is_not_said(text: str) -> None:
    assert parse_changes(text).blocked == ""


@pytest.mark.parametrize(
    ("row", "test"),
    [
        ("contest: test_010_x: it expects 2", "test_010_x"),
        ("- **contest:** `test_010_x`: it expects 2", "test_010_x"),
        ("Contest: `test_010_x` - it expects 2", "test_010_x"),
        ("contested: test_010_x \u2014 it expects 2", "test_010_x"),
        ("contest: tests/a.py::test_010_x: it expects 2", "tests/a.py::test_010_x"),
        ("contest: test_010_x[a: b]: it expects 2", "test_010_x[a: b]"),
        ("contest: `test_010_x[a, b]`: it expects 2", "test_010_x[a, b]"),
        ("contest: test_010_x:\nit expects 2", "test_010_x"),
    ],
)
def test_a_test_is_contested_with_a_reason(row: str, test: str) -> None:
    assert parse_changes(row).contested == (Contest(test, "it expects 2"),)


def test_several_tests_are_contested() -> None:
    read = parse_changes(
        "contest: test_a: wrong\ncontest: test_b, test_c: also\nwrong\n\nProse.\n"
        "contest: test_d and `test_e`: odd\n"
    )
    assert read.contested == (
        Contest("test_a", "wrong"),
        Contest("test_b", "also wrong"),
        Contest("test_c", "also wrong"),
        Contest("test_d", "odd"),
        Contest("test_e", "odd"),
    )
    assert [one.line for one in read.contested] == [1, 2, 2, 6, 6]


@pytest.mark.parametrize(
    ("row", "ids"),
    [
        ("kept: 030, 040: it is so", ("030", "040")),
        ("**Kept:** 030 and 040: it is so", ("030", "040")),
        ("- kept: `030`, `040`: it is so", ("030", "040")),
        ("kept: 030: it is so", ("030",)),
        ("kept: T030 - it is so", ("T030",)),
        ("kept: 1.1, S-2: it is so", ("1.1", "S-2")),
    ],
)
def test_scenarios_are_kept_with_a_reason(row: str, ids: tuple[str, ...]) -> None:
    assert parse_changes(row).kept == (Kept(ids, "it is so"),)


@pytest.mark.parametrize(
    ("row", "ranges"),
    [
        ("unreachable: calc/op1.py 9-12: it races", [(9, 12)]),
        ("- **unreachable:** `calc/op1.py` 9\u201312: it races", [(9, 12)]),
        ("Unreachable: calc/op1.py, lines 9-12, 15 and 20: it races",
         [(9, 12), (15, 15), (20, 20)]),
        ("unreachable: calc/op1.py:9 - it races", [(9, 9)]),
        ("`unreachable: calc/op1.py line 9: it races`", [(9, 9)]),
        ("unreachable: calc/op1.py 9:\nit races", [(9, 9)]),
    ],
)  # fmt: skip
def test_lines_are_named_that_no_test_can_reach(
    row: str, ranges: list[tuple[int, int]]
) -> None:
    meant = tuple(
        UnreachableLines("calc/op1.py", first, last, "it races")
        for first, last in ranges
    )
    assert parse_changes(row).unreachable == meant


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("kept: 030, 040\n", "why 030, 040 are kept; write `kept: 030, 040: REASON`"),
        ("contest: test_010_x\n", "why test_010_x is wrong; write `contest: TEST_NAME"),
        ("unreachable: a.py 3\n", "why no test reaches a.py; write `unreachable: PATH"),
    ],
)
def test_a_reason_is_asked_for(row: str, words: str) -> None:
    read = parse_changes(row)
    assert words in read.problems[0].text
    assert not read.kept
    assert not read.contested


@pytest.mark.parametrize(
    "text",
    [
        "Kept: everything that was there.\n",
        "Kept: the order.\n",
        "Unreachable: none.\n",
        "Unreachable: lines of other platforms, such as 12.\n",
        "contest: none\n",
        "Contest: I do not contest anything.\n",
    ],
)
def test_a_sentence_is_no_statement(text: str) -> None:
    assert parse_changes(text) == Changes()


WORDS = st.sampled_from(
    [
        "blocked:",
        "contest:",
        "kept:",
        "unreachable:",
        "a.py",
        "030",
        ",",
        ":",
        "`",
        "**",
        "[",
        "]",
        "test_a",
        "-",
        "and",
        "::",
        "x",
        " ",
        "\n",
        "\n\n",
        "```\n",
    ]
)


@given(st.lists(WORDS, max_size=30).map("".join))
def test_any_statement_is_read(text: str) -> None:
    read = parse_changes(text)
    assert all(one.test and one.reason for one in read.contested)
    assert all(one.scenarios and one.reason for one in read.kept)
    assert all(one.path and one.reason for one in read.unreachable)
