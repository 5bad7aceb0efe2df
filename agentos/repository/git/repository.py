"""Find a repository, its commits and our refs, and lock it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agentos.errors import BadInput
from agentos.repository.files import check_git_files
from agentos.repository.git.fingerprints import (
    Fingerprints,
    configuration_files,
    find_git_folder,
    read_fingerprints,
)
from agentos.repository.git.hardening import (
    NOBODY,
    as_variables,
    make_environment,
    make_settings,
)
from agentos.repository.git.names import checked_commit
from agentos.repository.git.run import (
    Git,
    GitError,
    WorktreeConflict,
    harden,
    one_line,
    start_git,
)
from agentos.state.locks import ItemLock, try_acquire
from agentos.state.variables import environment

LOCK_PATIENCE = 120.0
_found: dict[Path, tuple[tuple[Path, int, int], Fingerprints, GitRepository]] = {}
_IDENTITY_LIMIT = 1_000
_RESOLVE = ("rev-parse", "--verify", "--quiet", "--end-of-options")


@dataclass(frozen=True, slots=True)
class GitRepository:
    """A git repository with a work tree, found from a folder in it."""

    path: Path
    """The folder that was given."""
    git_dir: Path
    """The folder of commits and refs, which linked worktrees share."""
    prefix: str
    """Path of the folder in the work tree: empty at the top, else with a slash at the
    end.
    """
    is_shallow: bool
    object_format: str

    def git(self) -> Git:
        """Return git on this repository, with its present configuration disarmed."""
        return harden(self.git_dir, self.git_dir)


def find_repository(path: Path) -> GitRepository:
    """Return the repository of a folder, or raise `BadInput` with the reason."""
    path = path.resolve()
    place = find_git_folder(path)
    known = _found.get(path)
    if known is not None:
        old_place, old_fingerprints, repository = known
        is_same = (
            place == old_place and _fingerprints_of(repository) == old_fingerprints
        )
        if is_same and path.is_dir():
            return repository
        _found.pop(path, None)
    check_git_files(path)
    repository = _look_for(path)
    fingerprints = _fingerprints_of(repository)
    if (
        place is not None
        and fingerprints is not None
        and place == find_git_folder(path)
    ):
        _found[path] = (place, fingerprints, repository)
    return repository


def _fingerprints_of(repository: GitRepository) -> Fingerprints | None:
    """Return fingerprints of what a repository was read from, None if they are not
    reliable.
    """
    git_dir = repository.git_dir
    if not (git_dir / "HEAD").exists():
        return None
    return read_fingerprints(git_dir / "shallow", *configuration_files(git_dir))


def _look_for(path: Path) -> GitRepository:
    if not path.is_dir():
        raise _unusable(f"{path}: is not a folder")
    try:
        questions = (
            "--is-bare-repository",
            "--is-inside-work-tree",
            "--is-shallow-repository",
            "--show-object-format",
        )
        facts = _ask(path, *questions).split("\n")
        git_dir = Path(_ask(path, "--path-format=absolute", "--git-common-dir"))
        if facts[0] == "true":
            raise _unusable(
                f"{path}: is a bare repository; clone it and start in the clone"
            )
        if facts[1] != "true":
            raise _unusable(
                f"{path}: is not in the tree of its repository; start where the"
                " files are"
            )
        prefix = _ask(path, "--show-prefix")
    except GitError as error:
        raise _unusable(_why_unusable(path, error)) from error
    return GitRepository(path, git_dir.resolve(), prefix, facts[2] == "true", facts[3])


def resolve_commit(git: Git, revision: str = "HEAD") -> str:
    """Return the full id of the commit that a revision names, or raise `BadInput`."""
    try:
        return git.line(*_RESOLVE, f"{revision}^{{commit}}")
    except GitError as error:
        if revision == "HEAD" and not git.run("for-each-ref", "--count=1"):
            raise _unusable(
                f"{git.git_dir}: has no commit yet; commit something and start again"
            ) from error
        raise _unusable(
            f"{revision[:200]}: is not a commit of {git.git_dir}"
        ) from error


def tree_of(git: Git, commit: str) -> str:
    """Return the id of a commit's tree."""
    return git.line(*_RESOLVE, f"{checked_commit(commit)}^{{tree}}")


