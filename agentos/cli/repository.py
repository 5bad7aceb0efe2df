"""Which repository a command is about."""

from __future__ import annotations

import argparse
from pathlib import Path

from agentos.errors import BadInput, UsageError


def add_repository_argument(parser: argparse._ActionsContainer) -> None:
    """Let a command be told which repository is meant."""
    said = "the repository (default: the one that the working directory is in)"
    parser.add_argument("--repo", type=Path, default=None, metavar="DIR", help=said)


def repository_of(args: argparse.Namespace) -> Path:
    """Return the repository that was named, or the one that the working directory is in, after a look at its files."""
    from agentos.repository_files import check_folders, check_git_files

    try:
        repository = Path(args.repo).absolute() if args.repo else _find_top(Path.cwd())
    except FileNotFoundError:
        raise UsageError("the working directory is gone; go to one that exists, or give --repo DIR") from None
    try:
        check_git_files(repository)
        check_folders(repository)
    except BadInput as error:
        raise UsageError(str(error)) from None
    return repository


def _find_top(folder: Path) -> Path:
    """Return the top of a repository in whose subfolder somebody is, unless that has a backlog of its own."""
    from agentos.inbox.directory import FOLDERS

    # Designs that are done have left their folder, but not the one above it.
    if any((folder / name).exists() for name in (".git", ".agentos", "docs/lld", *map(str, FOLDERS.values()))):
        return folder
    return next((above for above in folder.parents if (above / ".git").exists()), folder)
