"""Find a repository, its commits and our refs in it, and let one process at a time change it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agentos.errors import BadInput
from agentos.locks import ItemLock, try_acquire
from agentos.repository_files import check_git_files
from agentos.worktrees.git import Git, GitError, WorktreeConflict, harden, one_line, start_git
from agentos.worktrees.hardening import NOBODY, as_variables, make_environment, make_settings
from agentos.worktrees.names import checked_commit
from agentos.worktrees.stamps import Stamps, configuration_files, find_git_folder, stamp

LOCK_FILE = "agentos.lock"
LOCK_PATIENCE = 120.0
_found: dict[Path, tuple[tuple[Path, int, int], Stamps, Repository]] = {}
_IDENTITY_LIMIT = 1_000


@dataclass(frozen=True, slots=True)
class Repository:
    """A git repository with files, found from a folder in it."""

    path: Path
    """The folder that was asked for."""
    git_dir: Path
    """Where commits and refs are, also of a linked worktree."""
    prefix: str
    """Where the folder is inside the repository's tree, empty at its top, else ending in a slash."""
    is_shallow: bool
    object_format: str

    def git(self) -> Git:
        """Return git on it, with what its configuration says at this moment disarmed."""
        return harden(self.git_dir, self.git_dir)


def find_repository(path: Path) -> Repository:
    """Return the repository of a folder, or say in one line why it cannot be used."""
    path = path.resolve()
    place = find_git_folder(path)
    known = _found.get(path)
    if known is not None and place == known[0] and _stamps_of(known[2]) == known[1] and path.is_dir():
        return known[2]
    _found.pop(path, None)
    check_git_files(path)
    repository = _look_for(path)
    stamps = _stamps_of(repository)
    if place is not None and stamps is not None and place == find_git_folder(path):
        _found[path] = (place, stamps, repository)
    return repository


def _stamps_of(repository: Repository) -> Stamps | None:
    """Return what changes with the facts of a repository, None while that cannot be told."""
    git_dir = repository.git_dir
    if not (git_dir / "HEAD").exists():
        return None
    return stamp(git_dir / "shallow", *configuration_files(git_dir))


def _look_for(path: Path) -> Repository:
    if not path.is_dir():
        raise _unusable(f"{path}: is not a folder")
    try:
        questions = ("--is-bare-repository", "--is-inside-work-tree", "--is-shallow-repository", "--show-object-format")
        facts = _ask(path, *questions).split("\n")
        git_dir = Path(_ask(path, "--path-format=absolute", "--git-common-dir"))
        if facts[0] == "true":
            raise _unusable(f"{path}: is a bare repository; clone it and start in the clone")
        if facts[1] != "true":
            raise _unusable(f"{path}: is not in the tree of its repository; start where the files are")
        prefix = _ask(path, "--show-prefix")
    except GitError as error:
        raise _unusable(_why_unusable(path, error)) from error
    return Repository(path, git_dir.resolve(), prefix, facts[2] == "true", facts[3])


