"""Run the tests of a repository in the sandbox with their own environment, as builds
and trial merges do.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agentos.proving.environment import Built, Environment, generated_files
from agentos.proving.environment.building import MISSING
from agentos.proving.environment.scripts import COMMANDS
from agentos.proving.runners.registry import find_runner
from agentos.proving.runners.requests import RunRequest
from agentos.proving.runners.runs import TestRun
from agentos.proving.sandbox import Mounts, Sandbox, SandboxLimits
from agentos.proving.sandbox.environment import PATH
from agentos.state.files import make_private_directory, remove_tree


@dataclass(frozen=True, slots=True)
class TestFolders:
    """Where tests are run."""

    folder: Path
    """The files of the repository."""
    scratch: Path
    """A folder for the files of runs; created when it is needed."""
    metadata: Path
    """A folder with the metadata of the project; may be missing."""
    read_only: tuple[str, ...] = ()
    """Paths in the folder that the tests must not change."""
    parts: tuple[str, ...] = ()
    """Subfolders with projects of their own that the tests import."""
    built: tuple[Built, ...] = ()
    """What builds of the project and of those subfolders have made."""
    limits: SandboxLimits = field(default_factory=SandboxLimits)

    @property
    def beside(self) -> tuple[Path, ...]:
        """Folders, next to that of the repository, from which its code is imported."""
        found: list[Path] = []
        for built in self.built:
            found += built.import_path
        found.append(self.metadata)
        for part in self.parts:
            found.append(code_folder(self.folder.resolve() / part))
        return tuple(found)

    @property
    def generated(self) -> list[tuple[Path, Path]]:
        """The files that builds have made and the repository lacks."""
        found = []
        for built in self.built:
            project = built.project.relative_to(self.folder)
            found.append((built.folder / MISSING, project))
        return found

    def mounts(
        self,
        environment: Environment,
        readable: Iterable[Path],
        results: Path,
        environ: Mapping[str, str],
        read_only: Iterable[str] = (),
    ) -> Mounts:
        """Return what code of the repository sees of this machine."""
        shown = [*environment.readable, *readable]
        shown += [built.folder for built in self.built]
        if self.metadata.is_dir():
            shown.append(self.metadata)
        path = search_path(environment, self.metadata)
        return Mounts(
            folder=self.folder,
            readable=tuple(shown),
            read_only=tuple(self.folder / path for path in read_only),
            results=results,
            limits=self.limits,
            environ={"PATH": path, **environ},
        )


@dataclass(frozen=True, slots=True)
class _Ended:
    """The end of a sandboxed command, in the form that a test runner reads."""

    code: int | None
    output: str
    reason: str


async def run_in_sandbox(
    sandbox: Sandbox,
    environment: Environment,
    setting: TestFolders,
    selection: tuple[str, ...] = (),
    measured: tuple[str, ...] = (),
) -> TestRun:
    """Run the selected tests, or all tests of the repository, and return the result."""
    folder = setting.folder
    runner = find_runner(folder)
    make_private_directory(setting.scratch)
    results = Path(tempfile.mkdtemp(prefix="results-", dir=setting.scratch))
    try:
        request = RunRequest(
            folder,
            str(environment.python),
            results,
            selection,
            measured,
            beside=setting.beside,
        )
        invocation = runner.prepare(request)
        # Bytecode that generated code leaves next to its source must not run in its
        # place.
        bytecode = environment.bytecode or results / "bytecode"
        mounts = setting.mounts(
            environment,
            invocation.readable,
            results,
            {**invocation.environ, "PYTHONPYCACHEPREFIX": str(bytecode)},
            read_only=setting.read_only,
        )
        with generated_files(folder, setting.generated):
            finished = await sandbox.run(invocation.command, mounts)
        reason = finished.explain() if finished.is_stopped else ""
        return runner.read(invocation, _Ended(finished.code, finished.output, reason))
    finally:
        remove_tree(results)


def search_path(environment: Environment, metadata: Path) -> str:
    """Return the PATH of the tests: their project's commands, those of their
    environment, the system's.
    """
    commands = sorted((metadata / COMMANDS).glob("*"))
    folders = [*commands, environment.python.parent, PATH]
    return os.pathsep.join(map(str, folders))


def code_folder(project: Path) -> Path:
    """Return the folder of a project from which its code is imported."""
    source = project / "src"
    if source.is_dir():
        return source
    return project
