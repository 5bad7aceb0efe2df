"""Choose the interpreter for an environment, and ask one what it is."""

from __future__ import annotations

import asyncio
import json
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agentos.environments.child import run_watched
from agentos.errors import BadInput, ItemError
from agentos.programs import find_program, with_search_path

ANSWER_LIMIT = 10_000
PATIENCE = 30.0
_QUESTION = """\
import importlib.util as u, json, platform as p, sys, sysconfig as s
print(json.dumps({"version": p.python_version(), "prefix": sys.prefix, "base_prefix": sys.base_prefix,
"tag": sys.implementation.cache_tag + "-" + s.get_platform(), "has_pytest": u.find_spec("pytest") is not None}))
"""
_MINORS = range(16, 7, -1)


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python that was found and what it says of itself."""

    path: Path
    version: str
    tag: str
    prefix: Path
    base_prefix: Path
    is_own: bool = False
    """Whether AgentOS itself runs on it."""
    has_pytest: bool = False

    @property
    def identity(self) -> str:
        """What an environment that was built with this interpreter depends on."""
        return f"{self.version} {self.tag} {self.base_prefix}"


def own_interpreter() -> Interpreter:
    """Return the interpreter that runs AgentOS."""
    version = ".".join(str(number) for number in sys.version_info[:3])
    tag = f"{sys.implementation.cache_tag}-{sysconfig.get_platform()}"
    return Interpreter(Path(sys.executable), version, tag, Path(sys.prefix), Path(sys.base_prefix), is_own=True)


async def choose_interpreter(requires_python: str, environ: Mapping[str, str]) -> Interpreter:
    """Return the own interpreter when the project takes it, else the newest suitable one on the path."""
    own = own_interpreter()
    if accepts(requires_python, own.version):
        return own
    for minor in _MINORS:
        path = find_program(f"python3.{minor}", environ)
        if path and (found := await _ask_quietly(path, environ)) and accepts(requires_python, found.version):
            return found
    raise BadInput(
        f"the project asks for Python {requires_python[:80]}, and none on the path is that (AgentOS runs on "
        f"{own.version}); install one"
    )


def accepts(requires_python: str, version: str) -> bool:
    """Tell whether a project takes a version; what cannot be read takes every one."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return SpecifierSet(requires_python).contains(version, prereleases=True)
    except InvalidSpecifier:
        return True


async def ask_interpreter(name: str, folder: Path, environ: Mapping[str, str]) -> Interpreter:
    """Return what a program says of itself when it is asked as Python; a relative path counts from `folder`."""
    path = _locate(name, folder, environ)
    found = await _ask_quietly(path, environ) if path else None
    if found is None:
        raise ItemError(f"{name[:200]}: does not answer as a Python interpreter; check the setting that names it")
    return found


async def _ask_quietly(path: str, environ: Mapping[str, str]) -> Interpreter | None:
    heard: list[bytes] = []
    plain = with_search_path({key: environ[key] for key in ("PATH", "HOME", "LANG") if key in environ})
    try:
        async with asyncio.timeout(PATIENCE):
            code = await run_watched([path, "-I", "-c", _QUESTION], plain, Path("/"), heard.append)
        said = json.loads(b"".join(heard)[:ANSWER_LIMIT]) if code == 0 else None
        return said and Interpreter(
            Path(path),
            str(said["version"]),
            str(said["tag"]),
            Path(said["prefix"]),
            Path(said["base_prefix"]),
            has_pytest=bool(said["has_pytest"]),
        )
    except (OSError, TimeoutError, ValueError, KeyError, TypeError):
        return None


def _locate(name: str, folder: Path, environ: Mapping[str, str]) -> str | None:
    if "/" in name:
        return str((folder / Path(name).expanduser()).absolute())
    return find_program(name, environ)
