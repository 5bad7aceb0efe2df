"""Show the compiled modules of an environment in a folder apart, the only one in which tests look for any.

What a run leaves beside its sources could pass for them in the next run, so Python is told to read bytecode from one
folder that no run can write to. It holds links to what the installer and the interpreter have compiled: without them
every run would compile pytest and the standard library anew, which takes twice as long as the run itself.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

BYTECODE = "bytecode"
_UNUSED = frozenset({"site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3", "turtledemo"})
"""Folders of the standard library that are no part of it, or that hardly anybody imports."""


def link_bytecode(folder: Path, base_prefix: Path, version: str) -> None:
    """Link what is compiled in the virtual environment in `folder` and in the standard library behind it."""
    library = Path("lib") / f"python{'.'.join(version.split('.')[:2])}"
    target = folder / BYTECODE
    target.mkdir(exist_ok=True)
    _link_tree(base_prefix / library, target, without=_UNUSED)
    _link_tree(folder / library / "site-packages", target)


def _link_tree(place: Path, target: Path, without: Collection[str] = ()) -> None:
    for name, folders, files in os.walk(place):
        folders[:] = [inner for inner in folders if inner not in without]
        cache = Path(name)
        if cache.name != "__pycache__":
            continue
        # Python looks under the whole path of the source's folder, without the name of the cache.
        mirrored = target / cache.parent.relative_to("/")
        mirrored.mkdir(parents=True, exist_ok=True)
        # Bytecode without assertions is none that a test would use.
        for file in (file for file in files if ".opt-" not in file):
            (mirrored / file).symlink_to(cache / file)
