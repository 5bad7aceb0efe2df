"""The command line of the workflows, whatever the command or the script is called."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from agentos import __version__
from agentos.cli.entry import end_by_broken_pipe
from agentos.cli.output import whole_output
from agentos.cli.parallel import add_parallel_arguments
from agentos.cli.parser import EPILOG, Parser
from agentos.cli.repository import add_repository_argument, repository_of
from agentos.errors import UsageError
from agentos.github import Unavailable, read_repository
from agentos.home import Home, home_path
from agentos.settings import CAPS, SETTINGS, resolve
from agentos.task import DRAFTING, Workflow
from agentos.untrusted import print_clean

if TYPE_CHECKING:
    from agentos.plan.preview import Options
    from agentos.plan.selection import Choice

COME_AGAIN = 75

DESCRIPTIONS = {
    Workflow.LLD: "Turn issues (docs/issues/*.md) into reviewed low-level designs (docs/lld/active).",
    Workflow.ISSUE: "Turn briefs (docs/briefs/*.md) into reviewed issues (docs/issues).",
    Workflow.IMPLEMENTATION: "Turn approved designs (docs/lld/active/*.md) into branches with tested code.",
}
EXAMPLES = """\
examples:
  {prog} --all --parallel 3          every pending item, three at a time
  {prog} --all --parallel --dry-run  what that would do
  {prog} --ids 42 57                 these two, one after the other
  {prog} --all --retry-failed        only what failed before
