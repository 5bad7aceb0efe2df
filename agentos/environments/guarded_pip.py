"""Run pip so that nothing of what it installs can run, whatever a package brings along.

Refusing source distributions is not enough. A package may depend on an address that pip would build, and one wheel can
make the next start of its environment's interpreter run code: by a `.pth` file, by a module in the place of one of
pip's own, by a program in the place of `bin/python`. So pip is copied out of the environment while that is still
empty and run by the interpreter that the environment was made with. It takes the environment for its own, but imports
nothing from it and cannot start another program. The environment's interpreter is left to the sandbox.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from agentos.environments.interpreters import Interpreter
from agentos.environments.needs import Needs
from agentos.errors import ItemError
from agentos.files import make_private_directory, remove_tree

_PROGRAM = """\
import sys
from importlib.machinery import PathFinder

place, prefix, site = sys.argv[1:4]
del sys.argv[1:4]
trusted = [place, *sys.path]
programs = {
    "subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "pty.spawn"
}


def refuse_programs(event, _arguments):
    if event in programs:
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


@dataclass(frozen=True, slots=True)
class Pip:
    """How pip is started."""

    command: tuple[str, ...]
    folder: Path
    """Where: relative paths in requirements count from here."""


@asynccontextmanager
async def pip_for(needs: Needs, folder: Path, interpreter: Interpreter) -> AsyncIterator[Pip]:
    """Give the pip that may install these needs into the new virtual environment in `folder`."""
    if not needs.only_wheels:
        # What is fetched must find no path of the repository where pip is started.
        yield Pip((str(folder / "bin" / "python"), "-m", "pip"), needs.folder if needs.install else folder)
        return
    apart = folder.with_name(f".{folder.name}.pip")
    try:
        site = await asyncio.to_thread(_copy_pip, folder, apart)
        arguments = (str(apart / "lib"), str(folder), str(site))
        yield Pip((str(interpreter.path), "-I", "-S", "-c", _PROGRAM, *arguments), apart)
    finally:
        remove_tree(apart)


def _copy_pip(folder: Path, apart: Path) -> Path:
    """Copy the environment's pip and return the folder in which it is installed."""
    found = sorted(folder.glob("lib/python*/site-packages/pip"))
    if not found:
        raise ItemError(f"environment: {folder} has no pip; check that Python's ensurepip module is installed")
    remove_tree(apart)
    make_private_directory(apart / "lib")
    shutil.copytree(found[0], apart / "lib" / "pip")
    return found[0].parent
