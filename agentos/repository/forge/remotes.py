"""Find the repository on a forge that a clone came from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from agentos.repository.forge import FORGES, ForgeRepository, find_package
from agentos.repository.git.hardening import (
    as_variables,
    make_environment,
    make_settings,
)
from agentos.repository.git.run import GitError, start_git

PATIENCE = 5.0
_OUTPUT_LIMIT = 100_000


def find_origin(clone: Path, environ: Mapping[str, str]) -> ForgeRepository | None:
    """Return the repository of the remote `origin`, None if it is not on a forge."""
    try:
        address = ask_address(clone, "origin", environ)
    except GitError:
        return None
    return read_remote(address, environ)


def read_remote(address: str, environ: Mapping[str, str]) -> ForgeRepository | None:
    """Return the repository at the address of a remote, None if it is not on a forge."""
    for scheme in FORGES:
        found = find_package(scheme).read_remote(address, environ)
        if found is not None:
            return found
    return None


def ask_address(clone: Path, name: str, environ: Mapping[str, str], *flags: str) -> str:
    """Return the address of a remote, empty if it has several; raise `GitError` if
    there is none.
    """
    variables = make_environment(environ, is_users_own=True)
    variables |= as_variables(make_settings())
    arguments = ("remote", "get-url", *flags, "--all", "--", name)
    with start_git(arguments, clone, variables, timeout=PATIENCE) as output:
        addresses = os.fsdecode(output.read(_OUTPUT_LIMIT)).splitlines()
    return addresses[0].strip() if len(addresses) == 1 else ""
