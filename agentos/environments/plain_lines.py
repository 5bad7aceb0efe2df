"""Let only such requirements through as pip can meet with wheels from the user's own package index.

Pip reads the lines once more, and where it reads them in another way than we do, it may find an address after all. So
every character counts, not only what a line seems to mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from agentos.environments.requirement_lines import read_text
from agentos.errors import BadInput

_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ._-[],<>=!~;()'\"*+")
"""No colon, no slash and no at sign: without them there is no address and no path."""
_HARMLESS = frozenset({"--pre", "--prefer-binary"})
_HASH = "--hash="
ARCHIVES = (".whl", ".zip", ".tar", ".gz", ".bz2", ".xz", ".lz", ".lzma", ".tgz", ".tbz", ".txz", ".tlz")
"""A name that ends like this is for pip a file, where there is one."""
LINE_SHOWN = 120


def check_plain(lines: Iterable[str], folder: Path, sources: Sequence[str]) -> None:
    """Raise for the first line that could have pip run code, with the place in which it stands."""
    for line in lines:
        if not is_plain(line):
            shown = " ".join(line.split())[:LINE_SHOWN]
            raise BadInput(
                f"{find_place(line, folder, sources)}: {shown!r} could run code outside of the sandbox while it is "
                "installed; name packages only by name and version, or merge this change of dependencies yourself first"
            )


def is_plain(line: str) -> bool:
    """Tell whether a line is `name[extras] specifier ; marker`, with hashes or without, and nothing else."""
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
    return bool(colon and digest) and name.isascii() and name.isalnum() and set(digest) <= _HEXADECIMAL


def find_place(line: str, folder: Path, sources: Sequence[str]) -> str:
    """Return the file and the number of the row in which a line seems to begin."""
    words = line.split()
    for wanted in (" ".join(words), *words[:1]):
        for source in sources:
            with suppress(BadInput):
                for number, row in enumerate(read_text(folder / source).splitlines(), 1):
                    if wanted in " ".join(row.split()):
                        return f"{source}, line {number}"
    return ", ".join(sources) or folder.name
