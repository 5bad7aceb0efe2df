"""The workflow commands: `lld-workflow`, `issue-workflow`, `implement-workflow`, and
`agentos run` for every other kind.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentos.cli.command import (
    EPILOG,
    TRY_LATER,
    Arguments,
    Parser,
    add_flag,
    find_repository,
    flag_of,
    split_ids,
)
from agentos.cli.command_line import command_line
from agentos.errors import AgentOSError, BadInput, UsageError
from agentos.gateway.providers import gives_recorded, is_rules
from agentos.gateway.roles import ROLES
from agentos.item import Item
from agentos.kinds import DRAFTING, Kind
from agentos.repository.forge import read_repository
from agentos.settings import SETTINGS, RunConfig, Value, read_whole, show_value
from agentos.state.files import read_regular
from agentos.workflows.parallel.coordinator import ParallelCoordinator

if TYPE_CHECKING:
    from agentos.backlog.preview import RunOptions
    from agentos.backlog.selection import Choice

KINDS = {
    "lld": Kind.LLD,
    "issue": Kind.ISSUE,
    "implement": Kind.IMPLEMENTATION,
}
EXAMPLES = """\
examples:
  {prog} --all --parallel 3          every pending item, three at a time
  {prog} --all --parallel --dry-run  show what that would do
  {prog} --ids 42 57                 these two items, one after the other
  {prog} --all --retry-failed        only items that failed before
