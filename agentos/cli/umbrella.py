"""The `agentos` command: one door to everything."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from agentos import __version__
from agentos.cli.entry import die_quietly_on_ctrl_c, end_by_broken_pipe
from agentos.cli.output import whole_output
from agentos.cli.parser import EPILOG, Parser
from agentos.cli.repository import add_repository_argument
from agentos.errors import UsageError
from agentos.task import Workflow
from agentos.untrusted import print_clean

WORKFLOWS = {"lld": Workflow.LLD, "issue": Workflow.ISSUE, "implement": Workflow.IMPLEMENTATION}
DESCRIPTION = """\
Turn a backlog of briefs and issues into reviewed designs and tested code, many at once.

examples:
  agentos lld --all --parallel 3     the same as: lld-workflow --all --parallel 3
  agentos issue --all --parallel 3   the same as: issue-workflow --all --parallel 3
  agentos implement --all --parallel the same as: implement-workflow --all --parallel
  agentos status                     what is pending, running, interrupted, failed and done
  agentos answer LLD-42 --text '...' put in what a reviewer asked, so that the item is pending again
  agentos salvage                    everything that was saved of implementations; also writes it out and clears away
  agentos pr 42                      open a draft pull request for an implemented item
  agentos triage                     which items contradict themselves, double others or are too vague to begin with
  agentos rehearse                   which implemented items merge together, and which pair breaks which test
  agentos keys list                  every key, where it comes from and how it stands; also add, remove, check
  agentos calibrate --reviewer P:M   what a reviewer catches of seeded defects, and what it holds up for nothing
  agentos config                     every setting and where its value comes from
  agentos completion bash            code for ~/.bashrc; also zsh, fish, powershell
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Hand over to the command that was named."""
    die_quietly_on_ctrl_c()
    try:
        with whole_output("agentos"):
            return _run(sys.argv[1:] if argv is None else list(argv))
    except UsageError as error:
        print_clean(f"agentos: {error}\n", sys.stderr)
        return 2
    except BrokenPipeError:
        return end_by_broken_pipe()


def _run(arguments: Sequence[str]) -> int:
    if arguments and arguments[0] in WORKFLOWS and "_ARGCOMPLETE" not in os.environ:
        from agentos.cli import workflow

        return workflow.main(WORKFLOWS[arguments[0]], f"agentos {arguments[0]}", arguments[1:])
    if arguments and arguments[0] == "triage" and "_ARGCOMPLETE" not in os.environ:
        from agentos.cli import triage

        return triage.main(arguments[1:])
    if arguments and arguments[0] == "rehearse" and "_ARGCOMPLETE" not in os.environ:
        from agentos.cli import rehearse

        return rehearse.main(arguments[1:])
    if arguments and arguments[0] == "keys" and "_ARGCOMPLETE" not in os.environ:
        from agentos.cli import keys

        return keys.main(arguments[1:])
    if arguments and arguments[0] == "calibrate" and "_ARGCOMPLETE" not in os.environ:
        from agentos.cli import calibrate

        return calibrate.main(arguments[1:])
    if arguments and arguments[0] == "salvage" and "_ARGCOMPLETE" not in os.environ:
        from agentos.cli import salvage

        return salvage.main(arguments[1:])
    if arguments and arguments[0] == "pr" and "_ARGCOMPLETE" not in os.environ:
        from agentos.cli import pull_request

        return pull_request.main(arguments[1:])
    parser = build_parser()
    from agentos.cli.workflow import complete_if_asked

    complete_if_asked(parser)
    args = parser.parse(arguments)
    match args.command:
        case "status":
            from agentos.cli.status import show_status

            return show_status(args)
        case "answer":
            from agentos.cli.answer import answer

            return answer(args)
        case "config":
            from agentos.cli.config import show_config

            return show_config(args)
        case "completion":
            from agentos.cli.completion import shell_code

            print(shell_code(args.shell))
        case "version":
            print(f"agentos {__version__}")
        case _:
            parser.print_help()
    return 0


def build_parser() -> Parser:
    """Return the parser of the umbrella command."""

    from agentos.cli.answer import add_arguments as add_answer_arguments
    from agentos.cli.completion import SHELLS
    from agentos.cli.workflow import add_arguments

    parser = Parser(prog="agentos", usage="agentos COMMAND [options]", description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("--version", action="version", version=f"agentos {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, workflow in WORKFLOWS.items():
        command = commands.add_parser(name, help=f"run the {name} workflow", add_help=False)
        if "_ARGCOMPLETE" in os.environ:
            add_arguments(command, workflow)
    triage = commands.add_parser("triage", help="say which items are not ready to be worked on", add_help=False)
    if "_ARGCOMPLETE" in os.environ:
        from agentos.cli.triage import add_arguments as add_triage_arguments

        add_triage_arguments(triage)
    rehearse = commands.add_parser("rehearse", help="say which implemented items merge together", add_help=False)
    if "_ARGCOMPLETE" in os.environ:
        from agentos.cli.rehearse import add_arguments as add_rehearse_arguments

        add_rehearse_arguments(rehearse)
    keys = commands.add_parser("keys", help="see, add, remove and check API keys", add_help=False)
    if "_ARGCOMPLETE" in os.environ:
        from agentos.cli.keys import add_commands

        add_commands(keys)
    calibrate = commands.add_parser("calibrate", help="find out what a reviewer is worth", add_help=False)
    if "_ARGCOMPLETE" in os.environ:
        from agentos.cli.calibrate import add_arguments as add_calibrate_arguments

        add_calibrate_arguments(calibrate)
    salvage = commands.add_parser("salvage", help="see what was saved, write it out, clear away", add_help=False)
    pull_request = commands.add_parser("pr", help="open a pull request for an implemented item", add_help=False)
    if "_ARGCOMPLETE" in os.environ:
        from agentos.cli.pull_request import add_arguments as add_pull_request_arguments
        from agentos.cli.salvage import add_arguments as add_salvage_arguments

        add_salvage_arguments(salvage)
        add_pull_request_arguments(pull_request)
    status = commands.add_parser("status", help="tell from disk how every item stands; writes nothing")
    config = commands.add_parser("config", help="show every setting and where it comes from")
    config.add_argument(
        "action",
        nargs="?",
        choices=["show", "trust"],
        default="show",
        help="trust: let this repository's prices, addresses and caps count as if they were your own",
    )
    answer = commands.add_parser("answer", help="see what a reviewer asked, and put the answer in")
    add_answer_arguments(answer)
    for command in (status, config, answer):
        add_repository_argument(command)
        command.add_argument("--json", action="store_true", help="as one JSON document")
    config.add_argument(
        "--show-origin", action="store_true", help="accepted for habit's sake: origins are always shown"
    )
    completion = commands.add_parser("completion", help="print completion code for a shell")
    completion.add_argument("shell", choices=SHELLS)
    commands.add_parser("version", help="print the version")
    return parser
