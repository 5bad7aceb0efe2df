"""Decide which paths may be written at all, whatever a design declares.

A path is refused if it could lead outside the repository, on this system or another, or
if it looks different to a person than to the file system.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from pathlib import PurePosixPath

LONGEST_NAME = 255
LONGEST_PATH = 4_096
DEEPEST = 64

_DEVICE = re.compile(
    r"con|prn|aux|nul|conin\$|conout\$|clock\$|(?:com|lpt)[0123456789¹²³]"
)
_RESERVED = re.compile('[<>:"|?*`]')
_DISGUISES = re.compile(
    "[\u2044\u2215\u2571\u29f5\u29f8\ufe68\uff0f\uff3c]|%2e|%2f|%5c|%00|%252e|%252f"
)
# Characters without a visible shape that Unicode does not call format characters.
_BLANKS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\u180b\u180c\u180d\u180f"
)
_INVISIBLE_KINDS = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})


def check_path(path: str) -> str:
    """Return what is wrong with a path, such as `leaves the repository`, or an empty
    string.
    """
    return _check_whole(path) or _check_escape(path) or _check_names(path)


def unsafe_path(path: str) -> str | None:
    """Return why a path must not be used in a repository, or None."""
    if not path.strip() or "\x00" in path:
        return "is empty"
    forward = path.strip().replace("\\", "/")
    if forward.startswith("/") or forward.startswith("~") or forward[1:2] == ":":
        return "is not relative to the repository"
    parts = PurePosixPath(forward).parts
    if ".." in parts:
        return "leaves the repository"
    if any(part.casefold().rstrip(". ") == ".git" for part in parts):
        return "is inside the folder that git keeps for itself"
    return None


def fold_name(name: str) -> str:
    """Return a name as a lenient file system reads it: without case, invisible
    characters, or dots and spaces at the end.
    """
    if not name.isascii():
        visible = "".join(itertools.filterfalse(_is_invisible, name))
        name = unicodedata.normalize("NFKC", visible)
    return name.casefold().rstrip(". ")


def _check_whole(path: str) -> str:
    if not path.strip():
        return "is empty"
    if len(path.encode("utf-8", "surrogatepass")) > LONGEST_PATH:
        return f"is longer than {LONGEST_PATH} bytes"
    for character in path:
        if _is_invisible(character):
            code = f"U+{ord(character):04X}"
            return f"holds the character {code}, which cannot be seen"
    return ""


def _check_escape(path: str) -> str:
    # Some file systems compare names by their compatible form.
    compatible = unicodedata.normalize("NFKC", path)
    why = unsafe_path(path) or unsafe_path(compatible)
    if why:
        return why
    if "\\" in path:
        return "has a backslash; write it with forward slashes"
    if _DISGUISES.search(path) or _DISGUISES.search(path.casefold()):
        return "has a slash or dot in disguise"
    if path.startswith(("-", "${", "$(", "$HOME", "$PWD", "%")):
        return "begins as an option or a variable does"
    return ""


def _check_names(path: str) -> str:
    names = path.split("/")
    if len(names) > DEEPEST:
        return f"is more than {DEEPEST} folders deep"
    for name in names:
        why = _check_name(name)
        if why:
            return why
    return ""


def _check_name(name: str) -> str:
    if name == ".":
        return "has a needless `.`"
    if not name:
        return "has an empty name between, before or after slashes"
    if len(name.encode("utf-8", "surrogatepass")) > LONGEST_NAME:
        return f"has a name of more than {LONGEST_NAME} bytes"
    if name != name.strip() or name.endswith("."):
        return "has a name with a space around it or a dot at its end"
    reserved = _RESERVED.search(name)
    if reserved:
        return f"holds the character {reserved[0]}, which is not for file names"
    folded = fold_name(name)
    stem = folded.partition(".")[0]
    if _DEVICE.fullmatch(stem.rstrip(" ")):
        return "has the name of a device"
    if folded == ".git":
        return "is inside the folder that git keeps for itself"
    if folded == ".gitmodules":
        return "names submodules, which nothing that is built may change"
    if _is_short_name(folded):
        return "has a name of the form that Windows gives to other files, as `git~1`"
    return ""


def _is_short_name(name: str) -> bool:
    stem, _, ending = name.partition(".")
    head, tilde, digits = stem.rpartition("~")
    return (
        bool(tilde)
        and 0 < len(head) <= 7
        and digits.isdigit()
        and len(stem) <= 8
        and len(ending) <= 3
    )


def _is_invisible(character: str) -> bool:
    if " " <= character <= "~":
        return False
    return (
        unicodedata.category(character) in _INVISIBLE_KINDS
        or character in _BLANKS
        or "\ufe00" <= character <= "\ufe0f"
        or "\U000e0000" <= character <= "\U000e0fff"
    )
