"""What is in a worktree is saved and comes back byte for byte, and saving touches
nothing.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentos.errors import BadInput
from agentos.repository.git.reading import changed_files, list_files, read_file
from agentos.repository.git.run import WorktreeConflict
from agentos.repository.git.salvage import find_snapshot
from agentos.repository.git.snapshots import restore, take
from tests.repository.git.ground import (
    Content,
    content_of,
    git,
    make_repository,
    open_item,
    write_files,
)


def test_tracked_and_untracked_files_come_back_byte_for_byte(tmp_path: Path) -> None:
    worktree = open_item(make_repository(tmp_path / "repo"))
    write_files(
        worktree.path,
        {
            "shelf/book.py": b"changed\r\nwith\rline ends\n",
            "new/file.txt": b"\x00\xff binary",
            "new/empty": b"",
            "new/run.sh": b"#!/bin/sh\n",
            "name with\nnewline \xe9": b"1",
            ":(top)x": b"2",
            "-rf": b"3",
        },
    )
    (worktree.path / "README.md").unlink()
    (worktree.path / "link").symlink_to("../../outside")
    (worktree.path / "run.sh").chmod(0o644)
    before = content_of(worktree.path)
    snapshot = take(worktree, "first")
    assert snapshot.ref == "refs/agentos/42/first"
    assert not snapshot.left_out
    for path in ("new/file.txt", "link", "shelf/book.py"):
        (worktree.path / path).unlink()
    write_files(
        worktree.path, {"other/x": b"x", "run.sh": b"changed", "link": b"a file now"}
    )
    restored = restore(worktree, snapshot.commit)
    assert content_of(worktree.path) == before
    assert restored.saved is not None
    assert read_file(worktree.git(), restored.saved.commit, "link") == b"a file now"
    assert not (worktree.path / "other").exists()


def test_a_snapshot_touches_neither_index_nor_head_nor_branch(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    worktree = open_item(repository)
    write_files(worktree.path, {"staged": b"1", "not-staged": b"2"})
    git(worktree.path, "add", "staged")

    def state() -> tuple[str, ...]:
        return (
            git(worktree.path, "ls-files", "-s"),
            git(worktree.path, "rev-parse", "HEAD", worktree.branch),
            git(worktree.path, "status", "--porcelain"),
            git(repository, "for-each-ref"),
            git(repository, "count-objects"),
        )

    before = state()
    take(worktree, "first")
    assert state() == before


def test_ignored_files_are_saved_when_they_are_declared_or_were_saved_before(
    tmp_path: Path,
) -> None:
    repository = make_repository(tmp_path / "repo")
    worktree = open_item(repository)
    write_files(
        worktree.path,
        {"build/kept/made.py": b"1", "build/other": b"2", "a.pyc": b"3", "later": b"4"},
    )
    first = take(worktree, "first", also=["build/kept/made.py"])
    assert list(changed_files(worktree.git(), worktree.base, first.commit)) == [
        "build/kept/made.py",
        "later",
    ]
    (worktree.path / ".gitignore").write_bytes(b"*\n")
    second = take(worktree, "second")
    assert set(list_files(worktree.git(), second.commit)) == set(
        list_files(worktree.git(), first.commit)
    )
    restore(worktree, worktree.base)
    assert sorted(content_of(worktree.path)) == sorted(
        [
            b"README.md",
            b"run.sh",
            b"shelf/book.py",
            b".gitignore",
            b"build/other",
            b"a.pyc",
        ]
    )


def test_a_repository_inside_is_saved_as_files(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    worktree = open_item(repository)
    make_repository(worktree.path / "inner", {"deep/file.py": b"1", "cache.pyc": b"2"})
    snapshot = take(worktree, "first")
    assert "inner/deep/file.py" in list_files(worktree.git(), snapshot.commit)
    assert "inner/cache.pyc" not in list_files(worktree.git(), snapshot.commit)
    assert snapshot.left_out == ("inner/.git: git keeps no such name",)
    restore(worktree, worktree.base)
    assert (worktree.path / "inner/.git/HEAD").exists()
    restore(worktree, snapshot.commit)
    assert (worktree.path / "inner/deep/file.py").read_bytes() == b"1"


def test_a_name_that_is_taken_by_other_content_is_numbered(tmp_path: Path) -> None:
    worktree = open_item(make_repository(tmp_path / "repo"))
    write_files(worktree.path, {"a": b"1"})
    first = take(worktree, "green")
    assert take(worktree, "green") == first
    write_files(worktree.path, {"a": b"2"})
    second = take(worktree, "green")
    assert (second.ref, second.commit != first.commit) == (
        "refs/agentos/42/green.2",
        True,
    )
    assert git(worktree.store, "rev-parse", first.ref).strip() == first.commit


@pytest.mark.parametrize(
    "name",
    ["", "latest", "Upper", "a/b", "-x", "a b", "../x", "a.lock", "x" * 90, "a\n"],
)
def test_a_name_that_is_no_part_of_a_ref_is_refused(tmp_path: Path, name: str) -> None:
    worktree = open_item(make_repository(tmp_path / "repo"))
    with pytest.raises(BadInput):
        take(worktree, name)


def test_files_and_folders_that_change_places_come_back(tmp_path: Path) -> None:
    worktree = open_item(make_repository(tmp_path / "repo"))
    write_files(worktree.path, {"a/b/c": b"1", "d": b"2"})
    first = take(worktree, "first")
    before = content_of(worktree.path)
    restore(worktree, worktree.base)
    write_files(worktree.path, {"a": b"a file", "d/e/f": b"3", "build/x": b"ignored"})
    second = take(worktree, "second")
    between = content_of(worktree.path)
    restore(worktree, first.commit)
    assert content_of(worktree.path) == before | {b"build/x": ("file", b"ignored")}
    restore(worktree, second.commit)
    assert content_of(worktree.path) == between


def test_restoring_writes_through_no_link(tmp_path: Path) -> None:
    worktree = open_item(make_repository(tmp_path / "repo"))
    outside = tmp_path / "outside"
    write_files(outside, {"book.py": b"outside"})
    (worktree.path / "shelf/book.py").unlink()
    (worktree.path / "shelf").rmdir()
    (worktree.path / "shelf").symlink_to(outside)
    (worktree.path / "README.md").unlink()
    (worktree.path / "README.md").symlink_to(outside / "book.py")
    restored = restore(worktree, worktree.base)
    assert content_of(outside) == {b"book.py": ("file", b"outside")}
    assert (worktree.path / "shelf/book.py").read_bytes().startswith(b"def title")
    assert restored.saved is not None
    restore(worktree, restored.saved.commit)
    assert (worktree.path / "shelf").is_symlink()
    assert content_of(outside) == {b"book.py": ("file", b"outside")}


def test_an_ignored_file_in_the_way_is_saved_before_it_is_overwritten(
    tmp_path: Path,
) -> None:
    repository = make_repository(tmp_path / "repo")
    worktree = open_item(repository)
    write_files(worktree.path, {"build/x": b"declared"})
    first = take(worktree, "first", also=["build/x"])
    restore(worktree, worktree.base)
    write_files(worktree.path, {"build": b"now a file"}) if not (
        worktree.path / "build"
    ).exists() else None
    restored = restore(worktree, first.commit)
    assert restored.saved is not None
    assert read_file(worktree.git(), restored.saved.commit, "build") == b"now a file"
    assert (worktree.path / "build/x").read_bytes() == b"declared"


def test_what_cannot_be_saved_is_named_and_never_overwritten(tmp_path: Path) -> None:
    worktree = open_item(make_repository(tmp_path / "repo"))
    os.mkfifo(worktree.path / "pipe")
    with (worktree.path / "README.md").open("wb") as file:
        file.truncate(200_000_000)
    snapshot = take(worktree, "first")
    assert snapshot.left_out == (
        "README.md: is too large, over 100 MB",
        "pipe: is a pipe, a socket or a device",
    )
    with pytest.raises(WorktreeConflict, match=r"README.md.*too large"):
        restore(worktree, worktree.base)
    assert (worktree.path / "README.md").stat().st_size == 200_000_000


def test_a_folder_that_holds_another_repository_is_not_removed_for_a_file(
    tmp_path: Path,
) -> None:
    worktree = open_item(make_repository(tmp_path / "repo"))
    write_files(worktree.path, {"inner": b"a file"})
    first = take(worktree, "first")
    restore(worktree, worktree.base)
    make_repository(worktree.path / "inner", {"a": b"1"})
    with pytest.raises(
        WorktreeConflict,
        match=r"'inner': a folder with files that cannot be saved is where this file belongs",
    ):
        restore(worktree, first.commit)
    assert (worktree.path / "inner/.git/HEAD").exists()
    assert find_snapshot(worktree.git(), "42", "saved")


def test_folders_and_files_without_permissions_are_saved(tmp_path: Path) -> None:
    worktree = open_item(make_repository(tmp_path / "repo"))
    write_files(worktree.path, {"closed/file": b"1"})
    (worktree.path / "closed/file").chmod(0)
    (worktree.path / "closed").chmod(0)
    snapshot = take(worktree, "first")
    assert not snapshot.left_out
    assert read_file(worktree.git(), snapshot.commit, "closed/file") == b"1"
    restore(worktree, worktree.base)
    assert not (worktree.path / "closed").exists()


def test_line_ends_and_filters_of_the_repository_change_nothing(tmp_path: Path) -> None:
    files = {
        "a.txt": b"one\r\ntwo\n",
        ".gitattributes": b"* text=auto eol=crlf\n*.id ident\n",
        "x.id": b"$Id$\n",
    }
    repository = make_repository(tmp_path / "repo", files)
    git(repository, "config", "core.autocrlf", "true")
    worktree = open_item(repository)
    assert (worktree.path / "x.id").read_bytes() == b"$Id$\n"
    write_files(worktree.path, {"b.txt": b"one\r\ntwo\n\r", "x.id": b"$Id: 1 $\n"})
    before = content_of(worktree.path)
    snapshot = take(worktree, "first")
    assert read_file(worktree.git(), snapshot.commit, "b.txt") == b"one\r\ntwo\n\r"
    restore(worktree, worktree.base)
    restore(worktree, snapshot.commit)
    assert content_of(worktree.path) == before


def test_a_submodule_stays_one_until_there_are_files(tmp_path: Path) -> None:
    inner = make_repository(tmp_path / "inner")
    repository = make_repository(tmp_path / "repo")
    git(
        repository,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(inner),
        "lib",
    )
    git(repository, "commit", "-q", "-m", "Add a submodule")
    worktree = open_item(repository)
    assert (worktree.path / "lib").is_dir()
    snapshot = take(worktree, "first")
    assert changed_files(worktree.git(), worktree.base, snapshot.commit) == ()
    write_files(worktree.path, {"lib/file": b"1"})
    snapshot = take(worktree, "second")
    assert "lib/file" in list_files(worktree.git(), snapshot.commit)
    restore(worktree, worktree.base)
    assert list((worktree.path / "lib").iterdir()) == []
    assert git(worktree.path, "status", "--porcelain") == ""
    restore(worktree, snapshot.commit)
    assert (worktree.path / "lib/file").read_bytes() == b"1"


@pytest.mark.parametrize("kind", ["sha1", "sha256"])
def test_what_is_worthless_is_not_saved_unless_it_was_changed(
    tmp_path: Path, kind: str
) -> None:
    repository = make_repository(tmp_path / "repo", ids=kind)
    worktree = open_item(repository)
    before = content_of(worktree.path)
    worthless = {"stand/in.py": "raise NotImplementedError\n", "README.md": "# é\n"}
    for path, text in worthless.items():
        write_files(worktree.path, {path: text.encode()})
    assert restore(worktree, worktree.base, worthless=worthless).saved is None
    assert content_of(worktree.path) == before
    assert not (worktree.path / "stand").exists()
    write_files(
        worktree.path,
        {"stand/in.py": b"somebody's work\n", "README.md": "# é\n".encode()},
    )
    saved = restore(worktree, worktree.base, worthless=worthless).saved
    assert saved is not None
    assert (
        read_file(worktree.git(), saved.commit, "stand/in.py") == b"somebody's work\n"
    )


def test_a_repository_with_long_ids_works(tmp_path: Path) -> None:
    worktree = open_item(make_repository(tmp_path / "repo", {"a": b"1"}, "sha256"))
    write_files(worktree.path, {"b": b"2"})
    snapshot = take(worktree, "first")
    assert len(snapshot.commit) == 64
    restore(worktree, worktree.base)
    assert content_of(worktree.path) == {b"a": ("file", b"1")}


_names = st.binary(min_size=1, max_size=12).filter(
    lambda name: not {0, 0x2F} & set(name) and name not in (b".", b"..")
)
_awkward = st.sampled_from(
    [
        b"a",
        b"b",
        b" ",
        b"-x",
        b"\n",
        b"\xff",
        b":!x",
        "é".encode(),
        b'"',
        b"\\",
        b".gitignore",
        b"*",
        b"A",
    ]
)
_paths = st.lists(_awkward | _names, min_size=1, max_size=3).map(b"/".join)
_kinds = st.sampled_from(["file", "program", "link"])
_trees = st.dictionaries(
    _paths, st.tuples(_kinds, st.binary(min_size=1, max_size=40)), max_size=8
)


def _fill(folder: Path, tree: Content) -> None:
    top = os.fsencode(folder)
    for path, (kind, data) in tree.items():
        whole = top + b"/" + path
        try:
            os.makedirs(os.path.dirname(whole), exist_ok=True)  # noqa: PTH103, PTH120
            if kind == "link":
                os.symlink(data.replace(b"\0", b"0"), whole)  # noqa: PTH211
                continue
            with open(whole, "xb") as file:
                file.write(data)
            os.chmod(whole, 0o755 if kind == "program" else 0o644)  # noqa: PTH101
        except OSError:
            # A name that is a file in one path and a folder in another, or too awkward
            # for the file system.
            continue


@pytest.mark.slow
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_trees, _trees)
def test_any_two_trees_replace_each_other_byte_for_byte(
    first: Content, second: Content
) -> None:
    with tempfile.TemporaryDirectory() as name:
        repository = make_repository(Path(name) / "repo", {"start": b"1"})
        worktree = open_item(repository)
        _fill(worktree.path, first)
        one, seen = take(worktree, "one", with_ignored=True), content_of(worktree.path)
        restore(worktree, worktree.base)
        _fill(worktree.path, second)
        two, seen_then = (
            take(worktree, "two", with_ignored=True),
            content_of(worktree.path),
        )
        for snapshot, expected in ((one, seen), (two, seen_then), (one, seen)):
            restore(worktree, snapshot.commit)
            assert content_of(worktree.path) == expected
        assert "error" not in git(repository, "fsck", "--strict", "--no-dangling")
