"""Write the modules that a build of the project would make, which a clone does not have and its package imports.

Tools that take the version from git's tags write it into a file that git ignores. The project is never built here, so
without that file nothing of it could be imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agentos.confinement.folder import ConfinedFolder, PathRefused
from agentos.environments.declared import read_declared, read_toml
from agentos.environments.metadata import find_version
from agentos.errors import BadInput

_NAMING = (
    ("hatch", "build", "hooks", "vcs", "version-file"),
    ("hatch", "build", "targets", "wheel", "hooks", "vcs", "version-file"),
    ("setuptools_scm", "version_file"),
    ("setuptools_scm", "write_to"),
    ("setuptools-scm", "version_file"),
    ("setuptools-scm", "write_to"),
)
"""Where pyproject.toml names such a file, below `tool`."""


@contextmanager
def generated_files(folder: Path) -> Iterator[None]:
    """Lay the missing files into the folder for as long as the tests run; nobody may take them for a change."""
    with ConfinedFolder(folder) as inside:
        written = [path for path, text in _wanted(folder).items() if _add(inside, path, text)]
        try:
            yield
        finally:
            for path in written:
                inside.delete(path)


def _add(inside: ConfinedFolder, path: str, text: str) -> bool:
    try:
        if inside.read(path) is not None:
            return False
        inside.write(path, text)
    except PathRefused:
        return False
    return True


def _wanted(folder: Path) -> dict[str, str]:
    """Return the files that the project's build is set up to write, with their texts."""
    try:
        tool = read_toml(folder).get("tool")
        named = [_look_up(tool, keys) for keys in _NAMING]
        paths = [path for path in named if isinstance(path, str) and path.endswith(".py")]
        return dict.fromkeys(paths, _module(find_version(folder, read_declared(folder)))) if paths else {}
    except BadInput:
        return {}


def _look_up(table: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        table = table.get(key) if isinstance(table, Mapping) else None
    return table


def _module(version: str) -> str:
    numbers = tuple(int(part) for part in version.split(".") if part.isdigit())
    return (
        f'"""Stands in for what a build would write."""\n\n__version__ = version = {version!r}\n'
        f"__version_tuple__ = version_tuple = {numbers!r}\n__commit_id__ = commit_id = None\n"
    )
