"""Run the whole suite on merged files, and find the new failures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from agentos.errors import BadInput, ItemError
from agentos.proving.causes import describe_cause
from agentos.proving.environment import (
    Builder,
    Environment,
    Needs,
    has_untrusted_needs,
    install_project,
    nearest_tag,
    read_needs,
)
from agentos.proving.run_tests import TestFolders, run_in_sandbox
from agentos.proving.runners.runs import TestOutcome, TestRun
from agentos.proving.sandbox import Sandbox, SandboxLimits
from agentos.proving.trial_merge.scratch_worktree import clear
from agentos.repository.git.run import Git
from agentos.repository.git.storing import list_tree
from agentos.repository.git.writing import write_entries

WHOLE_SUITE = "the whole suite"
_RED = frozenset({TestOutcome.FAILED, TestOutcome.ERROR, TestOutcome.UNFINISHED})


class _CannotInstall(Exception):
    """The dependencies of some items cannot be installed."""


class OutOfRuns(Exception):
    """The maximum number of runs of the suite is reached."""


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """The result of a run of the suite."""

    failures: Mapping[str, str] = field(default_factory=dict)
    """Failed tests and files that cannot be collected, each with its cause; or the
    whole suite, if it cannot run.
    """
    unreadable: frozenset[str] = frozenset()
    """Files that cannot be collected."""
    problem: str = ""
    """Why the run proves nothing."""

    def without(self, known: SuiteResult) -> Mapping[str, str]:
        """Return the failures that are not known; nothing in a file that already could
        not be collected is new.
        """
        new = {}
        for name, cause in self.failures.items():
            path = name.partition("::")[0]
            if name not in known.failures and path not in known.unreadable:
                new[name] = cause
        return new


def read_result(run: TestRun) -> SuiteResult:
    """Return the failures of a run; without any, a run that proves nothing is a failure
    of the whole suite.
    """
    failures = {
        test.id: describe_cause(test) or str(test.outcome)
        for test in run.tests
        if test.outcome in _RED
    }
    unreadable = {error.path: describe_cause(error) for error in run.collection_errors}
    failures |= unreadable
    if run.problem and not failures:
        failures = {WHOLE_SUITE: run.problem}
    return SuiteResult(failures, frozenset(unreadable), run.problem)


class Suite:
    """Runs of the suite on the files of commits, each tree once."""

    def __init__(
        self,
        git: Git,
        sandbox: Sandbox,
        limits: SandboxLimits,
        environments: Path,
        folder: Path,
        most: int,
        say: Callable[[str], None],
    ) -> None:
        self._git = git
        self._sandbox = sandbox
        self._limits = limits
        self._builder = Builder(sandbox, environments, say, limits)
        self._folder = folder
        self._most = most
        self._say = say
        self._known: dict[str, SuiteResult] = {}
        self._environment: tuple[Needs, Environment] | None = None
        self.runs = 0

    async def run(self, commit: str, tree: str, what: str) -> SuiteResult:
        """Return the result of the suite on the files of a commit."""
        if tree not in self._known:
            if self.runs >= self._most:
                raise OutOfRuns
            self.runs += 1
            self._say(f"suite, run {self.runs}: {what}")
            self._known[tree] = await self._run(commit)
        return self._known[tree]

    async def _run(self, commit: str) -> SuiteResult:
        """Run the suite on freshly written files, so that a run never sees the changes
        of an earlier one.
        """
        setting = TestFolders(
            self._folder / "files",
            self._folder / "tests",
            self._folder / "metadata",
            limits=self._limits,
        )
        staging = self._folder / "staging"
        for folder in (setting.folder, staging, setting.metadata):
            clear(folder)
        for folder in (setting.folder, staging):
            folder.mkdir(mode=0o700)
        write_entries(self._git, setting.folder, list_tree(self._git, commit), staging)
        try:
            needs, environment = await self._open_environment(setting.folder, commit)
            built = await install_project(
                self._builder,
                setting.folder,
                needs.parts,
                setting.metadata,
                environment.python,
                nearest_tag(self._git, commit),
            )
            setting = replace(setting, parts=needs.parts, built=built)
            run = await run_in_sandbox(self._sandbox, environment, setting)
            return read_result(run)
        except (BadInput, _CannotInstall) as error:
            return SuiteResult({WHOLE_SUITE: str(error)}, problem=str(error))

    async def _open_environment(
        self, folder: Path, commit: str
    ) -> tuple[Needs, Environment]:
        """Return the environment that these files need, usually that of the previous
        run.
        """
        built = await self._builder.build(folder, nearest_tag(self._git, commit))
        computed = built.declared if built else None
        needs = read_needs(folder, computed=computed)
        if has_untrusted_needs(needs, self._git, commit):
            # Dependencies of a branch may be installed, but must not run code while
            # they are.
            needs = read_needs(folder, only_wheels=True, computed=computed)
        if self._environment is None or self._environment[0] != needs:
            self._environment = needs, await self._build_environment(needs)
        return self._environment

    async def _build_environment(self, needs: Needs) -> Environment:
        try:
            return await self._builder.open_environment(needs)
        except ItemError as error:
            if needs.only_wheels:
                # The target may work without them, so the search finds the item with
                # these dependencies like that of any other failure.
                raise _CannotInstall(str(error)) from error
            raise
