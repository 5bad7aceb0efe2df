"""Change logs are told by their names, and additions of two sides are joined."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.documents.change_logs import (
    Hunk,
    is_change_log,
    join_added,
    join_hunks,
)

LINES = st.lists(st.sampled_from([b"- a", b"- b", b"  more", b"", b"### Added"]))


@pytest.mark.parametrize(
    "path",
    [
        "CHANGELOG.md",
        "changelog",
        "Changes.rst",
        "docs/CHANGES.txt",
        "Docs/history.md",
        "NEWS",
        "RELEASES.md",
        "CHANGELOG-2026.md",
        "CHANGES_1.2.md",
    ],
)
def test_these_are_change_logs(path: str) -> None:
    assert is_change_log(path)


@pytest.mark.parametrize(
    "path",
    [
        "poetry.lock",
        "CHANGELOG.lock",
        "changes.py",
        "history.json",
        "newsletter.md",
        "src/CHANGELOG.md",
        "docs/api/CHANGES.md",
        "docs/changes/one.md",
        "CHANGELOG-x.lock",
        "CHANGELOG.md.orig",
        "",
        "docs/",
    ],
)
def test_these_are_not(path: str) -> None:
    assert not is_change_log(path)


def test_a_long_name_takes_no_longer() -> None:
    start = time.process_time()
    assert not is_change_log("CHANGELOG-" + "a.1" * 100_000 + "!")
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    ("ours", "theirs", "joined"),
    [
        (["- a"], ["- b"], ["- a", "- b"]),
        (["- a", ""], ["- b", ""], ["- a", "- b", ""]),
        (
            ["## Next", "", "- a", ""],
            ["## Next", "", "- b", ""],
            ["## Next", "", "- a", "- b", ""],
        ),
        (
            ["Next", "----", "", "* a", ""],
            ["Next", "----", "", "* b", ""],
            ["Next", "----", "", "* a", "* b", ""],
        ),
        (
            ["### Added", "", "- a", ""],
            ["### Fixed", "", "- b", ""],
            ["### Added", "", "- a", "", "### Fixed", "", "- b", ""],
        ),
        (
            ["- Fix it", "  in a", "  (thanks)"],
            ["- Fix it", "  in b", "  (thanks)"],
            [
                "- Fix it",
                "  in a",
                "  (thanks)",
                "- Fix it",
                "  in b",
                "  (thanks)",
            ],
        ),
        (["- a", "- b"], ["- a"], ["- a", "- b"]),
        (["- a"], ["- a", "- b"], ["- a", "- b"]),
        (["- ab"], ["- a"], ["- ab", "- a"]),
    ],
)
def test_what_two_sides_add_is_joined(
    ours: list[str], theirs: list[str], joined: list[str]
) -> None:
    found = join_added([*map(str.encode, ours)], [*map(str.encode, theirs)])
    assert [line.decode() for line in found] == joined


@given(LINES, LINES)
def test_no_entry_is_lost(ours: list[bytes], theirs: list[bytes]) -> None:
    joined = join_added(ours, theirs)
    for line in (b"- a", b"- b", b"  more"):
        assert (line in joined) == (line in ours or line in theirs)
    entries = [line for line in ours if line.strip()]
    rest = iter(joined)
    assert all(line in rest for line in entries), "ours are there in their order"


def test_changes_at_different_places_are_both_made() -> None:
    base = [b"1", b"2", b"3", b"4"]
    ours = [Hunk(1, 1, (b"new",)), Hunk(3, 4, (b"four",))]
    theirs = [Hunk(0, 0, (b"0",)), Hunk(1, 1, (b"too",))]
    assert join_hunks(base, ours, theirs) == [
        *(b"0", b"1", b"new", b"too", b"2", b"3", b"four"),
    ]


def test_two_edits_of_the_same_line_cannot_be_joined_and_equal_ones_are_one() -> None:
    base = [b"1", b"2"]
    one, other = Hunk(0, 1, (b"one",)), Hunk(0, 1, (b"uno",))
    assert join_hunks(base, [one], [other]) is None
    assert join_hunks(base, [one], [one]) == [b"one", b"2"]
    assert join_hunks(base, [one], [Hunk(1, 1, (b"x",))]) is None
