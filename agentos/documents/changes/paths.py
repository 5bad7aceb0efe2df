"""Tell which paths may be written at all, whatever a design declares.

A path is refused when it could lead outside the repository, on this system or another, or when a person who reads it
sees something else than the file system does.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

from agentos.documents.hazards import unsafe_path

LONGEST_NAME = 255
LONGEST_PATH = 4_096
DEEPEST = 64

_DEVICES = frozenset(
    {
        *("con", "prn", "aux", "nul", "conin$", "conout$", "clock$"),
        *(f"{name}{number}" for name in ("com", "lpt") for number in "0123456789¹²³"),
    }
)
_RESERVED = frozenset('<>:"|?*`')
_SLASHES = frozenset("\u2044\u2215\u2571\u29f5\u29f8\ufe68\uff0f\uff3c")
_ENCODED = ("%2e", "%2f", "%5c", "%00", "%252e", "%252f")
# Letters and signs that take no space, though Unicode does not call them format characters.
_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\u180b\u180c\u180d\u180f")
_UNSEEN_KINDS = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def check_path(path: str) -> str:
    """Return what is wrong with a path, as `leaves the repository`, or an empty string."""
    return next((why for check in _CHECKS if (why := check(path))), "")


def fold_name(name: str) -> str:
    """Return a name as a forgiving file system reads it: no case, no unseen characters, no dots or spaces behind."""
    if not name.isascii():
        name = unicodedata.normalize("NFKC", "".join(letter for letter in name if not _is_unseen(letter)))
    return name.casefold().rstrip(". ")


def _check_whole(path: str) -> str:
    if not path.strip():
        return "is empty"
    if len(path) > LONGEST_PATH or len(path.encode("utf-8", "surrogatepass")) > LONGEST_PATH:
        return f"is longer than {LONGEST_PATH} bytes"
    unseen = next((letter for letter in path if _is_unseen(letter)), "")
    if unseen:
        return f"holds the character U+{ord(unseen):04X}, which cannot be seen"
    return ""


def _check_escape(path: str) -> str:
    read_otherwise = path if path.isascii() else unicodedata.normalize("NFKC", path)
    why = unsafe_path(path) or unsafe_path(read_otherwise)
    if why:
        return why
    if "\\" in path:
        return "has a backslash; write it with forward slashes"
    if any(letter in _SLASHES for letter in path) or any(code in path.casefold() for code in _ENCODED):
        return "has a slash or dot in disguise"
    if path.startswith(("-", "${", "$(", "$HOME", "$PWD", "%")):
        return "begins as an option or a variable does"
    return ""


def _check_names(path: str) -> str:
    names = path.split("/")
    if len(names) > DEEPEST:
        return f"is more than {DEEPEST} folders deep"
    return next((why for name in names if (why := _check_name(name))), "")


def _check_name(name: str) -> str:
    if name == ".":
        return "has a needless `.`"
    if not name:
        return "has an empty name between, before or after slashes"
    if len(name.encode("utf-8", "surrogatepass")) > LONGEST_NAME:
        return f"has a name of more than {LONGEST_NAME} bytes"
    if name != name.strip() or name.endswith("."):
        return "has a name with a space around it or a dot at its end"
    reserved = next((letter for letter in name if letter in _RESERVED), "")
    if reserved:
        return f"holds the character {reserved}, which is not for file names"
    folded = fold_name(name)
    if folded.partition(".")[0].rstrip(" ") in _DEVICES:
        return "has the name of a device"
    if folded == ".git":
        return "is inside the folder that git keeps for itself"
    if _is_short_name(folded):
        return "has a name of the form that Windows gives to other files, as `git~1`"
    return ""


def _is_short_name(name: str) -> bool:
    stem, _, ending = name.partition(".")
    head, tilde, digits = stem.rpartition("~")
    return bool(tilde) and 0 < len(head) <= 7 and digits.isdigit() and len(stem) <= 8 and len(ending) <= 3


def _is_unseen(letter: str) -> bool:
    if " " <= letter <= "~":
        return False
    kind = unicodedata.category(letter)
    return (
        kind in _UNSEEN_KINDS
        or kind == "Zs"
        or letter in _BLANKS
        or "\ufe00" <= letter <= "\ufe0f"
        or "\U000e0000" <= letter <= "\U000e0fff"
    )


_CHECKS: tuple[Callable[[str], str], ...] = (_check_whole, _check_escape, _check_names)
