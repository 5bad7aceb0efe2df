"""Entries that two branches add to a change log are joined when real git merges them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from agentos.repository.git.merging import Merged, merge_trees
from agentos.repository.git.repository import find_repository
from agentos.repository.git.snapshots import take
from agentos.repository.git.stacking import find_base
from tests.repository.git.ground import (
    finish_item,
    git,
    make_repository,
    open_item,
    write_files,
)

LOG = b"# Changelog\n\n## Unreleased\n\n- Old\n\n## 1.0\n\n- First\n"


def with_entry(*entries: bytes, log: bytes = LOG) -> bytes:
    """Return a log with entries above the old one."""
    lines = b"".join(b"- " + entry + b"\n" for entry in entries)
    return log.replace(b"- Old\n", lines + b"- Old\n")


def merge(
    tmp_path: Path,
    ours: Mapping[str, bytes],
    theirs: Mapping[str, bytes],
    base: Mapping[str, bytes],
) -> tuple[Path, Merged]:
    """Merge two branches that begin at the same commit."""
    repository = make_repository(tmp_path / "repo", {"README.md": b"# It\n", **base})
    for name, files in (("one", ours), ("two", theirs)):
        git(repository, "checkout", "-q", "-b", name, "main")
        write_files(repository, files)
        git(repository, "add", "-A")
        git(repository, "commit", "-q", "-m", name)
    git(repository, "checkout", "-q", "main")
    return repository, merge_again(repository)


def merge_again(repository: Path, *, is_strict: bool = False) -> Merged:
    """Merge the two branches."""
    tips = [git(repository, "rev-parse", name).strip() for name in ("one", "two")]
    found = find_repository(repository).git()
    return merge_trees(found, *tips, is_strict=is_strict)


def read(repository: Path, merged: Merged, name: str) -> bytes:
    """Return a file of the merge."""
    return git(repository, "cat-file", "blob", f"{merged.tree}:{name}").encode()


@pytest.mark.parametrize("name", ["CHANGELOG.md", "docs/Changes.rst", "NEWS"])
def test_entries_of_both_are_there_and_nothing_else_changes(
    tmp_path: Path, name: str
) -> None:
    repository, merged = merge(
        tmp_path,
        {name: with_entry(b"One"), "one.py": b"1\n"},
        {name: with_entry(b"Two"), "two.py": b"2\n"},
        {name: LOG, "docs/other.md": b"x\n", "run.sh": b"true\n"},
    )
    assert read(repository, merged, name) == with_entry(b"One", b"Two")
    changed = git(repository, "diff-tree", "-r", "--raw", "main", merged.tree)
    assert len(changed.splitlines()) == 3
    assert merge_again(repository, is_strict=True) == Merged("", (name,))


def test_without_a_log_at_the_base_the_two_are_joined(tmp_path: Path) -> None:
    head = b"# Changelog\n\n"
    name = "CHANGELOG.md"
    repository, merged = merge(
        tmp_path, {name: head + b"- One\n"}, {name: head + b"- Two\n"}, {}
    )
    assert read(repository, merged, name) == head + b"- One\n- Two\n"


def test_an_entry_beside_a_correction_elsewhere_and_of_other_line_ends(
    tmp_path: Path,
) -> None:
    log = LOG.replace(b"\n", b"\r\n")
    ours = log.replace(b"- Old\r\n", b"- One\r\n- Old\r\n")
    theirs = log.replace(b"- Old\r\n", b"- Two\r\n- Old\r\n").replace(b"First", b"1st")
    repository, merged = merge(
        tmp_path, {"CHANGES": ours}, {"CHANGES": theirs}, {"CHANGES": log}
    )
    expected = theirs.replace(b"- Two", b"- One\r\n- Two")
    assert read(repository, merged, "CHANGES") == expected


@pytest.mark.parametrize(
    ("ours", "theirs", "conflicts"),
    [
        (
            {"CHANGELOG.md": LOG.replace(b"Old", b"Older")},
            {"CHANGELOG.md": LOG.replace(b"Old", b"Oldest")},
            ("CHANGELOG.md",),
        ),
        (
            {"CHANGELOG.md": with_entry(b"One"), "poetry.lock": b"one\n"},
            {"CHANGELOG.md": with_entry(b"Two"), "poetry.lock": b"two\n"},
            ("CHANGELOG.md", "poetry.lock"),
        ),
        ({"src/NEWS": b"one\n"}, {"src/NEWS": b"two\n"}, ("src/NEWS",)),
        (
            {"CHANGELOG.md": with_entry(b"One"), "dir/x": b"one\n"},
            {"CHANGELOG.md": with_entry(b"Two"), "dir": b"two\n"},
            ("CHANGELOG.md", "dir~two"),
        ),
    ],
    ids=["an edit of a line", "a lock file", "another folder", "a folder and a file"],
)
def test_any_other_conflict_stays_one(
    tmp_path: Path,
    ours: Mapping[str, bytes],
    theirs: Mapping[str, bytes],
    conflicts: tuple[str, ...],
) -> None:
    _, merged = merge(tmp_path, ours, theirs, {"CHANGELOG.md": LOG})
    assert merged.tree == ""
    found = [name.partition("~")[0] for name in merged.conflicts]
    assert found == [name.partition("~")[0] for name in conflicts]


def test_what_the_repository_configures_for_diffs_changes_nothing(
    tmp_path: Path,
) -> None:
    repository, merged = merge(
        tmp_path,
        {"CHANGELOG.md": with_entry(b"One")},
        {"CHANGELOG.md": with_entry(b"Two")},
        {"CHANGELOG.md": LOG},
    )
    for key, value in {
        "color.ui": "always",
        "diff.noprefix": "true",
        "diff.context": "9",
        "diff.interHunkContext": "9",
        "diff.external": "false",
        "diff.algorithm": "histogram",
        "merge.conflictStyle": "zdiff3",
        "merge.renames": "false",
    }.items():
        git(repository, "config", key, value)
    again = merge_again(repository)
    assert again == merged
    assert read(repository, again, "CHANGELOG.md") == with_entry(b"One", b"Two")


def test_an_item_on_top_of_two_has_the_entries_of_both_in_their_order(
    tmp_path: Path,
) -> None:
    repository = make_repository(tmp_path / "repo", {"CHANGELOG.md": LOG})
    for item, entry in (("1", b"One"), ("2", b"Two"), ("3", b"Three")):
        worktree = open_item(repository, item)
        files = {"CHANGELOG.md": with_entry(entry), f"{item}.py": b"x = 1\n"}
        write_files(worktree.path, files)
        finish_item(worktree, take(worktree, "done").commit)
    users = find_repository(repository).git()
    base = find_base(users, ["1", "2", "3"])
    log = git(repository, "show", f"{base}:CHANGELOG.md").encode()
    assert log == with_entry(b"One", b"Two", b"Three")
