"""Find out what a repository's tests need from the files that declare it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agentos.proving.environment.declared import (
    Declared,
    normalize_group,
    read_declared,
    read_tox,
)
from agentos.proving.environment.plugins import configured_plugins
from agentos.proving.environment.requirement_lines import (
    RequirementLines,
    requirement_name,
    without_options,
)
from agentos.proving.environment.safe_requirements import check_plain
from agentos.proving.environment.vendored_projects import VendoredParts, refuse_paths
from agentos.proving.runners.pytest_runner import find_configuration
from agentos.state.files import list_names

FORMAT = 1
"""Version of the layout of environments, so that an old one is never reused for a new
layout.
"""
TOOLS = ("pytest",)
"""Packages that AgentOS needs to run tests; added if the repository does not name them."""

_DEV_LOCKS = (
    "requirements-dev.lock",
    "requirements-test.lock",
    "requirements-tests.lock",
    "requirements_dev.lock",
)
_LISTS = (
    "requirements-dev.txt",
    "requirements-test.txt",
    "requirements-tests.txt",
    "requirements.txt",
    "dev.requirements.txt",
    "test.requirements.txt",
    "tests.requirements.txt",
    "requirements.requirements.txt",
    "dev-requirements.txt",
    "test-requirements.txt",
    "tests-requirements.txt",
    "requirements-requirements.txt",
)
_FOLDER_LISTS = (
    "dev.txt",
    "test.txt",
    "tests.txt",
    "testing.txt",
    "base.txt",
    "main.txt",
)
_TEST_GROUPS = ("test", "tests", "testing")
_DEV_GROUPS = ("dev", "develop", "development")


@dataclass(frozen=True, slots=True)
class Needs:
    """What an environment must contain, as lines for pip."""

    folder: Path
    sources: tuple[str, ...] = ()
    """The files that declare it."""
    parts: tuple[str, ...] = ()
    """Other projects in the repository that its tests import; their dependencies are
    included.
    """
    locked: tuple[str, ...] = ()
    """Lines of a lock file, possibly with hashes: installed first, in a run of its own."""
    requirements: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    requires_python: str = ""
    only_wheels: bool = False
    """Whether installing may run no code: every package is a wheel, named only by name
    and version.
    """
    newest: bool = False
    """Whether to install the newest versions that the requirements allow, as pip does
    for builds, and not to use packages that are installed already.
    """

    @property
    def constraint_lines(self) -> tuple[str, ...]:
        """Constraints for further packages: the constraints and the pins of the
        lock.
        """
        pins = (without_options(line) for line in self.locked if requirement_name(line))
        return (*self.constraints, *pins)

    def digest(self, interpreter: str, *method: str) -> str:
        """Return the name of the environment; equal needs share it, whatever their
        comments and file names.
        """
        identity = [
            FORMAT,
            interpreter,
            method,
            self.locked,
            self.requirements,
            self.constraints,
            self.only_wheels,
        ]
        if self.newest:
            identity.append("newest")
        return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:24]


def read_needs(
    folder: Path,
    *,
    tools: Sequence[str] = TOOLS,
    only_wheels: bool = False,
    computed: Declared | None = None,
) -> Needs:
    """Return what the tests in `folder` need.

    A lock file replaces the requirement lists; unless it is a lock for development, the
    project's test group is added to it. Without a lock, the requirement lists, the
    project's dependencies and its test group are combined, and tox.ini is read if none
    of these names anything for tests. The development group replaces a missing test
    group. Plugins of pytest that any group names are always included, because the
    project's settings may use them; so are those that the settings do use, even if no
    file names them. With `only_wheels`, a requirement that could run code is an error.
    `computed` is what a build found out: it counts where the files declare nothing.
    """
    declared = read_declared(folder)
    if computed:
        declared = replace(
            declared,
            dependencies=declared.dependencies or computed.dependencies,
            groups={**computed.groups, **declared.groups},
        )
    lines = RequirementLines(folder)
    lock = _find_lock(folder)
    for path in [lock] if lock else _find_lists(folder):
        lines.read(path)
    parts = VendoredParts(folder)
    locked = []
    if lock:
        locked = parts.take(lines.requirements)
    wanted, sources = _declared_lines(folder, declared, lines, lock)
    wanted = parts.take(wanted)
    own_names = {requirement_name(declared.name), *parts.names} - {""}
    requirements = []
    for line in dict.fromkeys(wanted):
        if requirement_name(line) in own_names:
            continue
        # One hash makes pip require hashes for all lines of a file, so a line with
        # hashes belongs to the lock, wherever it was found.
        if " --hash" in line:
            locked.append(line)
        else:
            requirements.append(line)
    named = set(map(requirement_name, (*locked, *requirements)))
    plugins = configured_plugins(folder)
    for tool in (*plugins, *tools):
        name = requirement_name(tool)
        if name and name not in named:
            requirements.append(tool)
    settings = find_configuration(folder)
    if plugins and settings:
        sources = (*sources, settings.relative_to(folder).as_posix())
    needs = Needs(
        folder,
        sources=tuple(dict.fromkeys((*lines.files, *sources, *parts.sources))),
        parts=tuple(parts.folders),
        locked=tuple(locked),
        requirements=tuple(requirements),
        constraints=tuple(dict.fromkeys(lines.constraints)),
        requires_python=declared.requires_python,
        only_wheels=only_wheels,
    )
    check = refuse_paths
    if only_wheels:
        check = check_plain
    for given in (needs.locked, needs.requirements, needs.constraints):
        check(given, folder, needs.sources)
    return needs


def _declared_lines(
    folder: Path, declared: Declared, lines: RequirementLines, lock: Path | None
) -> tuple[list[str], tuple[str, ...]]:
    """Return the requirements that are not in the lock, and the files that name
    them.
    """
    if lock and lock.name in _DEV_LOCKS:
        return [], ()
    wanted: list[str] = []
    if not lock:
        wanted += lines.requirements
        wanted += _expand(declared.dependencies, declared)
    chosen = _test_groups(declared)
    for extra in (*chosen, *lines.project_extras):
        group = declared.groups.get(normalize_group(extra), ())
        wanted += _expand(group, declared)
    wanted += _plugins(declared)
    if chosen or any("dev" in name or "test" in name for name in lines.files):
        return wanted, declared.sources
    tox = read_tox(folder)
    if not tox:
        return wanted, declared.sources
    named = RequirementLines(folder)
    for line in tox:
        if line.startswith("-"):
            included = folder / line[2:].strip()
            if not line.startswith(("-r", "-c")) or not included.is_file():
                continue
        named.take(line, folder / "tox.ini")
    wanted += named.requirements
    lines.constraints += named.constraints
    return wanted, (*declared.sources, "tox.ini", *named.files)


def optional_modules(folder: Path) -> list[str]:
    """Return the modules of the packages that a project declares in its extras and
    groups, as far as they are called alike.
    """
    names: list[str] = []
    for lines in read_declared(folder).groups.values():
        names += map(requirement_name, lines)
    return [name.replace("-", "_") for name in names if name]


def _test_groups(declared: Declared) -> list[str]:
    groups = list(filter(declared.groups.get, _TEST_GROUPS))
    return groups or list(filter(declared.groups.get, _DEV_GROUPS))


def _expand(lines: Iterable[str], declared: Declared) -> list[str]:
    """Replace `project[extra]` with the requirements of that extra of the project."""
    from packaging.requirements import InvalidRequirement, Requirement

    own = requirement_name(declared.name)
    found: list[str] = []
    waiting = list(lines)
    seen = set[str]()
    while waiting:
        line = waiting.pop(0)
        if not own or requirement_name(line) != own:
            found.append(line)
            continue
        try:
            named = Requirement(line).extras
        except InvalidRequirement:
            continue
        extras = set(map(normalize_group, named)) - seen
        seen |= extras
        for extra in sorted(extras):
            waiting += declared.groups.get(extra, ())
    return found


def _plugins(declared: Declared) -> Iterator[str]:
    for lines in declared.groups.values():
        for line in lines:
            name = requirement_name(line)
            if name.startswith("pytest-") or name == "hypothesis":
                yield line


def _find_lock(folder: Path) -> Path | None:
    names = list_names(folder)
    for name in (*_DEV_LOCKS, *sorted(names)):
        if name in names and name.startswith("requirements") and name.endswith(".lock"):
            return folder / name
    return None


def _find_lists(folder: Path) -> list[Path]:
    names = {name.replace("_", "-"): name for name in sorted(list_names(folder))}
    found = [folder / names[name] for name in _LISTS if name in names]
    folder /= "requirements"
    inside = list_names(folder)
    found += [folder / name for name in _FOLDER_LISTS if name in inside]
    return list(filter(Path.is_file, found))
