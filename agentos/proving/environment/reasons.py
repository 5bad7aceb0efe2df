"""Decide from its files alone whether a project has to be built before its tests can
run.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agentos.errors import BadInput
from agentos.proving.environment.declared import (
    Table,
    read_declared,
    read_setup_arguments,
    read_table,
    read_toml,
)
from agentos.proving.environment.generated import version_files
from agentos.proving.environment.metadata import UNKNOWN_VERSION, find_version
from agentos.proving.environment.requirement_lines import requirement_name

LEGACY = "setuptools.build_meta:__legacy__"
_COMPILERS = frozenset(
    {
        *("cffi", "cython", "meson-python", "maturin", "mypy", "nanobind", "numpy"),
        *("pybind11", "scikit-build", "scikit-build-core", "setuptools-rust"),
        *("hatch-cython", "hatch-mypyc", "sip"),
    }
)
"""Build requirements that a project without compiled modules does not have."""
_EXTENSIONS = frozenset({"ext_modules", "cffi_modules", "rust_extensions"})
_FROM_TAGS = frozenset({"use_scm_version", "pbr"})
_USED_IN_TESTS = frozenset(
    {
        *("dependencies", "optional-dependencies"),
        *("scripts", "gui-scripts", "entry-points"),
    }
)
_COMPUTED = frozenset({"name", "version", "entry_points", "install_requires"})
_UNKNOWN = ("an argument of setup",)


@dataclass(frozen=True, slots=True)
class BuildSystem:
    """How a project is built."""

    backend: str
    requires: tuple[str, ...]
    path: tuple[str, ...] = ()
    """Folders of the project in which its backend is looked for."""
    reason: str = ""
    """Why it has to be built; empty if its source tree is enough."""

    @property
    def name(self) -> str:
        """The name of the backend in messages."""
        return self.backend.partition(":")[0]


def read_build_system(folder: Path) -> BuildSystem | None:
    """Return how a project is built, and why it has to be; None if it cannot be."""
    data = read_toml(folder)
    table = read_table(data, "build-system")
    has_setup = (folder / "setup.py").is_file()
    if not table and not has_setup and "project" not in data:
        return None
    requires = ["setuptools"]
    if "requires" in table:
        requires = _texts(table, "requires")
    path = _texts(table, "backend-path")
    backend = table.get("build-backend")
    if not isinstance(backend, str):
        backend = LEGACY
    reason = _reason(folder, data, requires)
    return BuildSystem(backend, tuple(requires), tuple(path), reason)


def _reason(folder: Path, data: Table, requires: list[str]) -> str:
    tool = read_table(data, "tool")
    arguments, computed = _setup_arguments(folder)
    if _compiles(tool, requires, arguments):
        return "it has compiled modules"
    written = version_files(folder)
    if not all((folder / path).is_file() for path in written):
        return "its version comes from tags"
    if _has_hooks(tool):
        return "it generates files"
    project = read_table(data, "project")
    dynamic = _texts(project, "dynamic")
    if "version" in dynamic or "version" in computed or _FROM_TAGS & arguments:
        declared = read_declared(folder)
        if find_version(folder, declared) == UNKNOWN_VERSION:
            return "its version is computed"
    wanted = sorted(_USED_IN_TESTS.intersection(dynamic))
    if "project" not in data:
        wanted += [name for name in computed if name != "version"]
    if wanted:
        return f"{wanted[0].replace('_', ' ')} is computed"
    return ""


def _compiles(tool: Table, requires: list[str], arguments: set[str]) -> bool:
    if _EXTENSIONS & arguments:
        return True
    if "ext-modules" in read_table(tool, "setuptools"):
        return True
    return not _COMPILERS.isdisjoint(map(requirement_name, requires))


def _has_hooks(tool: Table) -> bool:
    """Return whether the settings of a backend name code that runs in a build."""
    hatch = read_table(read_table(tool, "hatch"), "build")
    wheel = read_table(read_table(hatch, "targets"), "wheel")
    if hatch.get("hooks") or wheel.get("hooks"):
        return True
    pdm = read_table(read_table(tool, "pdm"), "build")
    if pdm.get("custom-hook") or pdm.get("run-setuptools"):
        return True
    return "build" in read_table(tool, "poetry")


def _setup_arguments(folder: Path) -> tuple[set[str], list[str]]:
    """Return the arguments of `setup` in setup.py, and which of them are no literals."""
    try:
        arguments = read_setup_arguments(folder)
    except (BadInput, SyntaxError, ValueError, RecursionError, MemoryError):
        return set(), []
    unknown = {name for name, value in arguments.items() if value is None}
    computed = sorted(unknown.intersection(_COMPUTED))
    if "**" in arguments:
        computed += _UNKNOWN
    return set(arguments), computed


def _texts(table: Table, key: str) -> list[str]:
    value = table.get(key)
    if not isinstance(value, list):
        return []
    return [text for text in value if isinstance(text, str)]
