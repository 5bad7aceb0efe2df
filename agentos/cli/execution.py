"""Run a batch on a console and turn its end into an exit code."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import traceback
from collections.abc import Mapping

from agentos.batch import run_batch
from agentos.console import Console
from agentos.errors import UsageError
from agentos.home import Home
from agentos.plan.preview import Options, look_ahead
from agentos.plan.selection import Selection
from agentos.providers import create_provider, parse_model_spec
from agentos.report.summary import SCHEMA, Summary
from agentos.shutdown import die_by
from agentos.tidying import tidy
from agentos.untrusted import clean_text

A_DAY = 86_400.0
LAST_WORDS = 0.3
"""Seconds that a terminal has to take the summary when a signal ended the run."""


def execute(options: Options, home: Home, args: argparse.Namespace, color: str, environ: Mapping[str, str]) -> int:
    """Run the batch, show its summary last, and return how it ended."""
    for model in (options.drafter, options.reviewer):
        create_provider(parse_model_spec(model))
    preview = look_ahead(options, home)
    if not preview.selection.tasks and not preview.selection.rejects:
        tidy(home, preview.key, options.repository)
        return _say_nothing_to_do(preview.selection, as_json=args.json)
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
            _warn(options, console)
            summary, ending = run_batch(options, preview, console, environ)
            console.data(clean_text(_render(summary, args)).decode())
            if ending is None:
                # Nobody is in a hurry: a reader that pages through the output gets all of it.
                console.close(timeout=A_DAY)
        finally:
            console.close(timeout=LAST_WORDS)
    except UsageError:
        raise
    except Exception as error:
        print(f"{options.command.split()[0]}: internal error: {error}", file=sys.stderr)
        if args.verbose:
            traceback.print_exc()
        return 3
    if console.stdout_closed.is_set():
        return die_by(signal.SIGPIPE)
    if ending is not None:
        return die_by(ending)
    return 1 if summary.failed else 75 if summary.is_interrupted else 0


def _say_nothing_to_do(selection: Selection, *, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"schema": SCHEMA, "counts": {}, "failed": [], "items": [], "interrupted": False}, indent=2))
    else:
        print(f"Nothing to do: {selection.describe()}")
    return 0


def _warn(options: Options, console: Console) -> None:
    if options.drafter.split(":")[0] == "offline":
        console.say("offline: designs are drafted and reviewed by rules, no model is asked")


def _render(summary: Summary, args: argparse.Namespace) -> str:
    if args.json:
        return json.dumps(summary.to_json(), indent=2) + "\n"
    if args.quiet:
        return summary.counts_line() + "\n" + (summary.retry_line() + "\n" if summary.failed else "")
    return summary.render()
