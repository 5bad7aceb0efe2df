"""Choose the interpreter for an environment, and query its version."""

from __future__ import annotations

import asyncio
import json
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agentos.errors import BadInput
from agentos.proving.environment.child import run_command
from agentos.state.programs import find_program
from agentos.state.variables import PYTHON, inherit

ANSWER_LIMIT = 10_000
PATIENCE = 30.0
_QUESTION = """\
import json, platform as p, sys, sysconfig as s
print(json.dumps({"version": p.python_version(), "base_prefix": sys.base_prefix,
"tag": sys.implementation.cache_tag + "-" + s.get_platform()}))
"""
_MINORS = range(16, 7, -1)


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python interpreter and what it reports about itself."""

    path: Path
    version: str
    tag: str
    base_prefix: Path
    is_own: bool = False
    """Whether AgentOS itself runs on it."""

    @property
    def identity(self) -> str:
        """The part of the digest of an environment that depends on the interpreter."""
        return f"{self.version} {self.tag} {self.base_prefix}"


def own_interpreter() -> Interpreter:
    """Return the interpreter that runs AgentOS."""
    version = ".".join(str(number) for number in sys.version_info[:3])
    tag = f"{sys.implementation.cache_tag}-{sysconfig.get_platform()}"
    return Interpreter(
        Path(sys.executable),
        version,
        tag,
        Path(sys.base_prefix),
        is_own=True,
    )


async def choose_interpreter(
    requires_python: str, environ: Mapping[str, str]
) -> Interpreter:
    """Return AgentOS's own interpreter if the project accepts it, else the newest
    suitable one on the path.
    """
    own = own_interpreter()
    if accepts(requires_python, own.version):
        return own
    for minor in _MINORS:
        path = find_program(f"python3.{minor}", environ)
        if not path:
            continue
        found = await _ask_quietly(path, environ)
        if found and accepts(requires_python, found.version):
            return found
    raise BadInput(
        f"the project asks for Python {requires_python[:80]}, and none on the path is"
        f" that (AgentOS runs on {own.version}); install one"
    )


def accepts(requires_python: str, version: str) -> bool:
    """Return whether a project accepts a version; an invalid specifier accepts all."""
    from packaging.specifiers import SpecifierSet

    try:
        return SpecifierSet(requires_python).contains(version, prereleases=True)
    except ValueError:
        return True


async def _ask_quietly(path: str, environ: Mapping[str, str]) -> Interpreter | None:
    output: list[bytes] = []
    command = [path, "-I", "-c", _QUESTION]
    variables = inherit(PYTHON, environ)
    try:
        async with asyncio.timeout(PATIENCE):
            code = await run_command(command, variables, Path("/"), output.append)
        if code != 0:
            return None
        answer = json.loads(b"".join(output)[:ANSWER_LIMIT])
        return Interpreter(
            Path(path),
            str(answer["version"]),
            str(answer["tag"]),
            Path(answer["base_prefix"]),
        )
    except (OSError, TimeoutError, ValueError, KeyError, TypeError):
        return None
