"""The reviewer of a revision is shown what has really changed."""

from __future__ import annotations

from agentos.workflows.drafting.comparing import compare_documents

BEFORE = [f"line {number}" for number in range(40)]


def test_a_changed_line_is_shown_with_some_around_it() -> None:
    after = [*BEFORE[:10], "changed", *BEFORE[11:]]
    assert compare_documents("\n".join(BEFORE), "\n".join(after)).split("\n") == [
        "@@",
        " line 8",
        " line 9",
        "-line 10",
        "+changed",
        " line 11",
        " line 12",
    ]


def test_what_moved_or_is_only_spaced_otherwise_is_left_out() -> None:
    spaced = [line.replace(" ", "   ") for line in BEFORE]
    assert compare_documents("\n".join(BEFORE), "\n".join(spaced)) == ""
    moved = [*BEFORE[5:10], *BEFORE[:5], *BEFORE[10:]]
    assert compare_documents("\n".join(BEFORE), "\n".join(moved)) == ""


def test_changes_are_bounded() -> None:
    after = [f"new {line} {'x' * 100}" for line in BEFORE * 10]
    text = compare_documents("\n".join(BEFORE), "\n".join(after))
    assert len(text) < 8_200
    assert text.endswith("more lines of changes: read the document itself]")