def refs_below(git: Git, prefix: str) -> dict[str, str]:
    """Return the refs with this prefix, or of this name, and their commits."""
    arguments = ("for-each-ref", "--format=%(objectname) %(refname)", "--")
    found = {}
    for line in git.run(*arguments, prefix).decode().split("\n")[:-1]:
        commit, _, name = line.partition(" ")
        found[name] = commit
    return found


def read_ref(git: Git, ref: str) -> str:
    """Return the commit that a full ref name points to, empty if there is no such ref."""
    return refs_below(git, ref).get(ref, "")


def change_refs(git: Git, *changes: tuple[str, str, str]) -> bool:
    """Change refs, each given as (ref, new, old), together or not at all.

    An empty old value creates a ref, an empty new one deletes it. Return False if a
    ref no longer had its old value; such a ref is never overwritten.
    """
    lines = []
    for ref, new, old in changes:
        if new:
            zero = "0" * len(new)
            lines.append(f"update {ref}\0{new}\0{old or zero}\0")
        else:
            lines.append(f"delete {ref}\0{old}\0")
    try:
        git.run("update-ref", "--stdin", "-z", data="".join(lines).encode())
    except GitError:
        if all(read_ref(git, ref) == old for ref, _, old in changes):
            raise
        return False
    return True


def is_ancestor(git: Git, old: str, new: str) -> bool:
    """Tell whether a commit is in the history of another."""
    return git.succeeds(
        "merge-base", "--is-ancestor", checked_commit(old), checked_commit(new)
    )


def read_identity(repository: GitRepository) -> tuple[str, str]:
    """Return the user's name and email address as git knows them, else those of
    AgentOS.
    """
    environ = _users_environment()
    environ["GIT_DIR"] = str(repository.git_dir)
    found = dict(zip(("name", "email"), NOBODY, strict=True))
    for key in found:
        try:
            with start_git(
                ("config", "-z", "--get", f"user.{key}"), repository.path, environ
            ) as output:
                value = os.fsdecode(output.read(_IDENTITY_LIMIT)).removesuffix("\0")
        except GitError:
            return NOBODY
        # Git drops these characters, and refuses a name without any others.
        if not value.strip(" .,:;<>\"\\'\n\t\r") or "\0" in value:
            return NOBODY
        found[key] = value
    return found["name"], found["email"]


def identity_variables(
    identity: tuple[str, str], when: int | None = None
) -> Mapping[str, str]:
    """Return the variables that set author and committer, and the time of the commit in
    seconds.
    """
    name, email = identity
    variables = {}
    for role in ("AUTHOR", "COMMITTER"):
        variables[f"GIT_{role}_NAME"] = name
        variables[f"GIT_{role}_EMAIL"] = email
        if when is not None:
            variables[f"GIT_{role}_DATE"] = f"@{when} +0000"
    return variables


@contextmanager
def locked(git: Git, path: Path, what: str) -> Iterator[Git]:
    """Lock a file, waiting for whoever holds it, and yield git whose children hold it
    too.
    """
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
                f"{path}: cannot be locked ({error.strerror}); remove it if nobody"
                " uses it"
            ) from error
        if lock is not None:
            return lock
        if time.monotonic() > deadline:
            minutes = LOCK_PATIENCE // 60
            raise WorktreeConflict(
                f"{what}: another process has had the lock for {minutes:.0f} minutes;"
                " wait for it, or stop it"
            )
        time.sleep(0.02)


def _ask(path: Path, *questions: str) -> str:
    # The user's configuration says which repositories of other users are trusted.
    environ = _users_environment()
    with start_git(("rev-parse", *questions), path, environ) as output:
        return os.fsdecode(output.read(100_000).removesuffix(b"\n"))


def _users_environment() -> dict[str, str]:
    variables = make_environment(environment(), is_users_own=True)
    return variables | as_variables(make_settings())


def _unusable(message: str) -> BadInput:
    return BadInput(one_line(message))


def _why_unusable(path: Path, error: GitError) -> str:
    if "dubious ownership" in error.said:
        return (
            f"{path}: belongs to another user; run: git config --global --add"
            f" safe.directory '{path}'"
        )
    if "not a git repository" in error.said:
        return (
            f"{path}: is not in a git repository; run git init there and commit, or"
            " start elsewhere"
        )
    return str(error)
