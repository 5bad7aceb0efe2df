"""Rehearse the merge of a repository's finished items, with everything real and nothing changed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from agentos.errors import BadInput, UsageError
from agentos.home import Home, repository_key
from agentos.rehearsal.finding import Found, find_candidates
from agentos.rehearsal.lodging import lodge
from agentos.rehearsal.merging import Merges, set_apart
from agentos.rehearsal.rehearsing import Rehearsing, Settled
from agentos.rehearsal.report import Entry, Report, Standing
from agentos.rehearsal.search import Failures
from agentos.rehearsal.suite import OutOfRuns, Result, Suite
from agentos.sandbox import Limits, find_sandbox
from agentos.worktrees.git import Git
from agentos.worktrees.repository import find_repository, resolve_commit

MOST_RUNS = 60
_MOST_NAMED = 6


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be rehearsed."""

    repository: Path
    ids: tuple[str, ...] = ()
    """Items; all that are implemented when empty."""
    onto: str = "HEAD"
    most_runs: int = MOST_RUNS
    """How often the suite may be run."""
    test_timeout: float = 300.0
    """Seconds that one run may take."""


async def rehearse(
    request: Request, home: Home, say: Callable[[str], None], environ: Mapping[str, str] | None = None
) -> Report:
    """Merge the finished items in planned order in a throw-away folder, run the suite, and name who breaks what.

    No branch, no ref, no file and no object of the repository is changed. What cannot be begun is a `UsageError`; a
    cancelled rehearsal has removed all that it made when it returns.
    """
    began = time.monotonic()
    git, target = _open(request)
    found = find_candidates(request.repository, home, git, request.ids, target)
    report = Report(
        repository=str(request.repository), target=request.onto, commit=target, entries=_absent(found), runs=0
    )
    if found.candidates:
        report = await _try_out(request, home, say, environ, git, found, report)
    return replace(report, notes=found.notes, seconds=time.monotonic() - began)


async def _try_out(
    request: Request,
    home: Home,
    say: Callable[[str], None],
    environ: Mapping[str, str] | None,
    git: Git,
    found: Found,
    report: Report,
) -> Report:
    with lodge(home, repository_key(request.repository)) as folder:
        apart = set_apart(git, folder / "objects")
        merges = Merges(apart, report.commit, {each.item: each.commit for each in found.candidates})
        sandbox = find_sandbox(os.environ if environ is None else environ)
        for weakness in sandbox.weaknesses:
            say(f"the {sandbox.name} sandbox does not protect: {weakness}")
        limits = Limits(seconds=request.test_timeout)
        suite = Suite(apart, sandbox, limits, home.root / "environments", folder, request.most_runs, say)
        trial = _Trial(merges, suite, request.onto)
        settled = await Rehearsing(found.candidates, merges, trial).settle()
        return replace(
            report,
            entries=(*report.entries, *settled.entries),
            problem=await trial.find_problem(settled),
            unexplained=settled.unexplained,
            known=tuple(sorted(trial.known.failures)) if trial.known else (),
            runs=suite.runs,
        )


def _open(request: Request) -> tuple[Git, str]:
    try:
        git = find_repository(request.repository).git()
        return git, resolve_commit(git, request.onto)
    except BadInput as error:
        raise UsageError(str(error)) from error


def _absent(found: Found) -> tuple[Entry, ...]:
    merged = [Entry(each.item, Standing.IN_TARGET, each.branch, each.commit) for each in found.merged]
    return (*merged, *(Entry(item, Standing.GONE) for item in found.gone))


class _Trial:
    """Tests of merged items, held against what the target shows alone."""

    def __init__(self, merges: Merges, suite: Suite, target: str) -> None:
        self._merges = merges
        self._suite = suite
        self._target = target
        self.known: Result | None = None

    async def fail(self, items: tuple[str, ...]) -> Failures | None:
        """Return what fails because of these items; None when they cannot be merged by themselves."""
        joined = self._merges.join(items)
        if not joined.is_whole:
            return None
        result = await self._run(items)
        if not result.failures:
            return {}
        if self.known is None:
            self.known = await self._run(())
        return result.without(self.known)

    async def find_problem(self, settled: Settled) -> str:
        """Say why the kept items are not known to be green, if they are not."""
        if settled.is_cut_short:
            return f"it was given up after {self._suite.runs} runs of the suite; rehearse fewer items with --ids"
        if not settled.kept:
            return ""
        try:
            problem = (await self._run(settled.kept)).problem
        except OutOfRuns:
            return "the suite was not run"
        return f"the suite proves nothing, on {self._target} alone neither: {problem}" if problem else ""

    async def _run(self, items: tuple[str, ...]) -> Result:
        joined = self._merges.join(items)
        return await self._suite.run(joined.commit, self._merges.tree(joined), self._describe(items))

    def _describe(self, items: tuple[str, ...]) -> str:
        if not items:
            return f"{self._target} alone"
        more = len(items) - _MOST_NAMED
        return f"{self._target} with {', '.join(items[:_MOST_NAMED])}" + (f" and {more} more" if more > 0 else "")
