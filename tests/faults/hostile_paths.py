"""Answer with paths that lead astray, swap links while files are written, and send too
much: nothing gets outside.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentos.documents.changes import (
    WholeFile,
    check_path,
    judge,
    parse_changes,
    render_changes,
)
from agentos.state.confinement import (
    ConfinedFolder,
    Opener,
    PathRefused,
    WriteQuota,
    WriteQuotaExceeded,
    choose_opener,
)
from agentos.state.confinement.steps import StepOpener
from tests.faults.figures import Figures, main
from tests.support import PATIENCE

ESCAPES = (
    *(
        "../x.py",
        "../../x",
        "a/../../x",
        "a/b/../../../x",
        "./../x",
        "a/./../../x",
        "..",
        "a/..",
    ),
    *(
        "/etc/cron.d/x",
        "/tmp/x",
        "//etc/x",
        "~/.ssh/authorized_keys",
        "~root/x",
        "$HOME/.bashrc",
        "${HOME}/x",
    ),
    *("file:///etc/x", "%2e%2e/%2e%2e/x", "‥/x"),
)
WINDOWS = (
    *(
        "..\\x",
        "C:\\Windows\\x",
        "C:x",
        "\\\\host\\share\\x",
        "\\\\?\\C:\\x",
        "a\\..\\..\\x",
    ),
    *("src/nul", "src/CON.py", "src/a.py:stream", "src/a.py."),
)
MALFORMED = (
    *(
        "",
        "   ",
        "a\x00b.py",
        "a\nb.py",
        "a\rb.py",
        "a\x1b[2Jb.py",
        "a\u202eyp.b",
        "a\u200b.py",
        "src//a.py",
        "./a.py",
    ),
    *("src/", "x" * 300 + ".py", "/".join(["abc"] * 1_100), "src/a.py "),
)
SENSITIVE = (
    *(
        ".git/config",
        ".git/hooks/pre-commit",
        ".GIT/config",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
    ),
    *(
        "conftest.py",
        "src/conftest.py",
        "sitecustomize.py",
        "usercustomize.py",
        "evil.pth",
        "pyproject.toml",
    ),
    *(
        "setup.py",
        "setup.cfg",
        "tox.ini",
        "pytest.ini",
        ".coveragerc",
        "Makefile",
        "requirements-dev.txt",
    ),
    *(".gitattributes", ".agentos/config.toml"),
)
WHOLE_COUNT = 20_000
NAMES = 50
KEPT = "a file outside\n"
SECONDS = 5.0

_RENAME_EXCHANGE = 2
_SWAPPER = """
import ctypes, os, sys
library = ctypes.CDLL(None, use_errno=True)
folder = os.open(sys.argv[1], os.O_RDONLY)
swaps = int(sys.argv[2])
pairs = ((b"sub", b"link"), (b"deep/er", b"deep/link"), (b"sub-file", b"link-file"))
print("ready", flush=True)
done = 0
while done != swaps:
    for one, other in pairs:
        library.renameat2(folder, one, folder, other, 2)
    done += 1
