"""Remember which repositories may set prices, addresses and spending caps.

A repository's settings travel with it, so whoever can change the repository can change
them. What they say about money and addresses counts only after `agentos config trust`,
and only as long as the settings stay the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentos.errors import BadInput, UsageError
from agentos.state.files import make_private_directory, read_regular, write_atomically

TRUSTED_FILE = "trusted.json"
LIMIT = 1_000_000


def digest_of(settings: Mapping[str, Any]) -> str:
    """Return a hash of a repository's settings."""
    text = json.dumps(settings, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def is_trusted(home: Path, repository: Path, settings: Mapping[str, Any]) -> bool:
    """Return whether the user has trusted exactly these settings of this
    repository.
    """
    if not settings:
        return False
    trusted = _read(home)
    key = str(repository.resolve())
    return trusted.get(key) == digest_of(settings)


def trust(home: Path, repository: Path, settings: Mapping[str, Any]) -> None:
    """Remember that the user trusts the current settings of a repository."""
    digests = _read(home)
    digests[str(repository.resolve())] = digest_of(settings)
    data = json.dumps(digests, indent=1).encode()
    path = home / TRUSTED_FILE
    try:
        make_private_directory(home)
        write_atomically(path, data)
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be written ({error.strerror}); set AGENTOS_HOME"
        ) from error


def _read(home: Path) -> dict[str, str]:
    try:
        data = read_regular(home / TRUSTED_FILE, LIMIT)
        digests = json.loads(data)
    except (BadInput, ValueError, RecursionError):
        return {}
    if not isinstance(digests, dict):
        return {}
    return digests
