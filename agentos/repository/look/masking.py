"""Show untrusted names and texts: short, on one line, and without credentials.

Text is quoted, never reworded. So a credential is masked before a text is cut and
outlined, and at the end each line with a mask is replaced by a remark.
"""

from __future__ import annotations

import re

from agentos.documents.hazards import find_secrets, has_secret

NAME_LIMIT = 240
WITHHELD = "(withheld: looks like a credential)"
MASK = "\N{CAPITULUM}"
"""One character, so that no cut splits it; printable, so that no outline escapes it."""
_ASSIGNED = re.compile(
    r"((?:password|passwd|pwd|secret|token|api[_.-]?key|access[_.-]?key|private[_.-]?key|auth(?!or(?!i)))[A-Za-z0-9_.-]{0,40}"
    r"[\"']?[ \t]{0,4}[:=][ \t]{0,4})([^\s,;#]{6,})",
    re.IGNORECASE,
)
"""A setting with the name of a credential; `authors` and `author_email` are none."""
_SETTINGS = (
    ".yml",
    ".yaml",
    ".toml",
    ".ini",
    ".cfg",
    ".conf",
    ".properties",
    ".json",
    ".xml",
    ".tf",
    ".env",
    ".sh",
    ".example",
)


def shorten(text: str, limit: int) -> str:
    """Cut a line that is too long and end it with dots."""
    if len(text) <= limit:
        return text
    return text[: limit - 3] + "..."


def show_name(name: str) -> str:
    """Return a file name that cannot end a line or a code span, nor hide anything."""
    clean = "".join(map(_show_character, name[: 2 * NAME_LIMIT]))
    if has_secret(clean):
        return WITHHELD
    return shorten(clean, NAME_LIMIT)


def _show_character(character: str) -> str:
    if not character.isprintable():
        return character.encode("unicode_escape").decode()
    if character in "`|<>":
        return "?"
    return character


def mask_secrets(name: str, text: str) -> str | None:
    """Mask what looks like a credential; return None if the file has a private key."""
    if "PRIVATE KEY-----" in text or "PRIVATE KEY BLOCK-----" in text:
        return None
    masked = _mask(text)
    has_ending = "." in name.rpartition("/")[2]
    if not has_ending or name.casefold().endswith(_SETTINGS):
        masked = _ASSIGNED.sub(rf"\1{MASK}", masked)
    return masked


def withhold_masked(text: str) -> str:
    """Replace each line that has a mask, or needs one, by a remark."""
    masked = _mask(text)
    if MASK not in masked:
        return text
    lines = masked.split("\n")
    for index, line in enumerate(lines):
        if MASK in line:
            lines[index] = WITHHELD
    return "\n".join(lines)


def _mask(text: str) -> str:
    parts = []
    position = 0
    for begin, end in find_secrets(text):
        parts.append(text[position:begin])
        # Each line of a credential needs a mask of its own.
        line_ends = text.count("\n", begin, end)
        parts.append(MASK + f"\n{MASK}" * line_ends)
        position = end
    parts.append(text[position:])
    return "".join(parts)
