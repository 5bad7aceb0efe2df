"""Which colours a stream gets (pure)."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

_PALETTE = (36, 33, 35, 32, 34, 96, 93, 95, 92, 94)
_RED = "\x1b[1;31m"
_BOLD = "\x1b[1m"
_RESET = "\x1b[0m"


def wants_color(choice: str, *, is_tty: bool, environ: Mapping[str, str]) -> bool:
    """Decide for one stream: `NO_COLOR`, then the user's choice, then `FORCE_COLOR`, then the terminal."""
    if environ.get("NO_COLOR"):
        return False
    if choice in ("always", "never"):
        return choice == "always"
    forced = environ.get("FORCE_COLOR", "")
    if forced:
        return forced.lower() not in ("0", "false")
    return is_tty and environ.get("TERM") != "dumb"


def wants_live_progress(*, is_tty: bool, environ: Mapping[str, str]) -> bool:
    """Decide whether a line that is drawn again and again makes sense on a stream."""
    return is_tty and environ.get("TERM") != "dumb" and not environ.get("CI")


def prefix_of(label: str, *, color: bool) -> str:
    """Return the mark of `label`, in a colour that is the same in every run."""
    if not color:
        return f"[{label}] "
    return f"\x1b[{_PALETTE[zlib.crc32(label.encode()) % len(_PALETTE)]}m[{label}]{_RESET} "


def coordinator_prefix(*, color: bool) -> str:
    """Return the mark of the coordinator's own lines."""
    return f"{_BOLD}[COORDINATOR]{_RESET} " if color else "[COORDINATOR] "


def emphasize_failure(text: bytes, *, color: bool) -> bytes:
    """Return a line with its leading `FAILED` in red."""
    word = b"FAILED"
    if not (color and text.startswith(word)):
        return text
    return _RED.encode() + word + _RESET.encode() + text[len(word) :]
