"""`agentos rehearse`: say which finished items merge together, before anybody merges them."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentos.cli.parser import Parser
from agentos.cli.repository import add_repository_argument, repository_of
from agentos.errors import AgentOSError, UsageError
from agentos.task import Workflow
from agentos.untrusted import print_clean

if TYPE_CHECKING:
    from agentos.rehearsal.report import Report
    from agentos.rehearsal.session import Request

DESCRIPTION = """\
Merge the branches of implemented items in planned order in a throw-away folder, run the whole suite there, and name who
conflicts with whom, and the pair that is green apart and red together, with the test that shows it. Nothing is pushed,
and no branch, ref or file of the repository is changed.

examples:
  agentos rehearse                   every implemented item, on top of HEAD
  agentos rehearse --ids 12 14       these two
  agentos rehearse --onto release    on top of another branch or commit
"""
EPILOG = """\
exit codes:
  0    everything merges and the suite is green, or there is nothing to rehearse
  1    something conflicts, breaks or could not be run
  2    the command cannot be used; nothing was run
  129, 130, 141, 143   ended by SIGHUP, Ctrl+C, a closed stdout, SIGTERM

Ctrl+C ends at once and removes what was made. What is left of a rehearsal that was killed goes with the next one.
"""


def main(arguments: Sequence[str]) -> int:
    """Rehearse and print the report; the exit code says whether all is well."""
    parser = Parser(
        prog="agentos rehearse",
        usage="agentos rehearse [--all | --ids ID...] [options]",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    add_arguments(parser)
    args = parser.parse(arguments)
    return rehearse_and_tell(_read_request(args), as_json=args.json)


def rehearse_and_tell(request: Request, *, as_json: bool = False) -> int:
    """Rehearse, print what came of it, and return the exit code."""
    try:
        report, ending = _run(request)
    except UsageError:
        raise
    except (AgentOSError, OSError) as error:
        print_clean(f"agentos rehearse: {error}\n", sys.stderr)
        return 1
    if report is None or ending is not None:
        from agentos.shutdown import die_by

        return die_by(ending or 15)
    if as_json:
        from agentos.redaction import redact_json

        print(redact_json(json.dumps(report.to_json(), indent=2)))
    else:
        print_clean("".join(f"{line}\n" for line in report.lines()))
    return 0 if report.is_green else 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--all", action="store_true", help="every implemented item (the default)")
    group.add_argument("--ids", nargs="+", metavar="ID", help="these items")
    parser.add_argument("--onto", default="HEAD", metavar="REF", help="what is merged into (default: HEAD)")
    add_repository_argument(parser)
    parser.add_argument("--json", action="store_true", help="as one JSON document; all talk goes to stderr")


def _read_request(args: argparse.Namespace) -> Request:
    from agentos.home import Home, home_path
    from agentos.plan.selection import normalise_id
    from agentos.rehearsal.session import Request
    from agentos.settings import resolve

    repository = repository_of(args)
    if not repository.is_dir():
        raise UsageError(f"{repository}: no such folder; give the repository with --repo DIR")
    if not args.onto.strip() or "\0" in args.onto:
        raise UsageError("--onto: give a branch, a tag or a commit")
    ids = [part for text in args.ids or () for part in text.split(",") if part]
    if args.ids and not ids:
        raise UsageError("--ids: give at least one id")
    items = tuple(dict.fromkeys(normalise_id(text, Workflow.IMPLEMENTATION) for text in ids))
    settings = resolve({}, os.environ, repository, Home(home_path(os.environ)).config)
    return Request(repository, items, args.onto, test_timeout=settings["test_timeout"].value)


def _run(request: Request) -> tuple[Report | None, int | None]:
    """Rehearse until the end or until a signal; return the report, or the signal."""
    import asyncio

    from agentos.home import Home, home_path
    from agentos.rehearsal.session import rehearse
    from agentos.shutdown import Signals, die_by, handled

    tasks: list[asyncio.Task[Report]] = []

    async def work() -> Report | None:
        task = asyncio.create_task(rehearse(request, Home(home_path(os.environ)), _say))
        tasks.append(task)
        if signals.ending is not None:
            task.cancel()
        await asyncio.wait([task])
        return None if task.cancelled() else task.result()

    def stop() -> None:
        for task in tasks:
            task.get_loop().call_soon_threadsafe(task.cancel)

    def stop_now() -> None:
        # Whatever the first one could not end is left to the next rehearsal.
        die_by(signals.received[-1])

    signals = Signals(
        stop=stop, stop_now=stop_now, suspend=lambda: None, resume=lambda: None, report=lambda: _say("at work")
    )
    with handled(signals):
        try:
            return asyncio.run(work()), signals.ending
        except (AgentOSError, OSError):
            # Ctrl+C reaches git too, and what ends because of that is not the reason.
            if signals.ending is None:
                raise
            return None, signals.ending


def _say(text: str) -> None:
    print_clean(f"[REHEARSAL] {text}\n", sys.stderr)
