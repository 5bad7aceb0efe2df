"""Write what an installation of a project would leave, its metadata and its commands,
although it is imported from its worktree.
"""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterator, Mapping
from email.parser import HeaderParser
from pathlib import Path

from agentos.errors import BadInput
from agentos.proving.environment.declared import (
    Declared,
    Points,
    read_declared,
    read_toml,
)
from agentos.proving.environment.requirement_lines import read_text
from agentos.proving.environment.scripts import COMMANDS, write_scripts
from agentos.repository.git.names import checked_commit, os_text
from agentos.repository.git.run import Git
from agentos.state.files import is_inside, remove_tree, temporary_beside

UNKNOWN_VERSION = "0.0.0"
_VERSION_NAMES = frozenset({"__version__", "version", "VERSION", "__VERSION__"})
_VERSION_IN_TAG = re.compile(r"\d+(?:\.\d+)*[\w.+-]*$")
_LONGEST_VERSION = 100
_VERSION_MODULES = ("__init__", "_version", "version", "__version__")


def describe_project(
    folder: Path, target: Path, python: Path, tag: str = ""
) -> Path | None:
    """Write a minimal `*.dist-info` for the project in `folder` below `target`, and its
    commands into `bin` there; return None if it has no usable name. `tag` is its
    version if its files assign none.

    Put `target` on the import path of that worktree's tests, and its `bin` on their
    PATH. It belongs to the worktree and not to the shared environment, because two
    worktrees may declare different versions and entry points.
    """
    try:
        declared = read_declared(folder)
    except BadInput:
        return None
    name = re.sub(r"[^A-Za-z0-9._]", "_", declared.name)[:100]
    if not name.strip("._"):
        return None
    version = find_version(folder, declared, tag)
    files = {
        "METADATA": _metadata(declared, version),
        "INSTALLER": "agentos\n",
        "RECORD": "",
    }
    points = _entry_points(declared.entry_points)
    if points:
        files["entry_points.txt"] = points
    path = target / f"{name}-{version}.dist-info"
    _replace(path, files)
    commands = declared.entry_points.get("console_scripts", {})
    folder_of_commands = target / COMMANDS / name
    remove_tree(folder_of_commands)
    write_scripts(commands, folder_of_commands, python)
    return path


def _metadata(declared: Declared, version: str) -> str:
    rows = [
        "Metadata-Version: 2.1",
        f"Name: {_one_line(declared.name)}",
        f"Version: {version}",
    ]
    if declared.requires_python:
        rows.append(f"Requires-Python: {_one_line(declared.requires_python)}")
    rows += [f"Requires-Dist: {_one_line(line)}" for line in declared.dependencies]
    return "\n".join(rows) + "\n"


def _entry_points(groups: Points) -> str:
    rows: list[str] = []
    for group, points in groups.items():
        rows.append(f"[{_one_line(group)}]")
        for name, value in points.items():
            rows.append(f"{_one_line(name)} = {_one_line(value)}")
        rows.append("")
    return "\n".join(rows)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:1000]


def _replace(path: Path, files: Mapping[str, str]) -> None:
    """Write a metadata folder atomically, and remove those of other versions."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_beside(path)
    temporary.mkdir()
    for name, text in files.items():
        (temporary / name).write_text(text, "utf-8")
    project = _project_of(path)
    for old in path.parent.glob("*.dist-info"):
        if _project_of(old) == project:
            shutil.rmtree(old, ignore_errors=True)
    temporary.rename(path)


def _project_of(path: Path) -> str:
    stem = path.name.removesuffix(".dist-info")
    return stem.rpartition("-")[0]


def find_version(folder: Path, declared: Declared, tag: str = "") -> str:
    """Return the version that the project declares or assigns in its own files, that of
    its tag, or a placeholder.
    """
    written = _written_versions(folder, declared)
    texts = (declared.version, *written, tag, _distributed_version(folder))
    return next(filter(None, map(_normal, texts)), UNKNOWN_VERSION)


def _normal(text: str) -> str:
    """Return the normal form of a version, empty if it is none."""
    from packaging.version import Version

    if len(text) > _LONGEST_VERSION:
        return ""
    try:
        return str(Version(text))
    except ValueError:
        return ""


def _written_versions(folder: Path, declared: Declared) -> Iterator[str]:
    """Yield versions from the files in which projects usually assign them."""
    package = declared.name.replace("-", "_").replace(".", "/")
    lower = package.casefold()
    stems = (package, lower, f"src/{package}", f"src/{lower}")
    names = _named_by_backend(folder)
    for stem in stems:
        names += [f"{stem}/{module}.py" for module in _VERSION_MODULES]
    names += [f"{stem}.py" for stem in stems]
    for name in dict.fromkeys(names):
        path = folder / name
        if is_inside(path, folder):
            yield from _assigned_versions(path)


def _distributed_version(folder: Path) -> str:
    """Return the version that a source distribution carries beside the sources."""
    try:
        headers = HeaderParser().parsestr(read_text(folder / "PKG-INFO"))
    except BadInput:
        return ""
    return str(headers.get("Version", ""))


def nearest_tag(git: Git, commit: str) -> str:
    """Return the version of the newest tag that a commit contains, or an empty text."""
    merged = f"--merged={checked_commit(commit)}"
    order = ("--sort=-creatordate", "--count=50", "--format=%(refname:lstrip=2)")
    listed = git.recall("for-each-ref", merged, *order, "refs/tags")
    for name in os_text(listed).splitlines():
        found = _VERSION_IN_TAG.search(name)
        version = _normal(found[0]) if found else ""
        if version:
            return version
    return ""


def _named_by_backend(folder: Path) -> list[str]:
    """Return the files in which the settings of a build backend look for the version."""
    data = read_toml(folder)
    tool = data.get("tool")
    names = []
    path = look_up(tool, "hatch", "version", "path")
    if path:
        names.append(path)
    attribute = look_up(tool, "setuptools", "dynamic", "version", "attr")
    module = attribute.rpartition(".")[0]
    if not module:
        return names
    stem = module.replace(".", "/")
    for place in (stem, f"src/{stem}"):
        names.append(f"{place}.py")
        names.append(f"{place}/__init__.py")
        names.append(f"{place}/version.py")
    return names


def look_up(table: object, *keys: str) -> str:
    """Return the text at the end of nested tables, empty if there is none."""
    for key in keys:
        if not isinstance(table, dict):
            return ""
        table = table.get(key)
    if not isinstance(table, str):
        return ""
    return table


def _assigned_versions(path: Path) -> Iterator[str]:
    try:
        module = ast.parse(read_text(path))
    except (BadInput, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in module.body:
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        else:
            continue
        names = {target.id for target in targets if isinstance(target, ast.Name)}
        if names.isdisjoint(_VERSION_NAMES):
            continue
        value = node.value
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value.value
