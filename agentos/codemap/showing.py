"""Show strangers' names and texts: short, on one line, and never a line that looks as if it held a credential.

What is shown is as it stands. So a credential is masked while a text is cut and outlined, and in the end every line
with a mask is withheld, and said to be.
"""

from __future__ import annotations

import re

from agentos.documents.hazards import find_secrets, has_secret

NAME_LIMIT = 240
CUT = "\n(cut here)"
WITHHELD = "(withheld: looks like a credential)"
_MASK = "\N{CAPITULUM}"
"""One character, so that no cut leaves a part of it; printable, so that no outline writes it in another way."""
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
    return WITHHELD if has_secret(clean) else shorten(clean, NAME_LIMIT)


def mask_secrets(name: str, text: str) -> str | None:
    """Return a file's text with a mask for what looks like a credential, None when it holds a private key."""
    if "PRIVATE KEY-----" in text or "PRIVATE KEY BLOCK-----" in text:
        return None
    masked = _mask(text)
    if name.casefold().endswith(_SETTINGS) or "." not in name.rpartition("/")[2]:
        masked = _ASSIGNED.sub(rf"\1{_MASK}", masked)
    return masked


def withhold_masked(text: str) -> str:
    """Return the text with a remark in place of each line that has a mask, or should have one."""
    masked = _mask(text)
    if _MASK not in masked:
        return text
    return "\n".join(WITHHELD if _MASK in row else row for row in masked.split("\n"))


def _mask(text: str) -> str:
    parts = []
    position = 0
    for begin, end in find_secrets(text):
        # Every line that a credential reaches over keeps a mask of its own.
        parts += [text[position:begin], "\n".join(_MASK for _ in text[begin:end].split("\n"))]
        position = end
    return "".join([*parts, text[position:]])


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