"""
TARGETS = ("sub/{}.txt", "deep/er/{}.txt", "deep/er/more/{}.txt", "sub-file")


@dataclass(frozen=True)
class Race:
    """What a race between a writer and a swapper came to."""

    writes: int
    refused: int
    outside: list[str]


def measure(seed: int, count: int, folder: Path, seconds: float = SECONDS) -> Figures:
    """Try every path, race for so many writes and seconds in both ways to open, and
    send too much.
    """
    figures = Figures("hostile_paths", seed, count)
    _try_paths(figures, folder / "paths")
    for name, opener in (("chosen", choose_opener()), ("steps", StepOpener())):
        run = race(folder / name, opener, writes=count, seconds=seconds)
        figures.values[f"{name}_writes"] = run.writes
        figures.values[f"{name}_refused"] = run.refused
        figures.values[f"{name}_outside"] = len(run.outside)
        figures.expect(
            not run.outside,
            f"{name}: {len(run.outside)} files outside, as {run.outside[:3]}",
        )
        figures.expect(run.writes >= count, f"{name}: only {run.writes} writes")
    if seconds:
        # Shows that the swaps are real: a check of the path before the write is not
        # enough.
        figures.values["checked_first_outside"] = len(
            race(folder / "checked", None, seconds=seconds).outside
        )
    _send_too_much(figures, folder / "caps")
    return figures


def _try_paths(figures: Figures, folder: Path) -> None:
    """Send every hostile path as an answer, judged by designs that declare nothing and
    everything; then write to it.
    """
    root = folder / "worktree"
    root.mkdir(parents=True)
    before = _files(folder.parent)
    with ConfinedFolder(root) as confined:
        for path in (*ESCAPES, *WINDOWS, *MALFORMED):
            answer = render_changes([WholeFile(path, "x\n", reason="because")])
            plain = f"```python\n# File: {path}\n# Reason: because\nx\n```\n"
            for text in (answer, plain):
                for declared in ({}, {path: "Add"}):
                    judged = judge(parse_changes(text).changes, declared=declared)
                    for change in judged.allowed:
                        # A marker's path is read without spaces and `./` around it:
                        # what is left must be harmless.
                        figures.expect(
                            change.path != path and not check_path(change.path),
                            f"{path[:60]!r} was allowed",
                        )
                        confined.write(change.path, "x\n")
            figures.add("refused", _is_refused(confined, path))
        figures.expect(
            figures.values["refused"] == 42,
            f"{figures.values['refused']} of 42 refused",
        )
        for path in SENSITIVE:
            answer = render_changes([WholeFile(path, "x\n", reason="because")])
            judged = judge(parse_changes(answer).changes, declared={})
            figures.expect(not judged.allowed, f"{path} is open without being declared")
            figures.add("sensitive_refused", len(judged.refusals))
            judged = judge(parse_changes(answer).changes, declared={path: "Add"})
            figures.expect(
                bool(judged.allowed) != (".git/" in path.lower()),
                f"{path} as declared: {judged.refusals}",
            )
            for change in judged.allowed:
                confined.write(change.path, "x\n")
                figures.add("sensitive_declared")
    figures.expect(
        len(ESCAPES) == 18 and len(WINDOWS) == 10 and len(MALFORMED) == 14,
        "a group lacks paths",
    )
    figures.expect(len(SENSITIVE) == 20, "the sensitive group lacks paths")
    after = {path for path in _files(folder.parent) if not path.is_relative_to(root)}
    figures.expect(after == before, f"outside: {sorted(after - before)[:3]}")
    figures.values["files_inside"] = len(_files(root))


def _is_refused(confined: ConfinedFolder, path: str) -> bool:
    try:
        confined.write(path, "x")
    except PathRefused:
        return True
    return False


def _files(folder: Path) -> set[Path]:
    return {
        path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()
    }


def race(
    folder: Path,
    opener: Opener | None,
    *,
    writes: int = 0,
    seconds: float = 0.0,
    swaps: int = -1,
) -> Race:
    """Write while another process swaps folders and files with links that lead outside.

    Ends when the swapper has swapped so often or, with endless swaps, after so many
    writes and seconds. Without an opener the path is checked and then opened, as one
    would without descriptors.
    """
    root, outside = folder / "root", folder / "outside"
    (outside / "folder/more").mkdir(parents=True)
    names = [
        "file",
        *(
            f"folder/{more}{number}.txt"
            for number in range(NAMES)
            for more in ("", "more/")
        ),
    ]
    for name in names:
        (outside / name).write_text(KEPT, "utf-8")
    (root / "sub").mkdir(parents=True)
    (root / "deep/er").mkdir(parents=True)
    (root / "sub-file").write_text("inside", "utf-8")
    (root / "link").symlink_to(outside / "folder")
    (root / "deep/link").symlink_to("../../outside/folder")
    (root / "link-file").symlink_to(outside / "file")
    _require_exchange(root)
    swapper = subprocess.Popen(
        [sys.executable, "-c", _SWAPPER, str(root), str(swaps)],
        stdout=subprocess.PIPE,
        text=True,
    )
    done = refused = 0
    try:
        assert swapper.stdout is not None
        assert swapper.stdout.readline() == "ready\n"
        with ConfinedFolder(
            root, opener=opener, is_durable=False, quota=WriteQuota(files=1_000)
        ) as confined:
            until = time.monotonic() + seconds
            give_up = time.monotonic() + seconds + 4 * PATIENCE
            while swapper.poll() is None and (
                swaps >= 0 or done < writes or time.monotonic() < until
            ):
                assert time.monotonic() < give_up
                path = TARGETS[done % len(TARGETS)].format(done % NAMES)
                refused += not (
                    _write_checked(root, path)
                    if opener is None
                    else _write_confined(confined, path)
                )
                done += 1
    finally:
        swapper.kill()
        swapper.communicate()
    touched = {path for path in _files(outside) if path.read_text("utf-8") != KEPT}
    touched |= {outside / name for name in names} ^ _files(outside)
    return Race(
        done, refused, sorted(path.relative_to(outside).as_posix() for path in touched)
    )


def _write_confined(confined: ConfinedFolder, path: str) -> bool:
    try:
        confined.write(path, "x")
        assert confined.read(path) != KEPT.encode()
        confined.delete(path)
    except PathRefused:
        return False
    return True


def _write_checked(root: Path, path: str) -> bool:
    try:
        place = (root / path).resolve()
        if not place.is_relative_to(root.resolve()):
            return False
        place.parent.mkdir(exist_ok=True)
        (root / path).write_text("x", "utf-8")
    except (OSError, RuntimeError):
        return False
    return True


def _require_exchange(root: Path) -> None:
    """Skip where the file system cannot swap two names at once."""
    (root / "one").write_text("", "utf-8")
    (root / "two").write_text("", "utf-8")
    here = os.open(root, os.O_RDONLY)
    failed = ctypes.CDLL(None).renameat2(here, b"one", here, b"two", _RENAME_EXCHANGE)
    os.close(here)
    if failed:
        pytest.skip("this file system cannot exchange two names")


def _send_too_much(figures: Figures, folder: Path) -> None:
    """Send ten thousand files, a file and a line that are too long, and an answer
    without end.
    """
    folder.mkdir()
    many = parse_changes(
        "".join(f"```\n# File: f{number}.py\nx\n```\n" for number in range(10_000))
    )
    figures.values["files_read"] = len(many.changes)
    figures.expect(
        len(many.changes) == 500 and bool(many.problems), "10,000 files were read"
    )
    for name, text in {
        "file of 2 MB": "```\n# File: a.py\n" + "x = 1\n" * 350_000 + "```\n",
        "line of 9 MB": "```\n# File: a.py\n" + "x" * 9_000_000 + "\n```\n",
        "answer of 11 MB": "```\n# File: a.py\n" + "x = 1\n" * 1_900_000,
        "cut file of 5 MB": "```\n# File: a.py\n" + "x = 1\n" * 900_000,
    }.items():
        read = parse_changes(text)
        figures.expect(not read.changes and len(read.problems) == 1, f"{name} was read")
        figures.add("too_long_refused")
    with ConfinedFolder(folder, is_durable=False) as confined:
        for name, files in {
            "10,000 files": {f"f{number}": b"x" for number in range(10_000)},
            "a file of 100 MB": {"f": bytes(100_000_000)},
            "21 files of 1 MB": {
                f"f{number}": bytes(1_000_000) for number in range(21)
            },
        }.items():
            try:
                confined.write_all(files)
                figures.misses.append(f"{name} were written")
            except WriteQuotaExceeded:
                figures.add("floods_refused")
    figures.expect(not list(folder.iterdir()), "a flood left files")


if __name__ == "__main__":
    raise SystemExit(main(measure, WHOLE_COUNT))
