"""Take folders of the repository out of its requirements: they are imported from where they are, and never built.

Pip would run the `setup.py` or the build backend of such a folder as the user, outside of the sandbox. So what the
folder declares is read, and its code is put on the import path of the tests as that of the project itself is. Every
other path, and every option of pip that could lead to one, is refused by `refuse_paths`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from agentos.environments.declared import read_declared
from agentos.environments.plain_lines import ARCHIVES, LINE_SHOWN, find_place, is_plain
from agentos.environments.requirement_lines import requirement_name, without_options
from agentos.errors import BadInput
from agentos.files import is_inside

_REMOTE = re.compile(r"(?:(?:git|hg|svn|bzr)\+)?(?:https?|ssh|git)://\S+", re.IGNORECASE)
_PLACES = frozenset({"-i", "--index-url", "--extra-index-url", "-f", "--find-links", "-r", "-c"})
"""Options whose value is an address."""
_HARMLESS = frozenset({"--no-binary", "--only-binary", "--trusted-host", "--use-feature"})
_ALONE = frozenset({"--pre", "--prefer-binary", "--require-hashes", "--no-index"})
_OF_PATHS = frozenset("/\\:$%~")
_PROJECT_FILES = ("pyproject.toml", "setup.cfg", "setup.py")
_MOST_PARTS = 50


@dataclass(slots=True)
class Parts:
    """The folders of a repository that its requirements name, and what is left of those."""

    folder: Path
    folders: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    """How the folders' projects are called: nothing else is installed under these names."""
    sources: list[str] = field(default_factory=list)

    def take(self, lines: Iterable[str]) -> list[str]:
        """Return the lines that name no project of the repository, with those that such projects declare."""
        kept: list[str] = []
        waiting = list(lines)
        while waiting:
            line = waiting.pop(0)
            path = None if names_no_path(line) else self._locate(line)
            if path is None:
                kept.append(line)
            else:
                waiting += self._add(path, _extras(line))
        return kept

    def _add(self, path: Path, extras: Iterable[str]) -> tuple[str, ...]:
        """Add a folder; return what it depends on."""
        name = path.relative_to(self.folder.resolve()).as_posix()
        if name in self.folders or path == self.folder.resolve():
            return ()
        if len(self.folders) >= _MOST_PARTS:
            raise BadInput(f"{name}: more than {_MOST_PARTS} folders are required; name fewer")
        declared = read_declared(path)
        self.folders.append(name)
        self.names.add(requirement_name(declared.name))
        self.sources += [f"{name}/{source}" for source in declared.sources]
        wanted = declared.dependencies
        for extra in extras:
            wanted += declared.groups.get(extra, ())
        return wanted

    def _locate(self, line: str) -> Path | None:
        text = _address(line).partition(";")[0].partition("#")[0].partition("[")[0].strip()
        if text.lower().startswith("file:"):
            text = unquote(text[len("file:") :]).removeprefix("//")
        path = self.folder / text
        is_project = "\0" not in text and any((path / name).is_file() for name in _PROJECT_FILES)
        return path.resolve() if is_project and is_inside(path, self.folder) else None


def refuse_paths(lines: Iterable[str], folder: Path, sources: Sequence[str]) -> None:
    """Raise for the first line that names a path, with the place in which it stands."""
    for line in lines:
        if not names_no_path(line):
            shown = " ".join(line.split())[:LINE_SHOWN]
            raise BadInput(
                f"{find_place(line, folder, sources)}: {shown!r} would be built outside of the sandbox; name a package "
                "by name and version, or a folder of the repository that has a pyproject.toml"
            )


def names_no_path(line: str) -> bool:
    """Tell whether a line asks pip for a name or a remote address, and so for no file on this machine."""
    if line.startswith("-"):
        return _is_harmless_option(line)
    address = _address(line)
    if is_plain(line) or _REMOTE.fullmatch(address):
        return True
    is_archive = any(ending in address.lower() for ending in ARCHIVES)
    return not (is_archive or address.startswith(".") or set(address) & _OF_PATHS)


def _is_harmless_option(line: str) -> bool:
    option, _, value = line.replace("=", " ", 1).partition(" ")
    value = value.strip().strip("\"'")
    if option in _ALONE:
        return not value
    if option in _PLACES:
        return bool(_REMOTE.fullmatch(value))
    return option in _HARMLESS and not any(word.startswith("-") for word in value.split())


def _address(line: str) -> str:
    """Return what a line names: the address of `name @ address`, else the line without markers and options."""
    from packaging.requirements import InvalidRequirement, Requirement

    text = without_options(line)
    try:
        return Requirement(text).url or text
    except InvalidRequirement:
        return text.partition(" ;")[0].strip()


def _extras(line: str) -> list[str]:
    names = line.partition("[")[2].partition("]")[0].split(",")
    return [name.strip().casefold().replace("_", "-") for name in names if name.strip()]
