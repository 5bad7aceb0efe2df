"""Every command, in one table, and how a command starts and ends.

A command is a module of this package with two functions: `add_arguments(parser)`
declares its arguments, `run(arguments)` does the work and returns the exit code.
"""

import sys

# Ctrl+C while modules are imported can get lost, so they are imported after
# `guard_process`, and this module imports nothing that the interpreter has not loaded:
# not even `__future__`, so annotations are in quotes.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from collections.abc import Sequence
    from types import TracebackType

    from agentos.cli.command import Parser

COMMANDS = {
    "lld": ("workflow", "turn issues (docs/issues) into designs (docs/lld/active)"),
    "issue": ("workflow", "turn briefs (docs/briefs) into issues (docs/issues)"),
    "implement": ("workflow", "turn approved designs into branches with tested code"),
    "run": ("run_kind", "run a kind of work that an installed package brings"),
    "status": ("status", "show the state of every item"),
    "triage": ("triage", "list items that are not ready to be worked on"),
    "answer": ("answer", "show a reviewer's questions and answer them"),
    "findings": ("findings", "show what reviews found in a document, and waive it"),
    "approve": ("approve", "approve a document in your own name"),
    "trial-merge": ("trial_merge", "check which implemented items merge together"),
    "pr": ("pr", "open a pull request for an implemented item"),
    "salvage": ("salvage", "list, restore and clean up saved implementations"),
    "keys": ("keys", "list, add, remove and check API keys"),
    "prices": ("prices", "show what models cost, and take newer prices"),
    "calibrate": ("calibrate", "measure what a reviewer catches"),
    "config": ("config", "show every setting and where its value comes from"),
    "completion": ("completion", "print completion code for a shell"),
}
"""Name of the command, its module in this package, and its line in `agentos --help`."""
SCRIPTS = {
    "requirements": ("workflow", "turn briefs into issues, or issues into designs"),
}
"""Commands of scripts that are not in `agentos`."""
ALIASES = {"rehearse": "trial-merge", "version": "--version"}
DESCRIPTION = """\
Turn a backlog of briefs and issues into reviewed designs and tested code, many at once.
lld-workflow, issue-workflow and implement-workflow are short for agentos lld, issue and implement.

examples:
  agentos lld --all --parallel 3      design every pending issue, three at a time
  agentos implement --all --parallel  build every approved design
  agentos status                      show what is pending, running, failed and done
  agentos triage                      list items that are not ready to be worked on
  agentos answer LLD-42 --text '...'  answer a reviewer, so that the item runs again
  agentos findings 42                 show what reviews found in a design, and what became of it
  agentos approve 42                  approve a design as it stands
  agentos trial-merge                 check which implemented items merge together
  agentos pr 42                       open a draft pull request for an implemented item
  agentos keys list                   list the API keys; also: add, remove, check
  agentos completion bash             print code for ~/.bashrc; also: zsh, fish, powershell
"""


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run the command that the first argument names."""
    guard_process()
    arguments = sys.argv[1:] if argv is None else list(argv)
    name = arguments[0] if arguments else "--help"
    name = ALIASES.get(name, name)
    if name in COMMANDS and not _is_completing():
        return run_command(name, f"agentos {name}", arguments[1:])
    return run_parser(_build_overview(), [name, *arguments[1:]])


def lld_workflow() -> int:
    """Run `lld-workflow`."""
    return run_command("lld", "lld-workflow")


def issue_workflow() -> int:
    """Run `issue-workflow`."""
    return run_command("issue", "issue-workflow")


def implement_workflow() -> int:
    """Run `implement-workflow`."""
    return run_command("implement", "implement-workflow")


def run_command(name: str, prog: str, argv: "Sequence[str] | None" = None) -> int:
    """Run one command under the name that the user called it by."""
    guard_process()
    return run_parser(build_parser(name, prog), sys.argv[1:] if argv is None else argv)


def build_parser(name: str, prog: str) -> "Parser":
    """Return the parser of one command."""
    from agentos.cli.command import Parser

    parser = Parser(command=name, prog=prog)
    _add_command(parser)
    return parser


def _add_command(parser: "Parser") -> None:
    """Give a parser the arguments of its command, and the function that runs it."""
    from importlib import import_module

    name, summary = (COMMANDS | SCRIPTS)[parser.command]
    module = import_module(f"agentos.cli.{name}")
    parser.description = f"{summary[0].upper()}{summary[1:]}."
    module.add_arguments(parser)
    parser.set_defaults(run=module.run)


def run_parser(parser: "Parser", argv: "Sequence[str]") -> int:
    """Parse arguments and run their command; report every error in one line."""
    from agentos.cli.command import TRY_LATER, Arguments, complete_output
    from agentos.errors import UsageError
    from agentos.state.terminal_text import print_clean

    if _is_completing():
        import argcomplete

        argcomplete.autocomplete(parser)
    arguments = Arguments()
    try:
        with complete_output(parser.prog):
            arguments = parser.parse(argv)
            return int(arguments.run(arguments))
    except UsageError as error:
        from agentos.repository.forge import Unavailable

        print_clean(f"{parser.prog}: {error}\n", sys.stderr)
        return TRY_LATER if isinstance(error, Unavailable) else 2
    except BrokenPipeError:
        return _end_by_broken_pipe()
    except Exception as error:
        print_clean(f"{parser.prog}: internal error: {error}\n", sys.stderr)
        if getattr(arguments, "verbose", 0):
            sys.excepthook(*sys.exc_info())
        return 3


def guard_process() -> None:
    """Let Ctrl+C end the process at once without a traceback, and remove keys from any
    other traceback.
    """
    # The first thing that a command does: see the imports above.
    import _signal  # type: ignore[import-not-found]

    try:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    except ValueError:
        # Only the main thread can set a handler; elsewhere the process is not ours.
        pass
    import threading

    # A hook that somebody else has set stays.
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _show
    if threading.excepthook is threading.__excepthook__:
        threading.excepthook = _show_of_thread
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = _show_unraisable


def _is_completing() -> bool:
    from agentos.cli.command import Arguments

    return "_ARGCOMPLETE" in Arguments.environ


def _build_overview() -> "Parser":
    """Return the parser of `agentos`, with the arguments of every command if a shell
    asks for completions.
    """
    from agentos.cli.command import EPILOG, Parser

    parser = Parser(
        prog="agentos",
        usage="agentos COMMAND [options]",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    commands = parser.add_subparsers(metavar="COMMAND", title="commands", required=True)
    for name, (_, summary) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, command=name)
        if _is_completing():
            _add_command(command)
    return parser


def _end_by_broken_pipe() -> int:
    """End by SIGPIPE, as a program does whose reader has gone."""
    import os
    import signal

    from agentos.run.signals import die_by

    # Otherwise the interpreter complains when it flushes stdout.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return die_by(signal.SIGPIPE)


def _show(
    kind: type[BaseException],
    error: BaseException | None,
    trace: "TracebackType | None",
    heading: str = "",
) -> None:
    import contextlib
    import traceback

    from agentos.state.terminal_text import print_clean

    # If this fails, the interpreter shows the error with its keys.
    with contextlib.suppress(Exception):
        text = "".join(traceback.format_exception(kind, error, trace))
        print_clean(heading + text, sys.stderr)


def _show_of_thread(args: "threading.ExceptHookArgs") -> None:
    if args.exc_type is SystemExit:
        return
    name = "without a name"
    if args.thread is not None:
        name = args.thread.name
    heading = f"Exception in thread {name}:\n"
    _show(args.exc_type, args.exc_value, args.exc_traceback, heading)


def _show_unraisable(args: "sys.UnraisableHookArgs") -> None:
    heading = f"{args.err_msg or 'Exception ignored in'}: {args.object!r}\n"
    _show(args.exc_type, args.exc_value, args.exc_traceback, heading)
