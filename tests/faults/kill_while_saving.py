"""Kill a process, and its git, while it saves and restores a worktree: what it reported
is there and whole.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from agentos.repository.git.committing import commit_to_branch
from agentos.repository.git.names import branch_of
from agentos.repository.git.opening import open_worktree
from agentos.repository.git.salvage import restore_to
from agentos.repository.git.snapshots import restore, take
from tests.faults.figures import Figures, main
from tests.repository.git.ground import content_of, git, make_repository
from tests.support import ROOT

LATEST = 0.6
REPORTS = "reports.jsonl"


def measure(seed: int, count: int, folder: Path) -> Figures:
    """Kill so many times, at a random moment after the first report, the whole group or
    the process alone.
    """
    figures = Figures(
        "kill_while_saving", seed, count, {"reported": 0, "killed_groups": 0}
    )
    rng = random.Random(seed)
    repository = make_repository(folder / "repo")
    for number in range(1, count + 1):
        is_group = rng.random() < 0.5
        _run_and_kill(folder, rng.uniform(0, LATEST), number, is_group)
        figures.add("killed_groups", int(is_group))
        _check(figures, repository, folder, number)
    figures.values["reported"] = len(_reports(folder))
    figures.expect(bool(_reports(folder)), "nothing was ever reported")
    return figures


def work(folder: Path, number: int) -> None:
    """Open, change, save, report, restore, and again, until killed."""
    worktree = open_worktree(
        folder / "repo", folder / "home/42", "42", branch_of("42", "x")
    )
    rng = random.Random(number)
    first = ""
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    with (folder / REPORTS).open("ab", buffering=0) as reports:
        # What a kill cut off before is a line of its own.
        reports.write(b"\n")
        for turn in range(1_000_000):
            for _ in range(6):
                name = f"d{rng.randrange(4)}/f{rng.randrange(6)}"
                (worktree.path / name).parent.mkdir(exist_ok=True)
                (worktree.path / name).write_bytes(rng.randbytes(rng.randrange(20_000)))
            snapshot = take(worktree, f"turn-{number}-{turn}")
            content = {
                path.decode(): data.hex()
                for path, (_, data) in content_of(worktree.path).items()
            }
            reports.write(
                json.dumps([snapshot.commit, snapshot.ref, content]).encode() + b"\n"
            )
            if first:
                restore(worktree, first)
            if turn % 3 == 2:
                commit_to_branch(
                    worktree, snapshot.commit, f"Turn {turn}", 1_700_000_000 + turn
                )
            first = snapshot.commit


def _run_and_kill(folder: Path, delay: float, number: int, is_group: bool) -> None:
    command = [
        sys.executable,
        "-m",
        "tests.faults.kill_while_saving",
        "work",
        str(folder),
        str(number),
    ]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        # Every third is killed while it opens the worktree, which is then the damaged
        # one of the kill before.
        if number % 3:
            process.stdout.readline()
        time.sleep(delay)
        if is_group:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _check(figures: Figures, repository: Path, folder: Path, number: int) -> None:
    worktree = open_worktree(repository, folder / "home/42", "42", branch_of("42", "x"))
    said = git(worktree.store, "fsck", "--strict", "--no-dangling", "--no-progress")
    figures.expect(not said.strip(), f"kill {number}: fsck says {said[:200]}")
    reports = _reports(folder)
    refs = git(
        worktree.store, "for-each-ref", "--format=%(objectname) %(refname)"
    ).split("\n")
    for commit, ref, _ in reports:
        figures.expect(f"{commit} {ref}" in refs, f"kill {number}: {ref} is lost")
    if not reports:
        return
    commit, ref, content = reports[-1]
    restore_to(worktree.git(), folder / f"out-{number}", commit)
    whole = {
        path.decode(): data.hex()
        for path, (_, data) in content_of(folder / f"out-{number}").items()
    }
    figures.expect(whole == content, f"kill {number}: {ref} is not what was reported")
    restore(worktree, commit)
    now = {
        path.decode(): data.hex()
        for path, (_, data) in content_of(worktree.path).items()
    }
    figures.expect(now == content, f"kill {number}: {ref} is not what was restored")
    beside = sorted(path.name for path in worktree.path.parent.iterdir())
    figures.expect(beside == [".42.git", "42"], f"kill {number}: left behind {beside}")
    locks = sorted(
        str(path.relative_to(folder)) for path in worktree.store.rglob("*.lock")
    )
    figures.expect(not locks, f"kill {number}: left behind {locks}")
    written = git(repository, "for-each-ref", "refs/agentos", "refs/heads/agentos")
    figures.expect(not written, f"kill {number}: wrote to the user's refs: {written}")


def _reports(folder: Path) -> list[tuple[str, str, dict[str, str]]]:
    path = folder / REPORTS
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    found = []
    for line in lines:
        # A report that a kill cut off was not made.
        with suppress(ValueError):
            found.append(tuple(json.loads(line)))
    return found


if __name__ == "__main__":
    if sys.argv[1:2] == ["work"]:
        work(Path(sys.argv[2]), int(sys.argv[3]))
    raise SystemExit(main(measure, 30))
