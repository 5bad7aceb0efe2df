"""`agentos trial-merge`: check which implemented items merge together, before anybody
merges them.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from agentos.cli.command import (
    Arguments,
    Parser,
    add_flag,
    split_ids,
)
from agentos.errors import AgentOSError, UsageError
from agentos.kinds import Kind
from agentos.settings import SETTINGS
from agentos.state.terminal_text import print_clean

if TYPE_CHECKING:
    from agentos.proving.trial_merge.report import TrialMergeReport
    from agentos.proving.trial_merge.session import TrialMergeRequest

DESCRIPTION = """\
Merge the branches of implemented items in planned order in a temporary folder, run the whole test suite there, and
report which items conflict, and which pair passes apart and fails together, with the test that shows it. Nothing is
pushed, and no branch, ref or file of the repository is changed.

examples:
  agentos trial-merge                   every implemented item, on top of HEAD
  agentos trial-merge --ids 12 14       these two items
  agentos trial-merge --onto release    on top of another branch or commit
"""
EPILOG = """\
exit codes:
  0    everything merges and the suite is green, or there is nothing to merge
  1    something conflicts, breaks or could not be run
  2    the command cannot be used; nothing was run
  129, 130, 141, 143   ended by SIGHUP, Ctrl+C, a closed stdout, SIGTERM

Ctrl+C ends at once and removes the temporary folder. The next trial merge removes what a killed one left behind.
"""


def add_arguments(parser: Parser) -> None:
    """Add the items and the options."""
    parser.describe(
        f"{parser.prog} [--all | --ids ID...] [options]", DESCRIPTION, EPILOG
    )
    group = parser.add_mutually_exclusive_group()
    add_flag(group, "--all", "every implemented item (the default)")
    group.add_argument("--ids", nargs="+", metavar="ID", help="these items")
    parser.add_argument(
        "--onto",
        default="HEAD",
        metavar="REF",
        help="the branch or commit to merge into (default: HEAD)",
    )
    add_flag(parser, "--allow-unsandboxed", SETTINGS["allow_unsandboxed"].help)
    parser.add_common_arguments()


def run(arguments: Arguments) -> int:
    """Merge the items on trial and print the report."""
    from agentos.proving.trial_merge.session import TrialMergeRequest

    repository = arguments.repository
    if not arguments.onto.strip() or "\0" in arguments.onto:
        raise UsageError("--onto: give a branch, a tag or a commit")
    items = split_ids(arguments.ids, Kind.IMPLEMENTATION)
    if arguments.ids and not items:
        raise UsageError("--ids: give at least one id")
    # A flag that is not given is no value: the user's file may have one.
    given = {"allow_unsandboxed": arguments.allow_unsandboxed or None}
    settings = arguments.resolve(given)
    request = TrialMergeRequest(
        repository,
        items,
        arguments.onto,
        test_timeout=settings["test_timeout"].value,
        allow_unsandboxed=settings["allow_unsandboxed"].value,
    )
    return merge_and_report(request, arguments)


def merge_and_report(request: TrialMergeRequest, arguments: Arguments) -> int:
    """Merge on trial, print the report and return the exit code."""
    try:
        report, ending = _merge(request, arguments)
    except UsageError:
        raise
    except (AgentOSError, OSError) as error:
        print_clean(f"agentos trial-merge: {error}\n", sys.stderr)
        return 1
    if report is None or ending is not None:
        from agentos.run.signals import die_by

        return die_by(ending or 15)
    arguments.print_result(report.to_json(), report.lines())
    return 0 if report.is_green else 1


def _merge(
    request: TrialMergeRequest, arguments: Arguments
) -> tuple[TrialMergeReport | None, int | None]:
    """Merge until the end or until a signal; return the report, or the signal."""
    import asyncio

    from agentos.proving.trial_merge.session import run_trial_merge
    from agentos.run.signals import Signals, die_by, handled

    merges: list[asyncio.Task[TrialMergeReport]] = []

    async def work() -> TrialMergeReport | None:
        merge = asyncio.create_task(run_trial_merge(request, arguments.home, _say))
        merges.append(merge)
        if signals.ending is not None:
            merge.cancel()
        await asyncio.wait([merge])
        return None if merge.cancelled() else merge.result()

    def stop() -> None:
        for merge in merges:
            merge.get_loop().call_soon_threadsafe(merge.cancel)

    def stop_now() -> None:
        # The next trial merge removes what is left then.
        die_by(signals.received[-1])

    signals = Signals(
        stop=stop,
        stop_now=stop_now,
        suspend=lambda: None,
        resume=lambda: None,
        report=lambda: _say("running"),
    )
    with handled(signals):
        try:
            return asyncio.run(work()), signals.ending
        except (AgentOSError, OSError):
            # Ctrl+C also ends git, and that error is not the cause.
            if signals.ending is None:
                raise
            return None, signals.ending


def _say(text: str) -> None:
    print_clean(f"[TRIAL-MERGE] {text}\n", sys.stderr)
