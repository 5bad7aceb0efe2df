"""Run pip so that no code of the packages it installs can run.

Refusing source distributions is not enough. A package may depend on an address that pip
would build, and one wheel can make the environment's interpreter run code at its next
start: with a `.pth` file, a module that replaces one of pip's own, or a program that
replaces `bin/python`. So pip is copied out of the environment while that is still empty
and run by the interpreter that created the environment. It treats the environment as
its own, but imports nothing from it and cannot start another program. The environment's
own interpreter only runs in the sandbox.

To fetch the source of a package, pip is asked to build it: it checks and unpacks the
source and, before the backend would start, its folder is copied.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from agentos.errors import ItemError
from agentos.proving.environment.interpreters import Interpreter
from agentos.state.files import make_private_directory, remove_tree

_PROGRAM = """\
import os, shutil, sys
from importlib.machinery import PathFinder

place, prefix, site, saved = sys.argv[1:5]
del sys.argv[1:5]
trusted = [place, *sys.path]
programs = {
    "subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "pty.spawn"
}


def refuse_programs(event, arguments):
    if event in programs:
        if saved and event == "subprocess.Popen" and not os.path.exists(saved):
            if arguments[2] and {"setup.py", "pyproject.toml"} & set(os.listdir(arguments[2])):
                shutil.copytree(arguments[2], saved, symlinks=True)
        raise OSError("this would start another program, and only wheels may be installed")


class Trusted(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return PathFinder.find_spec(name, trusted if path is None else path, target)


sys.addaudithook(refuse_programs)
sys.meta_path[sys.meta_path.index(PathFinder)] = Trusted
sys.prefix = sys.exec_prefix = prefix
sys.executable = prefix + "/bin/python"
# What is installed is found by this path, though nothing is imported from it.
sys.path = [*trusted, site]

import runpy

runpy.run_module("pip", run_name="__main__", alter_sys=True)
"""


_OPTIONS = ("--no-input", "--disable-pip-version-check", "--progress-bar", "off")


@dataclass(frozen=True, slots=True)
class Pip:
    """How pip is started."""

    start: tuple[str, ...]
    folder: Path
    """The working directory, which is empty but for pip itself."""

    @property
    def source(self) -> Path:
        """Where `fetch` leaves the source of a package."""
        return self.folder / "source"

    def install(self, *arguments: str) -> list[str]:
        """Return the command that installs wheels."""
        only = ("--only-binary", ":all:")
        return [*self.start, "", "install", *_OPTIONS, *only, *arguments]

    def fetch(self, arguments: Sequence[str]) -> list[str]:
        """Return the command that leaves the source of a package in `source`; it never
        succeeds.
        """
        source = ("--no-deps", "--no-binary", ":all:", "--no-build-isolation")
        target = ("--dest", str(self.folder), *arguments)
        return [*self.start, str(self.source), "download", *_OPTIONS, *source, *target]


@asynccontextmanager
async def pip_for(folder: Path, interpreter: Interpreter) -> AsyncIterator[Pip]:
    """Provide the pip that installs into the new virtual environment in `folder`."""
    apart = folder.with_name(f".{folder.name}.pip")
    try:
        site = await asyncio.to_thread(_copy_pip, folder, apart)
        arguments = (str(apart / "lib"), str(folder), str(site))
        yield Pip(
            (str(interpreter.path), "-I", "-S", "-c", _PROGRAM, *arguments), apart
        )
    finally:
        remove_tree(apart)


def _copy_pip(folder: Path, apart: Path) -> Path:
    """Copy the environment's pip and return the folder in which it is installed."""
    found = sorted(folder.glob("lib/python*/site-packages/pip"))
    if not found:
        raise ItemError(
            f"environment: {folder} has no pip; check that Python's ensurepip module is"
            " installed"
        )
    remove_tree(apart)
    make_private_directory(apart / "lib")
    shutil.copytree(found[0], apart / "lib" / "pip")
    return found[0].parent
