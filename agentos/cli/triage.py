"""`agentos triage`: list the items that are not ready to be worked on; writes nothing
and asks no model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from agentos.backlog.preview import RunOptions, preview_run
from agentos.backlog.selection import Choice
from agentos.backlog.triage.backlog import Judgment, examine, read_backlog
from agentos.cli.command import (
    Arguments,
    Parser,
    add_flag,
    flag_of,
    split_ids,
)
from agentos.cli.workflow import ANY_AUTHOR
from agentos.errors import UsageError
from agentos.kinds import Kind, installed_kinds
from agentos.repository.forge import Unavailable
from agentos.settings import RunConfig
from agentos.state.wording import count

DESCRIPTION = """\
List the items that contradict themselves, duplicate others, are too vague or too large, lack acceptance criteria,
depend on each other in a cycle or on something unknown, or leave a question open. By rules only: no model is asked.

examples:
  agentos triage                   every pending issue and brief
  agentos triage lld --ids 12 14   these two issues, compared with all others in docs/issues
  agentos triage issue --json      every pending brief, as one JSON document
"""
EPILOG = """\
exit codes:
  0    nothing serious was found
  1    at least one item has a serious complaint
  2    the command cannot be used
  3    an internal error of AgentOS
  129, 130, 141, 143   ended by SIGHUP, Ctrl+C, a closed stdout, SIGTERM

environment, with --source:
  GITHUB_TOKEN, GH_TOKEN  token (default: the token of `gh auth token`)
  GITHUB_API_URL          address of a GitHub Enterprise server, such as https://HOST/api/v3
"""


def add_arguments(parser: Parser) -> None:
    """Add the items and the options."""
    parser.describe(
        "agentos triage [lld | issue | KIND] [--all | --ids ID...] [options]",
        DESCRIPTION,
        EPILOG,
    )
    parser.add_argument(
        "workflow",
        nargs="?",
        metavar="KIND",
        help="lld, issue or another kind that writes documents (default: all)",
    )
    group = parser.add_mutually_exclusive_group()
    add_flag(group, "--all", "every item that is not complete (the default)")
    group.add_argument(
        "--ids",
        nargs="+",
        metavar="ID",
        help="these items; issues unless issue is given",
    )
    parser.add_argument(
        "--source",
        metavar="SOURCE",
        help="take the open issues of github:owner/name and compare only those",
    )
    parser.add_argument(
        "--label",
        action="append",
        metavar="LABEL",
        help="with --source: only issues with this label",
    )
    parser.add_argument(
        "--milestone",
        metavar="M",
        help="with --source: only issues of this milestone",
    )
    add_flag(parser, "--any-author", ANY_AUTHOR)
    parser.add_common_arguments()


def run(arguments: Arguments) -> int:
    """Print what is wrong with the items; return 1 if any of it is serious."""
    repository = arguments.repository
    if not arguments.source:
        for name in ("label", "milestone", "any_author"):
            if getattr(arguments, name):
                raise UsageError(f"{flag_of(name)}: needs --source github:owner/name")
    kinds = _find_kinds(arguments)
    if not arguments.workflow and not arguments.source:
        kinds = [kind for kind in kinds if (repository / kind.record.inputs).is_dir()]
    examined = 0
    judged: list[Judgment] = []
    left_out: list[dict[str, str]] = []
    remarks: list[str] = []
    for kind in kinds:
        options = _make_options(arguments, kind)
        try:
            preview = preview_run(options, arguments.home, arguments.environ)
            backlog = read_backlog(options, preview)
        except Unavailable as error:
            raise UsageError(str(error)) from error
        examined += len(backlog.items) + len(backlog.rejects)
        judged += examine(backlog)
        left_out += preview.collected.left_out_as_json()
        remarks.append(preview.collected.describe_left_out())
    serious = sum(judgment.is_serious for judgment in judged)
    document = {
        "repository": str(repository),
        "examined": examined,
        "serious": serious,
        "items": [judgment.to_json() for judgment in judged],
        "left_out": left_out,
    }
    lines = [*_render(examined, judged, serious), *filter(None, remarks)]
    arguments.print_result(document, lines)
    return 1 if serious else 0


def _find_kinds(arguments: Arguments) -> list[Kind]:
    """Return the kind that was named, or those that are looked at without a name."""
    if arguments.workflow:
        named = Kind(arguments.workflow)
        if named.record.builds:
            raise UsageError(
                f"{named}: a design was judged by its reviewer; triage is for kinds"
                " that write documents"
            )
        return [named]
    if arguments.ids or arguments.source:
        return [Kind.LLD]
    return [kind for kind in installed_kinds() if not kind.record.builds]


def _make_options(arguments: Arguments, kind: Kind) -> RunOptions:
    """Return options that select the items; nothing is run with them."""
    ids = split_ids(arguments.ids, kind)
    return RunOptions(
        workflow=kind,
        repository=arguments.repository,
        choice=Choice(everything=not ids, ids=ids, redo=bool(ids)),
        config=RunConfig(),
        command="agentos triage",
        retry=("agentos", "triage"),
        source=arguments.source or "",
        labels=tuple(arguments.label or ()),
        milestone=arguments.milestone or "",
        any_author=arguments.any_author,
    )


def _render(examined: int, judged: Sequence[Judgment], serious: int) -> Iterator[str]:
    if not examined:
        yield "Nothing to judge: no item is pending."
        return
    kinds: Counter[str] = Counter()
    notes = 0
    for judgment in judged:
        yield from judgment.lines()
        for complaint in judgment.complaints:
            if complaint.is_serious:
                kinds[str(complaint.kind)] += 1
            else:
                notes += 1
    line = f"{count(examined, 'item')}, all ready"
    if serious:
        sums = sorted(kinds.items())
        found = ", ".join(f"{number} {kind}" for kind, number in sums)
        line = f"{serious} of {count(examined, 'item')} not ready: {found}"
    if notes:
        line += f"; {count(notes, 'note')}"
    yield line