Run the same command again after Ctrl+C, a crash or a power loss: it continues where it stopped."""
FLAGS = tuple(setting for setting in SETTINGS.values() if setting.makes_flag)
ANY_AUTHOR = (
    "with --source: also issues that are not by an owner, member or collaborator"
)
ASK_ON_GITHUB = (
    "with --source: ask a reviewer's questions in a comment on the issue, and take"
    " replies as answers"
)
STEERING = {
    "restart": (
        "write the code, or tests and code, or all anew, and keep the rest (default:"
        " keep the reviewed plan, the proven tests and the best code)"
    ),
    "note": "say this to the models that write tests and code; can be repeated",
    "note_file": "say what is in this file to them",
}
RESTARTS = ("tests", "code", "all")
NOTE_LIMIT = 20_000
"""Maximum number of characters of a note."""
REPEATED = (
    *("type", "repo"),
    *(setting.name for setting in FLAGS if setting.is_repeated),
    *("price", "parallel", "source", "milestone", "label", "any_author"),
    "ask_on_github",
    *("file_label", "file"),
    *("scaffold_only", "trial_merge", "redo", "brief"),
)
"""Arguments that the command to run items again repeats."""


def add_arguments(parser: Parser) -> None:
    """Add the arguments of a workflow command; a parser without a command gets
    `--type`.
    """
    add_kind_arguments(parser, KINDS.get(parser.command))


def add_kind_arguments(parser: Parser, kind: Kind | None) -> None:
    """Add the arguments of the command that runs a kind."""
    prog = parser.prog
    parser.set_defaults(
        kind=kind,
        brief=None,
        source=None,
        label=[],
        milestone=None,
        any_author=False,
        ask_on_github=False,
        file=None,
        file_label=[],
        scaffold_only=False,
        trial_merge=False,
        restart=None,
        note=[],
        note_file=None,
    )
    if kind is None:
        prog += " --type lld"
        parser.add_argument(
            "--type",
            choices=list(DRAFTING),
            required=True,
            help="the workflow to run",
        )
    parser.describe(
        f"{parser.prog} (--all | --ids ID... | --issue ID) [--parallel [N]] [options]",
        f"{parser.description}\n\n{EXAMPLES.format(prog=prog)}",
        EPILOG,
    )
    _add_item_arguments(parser, kind)
    _add_run_arguments(parser, kind)
    _add_steering_arguments(parser, kind)
    if kind is None or kind.record.writes_issues:
        _add_filing_arguments(parser)
    _add_output_arguments(parser)
    parser.add_common_arguments()


def _add_item_arguments(parser: Parser, kind: Kind | None) -> None:
    group = parser.add_argument_group("which items (one of the first is required)")
    add_flag(group, "--all", "every item that is not complete")
    ids: Any = group.add_argument("--ids", nargs="+", metavar="ID", help="these items")
    issue: Any = group.add_argument("--issue", metavar="ID", help="this one item")
    ids.completer = issue.completer = complete_ids
    if kind is None or kind.record.takes_briefs:
        group.add_argument(
            "--brief", type=Path, metavar="FILE", help="this brief, from any folder"
        )
    if kind is None or not kind.record.builds:
        _add_source_arguments(group, kind)
    add_flag(group, "--retry-failed", "run only items that failed before")
    add_flag(group, "--skip-failed", "leave out items that failed before")
    add_flag(group, "--redo", "also run items that are already complete")


def _add_source_arguments(group: argparse._ArgumentGroup, kind: Kind | None) -> None:
    group.add_argument(
        "--source",
        metavar="S",
        help="take the open issues of github:owner/name as items",
    )
    label_help = "with --source: only issues that have all of these labels"
    if kind is None or kind.record.writes_issues:
        label_help += "; with --file alone: labels of the created issues"
    group.add_argument(
        "--label", nargs="+", action="extend", default=[], metavar="L", help=label_help
    )
    group.add_argument(
        "--milestone",
        metavar="M",
        help="with --source: only issues of this milestone, by title or number",
    )
    add_flag(group, "--any-author", ANY_AUTHOR)
    add_flag(group, "--ask-on-github", ASK_ON_GITHUB)


def _add_run_arguments(parser: Parser, kind: Kind | None) -> None:
    group = parser.add_argument_group("how to run them")
    add_parallel_arguments(group)
    builds = kind is not None and kind.record.builds
    for setting in FLAGS:
        if setting.builds not in (None, builds):
            continue
        text = setting.help.replace("%", "%%")
        if setting.name == "drafter":
            text += " (required)" if builds else " (default: offline)"
        elif setting.default and setting.name != "reviewer":
            text += f" (default: {show_value(setting.default)})"
        flag: dict[str, Any] = {"metavar": setting.metavar}
        if setting.is_switch:
            # None means that the flag was not given: a file may set it then.
            flag = {"action": "store_const", "const": True}
        group.add_argument(flag_of(setting.name), help=text, **flag)
    if builds:
        add_flag(
            group, "--scaffold-only", "stop when the tests are written and proven red"
        )
        group.add_argument(
            "--trial-merge",
            "--rehearse",
            action="store_true",
            help="afterwards run agentos trial-merge on everything that is implemented",
        )
    group.add_argument(
        "--price",
        action="append",
        metavar="P:MODEL=IN/OUT",
        help=SETTINGS["price"].help,
    )


def _add_steering_arguments(parser: Parser, kind: Kind | None) -> None:
    group = parser.add_argument_group("how to go on with what was built before")
    texts = STEERING
    if kind is None or not kind.record.builds:
        # They are refused with a line that names the command they are for.
        texts = dict.fromkeys(STEERING, argparse.SUPPRESS)
    group.add_argument("--restart", choices=RESTARTS, help=texts["restart"])
    group.add_argument(
        "--note", action="append", metavar="TEXT", default=[], help=texts["note"]
    )
    group.add_argument(
        "--note-file", type=Path, metavar="FILE", help=texts["note_file"]
    )


def add_parallel_arguments(parser: argparse._ActionsContainer) -> None:
    """Add `--parallel [N]` and `--dry-run`."""
    parser.add_argument(
        "--parallel",
        nargs="?",
        const=ParallelCoordinator.DEFAULT_PARALLELISM,
        default=None,
        type=_read_parallel,
        metavar="N",
        help=(
            "how many items run at a time: 1 without this flag, 3 without N, at most 10"
            " (more is capped with a warning)"
        ),
    )
    add_flag(parser, "--dry-run", "show what would run and an estimate; change nothing")


def _read_parallel(text: str) -> int:
    try:
        return read_whole(1)(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _add_filing_arguments(parser: Parser) -> None:
    group = parser.add_argument_group("what to do with approved issues")
    group.add_argument(
        "--file",
        nargs="?",
        const="",
        metavar="TARGET",
        help=(
            "also create them on GitHub, each once: in github:owner/name, or without a"
            " value in the repository of origin"
        ),
    )
    group.add_argument(
        "--file-label",
        nargs="+",
        action="extend",
        default=[],
        metavar="L",
        help="labels of the created issues",
    )


def _add_output_arguments(parser: Parser) -> None:
    group = parser.add_argument_group("what to show")
    group.add_argument(
        "-q", "--quiet", action="store_true", help="only failures and the counts"
    )
    group.add_argument(
        "-v",
        "--verbose",
        action="count",
        default=0,
        help="more detail; twice for everything",
    )
    group.add_argument("--color", metavar="WHEN", help=SETTINGS["color"].help)
    add_flag(group, "--no-prefix", "print the lines of items without their [LLD-42]")
    add_flag(group, "--group", "print the lines of an item together when it ends")
    group.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="ID",
        help="print only the lines of these items",
    )


def run(arguments: Arguments) -> int:
    """Run the items, or show what would run."""
    kind = arguments.kind or Kind(arguments.type)
    if arguments.dry_run:
        from agentos.cli.dry_run import show

        return show(read_options(arguments, kind), arguments)
    from agentos.workers.process.server_process import started_ahead

    # The fork server starts while this process reads settings and imports the rest.
    with started_ahead(arguments.environ, kind):
        options = read_options(arguments, kind)
        from agentos.cli.execution import execute

        code = execute(options, arguments)
    if not arguments.trial_merge or code not in (0, 1, TRY_LATER):
        return code
    from agentos.cli.trial_merge import merge_and_report
    from agentos.proving.trial_merge.session import TrialMergeRequest

    config = options.config
    request = TrialMergeRequest(
        options.repository,
        test_timeout=config.test_timeout,
        allow_unsandboxed=config.allow_unsandboxed,
    )
    merged = merge_and_report(request, arguments)
    return code or merged


def read_options(arguments: Arguments, kind: Kind) -> RunOptions:
    """Return the options of the run."""
    from agentos.backlog.preview import RunOptions

    repository = arguments.repository
    brief = arguments.brief
    if brief is not None and not brief.is_file():
        raise UsageError(
            f"{brief}: no such file; give the brief's path with --brief FILE"
        )
    _check_steering(arguments, kind)
    choice = _read_choice(arguments, kind)
    settings = arguments.resolve(vars(arguments))
    values = {name: setting.value for name, setting in settings.items()}
    values |= choose_models(settings)
    config = RunConfig(
        **values,
        scaffold_only=arguments.scaffold_only,
        restart=arguments.restart or "",
        note=_read_note(arguments),
    )
    if kind.record.builds:
        check_builders(config)
    return RunOptions(
        workflow=kind,
        repository=repository,
        choice=choice,
        config=config,
        command=shlex.join((*arguments.prog.split(), *arguments.argv)),
        retry=_retry_command(arguments, config.parallel),
        origins={name: setting.origin for name, setting in settings.items()},
        answer_with=f"{command_line('agentos', arguments.environ)} answer",
        brief=brief.absolute() if brief else None,
        **_read_places(arguments, kind),
    )


def _read_choice(arguments: Arguments, kind: Kind) -> Choice:
    from agentos.backlog.selection import Choice, normalize_id

    ids = split_ids(arguments.ids, kind)
    named = [arguments.all, ids, arguments.issue is not None, arguments.brief]
    if sum(map(bool, named)) != 1:
        message = "name the items"
        if any(named):
            message += " in one way"
        message += ": --all, --ids ID..., --issue ID"
        if arguments.kind is None or kind.record.takes_briefs:
            message += " or --brief FILE"
        raise UsageError(message)
    if arguments.trial_merge and arguments.json:
        raise UsageError(
            "--trial-merge and --json exclude each other; run agentos trial-merge"
            " --json afterwards"
        )
    if arguments.retry_failed and arguments.skip_failed:
        raise UsageError("--retry-failed and --skip-failed exclude each other")
    if arguments.issue is not None:
        ids = (normalize_id(arguments.issue, kind),)
    return Choice(
        everything=not ids,
        ids=ids,
        retry_failed=arguments.retry_failed,
        skip_failed=arguments.skip_failed,
        redo=arguments.redo,
        goes_on=bool(arguments.restart or arguments.note or arguments.note_file),
    )


def _check_steering(arguments: Arguments, kind: Kind) -> None:
    """Refuse `--restart` and `--note` where they mean nothing."""
    given = [flag_of(name) for name in STEERING if getattr(arguments, name)]
    if given and not kind.record.builds:
        raise UsageError(
            f"{given[0]}: is for implement-workflow; to have a document written anew,"
            " use --redo"
        )
    if arguments.restart and arguments.redo:
        raise UsageError(
            "--restart and --redo exclude each other; --redo begins entirely anew"
        )


def _read_note(arguments: Arguments) -> str:
    """Return what the user says to the models."""
    texts = list(arguments.note)
    path = arguments.note_file
    if path is not None:
        try:
            texts.append(read_regular(path, NOTE_LIMIT * 4).decode("utf-8-sig"))
        except (OSError, BadInput, UnicodeDecodeError) as error:
            raise UsageError(f"--note-file: {path} cannot be read ({error})") from None
    for text in texts:
        if not text.strip():
            raise UsageError("--note: is empty; say something, or leave it out")
    note = "\n\n".join(text.strip() for text in texts)
    if len(note) > NOTE_LIMIT:
        raise UsageError(
            f"--note: has {len(note)} characters, at most {NOTE_LIMIT} are put before a"
            " model; shorten it"
        )
    return note


def _read_places(arguments: Arguments, kind: Kind) -> dict[str, Any]:
    """Return the options that say where items come from and where issues are filed."""
    source, milestone = arguments.source, arguments.milestone
    target, labels = arguments.file, arguments.label
    file_labels = arguments.file_label
    if target is not None and not kind.record.writes_issues:
        raise UsageError("--file: is for issues; designs are kept in the repository")
    if target:
        read_repository(target, "--file")
    if file_labels and target is None:
        raise UsageError("--file-label: needs --file")
    if source is not None:
        read_repository(source, "--source")
        if arguments.brief is not None:
            raise UsageError("--source and --brief exclude each other")
    else:
        if labels and target is None:
            raise UsageError("--label: needs --source github:owner/name")
        if milestone is not None:
            raise UsageError("--milestone: needs --source github:owner/name")
        if arguments.any_author:
            raise UsageError("--any-author: needs --source github:owner/name")
        if arguments.ask_on_github:
            raise UsageError("--ask-on-github: needs --source github:owner/name")
        # Without a source to filter, --label means the created issues.
        file_labels = labels + file_labels
        labels = []
    return {
        "source": source or "",
        "labels": tuple(labels),
        "milestone": milestone or "",
        "any_author": arguments.any_author,
        "asks": arguments.ask_on_github,
        "file": target,
        "file_labels": tuple(dict.fromkeys(file_labels)),
    }


def choose_models(settings: Mapping[str, Value]) -> dict[str, str]:
    """Return the models of drafter and reviewer; where only one is named, it has both
    roles.

    Recorded answers are given by flag only: a repository must not bring approvals. No
    model reviews what rules draft: it is a skeleton whatever the review says.
    """
    for role in ROLES:
        value = settings[role]
        if gives_recorded(value.value) and value.origin != "flag":
            raise UsageError(
                f"{role} ({value.origin}): recorded answers are given by flag only, as"
                f" {flag_of(role)} offline:answers=FOLDER"
            )
    drafter, reviewer = settings["drafter"], settings["reviewer"]
    if reviewer.origin == "default" and not is_rules(drafter.value):
        reviewer = drafter
    elif drafter.origin == "default" and not is_rules(reviewer.value):
        drafter = reviewer
    is_review_free = is_rules(reviewer.value) or gives_recorded(reviewer.value)
    if is_rules(drafter.value) and not is_review_free:
        raise UsageError(
            f"drafter ({drafter.origin}): the rules of offline only make skeletons, so"
            f" {reviewer.value} would be paid for a review that approves nothing; name"
            " a model with --drafter, or use --reviewer offline"
        )
    return {"drafter": drafter.value, "reviewer": reviewer.value}


def check_builders(config: RunConfig) -> None:
    """Refuse rules where code is written: they write none and approve nothing."""
    for role in ("test_writer", "coder"):
        if is_rules(config.model_of(role)):
            flag = flag_of(role) if getattr(config, role) else "--drafter"
            raise UsageError(
                f"{flag}: offline has no rules that write code; name a model, as"
                f" {flag} anthropic:claude-sonnet-5, or recorded answers, as {flag}"
                " offline:answers=FOLDER"
            )
    if is_rules(config.reviewer):
        raise UsageError(
            "--reviewer: the rules of offline approve no test plan; name a model, or"
            " leave it out to have the drafter's model review"
        )


def _retry_command(arguments: Arguments, parallel: int) -> tuple[str, ...]:
    """Return the command that takes `--ids` to run items again."""
    command = arguments.prog.split()
    if arguments.prog.endswith(".py") and sys.argv[0].endswith(arguments.prog):
        # A script is not on the PATH: as it was called, the command can be pasted.
        command = [sys.argv[0]]
    for name in REPEATED:
        value = getattr(arguments, name, None)
        if name == "parallel":
            value = parallel > 1 and parallel
        for each in value if isinstance(value, list) else [value]:
            if each is None or each is False:
                continue
            command.append(flag_of(name))
            if each is not True and each != "":
                command.append(str(each))
    return tuple(command)


def collect_pending(repository: Path, kind: Kind) -> list[Item]:
    """Return the items of a repository that are not complete."""
    from agentos.backlog.preview import open_folder
    from agentos.backlog.selection import Choice, ItemIndex, select
    from agentos.state.home import repository_key

    repository = repository.absolute()
    inbox = open_folder(repository, kind)
    index = ItemIndex(Arguments().home, repository, repository_key(repository), inbox)
    choice = Choice(everything=True)
    return list(select(inbox.collect(), choice, index, kind.record.inputs).items)


def complete_ids(
    prefix: str,
    parsed_args: argparse.Namespace,
    parser: argparse.ArgumentParser,
    **_: Any,
) -> list[str]:
    """Return the ids that begin with `prefix`: those in the inbox, or with `--source`
    those that were fetched before.
    """
    from agentos.backlog.inbox import Inbox
    from agentos.backlog.inbox.remembered import RememberedInbox
    from agentos.backlog.preview import open_folder

    named = getattr(parsed_args, "type", None) or Kind.LLD
    kind = parser.get_default("kind") or Kind(named)
    try:
        repository = find_repository(parsed_args.repo)
        inbox: Inbox = open_folder(repository, kind)
        start = ""
        if parsed_args.source:
            inbox = RememberedInbox(Arguments().home, repository, kind)
            start = f"{parsed_args.source}#"
        items = inbox.collect().items
    except (AgentOSError, OSError):
        return []
    found = [item.id for item in items if item.source.startswith(start)]
    return [id for id in found if id.startswith(prefix)]
