"""Build a project where its source tree is not enough, in the sandbox and without
network.

The build's requirements are installed before, as wheels, in an environment of their
own. The backend works on a copy of the files and leaves a wheel, which is read with
suspicion: its author may be a model. Nothing of the project runs outside of the
sandbox. A build that fails is reported in one line, and the tests run with what the
source tree has.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ParamSpec, TypeVar

from agentos.entry_points import describe_error
from agentos.errors import BadInput, ItemError
from agentos.proving.environment.declared import Declared, Lines, read_declared
from agentos.proving.environment.metadata import find_version
from agentos.proving.environment.needs import Needs
from agentos.proving.environment.opening import Environment, open_environment
from agentos.proving.environment.reasons import BuildSystem, read_build_system
from agentos.proving.environment.safe_requirements import check_plain
from agentos.proving.environment.tree import copy_tree, digest_tree, list_tree
from agentos.proving.environment.wheel_metadata import read_commands, read_requirements
from agentos.proving.environment.wheels import MOST_BYTES, Layout, lay_out, read_wheel
from agentos.proving.sandbox import (
    FinishedCommand,
    Mounts,
    Sandbox,
    SandboxLimits,
    read_result,
)
from agentos.proving.sandbox.environment import PATH
from agentos.state.files import (
    is_inside,
    make_private_directory,
    read_regular,
    remove_tree,
    write_atomically,
    write_new,
)
from agentos.state.lock_queue import wait_for_lock
from agentos.state.terminal_text import clean
from agentos.state.variables import environment

_P = ParamSpec("_P")
_T = TypeVar("_T")
FORMAT = 2
INSIDE = Path(__file__).parent / "inside"
MARKER = "built.json"
SITE = "site"
MISSING = "missing"
SCRIPTS = "scripts"
REASON_SHOWN = 200
_FILE_LIMIT = 1_000_000
_PLUGINS = "pytest11"
_MOST_ROUNDS = 3
"""How often a backend may ask for more requirements."""
_ERROR = re.compile(r"(?:^|[\s:])(?:fatal )?error: ", re.IGNORECASE)
_FOLLOWS = re.compile(r"error: (?:command|subprocess)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Built:
    """What a build has made that the source tree lacks; only read, and shared by all
    items with the same files.
    """

    project: Path
    folder: Path
    places: tuple[str, ...] = ()
    """Further folders of the project from which it is imported."""
    commands: dict[str, str] = field(default_factory=dict)
    dependencies: Lines = ()
    groups: dict[str, Lines] = field(default_factory=dict)

    @property
    def import_path(self) -> tuple[Path, ...]:
        """The folders from which the project is imported, beside its source tree."""
        named = [self.project.resolve() / place for place in self.places]
        return (*named, self.folder / SITE)

    @property
    def declared(self) -> Declared:
        """What the built metadata declares about dependencies."""
        return Declared(dependencies=self.dependencies, groups=self.groups)


class Builder:
    """Opens environments and builds projects for them."""

    def __init__(
        self,
        sandbox: Sandbox,
        environments: Path,
        say: Callable[[str], None],
        limits: SandboxLimits | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._sandbox = sandbox
        self._root = environments
        self._say = say
        self._limits = limits or SandboxLimits()
        self._environ = environ or environment()
        self._said: set[str] = set()
        """Builds that failed, which are not repeated, and lines that were reported, which
        are not reported twice.
        """
        self._refused: dict[Needs, str] = {}
        """What cannot be installed for builds, and why: pip is asked once."""

    @property
    def _is_isolated(self) -> bool:
        return self._sandbox.name != "plain"

    async def open_environment(self, needs: Needs) -> Environment:
        """Return the environment for some needs; a package without a wheel is built in
        the sandbox.
        """
        build = None
        if self._is_isolated and not needs.only_wheels:
            build = self.build_source
        return await open_environment(
            needs, self._root, log=self._say, environ=self._environ, build=build
        )

    async def build(self, project: Path, tag: str = "") -> Built | None:
        """Return what a build of the project adds to its source tree; None if nothing
        has to be built or it cannot be.

        `tag` is the version to pretend if the project's files assign none.
        """
        try:
            system = await _read(read_build_system, project)
        except BadInput:
            # Whoever reads the needs of the project refuses it with the reason.
            return None
        except ItemError as error:
            self._give_up(f"its files cannot be read ({error})")
            return None
        if system is None or not system.reason:
            return None
        if not self._is_isolated:
            self._give_up(
                f"{system.name} is not run without a sandbox ({system.reason})"
            )
            return None
        digest = ""
        try:
            work = await _read(_read_work, project, system, tag)
            digest = work.digest
            if digest in self._said:
                return None
            return await self._find_or_build(work)
        except (ItemError, OSError) as error:
            self._said.add(digest)
            reason = " ".join(str(error).split())
            self._give_up(f"{system.name} failed: {reason}")
            return None

    async def build_source(self, source: Path, wheels: Path) -> Path:
        """Build the source of a package into a wheel in the folder `wheels`."""
        system = await _read(read_build_system, source)
        if system is None:
            raise ItemError(f"{source.name}: has neither pyproject.toml nor setup.py")
        try:
            work = await _read(_read_work, source, system, "")
            name, data = await self._run(work, wheels / "work")
        except ItemError as failure:
            raise ItemError(f"{system.name} failed: {failure}") from None
        write_new(wheels / name, data, is_durable=False)
        return wheels / name

    def _give_up(self, why: str) -> None:
        line = f"build: {why}; the project is imported from its source tree"
        if line not in self._said:
            self._said.add(line)
            self._say(line)

    async def _find_or_build(self, work: _Work) -> Built:
        target = self._root / f"built-{work.digest}"
        found = _find(work.project, target)
        if found:
            return found
        make_private_directory(self._root)

        def say_waiting() -> None:
            self._say("build: waiting for another item that builds the same")

        async with wait_for_lock(
            target.with_name(f".{target.name}.lock"), say_waiting
        ) as _:
            found = _find(work.project, target)
            if found:
                return found
            self._say(f"build: {work.system.name} ({work.system.reason})")
            aside = target.with_name(f".{target.name}.work")
            _, data = await self._run(work, aside)
            return await _read(_unpack, work, data, target)

    async def _run(self, work: _Work, aside: Path) -> tuple[str, bytes]:
        """Return the name and the contents of the wheel that the backend makes."""
        requires = list(work.system.requires)
        for _ in range(_MOST_ROUNDS):
            opened = await self._open_tools(work, requires)
            with ExitStack() as afterwards:
                remove_tree(aside)
                afterwards.callback(remove_tree, aside)
                results = aside / "results"
                make_private_directory(results)
                missing = await self._call(work, opened, requires, aside)
                if not missing:
                    return _read_wheel_file(results)
            requires += missing
        raise ItemError("it asks for more requirements again and again")

    async def _open_tools(self, work: _Work, requires: list[str]) -> Environment:
        """Return the environment with the build's requirements: only wheels, so that
        installing runs no code.
        """
        project = work.project
        check_plain(requires, project, ("pyproject.toml",))
        needs = Needs(
            project,
            sources=("pyproject.toml",),
            requirements=tuple(dict.fromkeys(requires)),
            requires_python=work.declared.requires_python,
            only_wheels=True,
            newest=bool(requires),
        )
        if needs in self._refused:
            raise ItemError(self._refused[needs])
        try:
            return await self.open_environment(needs)
        except ItemError as error:
            # Without an index, what is installed beside AgentOS may be enough.
            try:
                return await self.open_environment(replace(needs, newest=False))
            except ItemError:
                self._refused[needs] = str(error)
                raise error from None

    async def _call(
        self, work: _Work, opened: Environment, requires: list[str], aside: Path
    ) -> list[str]:
        """Run the backend on a copy of the project; return the requirements that it
        lacks.
        """
        # Some tools take the version from the name of the folder.
        copy = aside / f"{work.name}-{work.version}"
        copy.mkdir()
        await asyncio.to_thread(copy_tree, work.project, work.tree, copy)
        results = aside / "results"
        request = {
            "backend": work.system.backend,
            "path": [str(copy / folder) for folder in work.system.path],
            "installed": requires,
        }
        write_new(
            results / "request.json", json.dumps(request).encode(), is_durable=False
        )
        mounts = Mounts(
            folder=copy,
            readable=(*opened.readable, INSIDE),
            results=results,
            limits=self._limits,
            environ={
                **_pretended(work.version),
                "PATH": f"{opened.python.parent}:{PATH}",
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONNOUSERSITE": "1",
            },
        )
        program = INSIDE / "agentos_build.py"
        command = (str(opened.python), str(program), str(results))
        finished = await self._sandbox.run(command, mounts)
        if finished.is_stopped or finished.code:
            raise ItemError(_explain(finished))
        missing = _read_answer(results).get("missing")
        if not isinstance(missing, list):
            return []
        return [str(line) for line in missing]


@dataclass(frozen=True, slots=True)
class _Work:
    """One project to build, and what identifies the result."""

    project: Path
    system: BuildSystem
    version: str
    declared: Declared
    tree: list[str]
    digest: str

    @property
    def name(self) -> str:
        """The name of the project, fit for a folder."""
        return re.sub(r"[^A-Za-z0-9._]", "_", self.declared.name)[:100] or "project"


def _read_work(project: Path, system: BuildSystem, tag: str) -> _Work:
    """Read the files that determine the result."""
    for path in system.path:
        if not is_inside(project / path, project):
            raise BadInput(f"backend-path {path[:100]!r} leads outside")
    declared = read_declared(project)
    version = find_version(project, declared, tag)
    tree = list_tree(project)
    files = digest_tree(project, tree)
    identity = repr((FORMAT, system, version, declared, files))
    digest = hashlib.sha256(identity.encode()).hexdigest()[:24]
    return _Work(project, system, version, declared, tree, digest)


async def _read(function: Callable[_P, _T], *args: _P.args, **options: _P.kwargs) -> _T:
    """Read in a thread what a project or its build has written: whatever that causes is
    a failed build, and no bug of ours.
    """
    try:
        return await asyncio.to_thread(function, *args, **options)
    except (ItemError, OSError):
        raise
    except Exception as error:
        raise ItemError(describe_error(error)) from error


def _pretended(version: str) -> dict[str, str]:
    """Return the variables that give a version to the tools that take it from tags."""
    return {
        "SETUPTOOLS_SCM_PRETEND_VERSION": version,
        "HATCH_VCS_PRETEND_VERSION": version,
        "VCS_VERSIONING_PRETEND_VERSION": version,
        "PBR_VERSION": version,
        "PDM_BUILD_SCM_VERSION": version,
        "POETRY_DYNAMIC_VERSIONING_BYPASS": version,
        "UV_DYNAMIC_VERSIONING_BYPASS": version,
    }


def _explain(finished: FinishedCommand) -> str:
    """Return the line that says why a build failed."""
    if finished.is_stopped:
        return finished.explain()
    output = clean(finished.output.encode("utf-8", "replace"))
    lines = [line.strip() for line in output.decode("utf-8", "replace").splitlines()]
    lines = list(filter(None, lines))
    for line in lines:
        if _ERROR.search(line) and not _FOLLOWS.match(line):
            return line[:REASON_SHOWN]
    if lines:
        return lines[-1][:REASON_SHOWN]
    return finished.explain()


def _read_answer(results: Path) -> dict[str, object]:
    data = read_result(results / "answer.json", _FILE_LIMIT)
    try:
        answer = json.loads(data or b"")
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise ItemError("it ended without an answer")
    return answer


def _read_wheel_file(results: Path) -> tuple[str, bytes]:
    name = _read_answer(results).get("wheel")
    if not isinstance(name, str) or not re.fullmatch(r"[\w.+!-]{1,200}\.whl", name):
        raise ItemError("it named no wheel")
    data = read_result(results / name, MOST_BYTES)
    if data is None:
        raise ItemError(f"{name} is missing or too large")
    return name, data


def _unpack(work: _Work, data: bytes, target: Path) -> Built:
    """Write what the wheel has and the project lacks; the marker comes last."""
    files = read_wheel(data)
    _check_plugins(files, work.declared)
    layout = lay_out(files, work.tree)
    remove_tree(target)
    _write(layout, target)
    dependencies, groups = read_requirements(files)
    marker = {
        "places": layout.places,
        "commands": read_commands(files),
        "dependencies": dependencies,
        "groups": groups,
    }
    write_atomically(target / MARKER, json.dumps(marker, indent=1).encode())
    found = _find(work.project, target)
    if found is None:
        raise ItemError(f"{target} cannot be read")
    return found


def _check_plugins(files: Mapping[str, bytes], declared: Declared) -> None:
    """Refuse a plugin of pytest that no project file names: it would judge the tests."""
    if _PLUGINS in declared.entry_points:
        return
    for name, data in files.items():
        if name.endswith("/entry_points.txt") and _PLUGINS.encode() in data:
            raise BadInput(f"its wheel has entry points {_PLUGINS} that it computes")


def _write(layout: Layout, target: Path) -> None:
    parts = {SITE: layout.site, MISSING: layout.missing, SCRIPTS: layout.scripts}
    for name, files in parts.items():
        make_private_directory(target / name)
        for path, data in files.items():
            file = target / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)


def _find(project: Path, target: Path) -> Built | None:
    try:
        marker = json.loads(read_regular(target / MARKER, 64 * _FILE_LIMIT))
        groups = {name: tuple(lines) for name, lines in marker["groups"].items()}
        return Built(
            project,
            target,
            tuple(marker["places"]),
            dict(marker["commands"]),
            tuple(marker["dependencies"]),
            groups,
        )
    except (BadInput, ValueError, KeyError, TypeError, AttributeError):
        return None
