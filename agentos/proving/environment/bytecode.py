"""Link the compiled modules of an environment into one folder, the only one from which
tests load bytecode.

Bytecode that a run leaves next to its sources could replace them in the next run, so
Python is told to read bytecode from a folder that no run can write to. It contains
links to what the installer and the interpreter have compiled: without them every run
would compile pytest and the standard library again, which takes twice as long as the
run itself.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

BYTECODE = "bytecode"
_UNUSED = frozenset(
    {
        "site-packages",
        "dist-packages",
        "test",
        "tests",
        "idlelib",
        "lib2to3",
        "turtledemo",
    }
)
"""Folders below the standard library that are not part of it or are rarely imported."""


def link_bytecode(folder: Path, base_prefix: Path, version: str) -> None:
    """Link the bytecode of the virtual environment in `folder` and of its standard
    library.
    """
    minor = ".".join(version.split(".")[:2])
    library = Path("lib") / f"python{minor}"
    target = folder / BYTECODE
    target.mkdir(exist_ok=True)
    _link_tree(base_prefix / library, target, without=_UNUSED)
    _link_tree(folder / library / "site-packages", target)


def _link_tree(source: Path, target: Path, without: Collection[str] = ()) -> None:
    for name, folders, files in os.walk(source):
        folders[:] = [inner for inner in folders if inner not in without]
        cache = Path(name)
        if cache.name != "__pycache__":
            continue
        # Python looks below the absolute path of the source's folder, and not in a
        # folder named __pycache__.
        mirrored = target / cache.parent.relative_to("/")
        mirrored.mkdir(parents=True, exist_ok=True)
        for file in files:
            # Tests never load optimized bytecode, which has no assertions.
            if ".opt-" not in file:
                (mirrored / file).symlink_to(cache / file)
