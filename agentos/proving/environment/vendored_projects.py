"""Separate the repository's own folders from its requirements: they are imported in
place and never built.

Pip would run the `setup.py` or the build backend of such a folder as the user, outside
the sandbox. Instead, what the folder declares is read, and its code is put on the
import path of the tests, like that of the project itself. Every other path, and every
pip option that could lead to one, is refused by `refuse_paths`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from agentos.errors import BadInput
from agentos.proving.environment.declared import normalize_group, read_declared
from agentos.proving.environment.requirement_lines import (
    path_of,
    requirement_name,
    without_options,
)
from agentos.proving.environment.safe_requirements import (
    ARCHIVES,
    is_plain,
    refusal,
)
from agentos.state.files import is_inside

_REMOTE = re.compile(r"https?://\S+", re.IGNORECASE)
_REMOTE_WHEEL = re.compile(r"https?://[^\s#]+\.whl(?:#\S*)?", re.IGNORECASE)
_PLACES = frozenset(
    {"-i", "--index-url", "--extra-index-url", "-f", "--find-links", "-r", "-c"}
)
"""Options whose value is an address."""
_HARMLESS = frozenset({"--trusted-host", "--use-feature"})
_ALONE = frozenset({"--pre", "--prefer-binary", "--require-hashes", "--no-index"})
_OF_PATHS = frozenset("/\\:$%~")
_PROJECT_FILES = ("pyproject.toml", "setup.cfg", "setup.py")
_MOST_PARTS = 50


@dataclass(slots=True)
class VendoredParts:
    """The folders of a repository that its requirements name."""

    folder: Path
    folders: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    """The names of the folders' projects; nothing else is installed under these
    names.
    """
    sources: list[str] = field(default_factory=list)

    def take(self, lines: Iterable[str]) -> list[str]:
        """Replace the lines that name projects of the repository with the dependencies
        of these projects.
        """
        kept: list[str] = []
        waiting = list(lines)
        while waiting:
            line = waiting.pop(0)
            path = None
            if not names_no_path(line):
                path = self._locate(line)
            if path is None:
                kept.append(line)
            else:
                waiting += self._add(path, _extras(line))
        return kept

    def _add(self, path: Path, extras: Iterable[str]) -> tuple[str, ...]:
        """Add a folder; return its dependencies."""
        root = self.folder.resolve()
        name = path.relative_to(root).as_posix()
        if name in self.folders or path == root:
            return ()
        if len(self.folders) >= _MOST_PARTS:
            raise BadInput(
                f"{name}: more than {_MOST_PARTS} folders are required; name fewer"
            )
        declared = read_declared(path)
        self.folders.append(name)
        self.names.add(requirement_name(declared.name))
        self.sources += [f"{name}/{source}" for source in declared.sources]
        wanted = declared.dependencies
        for extra in extras:
            wanted += declared.groups.get(extra, ())
        return wanted

    def _locate(self, line: str) -> Path | None:
        text = path_of(_address(line))
        if text.lower().startswith("file:"):
            text = unquote(text[len("file:") :]).removeprefix("//")
        path = self.folder / text
        if not is_inside(path, self.folder):
            return None
        for name in _PROJECT_FILES:
            if (path / name).is_file():
                return path.resolve()
        return None


def refuse_paths(lines: Iterable[str], folder: Path, sources: Sequence[str]) -> None:
    """Refuse the first line that names a path or a remote source, and say where it
    is.
    """
    for line in lines:
        if not names_no_path(line):
            raise refusal(
                *(line, folder, sources),
                "would be built outside of the sandbox; name a package by name and"
                " version, or a folder of the repository that has a pyproject.toml",
            )


def names_no_path(line: str) -> bool:
    """Return whether a line asks pip for a name or a remote wheel, and so for no file on
    this machine and nothing that has to be built.
    """
    if line.startswith("-"):
        return _is_harmless_option(line)
    address = _address(line)
    if is_plain(line) or _REMOTE_WHEEL.fullmatch(address):
        return True
    if address.startswith(".") or set(address) & _OF_PATHS:
        return False
    lower = address.lower()
    return not any(ending in lower for ending in ARCHIVES)


def _is_harmless_option(line: str) -> bool:
    option, _, value = line.replace("=", " ", 1).partition(" ")
    value = value.strip().strip("\"'")
    if option in _ALONE:
        return not value
    if option in _PLACES:
        return bool(_REMOTE.fullmatch(value))
    if option not in _HARMLESS:
        return False
    return not any(word.startswith("-") for word in value.split())


def _address(line: str) -> str:
    """Return the address of `name @ address`, or the line without markers and
    options.
    """
    from packaging.requirements import InvalidRequirement, Requirement

    text = without_options(line)
    try:
        return Requirement(text).url or text
    except InvalidRequirement:
        return text.partition(" ;")[0].strip()


def _extras(line: str) -> list[str]:
    names = line.partition("[")[2].partition("]")[0].split(",")
    return list(filter(None, map(normalize_group, names)))
