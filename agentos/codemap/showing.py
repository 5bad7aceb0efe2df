"""Show strangers' names and texts: short, on one line, without credentials."""

from __future__ import annotations

import re

from agentos.documents.hazards import redact

NAME_LIMIT = 240
CUT = "\n(cut here)"
_BACKTICKS = re.compile("`{3,}")
_LONGEST_FENCE = 32
_ASSIGNED = re.compile(
    r"((?:password|passwd|pwd|secret|token|api[_.-]?key|access[_.-]?key|private[_.-]?key|auth)[A-Za-z0-9_.-]{0,40}"
    r"[\"']?[ \t]{0,4}[:=][ \t]{0,4})([^\s,;#]{6,})",
    re.IGNORECASE,
)
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
    """Cut a line that is too long, visibly."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def first_sentence(text: str) -> str:
    """Return the first line that says something, bounded."""
    line = next((line.strip() for line in text[:2000].split("\n") if line.strip()), "")
    return shorten(" ".join(line.split()), 160)


def show_name(name: str) -> str:
    """Return a file's name so that nothing in it can end a line or a code span, or hide."""
    clean = "".join(
        letter
        if letter.isprintable() and letter not in "`|<>"
        else letter.encode("unicode_escape").decode()
        if not letter.isprintable()
        else "?"
        for letter in name[: 2 * NAME_LIMIT]
    )
    return shorten(redact(clean), NAME_LIMIT)


def without_secrets(name: str, text: str) -> str | None:
    """Return a file's text without what looks like a credential, None when it holds a private key."""
    if "PRIVATE KEY-----" in text or "PRIVATE KEY BLOCK-----" in text:
        return None
    clean = redact(text)
    if name.casefold().endswith(_SETTINGS) or "." not in name.rpartition("/")[2]:
        clean = _ASSIGNED.sub(r"\1[REDACTED]", clean)
    return clean


def fenced(text: str, language: str = "") -> str | None:
    """Return the text as a code block that it cannot close, None when that would take an absurd fence."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=2)
    if longest > _LONGEST_FENCE:
        return None
    mark = "`" * (longest + 1)
    return f"{mark}{language}\n{text.rstrip()}\n{mark}"


def size(text: str) -> int:
    """Return how many bytes a text takes."""
    return len(text.encode("utf-8", "replace"))


def cut_lines(text: str, limit: int) -> tuple[str, bool]:
    """Return whole lines of at most `limit` bytes, and whether that is less than all."""
    if len(text) * 4 <= limit or size(text) <= limit:
        return text, False
    kept = text.encode("utf-8", "replace")[: max(0, limit)].decode("utf-8", "ignore")
    return kept[: kept.rfind("\n") + 1], True
