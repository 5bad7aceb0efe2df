"""Run the tests of a repository in the sandbox with their own environment, as builds
and trial merges do.
"""

from __future__ import annotations

import os
import tempfile
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
    metadata = setting.metadata
    runner = find_runner(folder)
    make_private_directory(setting.scratch)
    results = Path(tempfile.mkdtemp(prefix="results-", dir=setting.scratch))
    try:
        code_folders = [_code_folder(folder.resolve() / part) for part in setting.parts]
        built_folders = [path for built in setting.built for path in built.import_path]
        request = RunRequest(
            folder,
            str(environment.python),
            results,
            selection,
            measured,
            beside=(*built_folders, metadata, *code_folders),
        )
        invocation = runner.prepare(request)
        readable = [*environment.readable, *invocation.readable]
        readable += [built.folder for built in setting.built]
        if metadata.is_dir():
            readable.append(metadata)
        generated = [
            (built.folder / MISSING, built.project.relative_to(folder))
            for built in setting.built
        ]
        # Bytecode that generated code leaves next to its source must not run in its
        # place.
        bytecode = environment.bytecode or results / "bytecode"
        mounts = Mounts(
            folder=folder,
            readable=tuple(readable),
            read_only=tuple(folder / path for path in setting.read_only),
            results=results,
            limits=setting.limits,
            environ={
                **invocation.environ,
                "PATH": _search_path(environment, metadata),
                "PYTHONPYCACHEPREFIX": str(bytecode),
            },
        )
        with generated_files(folder, generated):
            finished = await sandbox.run(invocation.command, mounts)
        reason = finished.explain() if finished.is_stopped else ""
        return runner.read(invocation, _Ended(finished.code, finished.output, reason))
    finally:
        remove_tree(results)


def _search_path(environment: Environment, metadata: Path) -> str:
    """Return the PATH of the tests: their project's commands, those of their
    environment, the system's.
    """
    commands = sorted((metadata / COMMANDS).glob("*"))
    folders = [*commands, environment.python.parent, PATH]
    return os.pathsep.join(map(str, folders))


def _code_folder(project: Path) -> Path:
    """Return the folder of a project from which its code is imported."""
    source = project / "src"
    if source.is_dir():
        return source
    return project
