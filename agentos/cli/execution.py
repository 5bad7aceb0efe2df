"""Run a batch on a console and turn its end into an exit code."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterable, Mapping
from importlib.util import find_spec

from agentos.batch import run_batch
from agentos.cli.asking import describe_repository, means_of
from agentos.cli.output import tell_lost_output
from agentos.console import Console
from agentos.errors import UsageError
from agentos.gateway.opening import Means
from agentos.home import Home, repository_key
from agentos.plan.preview import Options, Preview, look_ahead
from agentos.providers.families import shared_family
from agentos.recovery import tidy
from agentos.report.summary import Summary
from agentos.shutdown import die_by
from agentos.supervision import Filer
from agentos.untrusted import clean_text, print_clean
from agentos.wording import utc_now
from agentos.workflows.overrides import check_overrides

A_DAY = 86_400.0
LAST_WORDS = 0.3
"""Seconds that a terminal has to take the summary when a signal ended the run."""


def execute(options: Options, home: Home, args: argparse.Namespace, color: str, environ: Mapping[str, str]) -> int:
    """Run the batch, show its summary last, and return how it ended."""
    if find_spec("langgraph") is None:
        raise UsageError(f"langgraph is missing from {sys.executable}; use the Python of the project's environment")
    home.check_private()
    check_overrides(options.repository, options.workflow)
    means = means_of(options, home, environ)
    tidy(home, repository_key(options.repository), options.repository)
    preview = look_ahead(options, home, environ)
    if not preview.selection.tasks and not preview.selection.rejects:
        return _say_nothing_to_do(options, preview, as_json=args.json)
    console = Console(
        color=color,
        quiet=args.quiet,
        verbose=args.verbose,
        prefix=not args.no_prefix,
        group=args.group,
        only=frozenset(args.only),
        json_mode=args.json,
        environ=environ,
    )
    try:
        console.start()
        try:
            _warn(options, means, console, home)
            filer = _open_desk(options, preview, console, environ)
            summary, ending = run_batch(options, preview, means, console, environ, filer)
            for text in _render(summary, args):
                console.data(clean_text(text).decode())
            if ending is None:
                # Nobody is in a hurry: a reader that pages through the output gets all of it.
                console.close(timeout=A_DAY)
        finally:
            console.close(timeout=LAST_WORDS)
    except UsageError:
        raise
    except Exception as error:
        print_clean(f"{options.retry[0]}: internal error: {error}\n", sys.stderr)
        if args.verbose:
            sys.excepthook(*sys.exc_info())
        return 3
    if console.stdout_closed.is_set():
        return die_by(signal.SIGPIPE)
    if ending is not None:
        return die_by(ending)
    if console.lost_output:
        tell_lost_output(options.retry[0], console.lost_output)
        return _exit_code(summary) or 1
    return _exit_code(summary)


def _open_desk(options: Options, preview: Preview, console: Console, environ: Mapping[str, str]) -> Filer | None:
    if preview.target is None:
        return None
    from agentos.filing.opening import open_desk
    from agentos.filing.place import Place

    def announce(text: str) -> None:
        console.say(text, important=True)

    place = Place(preview.home, preview.key, options.repository)
    return open_desk(preview.target, options.file_labels, place, environ, announce, console.tell)


def _exit_code(summary: Summary) -> int:
    if summary.trouble:
        return 3
    if summary.failed and not summary.is_out_of_money:
        return 1
    return 75 if summary.is_unfinished or summary.waiting else 0


def _say_nothing_to_do(options: Options, preview: Preview, *, as_json: bool) -> int:
    if not as_json:
        print_clean(f"Nothing to do: {preview.selection.describe()}\n")
        return 0
    now = utc_now()
    summary = Summary(
        run="",
        workflow=options.workflow,
        repository=str(options.repository),
        command=options.command,
        started=now,
        finished=now,
        seconds=0.0,
        parallel=options.parallel,
        folder="",
        retry=options.retry,
        entries=(),
    )
    print(*summary.to_json_text(), sep="", end="")
    return 0


def _warn(options: Options, means: Means, console: Console, home: Home) -> None:
    warnings = list(means.warnings)
    if family := shared_family(options.drafter, options.reviewer):
        warnings.append(
            f"drafter and reviewer are both {family} and overlook the same things; name another model with --reviewer"
        )
    for warning in warnings:
        console.say(f"Warning: {warning}", important=True)
    for line in describe_repository(options, home):
        console.say(line, important=True)
    if means.is_offline:
        what = "recorded answers are built" if options.builds else "designs are drafted and reviewed by rules"
        console.say(f"offline: {what}, no model is asked")


def _render(summary: Summary, args: argparse.Namespace) -> Iterable[str]:
    if args.json:
        return summary.to_json_text()
    if args.quiet:
        ends = (summary.unfiled_line(), summary.retry_line(), summary.waiting_line(), summary.trouble_line())
        return [f"{line}\n" for line in (summary.counts_line(), *ends) if line]
    return [summary.render()]
