"""Bring the finished work of an item into the user's repository, as objects that are
checked before any ref names them.

The worker makes a bundle of the item's branch. The coordinator unpacks it into a folder
of its own, which reads the user's objects, and checks it there. Only then the objects go
to the user's repository and the branch moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from agentos.errors import BadInput
from agentos.repository.git.names import (
    BRANCHES,
    checked_branch,
    checked_commit,
    checked_item,
    is_kept_from_git,
    os_text,
)
from agentos.repository.git.old_worktrees import retire_old_entry
from agentos.repository.git.opening import find_free_tip, find_record, write_record
from agentos.repository.git.own_repository import read_shallow
from agentos.repository.git.repository import (
    change_refs,
    find_repository,
    is_ancestor,
    read_ref,
)
from agentos.repository.git.run import Git, GitError, WorktreeConflict
from agentos.repository.git.scanning import (
    FILE,
    LARGEST_FILE,
    LINK,
    MOST_FILES,
    PROGRAM,
)
from agentos.repository.git.snapshots import COMMITTED
from agentos.repository.git.stacking import numbered_commits
from agentos.repository.git.worktree import Worktree
from agentos.state.files import read_regular

BUNDLE_LIMIT = 50_000_000
_MOST_COMMITS = 200
_HEADER_LIMIT = 1_000_000
_LOCK_LIMIT = 10_000
_GONE = "000000"
_NOTHING_NEW = b""
_UNCHANGED = (
    "Blob",
    "Large",
    "Missing",
    "Name",
    "Parse",
    "Path",
    "Symlink",
    "Update",
    "Url",
)
"""What git finds in `.gitmodules`: no work may change that file, and what the user has
in it is nobody else's business.
"""


@dataclass(frozen=True, slots=True)
class _Bundle:
    ref: str
    commit: str
    needed: tuple[str, ...]
    """Commits that the user's repository must have."""
    pack: bytes


@dataclass(frozen=True, slots=True)
class _Change:
    """A file that a delivered commit changes."""

    mode: str
    content: str
    path: bytes


def make_bundle(worktree: Worktree, commit: str) -> bytes:
    """Return the commits of an item's branch that the user's repository lacks, empty if
    it has them all.

    `commit` is the finished work; raise `WorktreeConflict` if the branch is elsewhere,
    and `BadInput` if the commits are too large to be delivered.
    """
    git = worktree.git()
    edges = read_shallow(worktree.store)
    tip = read_ref(git, worktree.branch_ref)
    if tip != commit:
        raise WorktreeConflict(
            f"{worktree.store}: {worktree.branch} is not at {commit[:12]}, which was"
            " built; start again"
        )
    if tip in edges:
        return _NOTHING_NEW
    with git.start(
        "bundle",
        "create",
        "--quiet",
        "-",
        worktree.branch_ref,
        "--not",
        *sorted(edges),
    ) as output:
        bundle = output.read(BUNDLE_LIMIT + 1)
        if len(bundle) > BUNDLE_LIMIT:
            megabytes = BUNDLE_LIMIT // 1_000_000
            raise BadInput(
                f"item {worktree.item}: what was built is more than {megabytes} MB when"
                " packed, which is not delivered; take it by hand, see agentos salvage"
                f" {worktree.item}, or leave large files out of the design"
            )
    return bundle


