"""The command behind `tools/run_requirements_workflow.py`: both requirements workflows by `--type`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from agentos.cli.entry import die_quietly_on_ctrl_c
from agentos.cli.workflow import build_parser, complete_if_asked, run
from agentos.task import Task, Workflow

PROG = "run_requirements_workflow.py"


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the script's command line."""
    parser = build_parser(None, PROG)
    complete_if_asked(parser)
    return parser.parse(sys.argv[1:] if argv is None else argv)


def collect_pending_issues(input_dir: Path) -> list[Task]:
    """Return the issues in a repository that have no complete design yet."""
    return collect_pending(input_dir, Workflow.LLD)


def collect_pending(input_dir: Path, workflow: Workflow) -> list[Task]:
    """Return the items of a workflow that are not complete."""
    import os

    from agentos.home import Home, home_path, repository_key
    from agentos.inbox.directory import FOLDERS
    from agentos.plan.preview import open_folder
    from agentos.plan.selection import Choice, Ledger, select

    home, repository = Home(home_path(os.environ)), input_dir.absolute()
    inbox = open_folder(repository, workflow)
    ledger = Ledger(home, repository, repository_key(repository), inbox)
    return list(select(inbox.collect(), Choice(everything=True), ledger, FOLDERS[workflow]).tasks)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the workflow that `--type` names."""
    die_quietly_on_ctrl_c()
    arguments = sys.argv[1:] if argv is None else list(argv)
    args = parse_args(arguments)
    return run(args, Workflow(args.type), PROG, arguments)
