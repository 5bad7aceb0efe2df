"""Find out what a repository's tests need, from the files in which it says so."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentos.environments.declared import Declared, read_declared, read_tox
from agentos.environments.parts import Parts, refuse_paths
from agentos.environments.plain_lines import check_plain
from agentos.environments.plugins import configured_plugins
from agentos.environments.requirement_lines import (
    FILE_LIMIT,
    RequirementLines,
    requirement_name,
    without_options,
)
from agentos.errors import BadInput
from agentos.files import is_inside, list_names, read_regular
from agentos.proofs.pytest_runner import find_configuration

FORMAT = 1
"""Counts up when environments are laid out in another way, so that old ones are not taken for new ones."""
TOOLS = ("pytest",)
"""What the proofs are made with; added where the repository does not name it."""

_DEV_LOCKS = ("requirements-dev.lock", "requirements-test.lock", "requirements-tests.lock", "requirements_dev.lock")
_LISTS = ("requirements-dev", "requirements-test", "requirements-tests", "requirements")
_FOLDER_LISTS = ("dev", "test", "tests", "testing", "base", "main")
_TEST_GROUPS = ("test", "tests", "testing")
_DEV_GROUPS = ("dev", "develop", "development")
_PROJECT_FILES = ("pyproject.toml", "setup.cfg", "setup.py")


@dataclass(frozen=True, slots=True)
class Needs:
    """What an environment must offer, as pip's own lines."""

    folder: Path
    sources: tuple[str, ...] = ()
    """The files that said it."""
    parts: tuple[str, ...] = ()
    """Folders of the repository that its tests import beside it; their own needs are among these."""
    locked: tuple[str, ...] = ()
    """Lines of a lock, possibly with hashes: installed first and alone."""
    requirements: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    requires_python: str = ""
    python: str = ""
    """An interpreter to be used as it is."""
    install: tuple[str, ...] = ()
    """Arguments for `pip install` that take the place of all that the files say."""
    only_wheels: bool = False
    """Whether nothing may run code while it is installed: packages are wheels, and named by name and version alone."""
    content: str = field(default="", repr=False)
    """A digest of files that `install` names."""

    @property
    def constraint_lines(self) -> tuple[str, ...]:
        """What the versions of further packages must agree with: the constraints and the lock's own pins."""
        pins = (without_options(line) for line in self.locked if requirement_name(line))
        return (*self.constraints, *pins)

    def digest(self, interpreter: str, *method: str) -> str:
        """Name the environment: needs with the same name share it. Comments and file names do not matter."""
        told = [
            *(FORMAT, interpreter, method, self.locked, self.requirements, self.constraints),
            *(self.install, self.only_wheels, self.content),
        ]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:24]


def read_needs(
    folder: Path,
    *,
    python: str = "",
    install: Sequence[str] = (),
    tools: Sequence[str] = TOOLS,
    only_wheels: bool = False,
) -> Needs:
    """Return what the tests in `folder` need.

    A lock counts alone, with the project's test group beside it when it is not a lock for development. Without a lock
    the requirement lists, the project's dependencies and its test group count together; tox is asked when none of
    these names anything for tests. The development group stands in for a missing test group. Plugins of pytest
    that any group names are always taken along, because the project's settings may ask for them; those that the
    settings do ask for, whoever names them or not. With `only_wheels`, needs that could run code are an error.
    """
    if python:
        return Needs(folder, python=python)
    if install:
        if only_wheels:
            raise BadInput(
                "the settings give arguments for pip, and the files that they may name are not the user's own; "
                "merge this change of dependencies yourself first"
            )
        content = _content(folder, [*install, *_PROJECT_FILES])
        return Needs(folder, install=tuple(install), only_wheels=only_wheels, content=content)
    declared = read_declared(folder)
    lines = RequirementLines(folder)
    lock = _find_lock(folder)
    for path in [lock] if lock else _find_lists(folder):
        lines.read(path)
    wanted, sources = _declared_lines(folder, declared, lines, lock)
    locked = tuple(lines.requirements) if lock else ()
    own = requirement_name(declared.name)
    parts = Parts(folder)
    locked = tuple(parts.take(locked))
    wanted = parts.take(wanted)
    names_here = {own, *parts.names} - {""}
    requirements = [line for line in dict.fromkeys(wanted) if requirement_name(line) not in names_here]
    # One hash has pip ask for all of them, so lines with hashes are a lock wherever they stand.
    locked += tuple(line for line in requirements if " --hash" in line)
    requirements = [line for line in requirements if " --hash" not in line]
    named = {requirement_name(line) for line in (*locked, *requirements)}
    plugins, settings = configured_plugins(folder), find_configuration(folder)
    used = (*plugins, *tools)
    requirements += [tool for tool in used if requirement_name(tool) and requirement_name(tool) not in named]
    if plugins and settings:
        sources = (*sources, settings.relative_to(folder).as_posix())
    needs = Needs(
        folder,
        sources=tuple(dict.fromkeys((*lines.files, *sources, *parts.sources))),
        parts=tuple(parts.folders),
        locked=locked,
        requirements=tuple(requirements),
        constraints=tuple(dict.fromkeys(lines.constraints)),
        requires_python=declared.requires_python,
        only_wheels=only_wheels,
    )
    said = (*needs.locked, *needs.requirements, *needs.constraints)
    check = check_plain if only_wheels else refuse_paths
    check(said, folder, needs.sources)
    return needs


