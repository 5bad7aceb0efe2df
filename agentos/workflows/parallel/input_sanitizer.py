"""Check identifiers that become part of a file name."""

from __future__ import annotations

import re

from agentos.errors import InvalidIdentifier

_ALLOWED = re.compile(r"[A-Za-z0-9_-]+")
_LONGEST = 64
_SHOWN = 60
_RESERVED = frozenset(
    {"CON", "PRN", "AUX", "NUL"}
    | {f"{device}{digit}" for device in ("COM", "LPT") for digit in range(10)}
)


def sanitize_identifier(text: str) -> str:
    """Return `text` if it is safe in a file name on every platform, or raise
    `InvalidIdentifier`.
    """
    if not isinstance(text, str):
        raise InvalidIdentifier(
            f"Invalid identifier: expected text, got {type(text).__name__}"
        )
    problem = _problem(text)
    if problem:
        raise InvalidIdentifier(f"Invalid identifier {_shorten(text)}: {problem}")
    return str.__str__(text)


def _problem(text: str) -> str:
    """Return what is wrong with `text`, or an empty string."""
    if not text:
        return "it is empty"
    if "/" in text or "\\" in text:
        return "path separators not allowed"
    if not _ALLOWED.fullmatch(text):
        return "invalid characters (allowed: letters A-Z and a-z, digits, '_' and '-')"
    if len(text) > _LONGEST:
        return f"longer than {_LONGEST} characters"
    if text.startswith("-"):
        return "it must not start with '-'"
    if text.upper() in _RESERVED:
        return "the name is reserved on Windows"
    return ""


def _shorten(text: str) -> str:
    """Return the repr of `text`, cut to fit a one-line message."""
    shown = str.__repr__(text[: _SHOWN + 1])
    if len(shown) <= _SHOWN + 2:
        return shown
    return f"{shown[:_SHOWN]}..."
