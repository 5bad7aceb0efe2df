"""`agentos calibrate`: measure what a reviewer catches before its verdicts are
trusted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agentos.cli.command import (
    TRY_LATER,
    Arguments,
    Parser,
    run_on_console,
    suggest,
)
from agentos.errors import UsageError
from agentos.settings import (
    CAPS,
    PRICE_FLOOR,
    SETTINGS,
    RunConfig,
    read_model,
    read_whole,
)

if TYPE_CHECKING:
    from agentos.gateway.access import ModelAccess
    from agentos.run.calibration import Plan
    from agentos.run.console import Console

MAX_REPEATS = 100
DESCRIPTION = """\
Show a reviewer designs with one seeded defect each, and clean ones, and count what it catches and what it rejects for
no reason. It gets the prompt of the design workflow, or the repository's own.

examples:
  agentos calibrate --reviewer gemini:gemini-3.5-flash --parallel 5
  agentos calibrate --reviewer gemini:gemini-3.5-flash --reviewer openai:gpt-6-luna --max-cost 2
  agentos calibrate --reviewer offline               what the report looks like, free of charge
Run the same command again after Ctrl+C, a crash or an exhausted budget: it asks only what is missing."""
EPILOG = """\
exit codes:
  0    all questions were answered
  1    some questions could not be answered; run again
  2    the command or its settings cannot be used; nothing was asked
  3    an internal error of AgentOS
  75   budget exhausted; run again with a higher cap to continue
  129, 130, 141, 143   ended by SIGHUP, Ctrl+C, a closed stdout, SIGTERM
"""


def add_arguments(parser: Parser) -> None:
    """Add the reviewers, the cases and the options."""
    parser.describe("agentos calibrate [options]", DESCRIPTION, EPILOG)
    parser.add_argument(
        "--reviewer",
        action="append",
        metavar="P:MODEL",
        help="the reviewer to calibrate; may be given several times",
    )
    parser.add_argument(
        "--parallel",
        nargs="?",
        const=3,
        default=None,
        metavar="N",
        help="maximum number of calls at a time, at most 10",
    )
    parser.add_argument(
        "--repeat", default="1", metavar="N", help="ask every case N times (default: 1)"
    )
    classes: Any = parser.add_argument(
        "--classes",
        nargs="+",
        default=[],
        metavar="CLASS",
        help=f"only these defects: {', '.join(_class_names())}",
    )
    classes.completer = lambda **_: _class_names()
    parser.add_argument("--max-cost", metavar="DOLLARS", help=SETTINGS["max_cost"].help)
    parser.add_argument(
        "--price",
        action="append",
        metavar="P:MODEL=IN/OUT",
        help=SETTINGS["price"].help,
    )
    parser.add_common_arguments()
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="print no line per answer"
    )
    parser.add_argument("--color", metavar="WHEN", help=SETTINGS["color"].help)


def run(arguments: Arguments) -> int:
    """Ask all questions and print the report."""
    from agentos.run.console import Console

    plan, access, color = _read_plan(arguments)
    console = Console(
        color=color,
        quiet=arguments.quiet,
        json_mode=arguments.json,
        environ=arguments.environ,
    )
    return run_on_console(
        console,
        arguments.prog,
        lambda: _calibrate(plan, access, console, arguments),
    )


def _calibrate(
    plan: Plan, access: ModelAccess, console: Console, arguments: Arguments
) -> tuple[int, int | None]:
    import json

    from agentos.run import calibration as session
    from agentos.state.redaction import redact, redact_json
    from agentos.state.terminal_text import clean_text

    for warning in access.warnings:
        console.say(f"Warning: {warning}", important=True)
    try:
        report, ending = session.calibrate(
            plan, access, arguments.home, console, arguments.environ
        )
    except OSError as error:
        raise UsageError(
            f"the calibration cannot run: {error}; set AGENTOS_HOME to another folder"
        ) from error
    if arguments.json:
        text = redact_json(json.dumps(report.to_json(), indent=2)) + "\n"
    else:
        text = redact(report.render())
    console.data(clean_text(text).decode())
    if report.failed:
        return 1, ending
    return 0 if report.is_complete else TRY_LATER, ending


def _read_plan(arguments: Arguments) -> tuple[Plan, ModelAccess, str]:
    """Return what to ask, the keys and prices for it, and when to use colors."""
    from agentos.gateway.budget import Caps
    from agentos.kinds import Kind
    from agentos.money import parse_dollars
    from agentos.run.calibration import Plan
    from agentos.workflows.calibration.case_files import load_cases
    from agentos.workflows.prompts.overrides import check_overrides

    arguments.home.check_private()
    flags = {**vars(arguments), "reviewer": None}
    values = {n: setting.value for n, setting in arguments.resolve(flags).items()}
    named = arguments.reviewer or [values["reviewer"]]
    models = tuple(dict.fromkeys(map(read_model, named)))
    classes = _read_classes(arguments.classes)
    cases = []
    for case in load_cases():
        defect = case.defect
        if defect is None or defect.kind in classes:
            cases.append(case)
    caps = [values[name] for name in CAPS]
    plan = Plan(
        models=models,
        classes=classes,
        cases=tuple(cases),
        repeat=_read_repeat(arguments.repeat),
        parallel=values["parallel"],
        caps=Caps(*(parse_dollars(cap) if cap else None for cap in caps)),
        overrides=check_overrides(arguments.repository, Kind.LLD),
        terms=RunConfig(**values).terms_of("reviewer"),
    )
    floor = values.get(PRICE_FLOOR, ())
    access = arguments.find_access(models, values["price"], floor, values["base_url"])
    return plan, access, values["color"]


def _read_repeat(text: str) -> int:
    try:
        repeat = read_whole(1)(text)
    except ValueError as error:
        raise UsageError(f"--repeat: {error}") from None
    if repeat > MAX_REPEATS:
        raise UsageError(f"--repeat: must be {MAX_REPEATS} or less, not {text!r}")
    return repeat


def _read_classes(given: Sequence[str]) -> tuple[Any, ...]:
    from agentos.workflows.calibration.case_files import DefectClass

    known = _class_names()
    names = [name for text in given for name in text.split(",") if name]
    for name in names:
        if name not in known:
            message = f"--classes: unknown class {name[:60]!r}"
            raise UsageError(
                suggest(message, name, known, f"known are {', '.join(known)}")
            )
    return tuple(kind for kind in DefectClass if not names or kind in names)


def _class_names() -> list[str]:
    from agentos.workflows.calibration.case_files import DefectClass

    return [str(kind) for kind in DefectClass]
