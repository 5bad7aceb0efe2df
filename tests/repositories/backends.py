"""Run the suites of real packages as they were released, before anything is changed.

    python -m tests.repositories.backends [--only NAME] [--keep FOLDER]

Each package has another build backend. Its source distribution is fetched with pip and
committed; then AgentOS's own code reads what it needs, opens the environment, builds
the project in the sandbox if it has to be, and runs the suite. Each row says how it was
installed and how the suite ended. It needs the package index, so pytest does not
collect it.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentos.errors import AgentOSError
from agentos.proving.environment import (
    Builder,
    install_project,
    nearest_tag,
    read_needs,
)
from agentos.proving.run_tests import TestFolders, run_in_sandbox
from agentos.proving.runners.runs import TestRun
from agentos.proving.sandbox import find_sandbox
from agentos.repository.git.repository import find_repository
from agentos.state.variables import environment
from tests.designs import git
from tests.repositories.__main__ import fetch_source, work_folder


@dataclass(frozen=True)
class Package:
    """A release, what is special about it, and how its suite ends."""

    name: str
    kind: str
    expected: str
    without: tuple[str, ...] = ()
    """Files that are left out."""
    added: Mapping[str, str] = field(default_factory=dict)
    tag: str = ""
    """A tag on the commit."""


METADATA = ("pyproject.toml", "setup.py", "setup.cfg", "PKG-INFO")
RELEASED = ("PKG-INFO", "tabulate.egg-info", "src/pluggy.egg-info")
"""What a source distribution has and its repository has not."""
PACKAGES = (
    Package("python-dotenv==1.2.4", "setuptools, pyproject.toml", "260 passed"),
    Package("tabulate==0.10.0", "setuptools-scm", "280 passed, 39 skipped"),
    Package(
        "tabulate==0.10.0",
        "setuptools-scm, version from a tag",
        "280 passed, 39 skipped",
        without=RELEASED,
        tag="v0.10.0",
    ),
    Package("inflection==0.5.1", "setuptools, setup.py only", "455 passed"),
    Package("simplejson==3.20.2", "C extension, setup.py only", "144 passed"),
    Package("colorama==0.4.6", "hatchling", "38 passed, 14 skipped"),
    Package("idna==3.20", "flit", "6441 passed, 1 skipped"),
    # Its tests look for bytecode beside its modules, where tests never write any.
    Package("installer==1.1.0", "flit, src layout", "6 failed, 144 passed"),
    Package("tomlkit==0.15.2", "poetry-core", "1203 passed"),
    Package("findpython==0.9.0", "pdm-backend, src layout", "49 passed"),
    Package(
        "pluggy==1.7.0",
        "setuptools-scm, src layout, version from a tag",
        "219 passed",
        without=RELEASED,
        tag="1.7.0",
    ),
    Package("markupsafe==3.0.4", "C extension, src layout", "79 passed, 1 skipped"),
    Package("msgpack==1.2.4", "C extension by Cython", "160 passed, 1 skipped"),
    Package("wrapt==2.5.2", "C extension", "1371 passed, 47 skipped"),
    Package(
        "termcolor==3.3.0",
        "hatch-vcs, src layout, version from a tag",
        "85 passed",
        without=RELEASED,
        tag="3.3.0",
    ),
    Package("inflection==0.5.1", "no metadata", "455 passed", without=METADATA),
    Package(
        "pathspec==1.1.1",
        "tests only",
        "151 passed, 46 skipped",
        without=(*METADATA, "pathspec"),
        added={"requirements.txt": "pathspec==1.1.1\n"},
    ),
)


@dataclass
class Trial:
    """One package on its way."""

    package: Package
    folder: Path
    said: list[str]

    def prepare(self) -> Path:
        """Fetch and commit the source; return the repository."""
        repo = self.folder / "repo"
        fetch_source(self.package.name, self.folder, repo)
        for name in self.package.without:
            path = repo / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        for name, text in self.package.added.items():
            (repo / name).write_text(text, "utf-8")
        git(repo, "init", "--quiet", "--initial-branch=main")
        git(repo, "add", "--all")
        git(repo, "commit", "--quiet", f"--message={self.package.name}")
        git(repo, "clean", "--quiet", "-xd", "--force")
        if self.package.tag:
            git(repo, "tag", self.package.tag)
        return repo

    async def run(self, repo: Path, environments: Path) -> TestRun:
        """Run the suite as an item does at its base."""
        environ = environment()
        sandbox = find_sandbox(environ)
        builder = Builder(sandbox, environments, self.said.append)
        head = git(repo, "rev-parse", "HEAD").strip()
        tag = nearest_tag(find_repository(repo).git(), head)
        built = await builder.build(repo, tag)
        computed = built.declared if built else None
        needs = read_needs(repo, computed=computed)
        opened = await builder.open_environment(needs)
        metadata = self.folder / "metadata"
        found = await install_project(
            builder, repo, needs.parts, metadata, opened.python, tag
        )
        setting = TestFolders(
            repo, self.folder / "tests", metadata, parts=needs.parts, built=found
        )
        return await run_in_sandbox(sandbox, opened, setting)


def describe(run: TestRun) -> str:
    """Say in one line how a suite ended."""
    counts = Counter(str(test.outcome) for test in run.tests)
    parts = [f"{count} {name}" for name, count in sorted(counts.items())]
    if run.collection_errors:
        parts.append(f"{len(run.collection_errors)} files not collected")
    if run.problem:
        parts.append(run.problem)
    return ", ".join(parts) or "no tests"


def try_package(package: Package, folder: Path) -> bool:
    """Run the suite of a package and print how it went."""
    name = package.name.partition("==")[0]
    place = folder / f"{name}-{len(package.without)}"
    place.mkdir()
    trial = Trial(package, place, [])
    repo = trial.prepare()
    started = time.monotonic()
    try:
        run = asyncio.run(trial.run(repo, folder / "environments"))
        result = describe(run)
    except AgentOSError as error:
        run = TestRun()
        result = f"refused: {error}"
    seconds = time.monotonic() - started
    changes = git(repo, "status", "--porcelain").strip()
    is_expected = result.startswith(package.expected) and not changes
    verdict = "as expected" if is_expected else f"expected {package.expected}"
    print(f"{package.name} ({package.kind}): {result}; {verdict}; {seconds:.0f} s")
    for line in trial.said:
        print(f"    {line}")
    if changes:
        print(f"    left behind: {changes}")
    if not is_expected:
        show_failures(run)
    sys.stdout.flush()
    return is_expected


def show_failures(run: TestRun) -> None:
    """Print the first failures of a run."""
    for error in run.collection_errors[:3]:
        print(f"    {error.path}: {error.exception}: {error.message[:200]}")
    red = [test for test in run.tests if test.outcome in ("failed", "error")]
    for test in red[:5]:
        print(f"    {test.id}: {test.exception}: {test.message[:200]}")


def main(argv: Sequence[str] | None = None) -> int:
    """Try each package and say how it went."""
    parser = argparse.ArgumentParser(prog="python -m tests.repositories.backends")
    parser.add_argument("--only", metavar="NAME", action="append")
    parser.add_argument("--keep", metavar="FOLDER", type=Path)
    args = parser.parse_args(argv)
    problems = 0
    with work_folder(args.keep) as folder:
        for package in PACKAGES:
            name = package.name.partition("==")[0]
            if not args.only or name in args.only:
                problems += not try_package(package, folder)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
