"""Check names of branches, refs and commits, and file names that git cannot store."""

from __future__ import annotations

import re
import unicodedata

from agentos.errors import BadInput

REFS = "refs/agentos"
BRANCHES = "agentos"

_SLUG_LENGTH = 40
_TITLE_LENGTH = 400
_ITEM = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,79}\Z")
_BRANCH = re.compile(r"agentos/[A-Za-z0-9_-]{1,120}\Z")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_NOT_IN_SLUGS = re.compile(r"[^a-z0-9]+")
_FIRST_SHORT_NAMES = ("1", "2", "3", "4")
_IGNORED_BY_HFS = {
    **dict.fromkeys(range(0x200C, 0x2010)),
    **dict.fromkeys(range(0x202A, 0x202F)),
    **dict.fromkeys(range(0x206A, 0x2070)),
    0xFEFF: None,
}


def slug_of(title: str) -> str:
    """Return a short name for a title, of `a-z0-9-` only and never empty."""
    decomposed = unicodedata.normalize("NFKD", title[:_TITLE_LENGTH])
    plain = decomposed.encode("ascii", "ignore").decode().lower()
    slug = _NOT_IN_SLUGS.sub("-", plain).strip("-")
    if len(slug) > _SLUG_LENGTH:
        # Cut between words if possible.
        whole_words = slug[: _SLUG_LENGTH + 1].rpartition("-")[0]
        slug = whole_words or slug
        slug = slug[:_SLUG_LENGTH].strip("-")
    return slug or "work"


def branch_of(item: str, title: str) -> str:
    """Return the branch of an item: `agentos/42-slug`."""
    return f"{BRANCHES}/{checked_item(item)}-{slug_of(title)}"


def checked_item(item: str) -> str:
    """Return an item's id if it can be part of a ref and a path, else raise `BadInput`."""
    if not _ITEM.match(item):
        raise BadInput(
            f"{item[:80]!r}: cannot name a branch; an id has up to 64 letters, digits,"
            " - and _"
        )
    return item


def checked_name(name: str) -> str:
    """Return a snapshot's name if it can be part of a ref, else raise `BadInput`."""
    if not _NAME.match(name):
        raise BadInput(
            f"{name[:80]!r}: cannot name a snapshot; a name has up to 80 of a-z, 0-9"
            " and -"
        )
    return name


def is_branch(branch: str) -> bool:
    """Tell whether a branch name has the form of ours."""
    return bool(_BRANCH.match(branch))


def checked_branch(branch: str) -> str:
    """Return a branch name if it has the form of ours, else raise `BadInput`."""
    if not is_branch(branch):
        raise BadInput(f"{branch[:80]!r}: is not a branch of the form agentos/42-slug")
    return branch


def checked_commit(commit: str) -> str:
    """Return a full commit id, which git cannot take for anything else, else raise
    `BadInput`.
    """
    if not _COMMIT.match(commit):
        raise BadInput(f"{commit[:80]!r}: is not the whole id of a commit")
    return commit


def is_kept_from_git(name: bytes, *, is_link: bool = False) -> bool:
    """Tell whether git refuses a file name: `.git` in any spelling that some file system
    treats as equal.
    """
    plain = os_text(name).translate(_IGNORED_BY_HFS).lower()
    for part in plain.split("\\"):
        # NTFS ignores these endings.
        name_part = part.partition(":")[0].rstrip(" .")
        if name_part in (".git", "git~1"):
            return True
    return is_link and _names_submodules(plain)


def _names_submodules(plain: str) -> bool:
    """Tell whether git takes a name for `.gitmodules`, as NTFS spells or shortens it."""
    name = plain.partition(":")[0].rstrip(" .")
    if name == ".gitmodules":
        return True
    head, _, number = name.partition("~")
    if not number.isdecimal():
        return False
    if number.startswith("0"):
        return False
    if head == "gitmod":
        return number in _FIRST_SHORT_NAMES
    # After four of them NTFS makes names of eight characters from a hash.
    if len(name) != 8:
        return False
    return "gi7eba".startswith(head)


def os_text(path: bytes) -> str:
    """Decode a path so that `os_bytes` gives the same bytes back."""
    return path.decode("utf-8", "surrogateescape")


def os_bytes(path: str) -> bytes:
    """Encode a path that `os_text` decoded."""
    return path.encode("utf-8", "surrogateescape")
