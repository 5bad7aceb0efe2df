"""Push one branch, because the user said so, with the user's own means and none that the repository names.

A push needs what is kept from git everywhere else: the user's own configuration with its credential helper and ssh
command, the variables that these need, and the network. So it starts in a repository made for it alone, which borrows
the objects: not one line of the real one's configuration is read, and no hook of it runs.
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
from agentos.files import remove_tree
from agentos.github import Repository
from agentos.github.address import Server, read_remote
from agentos.redaction import register
from agentos.worktrees import repository as local
from agentos.worktrees.git import GitError, start_git
from agentos.worktrees.hardening import as_variables, make_environment, make_settings
from agentos.worktrees.names import checked_branch, checked_commit

PATIENCE = 300.0
_OUTPUT_LIMIT = 100_000
_REMOTE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/-]{0,99}\Z")
_NEEDED_SETTINGS = ("credential.helper", "core.sshCommand")
"""Settings that are disarmed elsewhere; here only the user's own can be found."""
_NEEDED_VARIABLES = frozenset(
    {"USER", "LOGNAME", "LANG", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "DBUS_SESSION_BUS_ADDRESS", "GNUPGHOME"}
    | {"PASSWORD_STORE_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "GITHUB_TOKEN"}
)
_NEEDED_BEGINNINGS = ("GH_", "GCM_", "XDG_", "GIT_SSH", "GIT_SSL_")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@dataclass(frozen=True, slots=True)
class Remote:
    """A remote of a clone, with the address that it is pushed to."""

    name: str
    repository: Repository
    push_address: str
    """Empty when it is pushed to another place than it is fetched from."""


def find_remote(clone: local.Repository, name: str, server: Server) -> Remote:
    """Return a remote that is on this GitHub, or say why it cannot be used."""
    if not _REMOTE.match(name):
        raise UsageError(f"--remote: {name[:80]!r} is no name of a remote; see: git remote -v")
    fetched, pushed = _ask_address(clone, name), _ask_address(clone, name, "--push")
    target = read_remote(fetched, server)
    if target is None:
        raise UsageError(f"--remote: {name} of {clone.path} is not on {server.host}; see: git remote -v")
    return Remote(name, target, pushed if read_remote(pushed, server) == target and pushed[:1] != "-" else "")


def push_branch(clone: local.Repository, remote: Remote, server: Server, branch: str, commit: str) -> None:
    """Put a commit on exactly one branch of a remote, never by force; nothing in the clone changes."""
    address = remote.push_address
    if not address:
        raise UsageError(f"--push: {remote.name} is pushed to another place than {remote.repository}; push it yourself")
    _hide_password(address)
    folder = _place(clone, branch)
    clear_leftover(clone, branch)
    environ = _make_environment(os.environ, is_plain_allowed=server.api.startswith("http://"))
    plain = ("--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no")
    arguments = ("push", "--quiet", *plain, "--", address, f"{checked_commit(commit)}:refs/heads/{branch}")
    try:
        _make_repository(folder, clone, environ)
        with start_git(arguments, folder, environ | {"GIT_DIR": str(folder)}, timeout=PATIENCE) as output:
            output.read(_OUTPUT_LIMIT)
    except GitError as error:
        raise UsageError(f"--push: {_explain(error)}") from error
    finally:
        remove_tree(folder)


def clear_leftover(clone: local.Repository, branch: str) -> None:
    """Remove what a push that was killed left behind; whoever calls holds the item's lock."""
    remove_tree(_place(clone, branch))


def _place(clone: local.Repository, branch: str) -> Path:
    # The same at every attempt, so that a kill leaves nothing behind for ever.
    return clone.git_dir / f"agentos-push-{checked_branch(branch).rpartition('/')[2]}"


def _make_repository(folder: Path, clone: local.Repository, environ: Mapping[str, str]) -> None:
    """Make an empty repository that has the clone's objects and nothing else of it."""
    form = f"--object-format={clone.object_format}"
    with start_git(("init", "--quiet", "--bare", "--template=", form, "--", str(folder)), clone.git_dir, environ):
        pass
    (folder / "objects" / "info").mkdir(exist_ok=True)
    (folder / "objects" / "info" / "alternates").write_bytes(os.fsencode(clone.git_dir / "objects") + b"\n")
    if clone.is_shallow:
        shutil.copyfile(clone.git_dir / "shallow", folder / "shallow")


def _make_environment(environ: Mapping[str, str], *, is_plain_allowed: bool) -> dict[str, str]:
    settings = {key: value for key, value in make_settings().items() if key not in _NEEDED_SETTINGS}
    needed = {
        name: value
        for name, value in environ.items()
        if name in _NEEDED_VARIABLES or name.startswith(_NEEDED_BEGINNINGS) or name.lower() in _PROXIES
    }
    protocols = {"GIT_ALLOW_PROTOCOL": "https:ssh:http" if is_plain_allowed else "https:ssh"}
    return needed | make_environment(environ, is_users_own=True) | as_variables(settings) | protocols


def _ask_address(clone: local.Repository, name: str, *flags: str) -> str:
    environ = make_environment(os.environ, is_users_own=True) | as_variables(make_settings())
    try:
        with start_git(("remote", "get-url", *flags, "--all", "--", name), clone.path, environ) as output:
            addresses = os.fsdecode(output.read(_OUTPUT_LIMIT)).splitlines()
    except GitError as error:
        raise UsageError(f"--remote: {clone.path} has no remote {name}; see: git remote -v") from error
    return addresses[0].strip() if len(addresses) == 1 else ""


def _hide_password(address: str) -> None:
    if "://" in address and (password := urlsplit(address).password):
        register(password)


def _explain(error: GitError) -> str:
    """Say what git said; its first line alone often says only that something failed."""
    lines = [line.strip() for line in error.said.split("\n") if line.strip() and not line.startswith("To ")]
    words = " ".join("; ".join(lines[:3]).split())[:400]
    return f"git refused: {words}" if words else str(error)