Run the same command again after Ctrl+C, a crash or a power loss: it goes on where it was."""


def main(workflow: Workflow, prog: str, argv: Sequence[str] | None = None) -> int:
    """Run one of the workflow commands."""
    parser = build_parser(workflow, prog)
    complete_if_asked(parser)
    arguments = sys.argv[1:] if argv is None else list(argv)
    with whole_output(prog):
        return run(parser.parse(arguments), workflow, prog, arguments)


def complete_if_asked(parser: argparse.ArgumentParser) -> None:
    """Answer the shell when it asks for completions."""
    if "_ARGCOMPLETE" in os.environ:
        import argcomplete

        argcomplete.autocomplete(parser)


def build_parser(workflow: Workflow | None, prog: str) -> Parser:
    """Return the parser; without a workflow, one that takes `--type`."""
    example = prog if workflow else f"{prog} --type lld"
    description = DESCRIPTIONS[workflow] if workflow else "Turn briefs into issues, or issues into designs."
    parser = Parser(
        prog=prog,
        usage=f"{prog} (--all | --ids ID... | --issue ID) [--parallel [N]] [options]",
        description=f"{description}\n\n{EXAMPLES.format(prog=example)}",
        epilog=EPILOG,
    )
    if workflow is None:
        parser.add_argument("--type", choices=[w.value for w in DRAFTING], required=True, help="which workflow to run")
    add_arguments(parser, workflow)
    parser.add_argument("--version", action="version", version=f"agentos {__version__}")
    return parser


def add_arguments(parser: Parser, workflow: Workflow | None) -> None:
    """Add everything that can be said about items, how to run them and what to show."""
    _add_item_arguments(parser, workflow)
    _add_run_arguments(parser, workflow)
    if workflow in (Workflow.ISSUE, None):
        _add_filing_arguments(parser)
    _add_output_arguments(parser)


def _add_item_arguments(parser: Parser, workflow: Workflow | None) -> None:
    from agentos.cli.completion import complete_ids

    group = parser.add_argument_group("which items (one of the first is required)")
    group.add_argument("--all", action="store_true", help="every item that is not complete")
    ids: Any = group.add_argument("--ids", nargs="+", metavar="ID", help="these items")
    issue: Any = group.add_argument("--issue", metavar="ID", help="this one item")
    ids.completer = issue.completer = complete_ids
    if workflow in (Workflow.ISSUE, None):
        group.add_argument("--brief", type=Path, metavar="FILE", help="this brief, wherever it lies")
    if workflow is Workflow.IMPLEMENTATION:
        parser.set_defaults(source=None, label=[], milestone=None)
    else:
        _add_source_arguments(group, workflow)
    group.add_argument("--retry-failed", action="store_true", help="of these, only those that failed before")
    group.add_argument("--skip-failed", action="store_true", help="of these, not those that failed before")
    group.add_argument("--redo", action="store_true", help="of these, also those that are complete")
    add_repository_argument(group)


def _add_source_arguments(group: argparse._ArgumentGroup, workflow: Workflow | None) -> None:
    items = "briefs" if workflow is Workflow.ISSUE else "items"
    group.add_argument("--source", metavar="S", help=f"{items} are the open issues there: github:owner/name")
    label_help = "with --source, only issues with all of these labels"
    if workflow is not Workflow.LLD:
        label_help += "; without it, labels for what is filed"
    group.add_argument("--label", nargs="+", action="extend", default=[], metavar="L", help=label_help)
    group.add_argument("--milestone", metavar="M", help="with --source, only issues of this one, by title or number")


def _add_run_arguments(parser: Parser, workflow: Workflow | None) -> None:
    group = parser.add_argument_group("how to run them")
    add_parallel_arguments(group)  # type: ignore[arg-type]
    is_building = workflow is Workflow.IMPLEMENTATION
    bounds = ("max_iterations", "coverage_target", "test_timeout") if is_building else ("max_rounds",)
    for name in ("drafter", "reviewer", *bounds, *CAPS, "timeout", "retries", "delay", "halt"):
        setting = SETTINGS[name]
        default = f" (default: {setting.default})" if setting.default else ""
        group.add_argument(
            f"--{name.replace('_', '-')}",
            metavar=_metavar(name),
            help=setting.help.replace("%", "%%") + default,
        )
    if workflow is Workflow.IMPLEMENTATION:
        group.add_argument("--scaffold-only", action="store_true", help="write the tests, prove them red, and stop")
        group.add_argument("--rehearse", action="store_true", help="afterwards merge all that is built, on trial")
    group.add_argument("--price", action="append", metavar="P:MODEL=IN/OUT", help=SETTINGS["price"].help)


def _add_filing_arguments(parser: Parser) -> None:
    group = parser.add_argument_group("what to do with approved issues")
    group.add_argument(
        "--file",
        nargs="?",
        const="",
        metavar="TARGET",
        help="create them on GitHub too, each once: github:owner/name, or alone for the repository of origin",
    )
    group.add_argument("--file-label", nargs="+", action="extend", default=[], metavar="L", help="labels for them")


def _metavar(name: str) -> str:
    return {
        "drafter": "P:MODEL",
        "reviewer": "P:MODEL",
        **dict.fromkeys(CAPS, "DOLLARS"),
        "coverage_target": "PERCENT",
        "timeout": "SECONDS",
        "test_timeout": "SECONDS",
        "delay": "SECONDS",
        "halt": "RULE",
    }.get(name, "N")


def _add_output_arguments(parser: Parser) -> None:
    group = parser.add_argument_group("what to show")
    group.add_argument("--json", action="store_true", help="one JSON document on stdout; all talk goes to stderr")
    group.add_argument("-q", "--quiet", action="store_true", help="only failures and the counts")
    group.add_argument("-v", "--verbose", action="count", default=0, help="more about what happens; twice for all")
    group.add_argument("--color", metavar="WHEN", help="auto, always or never (default: auto; NO_COLOR is honoured)")
    group.add_argument("--no-prefix", action="store_true", help="leave the [LLD-42] off the lines of the workflows")
    group.add_argument("--group", action="store_true", help="show the lines of a workflow together when it ends")
    group.add_argument("--only", nargs="+", default=[], metavar="ID", help="show the lines of these workflows only")


def run(args: argparse.Namespace, workflow: Workflow, prog: str, arguments: Sequence[str]) -> int:
    """Do what the arguments ask for; every foreseen error is one line and exit 2."""
    environ = os.environ
    try:
        home = Home(home_path(environ))
        if args.dry_run:
            from agentos.cli.dry_run import show

            return show(settle(args, workflow, prog, arguments, environ, home)[0], home, as_json=args.json)
        from agentos.workers.cradle import started_ahead

        with started_ahead(environ, workflow):
            options, color = settle(args, workflow, prog, arguments, environ, home)
            from agentos.cli.execution import execute

            code = execute(options, home, args, color, environ)
        return _rehearse(options, code) if getattr(args, "rehearse", False) else code
    except UsageError as error:
        print_clean(f"{prog}: {error}\n", sys.stderr)
        return COME_AGAIN if isinstance(error, Unavailable) else 2
    except BrokenPipeError:
        return end_by_broken_pipe()


def _rehearse(options: Options, code: int) -> int:
    """Try what was built together with what was built before; what has failed already stays the exit code."""
    from agentos.cli.rehearse import rehearse_and_tell
    from agentos.rehearsal.session import Request

    if code not in (0, 1, COME_AGAIN):
        return code
    rehearsed = rehearse_and_tell(Request(options.repository, test_timeout=options.test_timeout))
    return code or rehearsed


def settle(
    args: argparse.Namespace,
    workflow: Workflow,
    prog: str,
    arguments: Sequence[str],
    environ: Mapping[str, str],
    home: Home,
) -> tuple[Options, str]:
    """Resolve arguments and settings into options and the choice of colours."""
    from agentos.plan.preview import Options

    repository = repository_of(args)
    brief = getattr(args, "brief", None)
    if brief is not None and not brief.is_file():
        raise UsageError(f"{brief}: no such file; give the brief's path with --brief FILE")
    choice = _choose(args, brief, workflow)
    values = {name: value.value for name, value in resolve(vars(args), environ, repository, home.config).items()}
    if workflow is Workflow.IMPLEMENTATION:
        values["drafter"] = find_code_writer(values["drafter"], repository)
    color = values.pop("color")
    options = Options(
        workflow=workflow,
        repository=repository,
        choice=choice,
        command=shlex.join((prog, *arguments)),
        retry=_retry_command(args, prog, workflow, values["parallel"]),
        brief=brief.absolute() if brief else None,
        scaffold_only=getattr(args, "scaffold_only", False),
        **_read_places(args, workflow),
        **values,
    )
    return options, color


def _read_places(args: argparse.Namespace, workflow: Workflow) -> dict[str, Any]:
    """Check where items come from and where issues go to; a label belongs to the source if there is one."""
    wish, labels = getattr(args, "file", None), tuple(args.label)
    file_labels = tuple(getattr(args, "file_label", ()))
    if wish is not None and workflow is not Workflow.ISSUE:
        raise UsageError("--file: is for issues; designs are kept in the repository")
    if wish:
        read_repository(wish, "--file")
    if file_labels and wish is None:
        raise UsageError("--file-label: needs --file")
    if args.source is not None:
        read_repository(args.source, "--source")
        if getattr(args, "brief", None) is not None:
            raise UsageError("--source and --brief exclude each other")
    elif args.milestone is not None or (labels and wish is None):
        raise UsageError(f"--{'label' if labels else 'milestone'}: needs --source github:owner/name")
    else:
        labels, file_labels = (), (*labels, *file_labels)
    return {
        "source": args.source or "",
        "labels": labels,
        "milestone": args.milestone or "",
        "file": wish,
        "file_labels": tuple(dict.fromkeys(file_labels)),
    }


def find_code_writer(drafter: str, repository: Path) -> str:
    """Return who writes the code; rules cannot, but a repository may bring recorded answers."""
    provider, _, options = drafter.partition(":")
    if provider != "offline" or "answers=" in options:
        return drafter
    from agentos.cli.asking import RECORDED

    folder = repository / RECORDED
    if not folder.is_dir():
        raise UsageError(
            "--drafter: offline has no rules that write code; name a model, as --drafter anthropic:claude-sonnet-5, "
            "or recorded answers, as --drafter offline:answers=FOLDER"
        )
    return f"offline:{options + ',' if options else ''}answers={quote(str(folder))}"


def _choose(args: argparse.Namespace, brief: Path | None, workflow: Workflow) -> Choice:
    from agentos.plan.selection import Choice, normalise_id

    ids = [part for text in args.ids or [] for part in text.split(",") if part]
    named = [args.all, bool(ids), args.issue is not None, brief is not None]
    if sum(named) != 1:
        wrong = "name the items" if not any(named) else "name the items in one way"
        raise UsageError(
            f"{wrong}: --all, --ids ID..., --issue ID" + (" or --brief FILE" if hasattr(args, "brief") else "")
        )
    if getattr(args, "rehearse", False) and args.json:
        raise UsageError("--rehearse and --json exclude each other; run agentos rehearse --json afterwards")
    if args.retry_failed and args.skip_failed:
        raise UsageError("--retry-failed and --skip-failed exclude each other")
    if args.issue is not None:
        ids = [args.issue]
    return Choice(
        everything=args.all or brief is not None,
        ids=tuple(dict.fromkeys(normalise_id(text, workflow) for text in ids)),
        retry_failed=args.retry_failed,
        skip_failed=args.skip_failed,
        redo=args.redo,
    )


def _retry_command(args: argparse.Namespace, prog: str, workflow: Workflow, parallel: int) -> tuple[str, ...]:
    command = prog.split()
    if hasattr(args, "type"):
        # The script is on no PATH: named as it was called, the command can be pasted.
        command = [sys.argv[0] if sys.argv[0].endswith(prog) else prog, "--type", workflow.value]
    if args.repo is not None:
        command += ["--repo", str(args.repo)]
    bounds = ("max_rounds", "max_iterations", "coverage_target", "test_timeout", "timeout")
    for name in ("drafter", "reviewer", *bounds, *CAPS):
        if getattr(args, name, None) is not None:
            command += [f"--{name.replace('_', '-')}", str(getattr(args, name))]
    for price in args.price or ():
        command += ["--price", price]
    if parallel > 1:
        command += ["--parallel", str(parallel)]
    for name in ("source", "milestone"):
        if getattr(args, name) is not None:
            command += [f"--{name}", getattr(args, name)]
    for name in ("label", "file_label"):
        for label in getattr(args, name, ()):
            command += [f"--{name.replace('_', '-')}", label]
    if getattr(args, "file", None) is not None:
        command += ["--file", args.file] if args.file else ["--file"]
    for flag in ("scaffold_only", "rehearse", "redo"):
        if getattr(args, flag, False):
            command.append(f"--{flag.replace('_', '-')}")
    if getattr(args, "brief", None) is not None:
        command += ["--brief", str(args.brief)]
    return tuple(command)
