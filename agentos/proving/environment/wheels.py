"""Read the wheel that a build made in the sandbox, and decide where its files belong.

The project's own modules are imported from the worktree, so that their lines can be
measured. Of the wheel, only what the worktree lacks is used: compiled modules, generated
files, the metadata, the commands.
"""

from __future__ import annotations

import io
import stat
import sys
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from agentos.documents.changes import is_pytest_module
from agentos.errors import BadInput
from agentos.state.path_rules import unsafe_path

Files = dict[str, bytes]
"""The contents of files by their path."""
MOST_FILES = 20_000
MOST_BYTES = 300_000_000
COMPILED = (".so", ".pyd")
_NEVER = (
    "conftest.py",
    "sitecustomize.py",
    "usercustomize.py",
)
_JUDGES = (
    "pytest",
    "_pytest",
    "pluggy",
)
"""Modules that decide about a test run, as those do that begin with `agentos_`."""
_USUAL = ("", "src")
"""Folders that are on the import path anyway."""
_KINDS = ("purelib", "platlib", "scripts")
_ORDINARY = (0, stat.S_IFREG, stat.S_IFDIR)


@dataclass(slots=True)
class Layout:
    """Where the files of a wheel go."""

    site: Files = field(default_factory=dict)
    """Files for a folder of their own on the import path."""
    missing: Files = field(default_factory=dict)
    """Files that the worktree lacks, by their path there."""
    scripts: Files = field(default_factory=dict)
    places: list[str] = field(default_factory=list)
    """Further folders of the worktree from which its packages are imported."""

    def add_missing(self, prefix: str, files: Files, tree: Sequence[str]) -> None:
        """Add the files of a package that the folder `prefix` of the worktree lacks."""
        existing = set(tree)
        place = prefix.rstrip("/")
        if place not in _USUAL and place not in self.places:
            self.places.append(place)
        for name, data in files.items():
            path = prefix + name
            if path in existing:
                continue
            # A compiled form of a module would hide each change of it.
            module = _python_of(path)
            if path.endswith(COMPILED) and module in existing:
                continue
            self.missing[path] = data


def read_wheel(data: bytes) -> Files:
    """Return the files of a wheel; refuse one that is damaged, too large, or leads
    outside of its folder.
    """
    stream = io.BytesIO(data)
    try:
        with zipfile.ZipFile(stream) as archive:
            return _read_entries(archive)
    except BadInput:
        raise
    # Each way to compress has its own errors.
    except Exception as error:
        raise BadInput(f"its wheel cannot be read ({error})") from None


def _read_entries(archive: zipfile.ZipFile) -> Files:
    entries = archive.infolist()
    size = 0
    for entry in entries:
        _check(entry)
        size += entry.file_size
    if len(entries) > MOST_FILES or size > MOST_BYTES:
        raise BadInput("its wheel is too large")
    files = {}
    for entry in entries:
        if entry.is_dir():
            continue
        name = entry.filename
        files[name] = archive.read(entry)
    return files


def _check(entry: zipfile.ZipInfo) -> None:
    name = entry.filename
    mode = entry.external_attr >> 16
    kind = stat.S_IFMT(mode)
    problem = unsafe_path(name)
    if "\\" in name:
        problem = "is not a plain path"
    elif kind not in _ORDINARY:
        problem = "is not an ordinary file"
    if problem:
        shown = name[:100]
        raise BadInput(f"its wheel has {shown!r}, which {problem}")


def lay_out(files: Files, tree: Sequence[str]) -> Layout:
    """Sort the files of a wheel by where they belong, given the paths in the
    worktree.
    """
    layout = Layout()
    packages: dict[str, Files] = {}
    for name, data in files.items():
        kind, place = _installed(name)
        if kind == "scripts":
            layout.scripts[place] = data
        elif kind and not _is_refused(place):
            top = place.partition("/")[0]
            package = packages.setdefault(top, {})
            package[place] = data
    prefixes = _Prefixes(tree)
    for top, package in packages.items():
        prefix = prefixes.find(top, package)
        if prefix is not None:
            layout.add_missing(prefix, package, tree)
        elif _may_be_imported(top):
            layout.site.update(package)
    return layout


def _installed(name: str) -> tuple[str, str]:
    """Return what kind of file a path of a wheel is, and its path among these; empty
    for what is not installed.
    """
    top, _, rest = name.partition("/")
    if not top.endswith(".data"):
        return "purelib", name
    kind, _, inside = rest.partition("/")
    if kind == "scripts" and "/" in inside:
        # A command lies in no folder.
        kind = ""
    if not inside or kind not in _KINDS:
        return "", ""
    return kind, inside


def _is_refused(path: str) -> bool:
    """Return whether a file would run by itself, or would be taken for a test."""
    name = PurePosixPath(path).name
    if name in _NEVER or name.endswith(".pth"):
        return True
    return is_pytest_module(path)


def _may_be_imported(top: str) -> bool:
    """Return whether a module of the wheel replaces none of Python or of the tests'
    runner.
    """
    name = top.partition(".")[0]
    if name in _JUDGES:
        return False
    if name.startswith("agentos_"):
        return False
    return name not in sys.stdlib_module_names


def _python_of(path: str) -> str:
    """Return the path of the Python module that a compiled one replaces."""
    folder, slash, name = path.rpartition("/")
    module = name.partition(".")[0]
    return f"{folder}{slash}{module}.py"


class _Prefixes:
    """Finds the folder of a worktree in which a package of a wheel lies."""

    def __init__(self, tree: Iterable[str]) -> None:
        self._by_name: dict[str, list[str]] = {}
        for path in tree:
            name = PurePosixPath(path).name
            same = self._by_name.setdefault(name, [])
            same.append(path)

    def find(self, top: str, files: Iterable[str]) -> str | None:
        """Return the folder with most of these files; None if no folder has any."""
        if top.endswith(".dist-info"):
            return None
        found: Counter[str] = Counter()
        for file in files:
            folders = self._folders_with(file)
            found.update(folders)
        # Of two folders with as many, the shorter one is nearer to the top.
        shortest = sorted(found, key=len)
        return max(shortest, key=found.__getitem__, default=None)

    def _folders_with(self, file: str) -> Iterator[str]:
        name = PurePosixPath(file).name
        ending = f"/{file}"
        for path in self._by_name.get(name, ()):
            rooted = f"/{path}"
            if rooted.endswith(ending):
                yield path.removesuffix(file)
