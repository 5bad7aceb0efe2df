"""`agentos salvage`: list, restore and clean up saved implementations."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agentos.backlog.selection import normalize_id
from agentos.cli.command import (
    Arguments,
    Parser,
    add_flag,
    usage_errors,
)
from agentos.errors import AgentOSError, UsageError
from agentos.item import Item
from agentos.kinds import Kind
from agentos.repository.git.cleanup import forget_merged, remove_worktree
from agentos.repository.git.names import REFS, branch_of
from agentos.repository.git.opening import open_worktree, read_record
from agentos.repository.git.repository import (
    find_repository,
    read_ref,
    resolve_commit,
)
from agentos.repository.git.run import WorktreeConflict
from agentos.repository.git.salvage import (
    SavedSnapshot,
    find_snapshot,
    list_snapshots,
    restore_to,
    saved_in,
)
from agentos.repository.git.snapshots import LATEST
from agentos.repository.git.worktree import Worktree
from agentos.state.files import list_names
from agentos.state.wording import count

DESCRIPTION = """\
List what was saved of every implementation, write one saved state into a new folder, or remove worktrees. Each step of
an implementation saves all its files as refs/agentos/ID/NAME of a repository beside its worktree.

examples:
  agentos salvage                          list everything that was saved
  agentos salvage 42 --to /tmp/shelf       write the last state of item 42, byte for byte
  agentos salvage 42 --name iteration-1 --to /tmp/shelf   write an earlier state
  agentos salvage --clean                  save and remove the worktrees of ended items
  agentos salvage --clean --forget-merged  also delete what was saved of items whose branch is merged
"""
EPILOG = """\
exit codes:
  0    done, or nothing is saved
  1    a worktree could not be removed
  2    the command cannot be used: no such item or name, the folder exists, no git repository
  3    an internal error of AgentOS
  129, 130, 141, 143   ended by SIGHUP, Ctrl+C, a closed stdout, SIGTERM

files:
  $AGENTOS_HOME/worktrees/   one folder per repository: worktrees and what is saved of them (default home: ~/.agentos)
