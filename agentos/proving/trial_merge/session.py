"""Run a trial merge of a repository's finished items without changing the
repository.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from agentos.errors import BadInput, UsageError
from agentos.proving.sandbox import SandboxLimits, choose_sandbox
from agentos.proving.trial_merge.candidates import Items
from agentos.proving.trial_merge.finding import FoundItems, find_candidates
from agentos.proving.trial_merge.merging import Merges, set_apart
from agentos.proving.trial_merge.report import MergedItem, MergeResult, TrialMergeReport
from agentos.proving.trial_merge.scratch_worktree import scratch_worktree
from agentos.proving.trial_merge.search import Failures
from agentos.proving.trial_merge.suite import OutOfRuns, Suite, SuiteResult
from agentos.proving.trial_merge.trial import TrialMerge, TrialResult
from agentos.repository.git.repository import find_repository, resolve_commit
from agentos.repository.git.run import Git
from agentos.state.home import Home, repository_key
from agentos.state.variables import environment

MOST_RUNS = 60
UNSANDBOXED = (
    "the suite ran without a sandbox (allow_unsandboxed): it could read and change your"
    " files and use the network"
)
_MOST_NAMED = 6


@dataclass(frozen=True, slots=True)
class TrialMergeRequest:
    """What to merge on trial."""

    repository: Path
    ids: tuple[str, ...] = ()
    """The items; if empty, all that are implemented."""
    onto: str = "HEAD"
    most_runs: int = MOST_RUNS
    """Maximum number of runs of the suite."""
    test_timeout: float = 300.0
    """Maximum duration of one run in seconds."""
    allow_unsandboxed: bool = False
    """Whether generated code may run in a sandbox that does not isolate it."""


async def run_trial_merge(
    request: TrialMergeRequest,
    home: Home,
    say: Callable[[str], None],
    environ: Mapping[str, str] | None = None,
) -> TrialMergeReport:
    """Merge the finished items in order in a scratch worktree, run the suite, and
    report which items break which tests.

    No branch, ref, file or object of the repository is changed. A trial merge that
    cannot start raises `UsageError`; a canceled one has removed its scratch worktree
    when it returns.
    """
    began = time.monotonic()
    git, target = _open(request)
    found = find_candidates(request.repository, home, git, request.ids, target)
    report = TrialMergeReport(
        repository=str(request.repository),
        target=request.onto,
        commit=target,
        entries=_absent(found),
        runs=0,
    )
    if found.candidates:
        report = await _try_out(request, home, say, environ, git, found, report)
    notes = (*found.notes, *report.notes)
    return replace(report, notes=notes, seconds=time.monotonic() - began)


async def _try_out(
    request: TrialMergeRequest,
    home: Home,
    say: Callable[[str], None],
    environ: Mapping[str, str] | None,
    git: Git,
    found: FoundItems,
    report: TrialMergeReport,
) -> TrialMergeReport:
    with scratch_worktree(home, repository_key(request.repository)) as folder:
        apart = set_apart(git, folder / "objects")
        commits = {candidate.item: candidate.commit for candidate in found.candidates}
        merges = Merges(apart, report.commit, commits)
        if environ is None:
            environ = environment()
        is_allowed = request.allow_unsandboxed
        sandbox = choose_sandbox(environ, is_allowed=is_allowed)
        notes = []
        for weakness in sandbox.weaknesses:
            say(f"the {sandbox.name} sandbox does not protect: {weakness}")
        if sandbox.weaknesses:
            notes.append(UNSANDBOXED)
        limits = SandboxLimits(seconds=request.test_timeout)
        suite = Suite(
            apart,
            sandbox,
            limits,
            home.root / "environments",
            folder,
            request.most_runs,
            say,
        )
        trial = _Trial(merges, suite, request.onto)
        settled = await TrialMerge(found.candidates, merges, trial).settle()
        problem = await trial.find_problem(settled)
        known: list[str] = []
        if trial.known:
            known = sorted(trial.known.failures)
        return replace(
            report,
            entries=(*report.entries, *settled.entries),
            problem=problem,
            unexplained=settled.unexplained,
            known=tuple(known),
            runs=suite.runs,
            notes=tuple(notes),
        )


def _open(request: TrialMergeRequest) -> tuple[Git, str]:
    try:
        git = find_repository(request.repository).git()
        return git, resolve_commit(git, request.onto)
    except BadInput as error:
        raise UsageError(str(error)) from error


def _absent(found: FoundItems) -> tuple[MergedItem, ...]:
    absent = [
        MergedItem(each.item, MergeResult.IN_TARGET, each.branch, each.commit)
        for each in found.merged
    ]
    absent += [MergedItem(item, MergeResult.GONE) for item in found.gone]
    return tuple(absent)


class _Trial:
    """Runs of the suite on merged items, compared with a run on the target alone."""

    def __init__(self, merges: Merges, suite: Suite, target: str) -> None:
        self._merges = merges
        self._suite = suite
        self._target = target
        self.known: SuiteResult | None = None

    async def fail(self, items: Items) -> Failures | None:
        """Return what fails because of these items; None if they cannot be merged
        without others.
        """
        joined = self._merges.join(items)
        if not joined.is_whole:
            return None
        result = await self._run(items)
        if not result.failures:
            return {}
        if self.known is None:
            self.known = await self._run(())
        return result.without(self.known)

    async def find_problem(self, settled: TrialResult) -> str:
        """Return why it is unknown whether the kept items are green, or an empty
        string.
        """
        if settled.is_cut_short:
            return (
                f"it was given up after {self._suite.runs} runs of the suite; merge"
                " fewer items with --ids"
            )
        if not settled.kept:
            return ""
        try:
            problem = (await self._run(settled.kept)).problem
        except OutOfRuns:
            return "the suite was not run"
        if not problem:
            return ""
        return (
            f"the suite gives no usable result, not even on {self._target}: {problem}"
        )

    async def _run(self, items: Items) -> SuiteResult:
        joined = self._merges.join(items)
        tree = self._merges.tree(joined)
        return await self._suite.run(joined.commit, tree, self._describe(items))

    def _describe(self, items: Items) -> str:
        if not items:
            return f"{self._target} alone"
        text = f"{self._target} with {', '.join(items[:_MOST_NAMED])}"
        more = len(items) - _MOST_NAMED
        if more > 0:
            text += f" and {more} more"
        return text
