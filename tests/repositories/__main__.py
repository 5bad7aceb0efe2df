"""Build approved designs in real repositories, as somebody would who tries AgentOS on
code of their own.

    python -m tests.repositories [--only NAME] [--keep FOLDER]

Each folder beside this file belongs to one release on the package index and holds what
is laid over its source: two designs, one on top of the other, and the recorded answers
of a model. The source is fetched with pip, committed as it is, with all that its rules
for ignored files leave out; then the installed commands build and rehearse it in an
environment of its own, and what came out is checked. It takes a minute or two and needs
the package index, so pytest does not collect it. What was built is removed unless
`--keep` names a folder for it, which must be new.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.designs import branches, git
from tests.support import World, build_world

HERE = Path(__file__).parent
PATIENCE = 600.0


@dataclass(frozen=True)
class Release:
    """A release, and what is expected of the two designs that are built on it."""

    name: str
    folder: str
    first: str
    """The branch that is built first."""
    second: str
    """The branch on top of it."""
    suite: str
    """What the whole suite shows when both are built."""


RELEASES = (
    Release(
        name="humanize==4.16.0",
        folder="humanize",
        first="31-fractions-as-percentages",
        second="32-read-file-sizes-back",
        suite="757 of 826 tests passed, 69 skipped.",
    ),
    Release(
        name="python-slugify==9.1.3",
        folder="python_slugify",
        first="41-one-slug-for-each-line",
        second="42-slugs-that-are-not-taken",
        suite="143 of 144 tests passed, 1 skipped.",
    ),
)


def main(argv: list[str] | None = None) -> int:
    """Try each release and say how it went."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.repositories", description=(__doc__ or "").splitlines()[0]
    )
    names = [release.folder for release in RELEASES]
    parser.add_argument(
        "--only", metavar="NAME", choices=names, help=f"one of {', '.join(names)}"
    )
    parser.add_argument(
        "--keep",
        metavar="FOLDER",
        type=Path,
        help="keep everything in this folder, which must be new",
    )
    args = parser.parse_args(argv)
    if args.keep and args.keep.exists():
        parser.error(f"--keep {args.keep}: is there already; name a folder that is not")
    problems = 0
    with work_folder(args.keep) as folder:
        for release in RELEASES:
            if args.only in (None, release.folder):
                problems += try_release(release, folder / release.folder)
    return 1 if problems else 0


@contextmanager
def work_folder(kept: Path | None) -> Iterator[Path]:
    """Give the folder that everything happens in."""
    if kept is not None:
        kept.mkdir(parents=True)
        yield kept.resolve()
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder).resolve()


def try_release(release: Release, folder: Path) -> int:
    """Build and rehearse the designs of a release; return how many things are not as
    they should be.
    """
    folder.mkdir()
    world = prepare(release, folder)
    started = time.monotonic()
    with world.start(
        "implement-workflow", "--all", "--parallel", "2", "--trial-merge"
    ) as running:
        built = running.finish(PATIENCE)
    seconds = time.monotonic() - started
    (folder / "built.txt").write_text(built.text, "utf-8")
    with world.start("agentos", "trial-merge", "--json") as running:
        rehearsed = running.finish(PATIENCE)
    (folder / "rehearsed.json").write_text(rehearsed.stdout, "utf-8")
    problems = list(find_problems(release, world, built.code, rehearsed.stdout))
    print(
        f"{release.name}: {'; '.join(problems) or 'as expected'}; built and rehearsed in {seconds:.1f} s"
    )
    if problems:
        print(built.text)
    return len(problems)


def prepare(release: Release, folder: Path) -> World:
    """Fetch the source, lay the designs over it and commit it."""
    world = build_world(folder, issues=0)
    shutil.rmtree(world.repo)
    fetch_source(release.name, folder, world.repo)
    git(world.repo, "init", "--quiet", "--initial-branch=main")
    git(world.repo, "add", "--all")
    git(world.repo, "commit", "--quiet", f"--message={release.name}")
    # What a clone would not have is not there either.
    git(world.repo, "clean", "--quiet", "-xd", "--force")
    shutil.copytree(HERE / release.folder, world.repo, dirs_exist_ok=True)
    git(world.repo, "add", "--all")
    git(world.repo, "commit", "--quiet", "--message=Designs")
    return world


def fetch_source(name: str, folder: Path, repo: Path) -> None:
    """Fetch the source distribution of a release into `folder` and unpack it as
    `repo`.
    """
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--disable-pip-version-check",
    ]
    command += [
        "--no-binary",
        name.partition("==")[0],
        "--dest",
        str(folder),
        name,
    ]
    if subprocess.run(command, check=False).returncode:
        sys.exit(
            f"{name}: pip cannot fetch its source; check the network or the package index, then run it again"
        )
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder / "source", filter="data")
    next((folder / "source").iterdir()).rename(repo)


def find_problems(
    release: Release, world: World, code: int, rehearsed: str
) -> Iterator[str]:
    """Say what is not as it should be."""
    if code:
        yield f"building ended with {code}"
    first, second = f"agentos/{release.first}", f"agentos/{release.second}"
    if sorted(branches(world.repo)) != [first, second]:
        yield f"the branches are {', '.join(branches(world.repo)) or 'missing'}"
    elif git(world.repo, "rev-list", f"main..{second}") != git(
        world.repo, "rev-parse", second, first
    ):
        yield "the second branch is not one commit on top of the first"
    rehearsal = json.loads(rehearsed)
    standings = [item["standing"] for item in rehearsal["items"]]
    if (
        not rehearsal["green"]
        or rehearsal["known_failures"]
        or standings != ["merged", "merged"]
    ):
        yield f"the rehearsal is not green: {rehearsed}"
    report = (
        world.repo
        / "docs"
        / "reports"
        / release.second.partition("-")[0]
        / "test-report.md"
    )
    said = (
        report.read_text("utf-8").splitlines()[-1]
        if report.is_file()
        else "there is no test report"
    )
    if said != release.suite:
        yield f"of the suite it should be said {release.suite!r}, not {said!r}"


if __name__ == "__main__":
    sys.exit(main())
