"""The colors of a stream (pure)."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

Environ = Mapping[str, str]

_PALETTE = (36, 33, 35, 32, 34, 96, 93, 95, 92, 94)
_RED = b"\x1b[1;31m"
_BOLD = "\x1b[1m"
_RESET = "\x1b[0m"


def wants_color(choice: str, *, is_tty: bool, environ: Environ) -> bool:
    """Decide by `NO_COLOR`, then the user's choice, `FORCE_COLOR` and the terminal."""
    if environ.get("NO_COLOR"):
        return False
    if choice == "always":
        return True
    if choice == "never":
        return False
    forced = environ.get("FORCE_COLOR", "")
    if forced:
        return forced.lower() not in ("0", "false")
    return is_tty and environ.get("TERM") != "dumb"


def wants_live_progress(*, is_tty: bool, environ: Environ) -> bool:
    """Return whether a line can be redrawn on a stream."""
    if not is_tty or environ.get("CI"):
        return False
    return environ.get("TERM") != "dumb"


def prefix_of(label: str, *, color: bool) -> str:
    """Return the prefix of an item's lines, in a color that is the same in every
    run.
    """
    if not color:
        return f"[{label}] "
    checksum = zlib.crc32(label.encode())
    code = _PALETTE[checksum % len(_PALETTE)]
    return f"\x1b[{code}m[{label}]{_RESET} "


def coordinator_prefix(*, color: bool) -> str:
    """Return the prefix of the coordinator's own lines."""
    if not color:
        return "[COORDINATOR] "
    return f"{_BOLD}[COORDINATOR]{_RESET} "


def emphasize_failure(text: bytes, *, color: bool) -> bytes:
    """Return a line with its leading `FAILED` in red."""
    word = b"FAILED"
    if not color:
        return text
    if not text.startswith(word):
        return text
    rest = text.removeprefix(word)
    reset = _RESET.encode()
    return _RED + word + reset + rest
