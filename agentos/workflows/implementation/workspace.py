"""The worktree, the environment and the sandbox of one item, behind one interface."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path, PurePosixPath

from agentos.documents.changes import is_pytest_module, is_test
from agentos.errors import ItemError
from agentos.kinds import Kind
from agentos.proving.environment import (
    Builder,
    Built,
    Environment,
    Needs,
    has_untrusted_needs,
    install_project,
    missing_extras,
    nearest_tag,
    optional_modules,
    read_needs,
)
from agentos.proving.inspection import condition_of_import, conditions
from agentos.proving.run_command import Tools, run_command
from agentos.proving.run_tests import TestFolders, run_in_sandbox
from agentos.proving.runners.registry import has_runner
from agentos.proving.runners.runs import TestRun
from agentos.proving.sandbox import (
    FinishedCommand,
    Sandbox,
    SandboxLimits,
    choose_sandbox,
)
from agentos.repository.context import select_context
from agentos.repository.git.committing import commit_to_branch
from agentos.repository.git.delivery import make_bundle
from agentos.repository.git.fingerprints import Fingerprint, read_fingerprint
from agentos.repository.git.merging import move_changes
from agentos.repository.git.names import branch_of
from agentos.repository.git.opening import open_worktree
from agentos.repository.git.reading import (
    changed_files,
    has_commits,
    list_files,
    read_file,
    show_diff,
)
from agentos.repository.git.repository import find_repository, read_ref
from agentos.repository.git.snapshots import SAVED, restore, take
from agentos.repository.git.worktree import Worktree
from agentos.repository.look import (
    Looker,
    LookLimits,
    Snapshot,
    open_commit,
    snapshot_of_commit,
)
from agentos.repository.paths import lineage_folders
from agentos.state.confinement import ConfinedFolder
from agentos.state.variables import environment
from agentos.workflows.engine.flow import Session
from agentos.workflows.implementation.baseline import BASELINES, find_or_run
from agentos.workflows.implementation.blueprint import Blueprint
from agentos.workflows.implementation.config import BuildConfig

_MOST_TEST_FILES = 200
"""How many test files are read for the marks that a repository uses."""
_SETTINGS = frozenset(
    [
        "conftest.py",
        "pyproject.toml",
        "pytest.toml",
        "pytest.ini",
        ".pytest.ini",
        "tox.ini",
        "setup.cfg",
    ],
)

LONGEST_DIFF = 200_000
"""Characters of a change that a reviewer is shown."""
_MATERIAL = 32_000
_FIRST_PROMPT = 20_000
"""Characters of the design and of the excerpts that a model in a loop begins with."""
_LEAST_EXCERPTS = 5_000
_SMALL = 12_000
"""Characters up to which a file that the design names is shown whole."""


class Workspace:
    """The worktree of an item and the operations on it."""

    def __init__(
        self, session: Session, config: BuildConfig, blueprint: Blueprint
    ) -> None:
        assignment = session.assignment
        self._session = session
        self._config = config
        self._test_timeout = assignment.config.test_timeout
        self._item = assignment.item.id
        self._repository = session.root
        self._branch = branch_of(self._item, blueprint.title)
        self._tests = blueprint.tests
        self._kept = {*blueprint.declared}
        """Files that belong to the item even if git ignores them."""
        self._observe = session.observe
        self._environment: Environment | None = None
        self._needs: Needs | None = None
        """The dependencies that the open environment was made for."""
        self._built: Built | None = None
        """What a build of the project has made, if it has to be built."""
        self._is_guarded = False
        """Whether a model chose the dependencies, so that it has to hear if they cannot
        be installed.
        """
        self._at = ""
        """The snapshot that was last taken or restored."""
        self._is_exact = False
        """Whether the files are unchanged since that snapshot."""
        self._saved = ""
        """Name of the snapshot that the last restore made of the previous files, if
        they differed.
        """

    @cached_property
    def _worktree(self) -> Worktree:
        return self._open_worktree(begins=False)

    def _open_worktree(self, *, begins: bool) -> Worktree:
        return open_worktree(
            self._repository,
            Path(self._config.worktree),
            self._item,
            self._branch,
            builds_on=self._config.builds_on,
            begins=begins,
            say=partial(self._observe, "noted"),
        )

    @cached_property
    def _sandbox(self) -> Sandbox:
        is_allowed = self._session.assignment.config.allow_unsandboxed
        sandbox = choose_sandbox(environment(), is_allowed=is_allowed)
        for weakness in sandbox.weaknesses:
            self._observe(
                "warned", f"the {sandbox.name} sandbox does not protect: {weakness}"
            )
        return sandbox

    @cached_property
    def _builder(self) -> Builder:
        return Builder(
            self._sandbox,
            Path(self._config.environments),
            partial(self._observe, "noted"),
            self._limits,
        )

    @property
    def _limits(self) -> SandboxLimits:
        return SandboxLimits(seconds=self._test_timeout)

    @cached_property
    def _tag(self) -> str:
        """The version of the newest tag before the item, if it has one."""
        git = find_repository(self._repository).git()
        return nearest_tag(git, self._worktree.base)

    @property
    def branch(self) -> str:
        """The item's branch."""
        return self._worktree.branch

    @property
    def folder(self) -> Path:
        """The folder of the item's worktree."""
        return self._worktree.path

    @property
    def tip(self) -> str:
        """The commit of the item's branch in its own repository."""
        return read_ref(self._worktree.git(), self._worktree.branch_ref)

    def has(self, commits: Iterable[str]) -> bool:
        """Return whether the item's own repository has all these commits."""
        return has_commits(self._worktree.git(), commits)

    async def open(self) -> str:
        """Prepare the worktree, the sandbox and the environment; return the commit that
        the item builds on.
        """
        self._worktree = self._open_worktree(begins=True)
        base = self._worktree.base
        await self.restore(base)
        if self._saved:
            kept = f"what was in its worktree is kept as {self._saved}"
            self._observe(
                "noted",
                f"{kept}; bring it back with: agentos salvage {self._item}",
            )
        _ = self._sandbox
        await self._open_environment()
        return base

    @property
    def isolates(self) -> bool:
        """Whether generated code runs in a sandbox that protects the machine."""
        return not self._sandbox.weaknesses

    @property
    def environment_notes(self) -> tuple[str, ...]:
        """Describe where the test environment comes from."""
        return self._environment.notes if self._environment else ()

    @property
    def missing_extras(self) -> tuple[str, ...]:
        """Optional packages that the project declares and the environment lacks."""
        if self._environment is None:
            return ()
        computed = self._built.declared if self._built else None
        return missing_extras(self.folder, self._environment.folder, computed)

    def gather(self, source: str) -> str:
        """Return the repository context of the design."""
        worktree = self._worktree
        # The `.git` of the folder is never read.
        files = open_commit(worktree.path, worktree.git(), worktree.base)
        context = select_context(
            files, source, _MATERIAL, small=_SMALL, called="design"
        )
        self._observe("gathered", context.explanation)
        return context.text

    def show_excerpts(self, source: str) -> str:
        """Return a smaller context, for a model that can look at the rest."""
        worktree = self._worktree
        files = open_commit(worktree.path, worktree.git(), worktree.base)
        room = max(_LEAST_EXCERPTS, _FIRST_PROMPT - len(source))
        small = room // 3
        return select_context(files, source, room, small=small, called="design").text

    def snapshot_of_base(self, own_documents: Iterable[str]) -> Snapshot:
        """Return what the models may look at: the files of the base, without the item's
        own documents.
        """
        own = tuple(sorted(own_documents))
        return replace(snapshot_of_commit(self._worktree.base), own_documents=own)

    def open_looker(self, snapshot: Snapshot, limits: LookLimits) -> Looker:
        """Return what answers looks at a snapshot of a commit."""
        worktree = self._worktree
        # The `.git` of the folder is never read.
        return Looker(worktree.path, snapshot, limits, worktree.git())

    def read(self, path: str) -> str | None:
        """Return the current text of a file; None if there is none."""
        with ConfinedFolder(self._worktree.path) as folder:
            return folder.read_text(path)

    def read_base(self, path: str) -> str | None:
        """Return the text of a file before the item began; None if there was none."""
        data = read_file(self._worktree.git(), self._worktree.base, path)
        if data is None:
            return None
        return data.decode("utf-8", "replace")

    def skip_conditions(self) -> frozenset[str]:
        """Return the conditions under which the repository's own tests are skipped, or
        may be because it declares what they need as optional.
        """
        modules = optional_modules(self._worktree.path)
        found = set(map(condition_of_import, modules))
        paths = filter(is_pytest_module, self.files_of(self._worktree.base))
        for path in islice(paths, _MOST_TEST_FILES):
            found |= conditions(self.read_base(path))
        return frozenset(found)

    def write(self, files: Mapping[str, str], delete: Iterable[str] = ()) -> None:
        """Write and delete files; no link in the worktree can lead outside of it."""
        self._is_exact = False
        with ConfinedFolder(self._worktree.path) as folder:
            folder.write_all(files)
            self._kept |= files.keys()
            for path in delete:
                folder.delete(path)

    def revert(self, path: str, commit: str) -> None:
        """Restore one file to its content in a commit."""
        data = read_file(self._worktree.git(), commit, path)
        self._is_exact = False
        with ConfinedFolder(self._worktree.path) as folder:
            if data is None:
                folder.delete(path)
            else:
                folder.write(path, data)

    def snapshot(self, name: str) -> str:
        """Save all files under a name; return the commit."""
        self._at = take(self._worktree, name, also=self._kept).commit
        self._is_exact = True
        return self._at

    async def snapshot_of_turn(self, name: str) -> str:
        """Save all files under a name and remove those that git ignores, so that what is
        there is what a restore of the snapshot gives; return the commit.
        """
        commit = self.snapshot(name)
        self._is_exact = False
        await self.restore(commit)
        return commit

    async def restore(
        self, commit: str, worthless: Mapping[str, str] | None = None
    ) -> None:
        """Restore all files to a snapshot; save the current ones first, except
        worthless texts.

        Ignored files are restored too: a file that one test run leaves behind could
        make the next one pass.
        """
        if self._is_exact and self._at == commit:
            return
        self._is_exact = False
        restored = restore(
            self._worktree, commit, with_ignored=True, worthless=worthless
        )
        self._saved = ""
        if restored.saved:
            name = restored.saved.ref.rpartition("/")[2]
            if name.startswith(SAVED):
                self._saved = name
        self._at = commit
        self._is_exact = True

    def changed_files(self, base: str, commit: str) -> tuple[str, ...]:
        """Return the paths that differ between two commits."""
        return changed_files(self._worktree.git(), base, commit)

    def diff(self, base: str, commit: str) -> str:
        """Return what changed between two commits, cut if it is very long."""
        text = show_diff(self._worktree.git(), base, commit)
        if len(text) <= LONGEST_DIFF:
            return text
        left = len(text) - LONGEST_DIFF
        return f"{text[:LONGEST_DIFF]}\n[{left:,} more characters; look at the files]"

    def looker(self, commit: str, limits: LookLimits) -> Looker:
        """Return what answers looks at the files of a commit, without the item's own
        documents.
        """
        own = [self._session.assignment.item.source]
        for kind in (Kind.LLD, Kind.IMPLEMENTATION):
            own += lineage_folders(kind, self._item)
        snapshot = snapshot_of_commit(commit)
        own_documents = tuple(sorted(own))
        return self.open_looker(replace(snapshot, own_documents=own_documents), limits)

    def move(self, old: str, tip: str, new: str) -> tuple[str, Sequence[str]]:
        """Return a commit with the changes of a snapshot since an old commit on top of
        a new one, or the paths in conflict.
        """
        return move_changes(self._worktree.git(), old, tip, new)

    def files_of(self, commit: str) -> tuple[str, ...]:
        """Return the paths of all files of a commit."""
        return list_files(self._worktree.git(), commit)

    def commit(self, snapshot: str, message: str, when: int) -> str:
        """Commit a snapshot to the item's branch."""
        return commit_to_branch(self._worktree, snapshot, message, when)

    def bundle(self, commit: str) -> bytes:
        """Return the item's commits up to this one, which the coordinator delivers to
        the user's repository.
        """
        return make_bundle(self._worktree, commit)

    async def test(
        self, selection: tuple[str, ...], measured: tuple[str, ...] = ()
    ) -> TestRun:
        """Run the selected tests in the sandbox, or the whole suite if none are
        selected.
        """
        try:
            environment, setting = await self._prepare_run(self._limits)
        except ItemError as error:
            if not self._is_guarded:
                raise
            return TestRun(problem=str(error))
        self._is_exact = False
        guarded = self._guarded_files()
        before = _fingerprints(self._worktree.path, guarded)
        with self._waiting():
            run = await run_in_sandbox(
                self._sandbox, environment, setting, selection, measured
            )
        after = _fingerprints(self._worktree.path, guarded)
        for path in guarded:
            if before[path] != after[path]:
                return replace(run, problem=f"{path} was changed while the tests ran")
        return run

    async def command(self, text: str, tools: Tools, seconds: float) -> FinishedCommand:
        """Run a shell command in the folder, in the sandbox."""
        limits = SandboxLimits(seconds=seconds)
        environment, setting = await self._prepare_run(limits)
        self._is_exact = False
        with self._waiting():
            return await run_command(self._sandbox, environment, setting, text, tools)

    async def _prepare_run(
        self, limits: SandboxLimits
    ) -> tuple[Environment, TestFolders]:
        """Return the environment for the present files, and where to run them."""
        environment = await self._open_environment()
        beside = self._worktree.beside
        # The item may have changed what its project declares, its commands among it.
        with self._waiting():
            built = await install_project(
                self._builder,
                self._worktree.path,
                self._parts,
                beside("metadata"),
                environment.python,
                self._tag,
            )
        setting = TestFolders(
            self._worktree.path,
            beside("tests"),
            beside("metadata"),
            self._tests,
            self._parts,
            built,
            limits,
        )
        return environment, setting

    @property
    def _parts(self) -> tuple[str, ...]:
        return self._needs.parts if self._needs else ()

    def _guarded_files(self) -> list[str]:
        """Return the tests and settings that must not change while tests run."""
        return [
            path
            for path in self.files_of(self._at)
            if is_test(path) or PurePosixPath(path).name in _SETTINGS
        ]

    async def test_base(self) -> TestRun:
        """Return the run of the whole suite without the item; the first item that needs
        it runs it for all.
        """
        base = self._worktree.base
        await self.restore(base)
        if not has_runner(self._worktree.path):
            return TestRun()
        environment = await self._open_environment()
        baselines = self._worktree.path.parent / BASELINES
        name = f"{base}-{environment.folder.name}"
        if self._built:
            name += f"-{self._built.folder.name}"
        with self._waiting():
            return await find_or_run(
                baselines / f"{name}.json",
                lambda: self.test(()),
                partial(self._observe, "noted"),
            )

    async def _open_environment(self) -> Environment:
        """Return the environment for the current files: an item that changes
        dependencies gets its own.
        """
        with self._waiting():
            self._built = await self._builder.build(self._worktree.path, self._tag)
        computed = self._built.declared if self._built else None
        needs = read_needs(self._worktree.path, computed=computed)
        git = self._worktree.git_with_users()
        self._is_guarded = has_untrusted_needs(
            needs, git, self._at or self._worktree.base
        )
        if self._is_guarded:
            # A dependency that a model chose may be installed, but must not run its own
            # code during the installation.
            needs = read_needs(self._worktree.path, only_wheels=True, computed=computed)
        if (
            self._environment is not None
            and needs == self._needs
            and self._environment.is_whole
        ):
            return self._environment
        with self._waiting():
            environment = await self._builder.open_environment(needs)
        self._environment = environment
        self._needs = needs
        return environment

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        """Let a request to stop take effect immediately, not after the step."""
        self._session.is_waiting = True
        try:
            yield
        finally:
            self._session.is_waiting = False


def _fingerprints(folder: Path, paths: Iterable[str]) -> dict[str, Fingerprint]:
    return {
        path: read_fingerprint(folder / path, follows_links=False) for path in paths
    }
