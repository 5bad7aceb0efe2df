"""Run a repository's tests in the sandbox, in their own environment: what building and rehearsing share."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from agentos.environments import Environment, generated_files
from agentos.files import make_private_directory, remove_tree
from agentos.proofs.requests import RunRequest
from agentos.proofs.runners import find_runner
from agentos.proofs.runs import TestRun
from agentos.sandbox import Limits, Sandbox, Scene


@dataclass(frozen=True, slots=True)
class Setting:
    """Where tests are run."""

    folder: Path
    """The files of the repository."""
    scratch: Path
    """A folder for what a run leaves behind; made when it is needed."""
    metadata: Path
    """What the project says of itself, beside its files; not there when it says nothing."""
    read_only: tuple[str, ...] = ()
    """Paths in the folder that the tests must not change."""
    parts: tuple[str, ...] = ()
    """Folders in the folder that hold projects of their own, which the tests import."""
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class _Ended:
    """The end of a sandboxed command, as a test runner wants it told."""

    code: int | None
    output: str
    reason: str


async def run_in_sandbox(
    sandbox: Sandbox,
    environment: Environment,
    setting: Setting,
    selection: tuple[str, ...] = (),
    measured: tuple[str, ...] = (),
) -> TestRun:
    """Run tests, all of the repository when none are selected, and report what they showed."""
    folder, metadata = setting.folder, setting.metadata
    runner = find_runner(folder)
    make_private_directory(setting.scratch)
    results = Path(tempfile.mkdtemp(prefix="results-", dir=setting.scratch))
    try:
        places = [_code_folder(folder.resolve() / part) for part in setting.parts]
        request = RunRequest(folder, str(environment.python), results, selection, measured, beside=(metadata, *places))
        invocation = runner.prepare(request)
        scene = Scene(
            folder=folder,
            readable=(*environment.readable, *invocation.readable, *([metadata] if metadata.is_dir() else [])),
            read_only=tuple(folder / path for path in setting.read_only),
            results=results,
            limits=setting.limits,
            environ={
                **invocation.environ,
                # Bytecode that generated code leaves beside its source must not be run in the place of it.
                "PYTHONPYCACHEPREFIX": str(environment.bytecode or results / "bytecode"),
            },
        )
        with generated_files(folder):
            finished = await sandbox.run(invocation.command, scene)
        reason = finished.explain() if finished.is_stopped else ""
        return runner.read(invocation, _Ended(finished.code, finished.output, reason))
    finally:
        remove_tree(results)


def _code_folder(project: Path) -> Path:
    """Return the folder of a project from which its code is imported."""
    return project / "src" if (project / "src").is_dir() else project