def resolve_commit(git: Git, revision: str = "HEAD") -> str:
    """Return the whole id of the commit that a revision names; one that does not exist is the input's fault."""
    try:
        return git.line("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except GitError as error:
        if revision == "HEAD" and not git.run("for-each-ref", "--count=1"):
            raise _unusable(f"{git.git_dir}: has no commit yet; commit something and start again") from error
        raise _unusable(f"{revision[:200]}: is not a commit of {git.git_dir}") from error


def tree_of(git: Git, commit: str) -> str:
    """Return the id of a commit's tree."""
    return git.line("rev-parse", "--verify", "--quiet", "--end-of-options", f"{checked_commit(commit)}^{{tree}}")


def read_ref(git: Git, ref: str) -> str:
    """Return the commit that a whole ref name points to, empty when there is no such ref."""
    for line in git.run("for-each-ref", "--format=%(objectname) %(refname)", "--", ref).decode().split("\n"):
        commit, _, name = line.partition(" ")
        if name == ref:
            return commit
    return ""


def change_refs(git: Git, *changes: tuple[str, str, str]) -> bool:
    """Change (ref, new, old) together or not at all; an empty old means new, an empty new gone; False when it moved.

    A ref that does not have its old value any more is never overwritten.
    """
    zero = "0" * max(len(value) for _, new, old in changes for value in (new, old))
    lines = "".join(
        f"update {ref}\0{new}\0{old or zero}\0" if new else f"delete {ref}\0{old}\0" for ref, new, old in changes
    )
    try:
        git.run("update-ref", "--stdin", "-z", data=lines.encode())
    except GitError:
        if all(read_ref(git, ref) == old for ref, _, old in changes):
            raise
        return False
    return True


def is_ancestor(git: Git, old: str, new: str) -> bool:
    """Tell whether everything of one commit is in the other."""
    return git.succeeds("merge-base", "--is-ancestor", checked_commit(old), checked_commit(new))


def read_identity(repository: Repository) -> tuple[str, str]:
    """Return name and address of the user as git knows them, else those of AgentOS."""
    environ = make_environment(os.environ, is_users_own=True) | as_variables(make_settings())
    environ["GIT_DIR"] = str(repository.git_dir)
    found = dict(zip(("name", "email"), NOBODY, strict=True))
    for key in found:
        try:
            with start_git(("config", "-z", "--get", f"user.{key}"), repository.path, environ) as output:
                value = os.fsdecode(output.read(_IDENTITY_LIMIT)).removesuffix("\0")
        except GitError:
            return NOBODY
        # Git itself leaves these characters out, and refuses who has no others.
        if not value.strip(" .,:;<>\"\\'\n\t\r") or "\0" in value:
            return NOBODY
        found[key] = value
    return found["name"], found["email"]


def identity_variables(identity: tuple[str, str], when: int | None = None) -> Mapping[str, str]:
    """Return the variables that make somebody author and committer, at a given time in seconds."""
    date = {} if when is None else {"GIT_AUTHOR_DATE": f"@{when} +0000", "GIT_COMMITTER_DATE": f"@{when} +0000"}
    return date | {
        f"GIT_{role}_{part}": value
        for role in ("AUTHOR", "COMMITTER")
        for part, value in zip(("NAME", "EMAIL"), identity, strict=True)
    }


@contextmanager
def locked(git: Git, path: Path, what: str) -> Iterator[Git]:
    """Hold a lock file for a moment and give git that holds it too; wait for whoever has it."""
    lock = _wait_for(path, what)
    try:
        yield git.holding(lock.descriptor)
    finally:
        lock.release()


def _wait_for(path: Path, what: str) -> ItemLock:
    deadline = time.monotonic() + LOCK_PATIENCE
    while True:
        try:
            lock = try_acquire(path)
        except OSError as error:
            raise WorktreeConflict(
                f"{path}: cannot be locked ({error.strerror}); remove it if nobody uses it"
            ) from error
        if lock is not None:
            return lock
        if time.monotonic() > deadline:
            raise WorktreeConflict(f"{what}: another process has been at work on it for long; wait for it or end it")
        time.sleep(0.02)


def _ask(path: Path, *questions: str) -> str:
    # The user's own configuration counts here: it says which repositories of other users are trusted.
    environ = make_environment(os.environ, is_users_own=True) | as_variables(make_settings())
    with start_git(("rev-parse", *questions), path, environ) as output:
        return os.fsdecode(output.read(100_000).removesuffix(b"\n"))


def _unusable(message: str) -> BadInput:
    return BadInput(one_line(message))


def _why_unusable(path: Path, error: GitError) -> str:
    if "dubious ownership" in error.said:
        return f"{path}: belongs to another user; run: git config --global --add safe.directory '{path}'"
    if "not a git repository" in error.said:
        return f"{path}: is not in a git repository; run git init there and commit, or start elsewhere"
    return str(error)