def deliver(
    repository: Path, bundle: bytes, commit: str, item: str, folder: Path, scratch: Path
) -> None:
    """Put the work in a bundle on the item's branch; repeating it changes nothing.

    When it returns, the branch is at `commit`. `folder` is that of the item's worktree,
    and `scratch` a path at which a folder can be made. Whatever is wrong with the bundle
    raises `BadInput`; a branch that somebody moved or has checked out raises
    `WorktreeConflict`.
    """
    checked_item(item)
    users = find_repository(repository).git()
    recorded = find_record(repository, item)
    if bundle == _NOTHING_NEW:
        _check_delivered(users, recorded, commit, item)
        return
    found = _read_bundle(bundle, item)
    if found.commit != commit:
        raise _refuse(item, "is another commit than the one that was proven")
    branch = found.ref.removeprefix("refs/heads/")
    if recorded is not None:
        recorded = replace(recorded, folder=str(folder))
        if recorded.branch != branch:
            raise _refuse(item, f"is on {branch} and not on {recorded.branch}")
    numbered = numbered_commits(users, item)
    if read_ref(users, found.ref) == found.commit in numbered.values():
        return
    objects = scratch / "objects"
    (objects / "pack").mkdir(parents=True)
    apart = users.writing_to(objects)
    _unpack(apart, found, item)
    earlier = set(numbered.values()) - {found.commit}
    parent = _check_commits(apart, found, earlier, item)
    worktree = Worktree(
        repository=str(repository),
        folder=str(folder),
        item=item,
        branch=branch,
        base=parent,
    )
    if recorded is not None and parent in earlier:
        # The work continues a commit that was delivered before, so the record keeps
        # the first base.
        worktree = recorded
    tip = find_free_tip(users, worktree)
    # The tip must be in the history of the new commit, or somebody's commits would be
    # lost. A branch that is still at the recorded base has no work on it and may be
    # moved, even if the item began anew from another base.
    is_moved = bool(tip) and not is_ancestor(apart, tip, found.commit)
    if is_moved and (recorded is None or tip != recorded.base):
        raise WorktreeConflict(
            f"{branch}: has commits that AgentOS did not make; keep them by git branch"
            f" -m {branch} NEW-NAME, and start again; the work itself is kept, see"
            f" agentos salvage {item}"
        )
    _unpack(users, found, item)
    retire_old_entry(users, folder)
    note = worktree.record_ref
    record = write_record(users, worktree)
    old_record = read_ref(users, note)
    changes = [(note, record, old_record)]
    if found.commit not in numbered.values():
        number = max(numbered, default=0) + 1
        committed = f"{worktree.refs}/{COMMITTED}-{number}"
        changes.append((committed, found.commit, ""))
    # Last, because git moves the refs one after the other: a branch that was moved
    # before a kill, without a note, would pass for somebody else's.
    changes.append((found.ref, found.commit, tip))
    for ref, new, _ in changes:
        lock = users.git_dir / f"{ref}.lock"
        _remove_own_lock(lock, new)
    if not change_refs(users, *changes):
        raise WorktreeConflict(
            f"{branch}: was moved by somebody else meanwhile; start again"
        )


def _remove_own_lock(lock: Path, commit: str) -> None:
    """Remove a lock that a delivery of the same work left when its git was killed.

    Git writes the new value into the lock. One with another value, or none yet, may be
    of a git of the user's that is at work: git waits for that, and fails if it stays.
    """
    try:
        content = read_regular(lock, _LOCK_LIMIT)
    except BadInput:
        # There is none, or it is nothing that git makes.
        return
    if content == f"{commit}\n".encode():
        lock.unlink(missing_ok=True)


def _check_delivered(
    users: Git, recorded: Worktree | None, commit: str, item: str
) -> None:
    """Refuse a worker's word that there is nothing to deliver if the user's repository
    has not the work on its branch.
    """
    tip = ""
    if recorded is not None:
        tip = read_ref(users, recorded.branch_ref)
    if tip and tip == commit:
        return
    raise BadInput(
        f"item {item}: what was built ({commit[:12]}) is on no branch of"
        f" {users.git_dir}; run again to have it built again"
    )


def _read_bundle(bundle: bytes, item: str) -> _Bundle:
    if len(bundle) > BUNDLE_LIMIT:
        raise _refuse(item, "is too large")
    header, end, pack = bundle.partition(b"\n\n")
    if not end or len(header) > _HEADER_LIMIT:
        raise _refuse(item, "has no end of its header")
    first, *lines = header.decode("ascii", "replace").split("\n")
    if lines and lines[0] == "@object-format=sha256":
        del lines[0]
    if first not in ("# v2 git bundle", "# v3 git bundle"):
        raise _refuse(item, "is no git bundle")
    needed = []
    refs = []
    for line in lines:
        commit, _, name = line.partition(" ")
        id = checked_commit(commit.removeprefix("-"))
        if line.startswith("-"):
            needed.append(id)
        else:
            refs.append((name, id))
    if len(refs) != 1:
        raise _refuse(item, f"has {len(refs)} refs and not one")
    ref, commit = refs[0]
    branch = checked_branch(ref.removeprefix("refs/heads/"))
    is_own = branch.startswith(f"{BRANCHES}/{item}-")
    if ref != f"refs/heads/{branch}" or not is_own:
        raise _refuse(item, "is for another branch")
    return _Bundle(ref, commit, tuple(needed), pack)


