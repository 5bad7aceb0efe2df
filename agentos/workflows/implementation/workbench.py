"""Where one item is built: its worktree, its environment and the sandbox, behind the few moves that steps make."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path, PurePosixPath

from agentos.codemap import select_material
from agentos.confinement import ConfinedFolder
from agentos.documents.changes import is_test
from agentos.environments import (
    Environment,
    Needs,
    is_asked_by_others,
    open_environment,
    project_metadata,
    read_needs,
)
from agentos.errors import ItemError
from agentos.files import make_private_directory
from agentos.proofs.runners import has_runner
from agentos.proofs.runs import TestRun
from agentos.sandbox import Limits, Sandbox, find_sandbox
from agentos.testbench import Setting, run_in_sandbox
from agentos.workflows.flow import Job, Observe
from agentos.workflows.implementation.baseline import BASELINES, find_or_run
from agentos.workflows.implementation.blueprint import Blueprint
from agentos.workshop import Workshop
from agentos.worktrees.finish import commit_to_branch
from agentos.worktrees.names import branch_of
from agentos.worktrees.opening import is_opened, open_worktree
from agentos.worktrees.reading import changed_files, list_files, read_file
from agentos.worktrees.repository import find_repository
from agentos.worktrees.snapshots import SAVED, restore, take
from agentos.worktrees.stacking import find_base
from agentos.worktrees.stamps import Stamp, stamp_of
from agentos.worktrees.worktree import Worktree

_SETTINGS = frozenset(
    ["conftest.py", "pyproject.toml", "pytest.toml", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg"],
)


class Workbench:
    """The worktree of an item and all that is done in it."""

    def __init__(self, job: Job, workshop: Workshop, blueprint: Blueprint, observe: Observe) -> None:
        self._job = job
        self._workshop = workshop
        self._repository = Path(job.publication.repository)
        self._branch = branch_of(job.task.item, blueprint.title)
        self._tests = blueprint.tests
        self._kept = {*blueprint.declared}
        """Files that belong to the item even where git ignores them."""
        self._observe = observe
        self._environment: Environment | None = None
        self._needs: Needs | None = None
        """What the environment was opened for."""
        self._is_guarded = False
        """Whether the dependencies are those of a model, so that it is told when they cannot be had."""
        self._at = ""
        """The snapshot that was last taken or brought back."""
        self._is_exact = False
        """Whether nothing of ours has touched the files since then."""
        self._saved = ""
        """Under which name that was saved which the last snapshot took the place of."""

    @cached_property
    def _worktree(self) -> Worktree:
        return self._open_worktree(begins=False)

    def _open_worktree(self, *, begins: bool) -> Worktree:
        item = self._job.task.item
        base = "HEAD"
        if begins or not is_opened(self._repository, item):
            base = find_base(self._repository, self._workshop.builds_on, partial(self._observe, "noted"))
        folder = Path(self._workshop.worktree)
        make_private_directory(folder.parent)
        return open_worktree(self._repository, folder, item, self._branch, base, begins=begins)

    @cached_property
    def _sandbox(self) -> Sandbox:
        sandbox = find_sandbox(os.environ)
        for weakness in sandbox.weaknesses:
            self._observe("warned", f"the {sandbox.name} sandbox does not protect: {weakness}")
        return sandbox

    @property
    def branch(self) -> str:
        """The item's branch."""
        return self._worktree.branch

    async def open(self) -> str:
        """Make worktree, sandbox and environment ready; return the commit that the item builds on."""
        self._worktree = self._open_worktree(begins=True)
        base = self._worktree.base
        await self.restore(base)
        if self._saved:
            kept = f"what was in its worktree is kept as {self._saved}"
            self._observe("noted", f"{kept}; bring it back with: agentos salvage {self._job.task.item}")
        _ = self._sandbox
        await self._open_environment()
        return base

    @property
    def environment_notes(self) -> tuple[str, ...]:
        """Say where the environment of the tests comes from."""
        return self._environment.notes if self._environment else ()

    def gather(self, source: str) -> str:
        """Return what of the repository bears on the design."""
        material = select_material(self._worktree.path, source)
        self._observe("gathered", material.explanation)
        return material.text

    def read(self, path: str) -> str | None:
        """Return the present text of a file; None when there is none."""
        with ConfinedFolder(self._worktree.path) as folder:
            return folder.read_text(path)

    def read_base(self, path: str) -> str | None:
        """Return the text of a file before the item was begun; None when there was none."""
        data = read_file(self._repository, self._worktree.base, path)
        return data.decode("utf-8", "replace") if data is not None else None

    def write(self, files: Mapping[str, str], delete: Iterable[str] = ()) -> None:
        """Write and delete files; nothing that lies in the worktree leads outside of it."""
        self._is_exact = False
        with ConfinedFolder(self._worktree.path) as folder:
            folder.write_all(files)
            self._kept |= files.keys()
            for path in delete:
                folder.delete(path)

    def revert(self, path: str, commit: str) -> None:
        """Put one file back to what it was in a commit."""
        data = read_file(self._repository, commit, path)
        self._is_exact = False
        with ConfinedFolder(self._worktree.path) as folder:
            if data is None:
                folder.delete(path)
            else:
                folder.write(path, data)

    def snapshot(self, name: str) -> str:
        """Save everything under a name; return the commit."""
        self._at = take(self._worktree, name, also=self._kept).commit
        self._is_exact = True
        return self._at

    async def restore(self, commit: str, worthless: Mapping[str, str] | None = None) -> None:
        """Make the files exactly those of a snapshot; whatever else is there is saved first, but for worthless texts.

        That is true of ignored files too, or what one run of tests leaves behind could make the next one green.
        """
        if self._is_exact and self._at == commit:
            return
        self._is_exact = False
        restored = restore(self._worktree, commit, with_ignored=True, worthless=worthless)
        name = restored.saved.ref.rpartition("/")[2] if restored.saved else ""
        self._saved = name if name.startswith(SAVED) else ""
        self._at, self._is_exact = commit, True

    def changed_files(self, base: str, commit: str) -> tuple[str, ...]:
        """Return the paths that differ between two commits."""
        return tuple(change.path for change in changed_files(self._repository, base, commit))

    def commit(self, snapshot: str, message: str, when: int) -> str:
        """Put a snapshot on the item's branch."""
        return commit_to_branch(self._worktree, snapshot, message, when)

    async def test(self, selection: tuple[str, ...], measured: tuple[str, ...] = ()) -> TestRun:
        """Run tests in the sandbox, all of the repository when none are selected, and report what they showed."""
        try:
            environment = await self._open_environment()
        except ItemError as error:
            if not self._is_guarded:
                raise
            return TestRun(problem=str(error))
        beside = self._worktree.beside
        limits = Limits(seconds=self._workshop.test_timeout)
        setting = Setting(self._worktree.path, beside("tests"), beside("metadata"), self._tests, self._parts, limits)
        self._is_exact = False
        guarded = self._guarded_files()
        before = _stamps(self._worktree.path, guarded)
        with self._waiting():
            run = await run_in_sandbox(self._sandbox, environment, setting, selection, measured)
        after = _stamps(self._worktree.path, guarded)
        changed = [path for path in guarded if before[path] != after[path]]
        return replace(run, problem=f"{changed[0]} was changed while the tests ran") if changed else run

    @property
    def _parts(self) -> tuple[str, ...]:
        return self._needs.parts if self._needs else ()

    def _guarded_files(self) -> list[str]:
        """Return the tests and settings that no run may change, not even for as long as it lasts."""
        return [path for path in list_files(self._repository, self._at) if is_test(path) or _configures(path)]

    async def test_base(self) -> TestRun:
        """Return what the repository's whole suite shows without the item; run by whoever needs it first."""
        base = self._worktree.base
        await self.restore(base)
        if not has_runner(self._worktree.path):
            return TestRun()
        environment = await self._open_environment()
        place = self._worktree.path.parent / BASELINES / f"{base}-{environment.folder.name}.json"
        with self._waiting():
            return await find_or_run(place, lambda: self.test(()), lambda text: self._observe("noted", text))

    async def _open_environment(self) -> Environment:
        """Return the environment for the files as they are: an item that changes dependencies gets one of its own."""

        def log(text: str) -> None:
            self._observe("noted", text)

        needs = read_needs(self._worktree.path)
        git = find_repository(self._repository).git()
        self._is_guarded = is_asked_by_others(needs, git, self._at or self._worktree.base)
        if self._is_guarded:
            # What a model has asked for may be installed, but must not run code of its own on the way.
            needs = read_needs(self._worktree.path, only_wheels=True)
        if self._environment is not None and needs == self._needs and self._environment.is_whole:
            return self._environment
        with self._waiting():
            environment = await open_environment(needs, Path(self._workshop.environments), log=log)
        if self._environment is None or environment.folder != self._environment.folder:
            for part in (".", *needs.parts):
                project_metadata(self._worktree.path / part, self._worktree.beside("metadata"))
        self._environment, self._needs = environment, needs
        return environment

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        """Let a request to stop take effect at once, not after the step."""
        self._job.is_waiting = True
        try:
            yield
        finally:
            self._job.is_waiting = False


def _configures(path: str) -> bool:
    return PurePosixPath(path).name in _SETTINGS


def _stamps(folder: Path, paths: Iterable[str]) -> dict[str, Stamp]:
    return {path: stamp_of(folder / path, follows_links=False) for path in paths}
