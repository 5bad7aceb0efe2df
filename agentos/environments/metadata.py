"""Write the metadata of a project that is imported from its worktree and never installed."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from agentos.environments.declared import Declared, read_declared, read_toml
from agentos.environments.requirement_lines import read_text
from agentos.errors import BadInput
from agentos.files import is_inside, temporary_beside

UNKNOWN_VERSION = "0.0.0"
_VERSION_NAMES = frozenset({"__version__", "version", "VERSION", "__VERSION__"})


def project_metadata(folder: Path, target: Path) -> Path | None:
    """Write a minimal `*.dist-info` for the project in `folder` below `target`; None when it has no usable name.

    Put `target` on the import path of that worktree's tests. It is a folder of the worktree's own rather than of the
    shared environment, because two worktrees may declare different versions and entry points.
    """
    try:
        declared = read_declared(folder)
    except BadInput:
        return None
    name = "".join(c if c.isascii() and (c.isalnum() or c in "._") else "_" for c in declared.name)[:100]
    if not name.strip("._"):
        return None
    version = find_version(folder, declared)
    place = target / f"{name}-{version}.dist-info"
    files = {"METADATA": _metadata(declared, version), "INSTALLER": "agentos\n", "RECORD": ""}
    if points := _entry_points(declared.entry_points):
        files["entry_points.txt"] = points
    _replace(place, files)
    return place


def _metadata(declared: Declared, version: str) -> str:
    rows = ["Metadata-Version: 2.1", f"Name: {_one_line(declared.name)}", f"Version: {version}"]
    if declared.requires_python:
        rows.append(f"Requires-Python: {_one_line(declared.requires_python)}")
    rows += [f"Requires-Dist: {_one_line(line)}" for line in declared.dependencies]
    return "\n".join(rows) + "\n"


def _entry_points(groups: Mapping[str, Mapping[str, str]]) -> str:
    rows: list[str] = []
    for group, points in groups.items():
        if points:
            rows.append(f"[{_one_line(group)}]")
            rows += [f"{_one_line(name)} = {_one_line(value)}" for name, value in points.items()]
            rows.append("")
    return "\n".join(rows)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:1000]


def _replace(place: Path, files: Mapping[str, str]) -> None:
    """Put a folder in place whole; one of another version of the same project goes."""
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_beside(place)
    temporary.mkdir()
    for name, text in files.items():
        (temporary / name).write_text(text, "utf-8")
    prefix = place.name.removesuffix(".dist-info").rpartition("-")[0]
    for old in place.parent.glob("*.dist-info"):
        if old.name.removesuffix(".dist-info").rpartition("-")[0] == prefix:
            shutil.rmtree(old, ignore_errors=True)
    temporary.rename(place)


def find_version(folder: Path, declared: Declared) -> str:
    """Return the version that the project declares or writes into its own files, else one that stands for none."""
    from packaging.version import InvalidVersion, Version

    for text in (declared.version, *_written_versions(folder, declared)):
        try:
            return str(Version(text))
        except InvalidVersion:
            continue
    return UNKNOWN_VERSION


def _written_versions(folder: Path, declared: Declared) -> Iterator[str]:
    """Yield versions from the files in which a project usually writes its own."""
    package = declared.name.replace("-", "_").replace(".", "/")
    named = _named_by_hatch(folder)
    stems = [f"{base}{name}" for base in ("", "src/") for name in dict.fromkeys((package, package.casefold()))]
    usual = [f"{stem}/{file}.py" for stem in stems for file in ("__init__", "_version", "version", "__version__")]
    for name in (*named, *usual, *(f"{stem}.py" for stem in stems)):
        path = folder / name
        if is_inside(path, folder) and path.is_file():
            yield from _assigned_versions(path)


def _named_by_hatch(folder: Path) -> list[str]:
    table: object = read_toml(folder)
    for key in ("tool", "hatch", "version", "path"):
        table = table.get(key) if isinstance(table, dict) else None
    return [table] if isinstance(table, str) else []


def _assigned_versions(path: Path) -> Iterator[str]:
    try:
        module = ast.parse(read_text(path))
    except (BadInput, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in module.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = {target.id for target in targets if isinstance(target, ast.Name)}
        if names & _VERSION_NAMES and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value