def _unpack(git: Git, found: _Bundle, item: str) -> None:
    """Store the objects; git refuses those that are not well-formed or lead nowhere."""
    for commit in found.needed:
        if not git.succeeds("cat-file", "-e", commit):
            raise _refuse(item, f"needs {commit[:12]}, which the repository lacks")
    ignored = ",".join(f"gitmodules{name}=ignore" for name in _UNCHANGED)
    strict = f"--strict={ignored}"
    try:
        git.run("index-pack", "--stdin", "--fix-thin", strict, data=found.pack)
    except GitError as error:
        raise _refuse(item, f"is damaged ({error})") from error


def _check_commits(git: Git, found: _Bundle, earlier: Iterable[str], item: str) -> str:
    """Check all that is new, and return the commit that the work is based on.

    `earlier` are commits of the item that the user's repository has. The work is one
    commit. What else is new are merges that make up its base.
    """
    exclude = [f"^{commit}" for commit in (*found.needed, *earlier)]
    try:
        git.run("rev-list", "--objects", "--quiet", found.commit, *exclude)
        printed = git.line("rev-list", "--parents", found.commit, *exclude)
    except GitError as error:
        raise _refuse(item, f"is not whole ({error})") from error
    lines = printed.split("\n")
    if len(lines) > _MOST_COMMITS:
        raise _refuse(item, f"has more than {_MOST_COMMITS} commits")
    work = ""
    for line in lines:
        commit, *parents = line.split(" ")
        is_work = commit == found.commit
        if not parents or is_work != (len(parents) == 1):
            raise _refuse(item, "has other commits than one on top of its base")
        if is_work:
            work = parents[0]
        _check_files(git, _changes(git, parents[0], commit), item)
    if not work:
        raise _refuse(item, "has no commit of its own")
    return work


def _changes(git: Git, parent: str, commit: str) -> Iterator[_Change]:
    arguments = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev")
    parts = git.run(*arguments, parent, commit).split(b"\0")[:-1]
    for facts, path in zip(parts[::2], parts[1::2], strict=True):
        _, mode, _, content, _ = facts.decode("ascii").split(" ")
        yield _Change(mode, content, path)


def _check_files(git: Git, changes: Iterable[_Change], item: str) -> None:
    contents = []
    for change in changes:
        shown = repr(os_text(change.path))
        if change.mode == _GONE:
            continue
        if change.mode not in (FILE, PROGRAM, LINK):
            raise _refuse(item, f"has {shown}, which is neither a file nor a link")
        for name in change.path.split(b"/"):
            # As a link: then a file that names submodules is refused too.
            if name in (b"", b".", b"..") or is_kept_from_git(name, is_link=True):
                raise _refuse(item, f"has {shown}, which is no name for a file")
        contents.append(f"{change.content}\n")
    if len(contents) > MOST_FILES:
        raise _refuse(item, f"changes more than {MOST_FILES:,} files")
    if not contents:
        return
    data = "".join(contents).encode()
    sizes = git.line("cat-file", "--batch-check=%(objecttype) %(objectsize)", data=data)
    for line in sizes.split("\n"):
        kind, _, size = line.partition(" ")
        if kind != "blob" or int(size) > LARGEST_FILE:
            megabytes = LARGEST_FILE // 1_000_000
            raise _refuse(item, f"has a file of more than {megabytes} MB")


def _refuse(item: str, reason: str) -> BadInput:
    return BadInput(f"item {item}: what was built {reason}; run again")
