"""`agentos calibrate`: find out what a reviewer is worth before its verdicts are trusted."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agentos.cli.output import tell_lost_output
from agentos.cli.parser import Parser
from agentos.cli.repository import add_repository_argument, repository_of
from agentos.errors import UsageError
from agentos.home import Home, home_path
from agentos.settings import PRICE_FLOOR, SETTINGS, read_model, read_whole, resolve
from agentos.untrusted import print_clean

if TYPE_CHECKING:
    from agentos.calibration.report import Report
    from agentos.calibration.session import Plan
    from agentos.console import Console
    from agentos.gateway.opening import Means

MOST_REPEATS = 100
A_DAY = 86_400.0
LAST_WORDS = 0.3
DESCRIPTION = """\
Give a reviewer designs with one seeded defect each, and clean ones, and count what it catches and what it holds up for
nothing. The prompt is the one of the design workflow, or the repository's own.

examples:
  agentos calibrate --reviewer gemini:gemini-3.5-flash --parallel 5
  agentos calibrate --reviewer gemini:gemini-3.5-flash --reviewer openai:gpt-6-luna --max-cost 2
  agentos calibrate --reviewer offline               what the rules catch, for nothing
Run the same command again after Ctrl+C, a crash or a reached cap: it asks only what is missing."""
EPILOG = """\
exit codes:
  0    all questions were answered
  1    some could not be answered; run again
  2    the command or its settings cannot be used; nothing was asked
  3    an error inside AgentOS
  75   stopped because a cap was reached; a rerun with a higher one goes on
  129, 130, 141, 143   ended by SIGHUP, Ctrl+C, a closed stdout, SIGTERM
"""


def main(arguments: Sequence[str]) -> int:
    """Calibrate one or several reviewers."""
    parser = Parser(
        prog="agentos calibrate", usage="agentos calibrate [options]", description=DESCRIPTION, epilog=EPILOG
    )
    add_arguments(parser)
    return calibrate(parser.parse(arguments))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "--reviewer", action="append", metavar="P:MODEL", help="whom to calibrate; may be given several times"
    )
    parser.add_argument("--parallel", nargs="?", const=3, default=None, metavar="N", help="calls at a time, at most 10")
    parser.add_argument("--repeat", default="1", metavar="N", help="ask every case N times (default: 1)")
    classes: Any = parser.add_argument(
        "--classes", nargs="+", default=[], metavar="CLASS", help=f"only these defects: {', '.join(_class_names())}"
    )
    classes.completer = lambda **_: _class_names()
    parser.add_argument("--max-cost", metavar="DOLLARS", help=SETTINGS["max_cost"].help)
    parser.add_argument("--price", action="append", metavar="P:MODEL=IN/OUT", help=SETTINGS["price"].help)
    add_repository_argument(parser)
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout; all talk goes to stderr")
    parser.add_argument("-q", "--quiet", action="store_true", help="no line for each answer")
    parser.add_argument("--color", metavar="WHEN", help="auto, always or never (default: auto; NO_COLOR is honoured)")


def calibrate(args: argparse.Namespace) -> int:
    """Ask all questions, print the report and return how it ended."""
    from agentos.console import Console
    from agentos.shutdown import die_by

    home = Home(home_path(os.environ))
    plan, means, color = _settle(args, home)
    console = Console(color=color, quiet=args.quiet, json_mode=args.json, environ=os.environ)
    try:
        console.start()
        report, ending = _run(plan, means, home, console, as_json=args.json)
        if ending is None:
            console.close(timeout=A_DAY)
    except UsageError:
        raise
    except Exception as error:
        print_clean(f"agentos calibrate: internal error: {error}\n", sys.stderr)
        return 3
    finally:
        console.close(timeout=LAST_WORDS)
    if console.stdout_closed.is_set():
        return die_by(signal.SIGPIPE)
    if ending is not None:
        return die_by(ending)
    if console.lost_output:
        tell_lost_output("agentos calibrate", console.lost_output)
        return 1
    if report.failed:
        return 1
    return 0 if report.is_complete else 75


def _run(plan: Plan, means: Means, home: Home, console: Console, *, as_json: bool) -> tuple[Report, int | None]:
    from agentos.calibration import session
    from agentos.redaction import redact, redact_json
    from agentos.untrusted import clean_text

    for warning in means.warnings:
        console.say(f"Warning: {warning}", important=True)
    try:
        report, ending = session.calibrate(plan, means, home, console, os.environ)
    except OSError as error:
        raise UsageError(f"the calibration cannot be run: {error}; set AGENTOS_HOME elsewhere") from error
    text = redact_json(json.dumps(report.to_json(), indent=2)) + "\n" if as_json else redact(report.render())
    console.data(clean_text(text).decode())
    return report, ending


def _settle(args: argparse.Namespace, home: Home) -> tuple[Plan, Means, str]:
    """Resolve arguments and settings, or raise `UsageError` before anything is asked."""
    from agentos.calibration.case_files import load_cases
    from agentos.calibration.session import Plan
    from agentos.gateway.budget import Caps
    from agentos.gateway.opening import GivenPrices, gather_means
    from agentos.gateway.server import RoleTerms
    from agentos.money import parse_dollars
    from agentos.task import Workflow
    from agentos.workflows.overrides import check_overrides

    repository = repository_of(args)
    if not repository.is_dir():
        raise UsageError(f"{repository}: no such folder; give the repository with --repo DIR")
    home.check_private()
    flags = {name: value for name, value in vars(args).items() if name != "reviewer"}
    values = {name: value.value for name, value in resolve(flags, os.environ, repository, home.config).items()}
    models = tuple(dict.fromkeys(read_model(name) for name in args.reviewer or [values["reviewer"]]))
    classes = _read_classes(args.classes)
    caps = (values["max_cost"], values["max_cost_per_item"], values["max_cost_per_day"])
    prices = GivenPrices.read(values["price"], values.get(PRICE_FLOOR, ()))
    addresses = dict(text.split("=", 1) for text in values["base_url"])
    plan = Plan(
        models=models,
        classes=classes,
        cases=tuple(case for case in load_cases() if case.defect is None or case.defect.kind in classes),
        repeat=_read_repeat(args.repeat),
        parallel=values["parallel"],
        caps=Caps(*(parse_dollars(text) if text else None for text in caps)),
        overrides=check_overrides(repository, Workflow.LLD),
        terms=RoleTerms(values["reviewer_output_limit"], values["first_byte_timeout"], values["idle_timeout"]),
    )
    return plan, gather_means(models, os.environ, home.root, prices, addresses), values["color"]


def _read_repeat(text: str) -> int:
    try:
        repeat = read_whole(1)(text)
    except ValueError as error:
        raise UsageError(f"--repeat: {error}") from None
    if repeat > MOST_REPEATS:
        raise UsageError(f"--repeat: must be {MOST_REPEATS} or less, not {text!r}")
    return repeat


def _read_classes(given: Sequence[str]) -> tuple[Any, ...]:
    import difflib

    from agentos.calibration.case_files import DefectClass

    names = [name for text in given for name in text.split(",") if name]
    for name in names:
        if name not in _class_names():
            close = difflib.get_close_matches(name, _class_names(), n=1)
            hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(_class_names())}"
            raise UsageError(f"--classes: unknown class {name[:60]!r}; {hint}")
    return tuple(kind for kind in DefectClass if not names or kind in names)


def _class_names() -> list[str]:
    from agentos.calibration.case_files import DefectClass

    return [str(kind) for kind in DefectClass]
