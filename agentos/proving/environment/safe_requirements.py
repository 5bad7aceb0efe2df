"""Accept only requirements that pip can meet with wheels from the user's package index.

Pip parses the lines again, and if it parses them differently from us, it may find an
address after all. So every character is checked, and not only the parsed requirement.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from agentos.errors import BadInput
from agentos.proving.environment.requirement_lines import read_text

_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")
_PLAIN = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ._-[],<>=!~;()'\"*+"
)
"""No colon, no slash and no at sign: without them there is no address and no path."""
_HARMLESS = frozenset({"--pre", "--prefer-binary"})
_HASH = "--hash="
ARCHIVES = (
    ".whl",
    ".zip",
    ".tar",
    ".gz",
    ".bz2",
    ".xz",
    ".lz",
    ".lzma",
    ".tgz",
    ".tbz",
    ".txz",
    ".tlz",
)
"""Endings of names that pip takes for files, if such a file exists."""
LINE_SHOWN = 120


def check_plain(lines: Iterable[str], folder: Path, sources: Sequence[str]) -> None:
    """Refuse the first line that could make pip run code, and say where it is."""
    for line in lines:
        if not is_plain(line):
            raise refusal(
                *(line, folder, sources),
                "could run code outside of the sandbox while it is installed; name"
                " packages only by name and version, or merge this change of"
                " dependencies yourself first",
            )


def refusal(line: str, folder: Path, sources: Sequence[str], why: str) -> BadInput:
    """Return the error for a line that is not accepted, with its place."""
    shown = " ".join(line.split())[:LINE_SHOWN]
    return BadInput(f"{_find_place(line, folder, sources)}: {shown!r} {why}")


def is_plain(line: str) -> bool:
    """Return whether a line is `name[extras] specifier ; marker`, with or without
    hashes, and nothing else.
    """
    from packaging.requirements import InvalidRequirement, Requirement

    if line in _HARMLESS:
        return True
    words = line.split(" ")
    while words and words[-1].startswith(_HASH):
        if not _is_hash(words.pop().removeprefix(_HASH)):
            return False
    text = " ".join(words)
    if not set(text) <= _PLAIN or any(word.startswith("-") for word in words):
        return False
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return False
    return requirement.url is None and not requirement.name.lower().endswith(ARCHIVES)


def _is_hash(text: str) -> bool:
    name, colon, digest = text.partition(":")
    return (
        bool(colon and digest)
        and name.isascii()
        and name.isalnum()
        and set(digest) <= _HEXADECIMAL
    )


def _find_place(line: str, folder: Path, sources: Sequence[str]) -> str:
    """Return the file and the line number where a requirement seems to begin."""
    words = line.split()
    for wanted in (" ".join(words), *words[:1]):
        for source in sources:
            with suppress(BadInput):
                for number, row in enumerate(
                    read_text(folder / source).splitlines(), 1
                ):
                    if wanted in " ".join(row.split()):
                        return f"{source}, line {number}"
    return ", ".join(sources) or folder.name
