"""Run the whole suite on merged files, and tell what of it is new."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from agentos.environments import (
    Environment,
    Needs,
    is_asked_by_others,
    open_environment,
    project_metadata,
    read_needs,
)
from agentos.errors import BadInput, ItemError
from agentos.proofs.causes import name_cause
from agentos.proofs.runs import Outcome, TestRun
from agentos.rehearsal.lodging import clear
from agentos.sandbox import Limits, Sandbox
from agentos.testbench import Setting, run_in_sandbox
from agentos.worktrees.git import Git
from agentos.worktrees.storing import list_tree
from agentos.worktrees.writing import write_entries

WHOLE_SUITE = "the whole suite"
_RED = frozenset({Outcome.FAILED, Outcome.ERROR, Outcome.UNFINISHED})


class _CannotInstall(Exception):
    """What some items ask for cannot be installed."""


class OutOfRuns(Exception):
    """The suite was run as often as it may be."""


@dataclass(frozen=True, slots=True)
class Result:
    """What the suite showed on some files."""

    failures: Mapping[str, str] = field(default_factory=dict)
    """Tests, and files that cannot be collected, each with its cause; the whole suite when it cannot be run."""
    unreadable: frozenset[str] = frozenset()
    """Files that cannot be collected."""
    problem: str = ""
    """Why the run proves nothing."""

    def without(self, known: Result) -> Mapping[str, str]:
        """Return what fails here and not there; of a file that could not be collected there, nothing is new."""
        return {
            name: cause
            for name, cause in self.failures.items()
            if name not in known.failures and name.partition("::")[0] not in known.unreadable
        }


def read_result(run: TestRun) -> Result:
    """Return what of a run counts as red; where nothing else does, a run that proves nothing is red as a whole."""
    failures = {test.id: name_cause(test) or str(test.outcome) for test in run.tests if test.outcome in _RED}
    failures |= {error.path: name_cause(error) for error in run.collection_errors}
    if run.problem and not failures:
        failures = {WHOLE_SUITE: run.problem}
    return Result(failures, frozenset(error.path for error in run.collection_errors), run.problem)


class Suite:
    """Runs of the suite on files of commits; the same files are run once."""

    def __init__(
        self,
        git: Git,
        sandbox: Sandbox,
        limits: Limits,
        environments: Path,
        folder: Path,
        most: int,
        say: Callable[[str], None],
    ) -> None:
        self._git = git
        self._sandbox = sandbox
        self._limits = limits
        self._environments = environments
        self._folder = folder
        self._most = most
        self._say = say
        self._known: dict[str, Result] = {}
        self._environment: tuple[Needs, Environment] | None = None
        self.runs = 0

    async def run(self, commit: str, tree: str, what: str) -> Result:
        """Return what the suite shows on the files of a commit."""
        if tree not in self._known:
            if self.runs >= self._most:
                raise OutOfRuns
            self.runs += 1
            self._say(f"suite, run {self.runs}: {what}")
            self._known[tree] = await self._run(commit)
        return self._known[tree]

    async def _run(self, commit: str) -> Result:
        """Run in files that are written anew: what an earlier run did to its own must not be seen here."""
        places = (self._folder / "files", self._folder / "tests", self._folder / "metadata")
        setting = Setting(*places, limits=self._limits)
        staging = self._folder / "staging"
        for place in (setting.folder, staging, setting.metadata):
            clear(place)
        for place in (setting.folder, staging):
            place.mkdir(mode=0o700)
        write_entries(self._git, setting.folder, list_tree(self._git, commit), staging)
        try:
            needs, environment = await self._open_environment(setting.folder, commit)
            for part in (".", *needs.parts):
                project_metadata(setting.folder / part, setting.metadata)
            setting = replace(setting, parts=needs.parts)
            return read_result(await run_in_sandbox(self._sandbox, environment, setting))
        except (BadInput, _CannotInstall) as error:
            return Result({WHOLE_SUITE: str(error)}, problem=str(error))

    async def _open_environment(self, folder: Path, commit: str) -> tuple[Needs, Environment]:
        """Return the environment that these files ask for; most merges ask for the same one as the last."""
        needs = read_needs(folder)
        if is_asked_by_others(needs, self._git, commit):
            # What a branch has asked for may be installed, but must not run code of its own on the way.
            needs = read_needs(folder, only_wheels=True)
        if self._environment is None or self._environment[0] != needs:
            self._environment = needs, await self._build_environment(needs)
        return self._environment

    async def _build_environment(self, needs: Needs) -> Environment:
        try:
            return await open_environment(needs, self._environments, log=self._say)
        except ItemError as error:
            if needs.only_wheels:
                # The target may do very well: whose dependencies they are is found out like everything else.
                raise _CannotInstall(str(error)) from error
            raise
