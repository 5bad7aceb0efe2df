"""Edits are applied exactly, or refused with the line and what is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.documents.changes import Edit, EditRefused, apply_edits

FILE = "def one():\n    return 1\n\n\ndef two():\n    return 1\n"


def refusal(original: str, *edits: Edit) -> str:
    """Return what is said about edits that cannot be applied."""
    with pytest.raises(EditRefused) as caught:
        apply_edits(original, edits)
    return str(caught.value)


def test_a_section_that_is_found_once_is_replaced() -> None:
    edited = apply_edits(
        FILE, [Edit("def two():\n    return 1\n", "def two():\n    return 2\n")]
    )
    assert edited == FILE[:-2] + "2\n"


def test_edits_see_what_the_ones_before_made() -> None:
    assert apply_edits("a\nb\n", [Edit("a\n", "c\n"), Edit("c\nb\n", "d\n")]) == "d\n"


def test_a_section_that_is_found_twice_is_refused_with_its_places() -> None:
    said = refusal(FILE, Edit("    return 1\n", "    return 2\n", 7))
    assert said.startswith(
        "Line 7: the SEARCH text is found 2 times (lines 2, 6 of the file)"
    )


def test_overlapping_places_count() -> None:
    assert "found 2 times" in refusal("x\nx\nx\n", Edit("x\nx\n", ""))
    assert "20 or more times" in refusal("x\n" * 100, Edit("x\n", ""))


@pytest.mark.parametrize(
    ("search", "hint"),
    [
        ("def three():\n", "the nearest line is line 1 of the file: `def one():`"),
        (
            "def two():\n    return 2\n",
            "matches from line 5 of the file, until line 6 has `return 1`",
        ),
        (
            "  def two():\nend\n",
            "its first line is line 5 of the file, `def two():`, but what follows differs",
        ),
        ("    return 1\nend\n", "it matches from line 2"),
        (
            "def two():\n    return 1\nend\n",
            "it matches up to line 6 of the file, where the file ends",
        ),
        ("zzzzzzzzzzzz\n", "is not found"),
        ("def too():\n", "the nearest line is line 5"),
    ],
)
def test_a_section_that_is_not_found_is_refused_with_a_hint(
    search: str, hint: str
) -> None:
    said = refusal(FILE, Edit(search, "", 3))
    assert said.startswith("Line 3: the SEARCH text is not found")
    assert hint in said


def test_lines_match_whole() -> None:
    whole = "only a part of line 1 of the file: `{}`; SEARCH is whole lines"
    for row in ("prefix x", "x suffix"):
        assert whole.format(row) in refusal(f"{row}\n", Edit("x\n", "y\n"))
    assert "not found" in refusal("prefix x\nz\n", Edit("x\nz\n", "y\n"))


def test_an_empty_search_makes_a_file_and_never_replaces_one() -> None:
    assert apply_edits("", [Edit("", "new\n")]) == "new\n"
    assert "only for a new file" in refusal("old\n", Edit("", "new\n"))
    assert "does not exist" in refusal("", Edit("x\n", "y\n"))


def test_a_file_keeps_its_line_ends() -> None:
    assert (
        apply_edits("a\r\nb\r\nc\r\n", [Edit("b\n", "x\ny\n")])
        == "a\r\nx\r\ny\r\nc\r\n"
    )
    assert apply_edits("a\r\nb\r\nc", [Edit("c\n", "d\ne\n")]) == "a\r\nb\r\nd\r\ne"
    assert apply_edits("a\nb\r\nc\n", [Edit("a\n", "x\n")]) == "x\nb\r\nc\n"
    assert (
        apply_edits("a\nb\r\nc\n", [Edit("b\r\n", "x\r\ny\r\n")]) == "a\nx\r\ny\r\nc\n"
    )


def test_a_file_keeps_how_it_ends() -> None:
    assert apply_edits("a\nb", [Edit("b\n", "c\n")]) == "a\nc"
    assert apply_edits("a\nb\n", [Edit("b\n", "")]) == "a\n"
    assert apply_edits("a\n", [Edit("a\n", "")]) == ""


def test_nothing_is_changed_when_one_section_fails() -> None:
    assert "Line 9" in refusal("a\nb\n", Edit("a\n", "c\n", 3), Edit("z\n", "", 9))


def test_hints_are_given_for_large_files_too() -> None:
    big = "a\n" * 400_000
    assert "20 or more" in refusal(big, Edit("a\n" * 100_000, ""))
    assert "not found" in refusal(big, Edit("a\n" * 100_000 + "b\n", ""))


ROWS = st.lists(st.text(alphabet="ab \t", max_size=3), min_size=1, max_size=8)


@given(ROWS, st.integers(0, 7), st.integers(1, 8), ROWS, st.booleans(), st.booleans())
def test_an_edit_changes_its_lines_and_no_others(
    rows: list[str],
    start: int,
    count: int,
    new: list[str],
    has_end: bool,
    is_windows: bool,
) -> None:
    start = min(start, len(rows) - 1)
    numbered = [f"{number}:{row}" for number, row in enumerate(rows)]
    ending = "\r\n" if is_windows else "\n"
    old = numbered[start : start + count]
    after = [*numbered[:start], *new, *numbered[start + count :]]
    original = ending.join(numbered) + (ending if has_end else "")
    expected = ending.join(after) + (ending if has_end else "")
    edit = Edit("".join(f"{row}\n" for row in old), "".join(f"{row}\n" for row in new))
    if is_windows and len(rows) == 1 and not has_end:
        expected = expected.replace("\r\n", "\n")
    assert apply_edits(original, [edit]) == expected
