"""Which repositories may set what costs money: prices, addresses and caps.

A repository's settings travel with it, so that whoever can change the repository can change them. What they say about
money and addresses counts only after `agentos config trust`, and only as long as the settings stay as they were then.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentos.errors import BadInput, UsageError
from agentos.files import make_private_directory, read_regular, write_atomically

TRUSTED_FILE = "trusted.json"
LIMIT = 1_000_000


def digest_of(settings: Mapping[str, Any]) -> str:
    """Return a hash of all that a repository sets."""
    text = json.dumps(settings, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def is_trusted(home: Path, repository: Path, settings: Mapping[str, Any]) -> bool:
    """Tell whether the user has trusted these very settings of this repository."""
    return bool(settings) and _read(home).get(str(repository.resolve())) == digest_of(settings)


def trust(home: Path, repository: Path, settings: Mapping[str, Any]) -> None:
    """Remember that the user trusts the settings of a repository as they are now."""
    known = {**_read(home), str(repository.resolve()): digest_of(settings)}
    try:
        make_private_directory(home)
        write_atomically(home / TRUSTED_FILE, json.dumps(known, indent=1).encode())
    except OSError as error:
        raise UsageError(f"{home / TRUSTED_FILE}: cannot be written ({error.strerror}); set AGENTOS_HOME") from error


def _read(home: Path) -> dict[str, str]:
    try:
        known = json.loads(read_regular(home / TRUSTED_FILE, LIMIT))
    except (BadInput, ValueError, RecursionError):
        return {}
    return known if isinstance(known, dict) else {}
