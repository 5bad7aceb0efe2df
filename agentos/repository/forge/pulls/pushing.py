"""Push one branch at the user's request, with the user's configuration and not the
repository's.

A push needs what is kept from git everywhere else: the user's configuration with its
credential helper and ssh command, the variables that these need, and the network. So
git pushes from a temporary repository that borrows the objects: it does not read the
real one's configuration and runs none of its hooks.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from agentos.errors import UsageError
from agentos.repository.forge import FORGES, ForgeRepository, find_package
from agentos.repository.forge.remotes import ask_address, read_remote
from agentos.repository.git import repository as local
from agentos.repository.git.hardening import (
    as_variables,
    make_environment,
    make_settings,
)
from agentos.repository.git.names import checked_branch, checked_commit
from agentos.repository.git.run import GitError, start_git
from agentos.state.files import remove_tree
from agentos.state.redaction import register
from agentos.state.variables import GIT_PUSH, environment, inherit

PATIENCE = 300.0
LOOPBACK = ("127.0.0.1", "::1", "localhost")
_OUTPUT_LIMIT = 100_000
_REMOTE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/-]{0,99}\Z")
_NEEDED_SETTINGS = ("credential.helper", "core.sshCommand")
"""Settings that are disarmed elsewhere; here they can only be the user's own."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A remote of a clone, and the address to push to."""

    name: str
    repository: ForgeRepository
    push_address: str
    """Empty if the remote is pushed to another repository than it is fetched from."""


def find_remote(
    clone: local.GitRepository, name: str, environ: Mapping[str, str]
) -> Remote:
    """Return a remote on a forge, or raise `UsageError` with the reason."""
    if not _REMOTE.match(name):
        raise UsageError(
            f"--remote: {name[:80]!r} is not the name of a remote; see: git remote -v"
        )
    try:
        address = ask_address(clone.path, name, environ)
        push_address = ask_address(clone.path, name, environ, "--push")
    except GitError as error:
        raise UsageError(
            f"--remote: {clone.path} has no remote {name}; see: git remote -v"
        ) from error
    target = read_remote(address, environ)
    if target is None:
        hosts = [find_package(scheme).find_host(environ) for scheme in FORGES]
        raise UsageError(
            f"--remote: {name} of {clone.path} is not on {' or '.join(hosts)}; see:"
            " git remote -v"
        )
    is_option = push_address.startswith("-")
    if is_option or read_remote(push_address, environ) != target:
        push_address = ""
    return Remote(name, target, push_address)


def push_branch(
    clone: local.GitRepository, remote: Remote, branch: str, commit: str
) -> None:
    """Push a commit to one branch of a remote, without force; nothing in the clone
    changes.
    """
    address = remote.push_address
    if not address:
        raise UsageError(
            f"--push: {remote.name} is pushed to another place than"
            f" {remote.repository}; push it yourself"
        )
    _hide_password(address)
    folder = _temporary_repository(clone, branch)
    clear_leftover(clone, branch)
    environ = _make_environment(environment(), address)
    arguments = (
        "push",
        "--quiet",
        "--no-verify",
        "--no-follow-tags",
        "--no-signed",
        "--recurse-submodules=no",
        "--",
        address,
        f"{checked_commit(commit)}:refs/heads/{branch}",
    )
    try:
        _make_repository(folder, clone, environ)
        environ["GIT_DIR"] = str(folder)
        with start_git(arguments, folder, environ, timeout=PATIENCE) as output:
            output.read(_OUTPUT_LIMIT)
    except GitError as error:
        raise UsageError(f"--push: {_explain(error)}") from error
    finally:
        remove_tree(folder)


def clear_leftover(clone: local.GitRepository, branch: str) -> None:
    """Remove what a killed push left behind; the caller holds the item's lock."""
    remove_tree(_temporary_repository(clone, branch))


def _temporary_repository(clone: local.GitRepository, branch: str) -> Path:
    # A fixed name, so that the next attempt removes what a kill left behind.
    name = checked_branch(branch).rpartition("/")[2]
    return clone.git_dir / f"agentos-push-{name}"


def _make_repository(
    folder: Path, clone: local.GitRepository, environ: Mapping[str, str]
) -> None:
    """Create an empty repository that borrows the clone's objects."""
    object_format = f"--object-format={clone.object_format}"
    options = ("--quiet", "--bare", "--template=", object_format)
    with start_git(("init", *options, "--", str(folder)), clone.git_dir, environ):
        pass
    info = folder / "objects" / "info"
    info.mkdir(exist_ok=True)
    objects = os.fsencode(clone.git_dir / "objects")
    (info / "alternates").write_bytes(objects + b"\n")
    if clone.is_shallow:
        shutil.copyfile(clone.git_dir / "shallow", folder / "shallow")


def _make_environment(environ: Mapping[str, str], address: str) -> dict[str, str]:
    settings = make_settings()
    for name in _NEEDED_SETTINGS:
        del settings[name]
    variables = inherit(GIT_PUSH, environ)
    variables |= make_environment(environ, is_users_own=True)
    variables |= as_variables(settings)
    variables["GIT_ALLOW_PROTOCOL"] = "https:ssh"
    if urlsplit(address).hostname in LOOPBACK:
        # Without encryption a password stays on this machine alone.
        variables["GIT_ALLOW_PROTOCOL"] += ":http"
    return variables


def _hide_password(address: str) -> None:
    if "://" in address:
        password = urlsplit(address).password
        if password:
            register(password)


def _explain(error: GitError) -> str:
    """Quote git; its first line alone often says only that something failed."""
    said = error.said.split("\n")
    lines = [line.strip() for line in said if not line.startswith("To ")]
    first = list(filter(None, lines))[:3]
    words = " ".join("; ".join(first).split())[:400]
    return f"git refused: {words}" if words else str(error)