def _declared_lines(
    folder: Path, declared: Declared, lines: RequirementLines, lock: Path | None
) -> tuple[list[str], tuple[str, ...]]:
    """Return the requirements beside the lock, and the files that name them."""
    wanted = [] if lock else list(lines.requirements)
    if lock and lock.name in _DEV_LOCKS:
        return wanted, ()
    chosen = _test_groups(declared)
    extras = [*chosen, *(extra for extra in lines.project_extras if extra not in chosen)]
    if not lock:
        wanted += _expand(declared.dependencies, declared)
    for extra in extras:
        wanted += _expand(declared.groups.get(extra.casefold().replace("_", "-"), ()), declared)
    wanted += _plugins(declared)
    sources = declared.sources
    names_tests = bool(chosen) or any("dev" in name or "test" in name for name in lines.files)
    if not names_tests and (tox := read_tox(folder)):
        named = RequirementLines(folder)
        for line in tox:
            is_there = line.startswith(("-r", "-c")) and (folder / line[2:].strip()).is_file()
            if is_there or not line.startswith("-"):
                named.take(line, folder / "tox.ini")
        wanted += named.requirements
        lines.constraints += named.constraints
        sources = (*sources, "tox.ini", *named.files)
    return wanted, sources


def _test_groups(declared: Declared) -> list[str]:
    for names in (_TEST_GROUPS, _DEV_GROUPS):
        if found := [name for name in names if declared.groups.get(name)]:
            return found
    return []


def _expand(lines: Iterable[str], declared: Declared) -> list[str]:
    """Replace `project[extra]` by what that extra of the project itself needs."""
    from packaging.requirements import InvalidRequirement, Requirement

    own, found, waiting, seen = requirement_name(declared.name), [], list(lines), set[str]()
    while waiting:
        line = waiting.pop(0)
        if not own or requirement_name(line) != own:
            found.append(line)
            continue
        try:
            extras = {extra.casefold().replace("_", "-") for extra in Requirement(line).extras} - seen
        except InvalidRequirement:
            continue
        seen |= extras
        waiting += [inner for extra in sorted(extras) for inner in declared.groups.get(extra, ())]
    return found


def _plugins(declared: Declared) -> list[str]:
    return [
        line
        for lines in declared.groups.values()
        for line in lines
        if (name := requirement_name(line)).startswith("pytest-") or name == "hypothesis"
    ]


def _find_lock(folder: Path) -> Path | None:
    names = list_names(folder)
    for name in _DEV_LOCKS:
        if name in names:
            return folder / name
    others = sorted(name for name in names if name.startswith("requirements") and name.endswith(".lock"))
    return folder / others[0] if others else None


def _find_lists(folder: Path) -> list[Path]:
    names = {name.replace("_", "-"): name for name in sorted(list_names(folder))}
    flipped = [f"{stem.removeprefix('requirements-')}.requirements.txt" for stem in _LISTS]
    flipped += [f"{stem.removeprefix('requirements-')}-requirements.txt" for stem in _LISTS]
    found = [folder / names[name] for name in (*(f"{stem}.txt" for stem in _LISTS), *flipped) if name in names]
    inner = list_names(folder / "requirements")
    found += [folder / "requirements" / f"{stem}.txt" for stem in _FOLDER_LISTS if f"{stem}.txt" in inner]
    return [path for path in found if path.is_file()]


def _content(folder: Path, names: Iterable[str]) -> str:
    """Digest the files that arguments or local paths name, and the project files of the folders among them."""
    state = hashlib.sha256()
    paths = [folder / name.partition("[")[0].removeprefix("file:") for name in names]
    for path in paths:
        inner = [path / name for name in _PROJECT_FILES] if path.is_dir() else [path]
        for file in inner:
            if file.is_file() and is_inside(file, folder):
                try:
                    state.update(file.name.encode() + b"\0" + read_regular(file, 64 * FILE_LIMIT) + b"\0")
                except BadInput:
                    state.update(str(file.stat().st_mtime_ns).encode())
    return state.hexdigest() if paths else ""
