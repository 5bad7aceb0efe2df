"""Find the repository to file issues in, and refuse early what cannot work."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agentos.errors import UsageError
from agentos.repository.forge import ForgeRepository, read_repository
from agentos.repository.forge.remotes import find_origin


def find_target(
    requested: str, source: str, clone: Path, environ: Mapping[str, str]
) -> ForgeRepository:
    """Return the repository named by `--file`, else that of `origin`, else of the
    source.
    """
    if requested:
        return read_repository(requested, "--file")
    named = read_repository(source, "--source") if source else None
    origin = find_origin(clone, environ)
    if origin and named and not origin.is_named(str(named)):
        raise UsageError(
            f"--file: origin is {origin}, the source {named}; say which with --file"
            f" {named.scheme}:owner/name"
        )
    target = origin or named
    if target is None:
        raise UsageError(
            f"--file: the remote origin of {clone} is not on GitHub; name the"
            " repository with --file github:owner/name"
        )
    return target
