"""Nothing that lies in a folder, or is swapped in it meanwhile, leads a file outside:
for both ways to open.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentos.state.confinement import (
    ConfinedFolder,
    Opener,
    PathRefused,
    WriteQuota,
    WriteQuotaExceeded,
    choose_opener,
)
from agentos.state.confinement.kernel import KernelOpener
from agentos.state.confinement.steps import StepOpener
from tests.faults.hostile_paths import ESCAPES, MALFORMED, SENSITIVE, WINDOWS, race

OPENERS: dict[str, Opener] = {"kernel": KernelOpener(), "steps": StepOpener()}


@pytest.fixture(params=sorted(OPENERS))
def opener(request: pytest.FixtureRequest) -> Opener:
    if request.param == "kernel" and not KernelOpener.is_available():
        pytest.skip("this kernel has no openat2")
    return OPENERS[request.param]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("secret", "utf-8")
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
def outside(root: Path) -> Path:
    return root.parent / "outside"


@pytest.fixture
def folder(root: Path, outside: Path, opener: Opener) -> Iterator[ConfinedFolder]:
    with ConfinedFolder(root, opener=opener) as folder:
        yield folder
    assert [path.name for path in outside.iterdir()] == ["secret"]
    assert (outside / "secret").read_text("utf-8") == "secret"
    assert not [path for path in root.rglob("*.tmp") if not path.is_symlink()]


def test_a_file_is_written_read_and_deleted(folder: ConfinedFolder, root: Path) -> None:
    folder.write("a.txt", "one")
    folder.write("deep/er/b.txt", b"two")
    assert folder.read("a.txt") == b"one"
    assert folder.read_text("deep/er/b.txt") == "two"
    assert (root / "deep/er/b.txt").stat().st_mode & 0o777 == 0o644
    assert folder.delete("a.txt")
    assert not folder.delete("a.txt")
    assert not folder.delete("no/such/folder.txt")
    assert folder.read("a.txt") is None
    assert folder.read("no/such/folder.txt") is None


def test_a_file_is_replaced_whole_and_stays_executable(
    folder: ConfinedFolder, root: Path
) -> None:
    (root / "run").write_text("old", "utf-8")
    (root / "run").chmod(0o4775)
    before = (root / "run").stat().st_ino
    folder.write("run", "new")
    assert (root / "run").read_text("utf-8") == "new"
    assert (root / "run").stat().st_ino != before
    assert (root / "run").stat().st_mode & 0o7777 == 0o755


def test_the_mode_does_not_depend_on_the_mask(
    folder: ConfinedFolder, root: Path
) -> None:
    before = os.umask(0o077)
    try:
        folder.write("a", "x")
    finally:
        os.umask(before)
    assert (root / "a").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    "path",
    [
        *ESCAPES,
        *WINDOWS,
        *MALFORMED,
        *(path for path in SENSITIVE if "git/" in path.lower()),
    ],
)
def test_a_hostile_path_is_refused_before_anything_is_opened(
    folder: ConfinedFolder, root: Path, path: str
) -> None:
    for act in (folder.read, folder.delete, lambda path: folder.write(path, "x")):
        with pytest.raises(PathRefused) as caught:
            act(path)
        assert str(caught.value).isprintable()
    assert not list(root.iterdir())


@pytest.mark.parametrize("target", ["../outside", "../outside/", "."])
def test_a_link_to_a_folder_is_not_followed(
    folder: ConfinedFolder, root: Path, target: str
) -> None:
    (root / "sub").mkdir()
    (root / "link").symlink_to(target)
    (root / "sub/link").symlink_to(root.parent / "outside")
    for path in ("link/secret", "sub/link/secret", "link/new", "sub/link/new/er"):
        with pytest.raises(PathRefused, match="link"):
            folder.write(path, "x")
        with pytest.raises(PathRefused, match="link"):
            folder.read(path)
        with pytest.raises(PathRefused, match="link"):
            folder.delete(path)


def test_a_link_to_a_file_is_not_followed(
    folder: ConfinedFolder, root: Path, outside: Path
) -> None:
    (root / "link").symlink_to(outside / "secret")
    (root / "dangling").symlink_to(outside / "new")
    (root / "self").symlink_to("self")
    for path in ("link", "dangling", "self"):
        for act in (folder.read, folder.delete, lambda path: folder.write(path, "x")):
            with pytest.raises(PathRefused, match="is a link"):
                act(path)


def test_a_link_of_the_process_file_system_is_not_followed(
    folder: ConfinedFolder, root: Path, outside: Path
) -> None:
    descriptor = os.open(outside, os.O_RDONLY)
    (root / "magic").symlink_to(f"/proc/self/fd/{descriptor}")
    with pytest.raises(PathRefused):
        folder.write("magic/secret", "x")
    os.close(descriptor)


def test_a_hard_link_is_replaced_and_never_read(
    folder: ConfinedFolder, root: Path, outside: Path
) -> None:
    (root / "hard").hardlink_to(outside / "secret")
    with pytest.raises(PathRefused, match="hard link"):
        folder.read("hard")
    folder.write("hard", "mine")
    assert folder.read("hard") == b"mine"


def test_pipes_sockets_and_folders_are_no_files(
    folder: ConfinedFolder, root: Path
) -> None:
    os.mkfifo(root / "pipe")
    (root / "dir").mkdir()
    server = socket.socket(socket.AF_UNIX)
    before = Path.cwd()
    os.chdir(root)
    server.bind("socket")
    os.chdir(before)
    for path, what in (
        ("pipe", "is a pipe"),
        ("dir", "is a folder"),
        ("socket", "is a socket"),
    ):
        for act in (folder.read, folder.delete, lambda path: folder.write(path, "x")):
            with pytest.raises(PathRefused, match=what):
                act(path)
    server.close()
    for path in ("pipe/x", "socket/x"):
        with pytest.raises(PathRefused):
            folder.write(path, "x")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a device")
def test_a_device_is_no_file(folder: ConfinedFolder, root: Path) -> None:
    try:
        os.mknod(root / "zero", 0o600 | 0o020000, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("this system lets nobody make a device")
    for act in (folder.read, folder.delete, lambda path: folder.write(path, "x")):
        with pytest.raises(PathRefused, match="device"):
            act("zero")


def test_more_than_the_allowance_is_refused_before_anything_is_written(
    root: Path, opener: Opener
) -> None:
    with ConfinedFolder(
        root, opener=opener, quota=WriteQuota(per_file=10, in_all=25, files=3)
    ) as folder:
        with pytest.raises(
            WriteQuotaExceeded, match="a: has 11 bytes, a file may have 10"
        ):
            folder.write("a", "x" * 11)
        with pytest.raises(WriteQuotaExceeded, match="4 files"):
            folder.write_all(dict.fromkeys("abcd", "x"))
        with pytest.raises(WriteQuotaExceeded, match="30 bytes"):
            folder.write_all(dict.fromkeys("abc", "x" * 10))
        assert not list(root.iterdir())
        for _ in range(5):
            folder.write("a", "x" * 10)
        folder.write("b", "x" * 10)
        with pytest.raises(WriteQuotaExceeded):
            folder.write("c", "x" * 6)
        assert folder.delete("a")
        folder.write("c", "x" * 6)


def test_one_bad_path_keeps_all_files_from_being_written(
    folder: ConfinedFolder, root: Path
) -> None:
    with pytest.raises(PathRefused):
        folder.write_all({"a": "x", "../b": "x"})
    assert not list(root.iterdir())


def test_a_file_that_is_too_large_is_not_read(
    folder: ConfinedFolder, root: Path
) -> None:
    with open(root / "large", "wb") as file:
        file.truncate(1_000_000_000)
    with pytest.raises(
        WriteQuotaExceeded, match="large: has more than 1,000,000 bytes"
    ):
        folder.read("large")
    (root / "binary").write_bytes(b"a\x00b")
    (root / "latin").write_bytes(b"\xe4")
    for path in ("binary", "latin"):
        with pytest.raises(PathRefused, match="not a text file"):
            folder.read_text(path)


@pytest.mark.parametrize("text", ["a\x00b", "\ud800"])
def test_text_that_is_none_is_not_written(
    folder: ConfinedFolder, root: Path, text: str
) -> None:
    with pytest.raises(PathRefused, match="not text"):
        folder.write("a", text)
    assert not list(root.iterdir())


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    folder: ConfinedFolder, root: Path
) -> None:
    folder.write("a", "old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, hard))
    try:
        with pytest.raises(OSError, match="a"):
            folder.write("a", "x" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert folder.read("a") == b"old"
    assert [path.name for path in root.iterdir()] == ["a"]


def test_what_a_killed_run_left_is_swept(
    folder: ConfinedFolder, root: Path, outside: Path
) -> None:
    stray = ".agentos-0123456789abcdef.tmp"
    (root / "sub").mkdir()
    (root / "sub" / stray).write_text("half", "utf-8")
    (root / ".agentos-mine.tmp").write_text("kept", "utf-8")
    (root / "link").symlink_to(outside)
    assert folder.sweep() == 1
    assert sorted(path.name for path in root.iterdir()) == [
        ".agentos-mine.tmp",
        "link",
        "sub",
    ]
    (root / ".agentos-mine.tmp").unlink()


def test_no_descriptor_is_left_open(root: Path, opener: Opener) -> None:
    def count() -> int:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208

    before = count()
    (root / "link").symlink_to("/")
    with ConfinedFolder(root, opener=opener) as folder:
        folder.write("a/b/c", "x")
        folder.read("a/b/c")
        for path in ("link/x", "a/b/c/d", "a", "../x"):
            with pytest.raises(PathRefused):
                folder.write(path, "x")
        folder.delete("a/b/c")
    assert count() == before


def test_no_swapped_link_leads_outside(tmp_path: Path, opener: Opener) -> None:
    run = race(tmp_path, opener, swaps=3_000)
    assert run.outside == []
    assert run.writes > 0


def test_the_best_way_is_chosen() -> None:
    assert isinstance(
        choose_opener(), KernelOpener if KernelOpener.is_available() else StepOpener
    )
