"""`agentos triage`: say which items are not worth working on as they are; writes nothing and asks nobody."""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from agentos.cli.parser import EPILOG, Parser
from agentos.cli.repository import add_repository_argument, repository_of
from agentos.errors import UsageError
from agentos.home import Home, home_path
from agentos.inbox.directory import FOLDERS
from agentos.plan.preview import Options, look_ahead
from agentos.plan.selection import Choice, normalise_id
from agentos.task import DRAFTING, Workflow
from agentos.triage import Complaint
from agentos.triage.backlog import Judgement, examine
from agentos.triage.sighting import sight
from agentos.untrusted import print_clean
from agentos.wording import count

DESCRIPTION = """\
Say before money is spent which items contradict themselves, double others, are too vague or too large, lack criteria,
wait for each other in a circle or for something unknown, or leave a question open. Rules only, no model is asked.

examples:
  agentos triage                   every pending issue and brief
  agentos triage lld --ids 12 14   these two issues, compared with all others in docs/issues
  agentos triage issue --json      every pending brief, as one JSON document

Exit code 0 when nothing serious was found, 1 when something was, 2 when the command cannot be used.
"""


def main(arguments: Sequence[str]) -> int:
    """Print what is wrong with the items; the exit code says whether any of it is serious."""
    args = build_parser().parse(arguments)
    repository = repository_of(args)
    if not repository.is_dir():
        raise UsageError(f"{repository}: no such folder; give the repository with --repo DIR")
    workflows = [Workflow(args.workflow)] if args.workflow else list(DRAFTING)
    if (args.ids or args.source) and not args.workflow:
        workflows = [Workflow.LLD]
    if (args.label or args.milestone) and not args.source:
        raise UsageError(f"--{'label' if args.label else 'milestone'}: needs --source github:owner/name")
    examined, judged = 0, list[Judgement]()
    for workflow in workflows:
        if args.workflow is None and not args.source and not (repository / FOLDERS[workflow]).is_dir():
            continue
        amount, found = _examine(args, repository, workflow)
        examined += amount
        judged += found
    if args.json:
        print(*_to_json(repository, examined, judged), sep="", end="")
    else:
        print_clean("".join(f"{line}\n" for line in _render(examined, judged)))
    return 1 if any(judgement.is_serious for judgement in judged) else 0


def build_parser() -> Parser:
    """Return the parser of the command."""
    parser = Parser(
        prog="agentos triage",
        usage="agentos triage [lld | issue] [--all | --ids ID...] [options]",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    add_arguments(parser)
    return parser


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what can be said about the items and the output."""
    parser.add_argument(
        "workflow", nargs="?", choices=[w.value for w in DRAFTING], help="issues or briefs; default both"
    )
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--all", action="store_true", help="every item that is not complete (the default)")
    group.add_argument("--ids", nargs="+", metavar="ID", help="these items; without lld or issue, issues")
    parser.add_argument(
        "--source", metavar="SOURCE", help="where the items are, as for the workflows; only what is fetched is compared"
    )
    parser.add_argument("--label", action="append", metavar="LABEL", help="of these, only those with this label")
    parser.add_argument("--milestone", metavar="M", help="of these, only those of this milestone")
    add_repository_argument(parser)
    parser.add_argument("--json", action="store_true", help="as one JSON document")


def _examine(args: argparse.Namespace, repository: Path, workflow: Workflow) -> tuple[int, list[Judgement]]:
    options = _options(args, repository, workflow)
    backlog = sight(options, look_ahead(options, Home(home_path(os.environ))))
    return len(backlog.tasks) + len(backlog.rejects), examine(backlog)


def _options(args: argparse.Namespace, repository: Path, workflow: Workflow) -> Options:
    """Return what a workflow would be asked for; how it would run does not matter here."""
    ids = [part for text in args.ids or () for part in text.split(",") if part]
    choice = Choice(
        everything=not ids,
        ids=tuple(dict.fromkeys(normalise_id(text, workflow) for text in ids)),
        redo=bool(ids),
    )
    return Options(
        workflow=workflow,
        repository=repository,
        choice=choice,
        parallel=1,
        drafter="offline",
        reviewer="offline",
        max_rounds=1,
        timeout=0.0,
        retries=0,
        delay=0.0,
        halt="never",
        command="agentos triage",
        retry=("agentos", "triage"),
        source=args.source or "",
        labels=tuple(args.label or ()),
        milestone=args.milestone or "",
    )


def _render(examined: int, judged: Sequence[Judgement]) -> Iterator[str]:
    for judgement in judged:
        yield from judgement.lines()
    complaints = [complaint for judgement in judged for complaint in judgement.complaints]
    serious = sum(judgement.is_serious for judgement in judged)
    notes = sum(not complaint.is_serious for complaint in complaints)
    if not examined:
        yield "Nothing to judge: no item is pending."
        return
    told = f"{serious} of {count(examined, 'item')} not ready" if serious else f"{count(examined, 'item')}, all ready"
    kinds = _count(complaint for complaint in complaints if complaint.is_serious)
    told += f": {kinds}" if kinds else ""
    yield f"{told}; {count(notes, 'note')}" if notes else told


def _count(complaints: Iterator[Complaint]) -> str:
    counts = Counter(str(complaint.kind) for complaint in complaints)
    return ", ".join(f"{amount} {kind}" for kind, amount in sorted(counts.items()))


def _to_json(repository: Path, examined: int, judged: Sequence[Judgement]) -> Iterator[str]:
    document = {
        "schema": 1,
        "repository": str(repository),
        "examined": examined,
        "serious": sum(judgement.is_serious for judgement in judged),
        "items": [judgement.to_json() for judgement in judged],
    }
    yield json.dumps(document, indent=2) + "\n"
