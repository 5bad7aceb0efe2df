"""Write what a build of the project generates and its package imports, while its tests
run.

Compiled modules and generated files come from a build. Tools that take the version from
git's tags write it into a file that git ignores; if the project could not be built,
another file stands in for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePath

from agentos.errors import BadInput
from agentos.proving.environment.declared import read_declared, read_toml
from agentos.proving.environment.metadata import find_version, look_up
from agentos.proving.environment.tree import list_tree
from agentos.proving.environment.wheels import MOST_BYTES, MOST_FILES
from agentos.state.confinement.folder import (
    ConfinedFolder,
    PathRefused,
    WriteQuota,
    WriteQuotaExceeded,
)

_QUOTA = WriteQuota(per_file=MOST_BYTES, in_all=MOST_BYTES, files=MOST_FILES)
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
def generated_files(
    folder: Path, built: Iterable[tuple[Path, PurePath]] = ()
) -> Iterator[None]:
    """Write missing generated files while the tests run and remove them afterwards, so
    that they never count as changes.

    First those of each build in `built`, a folder and the path to write it to; then
    stand-ins for the others.
    """
    with ExitStack() as afterwards:
        inside = ConfinedFolder(folder, quota=_QUOTA, is_durable=False)
        afterwards.enter_context(inside)
        for generated, below in built:
            for name in list_tree(generated):
                path = (below / name).as_posix()
                _add(inside, path, (generated / name).read_bytes(), afterwards)
        for path, text in _wanted(folder).items():
            _add(inside, path, text.encode(), afterwards)
        yield


def _add(inside: ConfinedFolder, path: str, data: bytes, afterwards: ExitStack) -> None:
    """Write a file that is not there; it is deleted afterwards."""
    with suppress(PathRefused, WriteQuotaExceeded):
        if inside.read(path) is None:
            inside.write(path, data)
            afterwards.callback(_remove, inside, path)


def _remove(inside: ConfinedFolder, path: str) -> None:
    # The tests may have put something else in its place.
    with suppress(PathRefused):
        inside.delete(path)


def version_files(folder: Path) -> list[str]:
    """Return the modules that the project's build is configured to write."""
    tool = read_toml(folder).get("tool")
    paths = []
    for keys in _NAMING:
        path = look_up(tool, *keys)
        if path.endswith(".py"):
            paths.append(path)
    return paths


def _wanted(folder: Path) -> dict[str, str]:
    try:
        paths = version_files(folder)
        if not paths:
            return {}
        version = find_version(folder, read_declared(folder))
    except BadInput:
        return {}
    return dict.fromkeys(paths, _module(version))


def _module(version: str) -> str:
    numbers = tuple(map(int, filter(str.isdigit, version.split("."))))
    return (
        '"""Stands in for what a build would write."""\n\n__version__ = version ='
        f" {version!r}\n__version_tuple__ = version_tuple = {numbers!r}\n__commit_id__"
        " = commit_id = None\n"
    )
