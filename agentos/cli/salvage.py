"""`agentos salvage`: see everything that was saved of implementations, write it out again, clear worktrees away."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from agentos.cli.parser import EPILOG, Parser
from agentos.cli.repository import add_repository_argument, repository_of
from agentos.errors import ItemError, UsageError
from agentos.home import Home, home_path, repository_key
from agentos.plan.selection import normalise_id
from agentos.task import Task, Workflow
from agentos.untrusted import print_clean
from agentos.wording import count
from agentos.worktrees.names import REFS
from agentos.worktrees.repository import find_repository, read_ref
from agentos.worktrees.salvage import Kept, find_snapshot, list_snapshots, restore_to
from agentos.worktrees.snapshots import LATEST

DESCRIPTION = """\
List what was saved of every implementation, write one state of it into a new folder, or clear worktrees away. Each step
of an implementation saves all its files on refs/agentos/ID/NAME, also those that no branch has.

examples:
  agentos salvage                          everything that was saved
  agentos salvage 42 --to /tmp/shelf       the last state of item 42, byte by byte
  agentos salvage 42 --name iteration-1 --to /tmp/shelf   an earlier one
  agentos salvage --clean                  remove the worktrees of ended items, after all in them was saved
  agentos salvage --clean --forget-merged  also drop what was saved of items whose branch is merged

Exit code 0 when it was done, 1 when a worktree had to be left, 2 when the command cannot be used.
"""


def main(arguments: Sequence[str]) -> int:
    """List, restore or clear away; say what was done."""
    args = build_parser().parse(arguments)
    _check(args)
    repository = repository_of(args)
    home = Home(home_path(os.environ))
    home.check_private()
    item = normalise_id(args.item, Workflow.IMPLEMENTATION) if args.item else None
    try:
        if args.clean:
            from agentos.cli.clearing import clear

            return clear(home, repository, item, is_forgetting=args.forget_merged, as_json=args.json)
        if args.to is not None and item is not None:
            return _restore(args, repository, item)
        return _list(args, home, repository, item)
    except ItemError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        raise UsageError(f"{error.filename or repository}: {error.strerror or error}") from error


def build_parser() -> Parser:
    """Return the parser of the command."""
    parser = Parser(
        prog="agentos salvage",
        usage="agentos salvage [ITEM] [--to DIR [--name NAME] | --clean [--forget-merged]] [options]",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    add_arguments(parser)
    return parser


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("item", nargs="?", metavar="ITEM", help="an id such as 42, or IMPL-42 (default: all)")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--to", type=Path, metavar="DIR", help="write the item's files into this new folder")
    group.add_argument("--clean", action="store_true", help="remove worktrees; all in them is saved first")
    parser.add_argument("--name", metavar="NAME", help="which of the saved states (default: the last)")
    parser.add_argument(
        "--forget-merged", action="store_true", help="with --clean: drop what was saved of items that are merged"
    )
    add_repository_argument(parser)
    parser.add_argument("--json", action="store_true", help="as one JSON document")


def _check(args: argparse.Namespace) -> None:
    """Refuse flags that mean nothing without another one."""
    if args.to is not None and not args.item:
        raise UsageError("--to: say which item, such as: agentos salvage 42 --to DIR")
    if args.name is not None and args.to is None:
        raise UsageError("--name: say where to write it with --to DIR")
    if args.forget_merged and not args.clean:
        raise UsageError("--forget-merged: goes with --clean only")


def _list(args: argparse.Namespace, home: Home, repository: Path, item: str | None) -> int:
    saved = list_snapshots(repository, item)
    if item is not None and not saved:
        raise UsageError(f"{_label(item)}: nothing was saved of it; agentos salvage lists what there is")
    git = find_repository(repository).git()
    key = repository_key(repository)
    entries = []
    for name, group in groupby(sorted(saved, key=lambda kept: kept.item), key=lambda kept: kept.item):
        folder = home.worktree(key, name)
        entries.append(
            {
                "item": name,
                "label": _label(name),
                "branch": next((kept.branch for kept in saved if kept.item == name and kept.branch), ""),
                "worktree": str(folder) if folder.is_dir() and not folder.is_symlink() else "",
                "snapshots": [_describe(kept, read_ref(git, f"{REFS}/{name}/{LATEST}")) for kept in group],
            }
        )
    if args.json:
        document = {"schema": 1, "repository": str(repository), "items": entries}
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    else:
        print_clean("".join(f"{line}\n" for line in _render(entries)))
    return 0


def _describe(kept: Kept, latest: str) -> dict[str, Any]:
    return {
        "name": kept.name,
        "commit": kept.commit,
        "time": datetime.fromtimestamp(kept.when, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "files": kept.files,
        "on_branch": kept.is_on_branch,
        "latest": kept.commit == latest,
    }


def _render(entries: Sequence[dict[str, Any]]) -> Iterator[str]:
    if not entries:
        yield "nothing saved"
        return
    for entry in entries:
        place = f", worktree {entry['worktree']}" if entry["worktree"] else ", no worktree"
        branch = f", branch {entry['branch']}" if entry["branch"] else ""
        yield f"{entry['label']}: {len(entry['snapshots'])} saved{branch}{place}"
        width = max(len(kept["name"]) for kept in entry["snapshots"])
        for kept in entry["snapshots"]:
            where = "on the branch" if kept["on_branch"] else "not on the branch"
            files = count(kept["files"], "file").rjust(12)
            latest = ", the last state" if kept["latest"] else ""
            yield f"  {kept['name'].ljust(width)}  {kept['time']}  {files}  {where}{latest}"
    yield "Write one into a new folder with: agentos salvage ITEM --name NAME --to DIR"


def _restore(args: argparse.Namespace, repository: Path, item: str) -> int:
    if not list_snapshots(repository, item):
        raise UsageError(f"{_label(item)}: nothing was saved of it; agentos salvage lists what there is")
    name = args.name if args.name is not None else LATEST
    commit = find_snapshot(repository, item, name)
    folder = args.to.expanduser().absolute()
    files = restore_to(repository, folder, commit)
    if args.json:
        document = {
            "schema": 1,
            "label": _label(item),
            "name": name,
            "commit": commit,
            "folder": str(folder),
            "files": files,
        }
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
        return 0
    look = shlex.join(("git", "-C", str(repository), "show", "--stat", commit[:12]))
    print_clean(f"{_label(item)}: {count(files, 'file')} of {name} written to {folder}. What it changes: {look}\n")
    return 0


def _label(item: str) -> str:
    return Task(Workflow.IMPLEMENTATION, item, "").label