"""


@dataclass(frozen=True, slots=True)
class Step:
    """What was done with the worktree or the refs of one item."""

    label: str
    did: str
    """`removed`, `forgotten`, `kept` because the item is not finished, or `left`
    because it could not be removed.
    """
    why: str
    refs: tuple[str, ...] = ()

    def describe(self) -> str:
        """Return the step as one line."""
        words = {
            "removed": "worktree removed",
            "forgotten": f"{count(len(self.refs), 'ref')} deleted",
            "kept": "worktree kept",
            "left": "left as it is",
        }
        return f"{self.label}: {words[self.did]}: {' '.join(self.why.split())}"


def add_arguments(parser: Parser) -> None:
    """Add the item and the options."""
    parser.describe(
        (
            "agentos salvage [ITEM] [--to DIR [--name NAME] | --clean [--forget-merged]]"
            " [options]"
        ),
        DESCRIPTION,
        EPILOG,
    )
    parser.add_argument(
        "item",
        nargs="?",
        metavar="ITEM",
        help="an id such as 42, or IMPL-42 (default: all)",
    )
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--to",
        type=Path,
        metavar="DIR",
        help="write the item's files into this new folder",
    )
    add_flag(group, "--clean", "remove worktrees, each after everything in it is saved")
    parser.add_argument(
        "--name", metavar="NAME", help="the saved state to write (default: the last)"
    )
    add_flag(
        parser,
        "--forget-merged",
        "with --clean: also delete what was saved of merged items",
    )
    parser.add_common_arguments()


def run(arguments: Arguments) -> int:
    """List, restore or clean up."""
    if arguments.to is not None and not arguments.item:
        raise UsageError("--to: name the item, as in: agentos salvage 42 --to DIR")
    if arguments.name is not None and arguments.to is None:
        raise UsageError("--name: needs --to DIR")
    if arguments.forget_merged and not arguments.clean:
        raise UsageError("--forget-merged: needs --clean")
    arguments.home.check_private()
    item = ""
    if arguments.item:
        item = normalize_id(arguments.item, Kind.IMPLEMENTATION)
    with usage_errors(arguments.repository):
        if arguments.clean:
            return _clean_up(arguments, item)
        if arguments.to is not None:
            return _restore(arguments, item)
        return _list(arguments, item)


def _list(arguments: Arguments, item: str) -> int:
    repository = arguments.repository
    worktrees = _worktrees(arguments)
    saved = list_snapshots(repository, worktrees, item or None)
    if item and not saved:
        raise _nothing_saved(item)
    by_item: dict[str, list[SavedSnapshot]] = {}
    for kept in saved:
        by_item.setdefault(kept.item, []).append(kept)
    entries = []
    for name, snapshots in sorted(by_item.items()):
        folder = arguments.home.worktree(arguments.repository_key, name)
        worktree = ""
        if folder.is_dir() and not folder.is_symlink():
            worktree = str(folder)
        branch = ""
        for kept in snapshots:
            branch = branch or kept.branch
        git = saved_in(repository, worktrees, name)
        latest = read_ref(git, f"{REFS}/{name}/{LATEST}")
        entry = {
            "item": name,
            "label": _item(name).label,
            "branch": branch,
            "worktree": worktree,
            "snapshots": [_to_json(kept, latest) for kept in snapshots],
        }
        entries.append(entry)
    document = {"repository": str(repository), "items": entries}
    arguments.print_result(document, _render(entries))
    return 0


def _to_json(kept: SavedSnapshot, latest: str) -> dict[str, Any]:
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
        snapshots = entry["snapshots"]
        line = f"{entry['label']}: {len(snapshots)} saved"
        if entry["branch"]:
            line += f", branch {entry['branch']}"
        place = "no worktree"
        if entry["worktree"]:
            place = f"worktree {entry['worktree']}"
        yield f"{line}, {place}"
        width = max(len(kept["name"]) for kept in snapshots)
        for kept in snapshots:
            where = "on the branch" if kept["on_branch"] else "not on the branch"
            if kept["latest"]:
                where += ", the last state"
            files = count(kept["files"], "file").rjust(12)
            yield f"  {kept['name'].ljust(width)}  {kept['time']}  {files}  {where}"
    yield "Write one into a new folder with: agentos salvage ITEM --name NAME --to DIR"


def _restore(arguments: Arguments, item: str) -> int:
    repository = arguments.repository
    worktrees = _worktrees(arguments)
    if not list_snapshots(repository, worktrees, item):
        raise _nothing_saved(item)
    git = saved_in(repository, worktrees, item)
    label = _item(item).label
    name = LATEST if arguments.name is None else arguments.name
    commit = find_snapshot(git, item, name)
    folder = arguments.to.expanduser().absolute()
    files = restore_to(git, folder, commit)
    document = {
        "label": label,
        "name": name,
        "commit": commit,
        "folder": str(folder),
        "files": files,
    }
    look = shlex.join(("git", "-C", str(git.git_dir), "show", "--stat", commit[:12]))
    line = (
        f"{label}: {count(files, 'file')} of {name} written to {folder}. Show the"
        f" changes with: {look}"
    )
    arguments.print_result(document, [line])
    return 0


def _clean_up(arguments: Arguments, item: str) -> int:
    """Remove the worktrees of one item or of all that ended."""
    home, key = arguments.home, arguments.repository_key
    folder = _worktrees(arguments)
    saved = {kept.item for kept in list_snapshots(arguments.repository, folder)}
    present = set()
    for name in list_names(folder):
        if not name.startswith(".") and (folder / name).is_dir():
            present.add(name)
    if item:
        saved &= {item}
        present &= {item}
        if not saved | present:
            raise _nothing_saved(item)
    home.prepare(key)
    steps = []
    untouched = set()
    for name in sorted(present):
        step = _remove(arguments, name, is_named=bool(item))
        steps.append(step)
        if step.did != "removed":
            untouched.add(name)
    if arguments.forget_merged:
        for name in sorted((saved | present) - untouched):
            steps += _forget(arguments, name)
    document = {"steps": [asdict(step) for step in steps]}
    lines = [step.describe() for step in steps] or ["nothing to clean up"]
    arguments.print_result(document, lines)
    return 1 if any(step.did == "left" for step in steps) else 0


def _remove(arguments: Arguments, id: str, *, is_named: bool) -> Step:
    """Save everything in the worktree of an item, then remove it."""
    item = _item(id)
    home, key = arguments.home, arguments.repository_key
    try:
        with arguments.lock(item):
            if home.item(key, item).checkpoint.exists() and not is_named:
                why = (
                    "it is not finished; to remove its worktree anyway: agentos"
                    f" salvage {id} --clean"
                )
                return Step(item.label, "kept", why)
            snapshot = remove_worktree(_find_worktree(arguments, id))
    except (AgentOSError, OSError) as error:
        return Step(item.label, "left", str(error))
    if snapshot is None:
        return Step(item.label, "removed", "its folder was gone already")
    why = f"everything in it is saved as {snapshot.ref.rpartition('/')[2]}"
    return Step(item.label, "removed", why, (snapshot.ref,))


def _find_worktree(arguments: Arguments, id: str) -> Worktree:
    found = find_repository(arguments.repository)
    folder = _worktrees(arguments).resolve() / id
    head = resolve_commit(found.git())
    any_branch = branch_of(id, "")
    worktree = Worktree(str(found.path), str(folder), id, any_branch, head)
    if worktree.store.exists():
        known = read_record(worktree.git(), worktree)
    else:
        known = read_record(found.git(), worktree)
        if known is not None:
            # An earlier version made it, and saved into the user's repository.
            known = open_worktree(found.path, folder, id, known.branch)
    if known is None:
        raise WorktreeConflict(
            f"{folder}: its branch is unknown; look at it and move it away"
        )
    return known


def _worktrees(arguments: Arguments) -> Path:
    """Return the folder of all worktrees of the repository."""
    return arguments.home.worktree(arguments.repository_key, "_").parent


def _forget(arguments: Arguments, id: str) -> list[Step]:
    """Delete what was saved of an item whose branch is merged."""
    item = _item(id)
    try:
        with arguments.lock(item):
            folder = _worktrees(arguments) / id
            refs = forget_merged(arguments.repository, folder, id)
    except (AgentOSError, OSError) as error:
        return [Step(item.label, "left", str(error))]
    if not refs:
        return []
    return [Step(item.label, "forgotten", "its branch is merged", refs)]


def _item(item: str) -> Item:
    return Item(Kind.IMPLEMENTATION, item, "")


def _nothing_saved(item: str) -> UsageError:
    return UsageError(f"IMPL-{item}: nothing is saved; list what is: agentos salvage")
