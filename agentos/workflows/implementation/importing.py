"""By which names the code under design can be imported. Pure."""

from __future__ import annotations

from collections.abc import Collection

from agentos.workflows.implementation.blueprint import Blueprint
from agentos.workflows.implementation.showing import Reader


def planned_modules(blueprint: Blueprint, reader: Reader) -> tuple[str, ...]:
    """Return the names of all declared modules, with those below a folder that is no package but may be a root."""
    names = [name for path in blueprint.python_sources for name in _names(path, blueprint.declared, reader)]
    return tuple(dict.fromkeys(names))


def top_level_names(blueprint: Blueprint, reader: Reader) -> tuple[str, ...]:
    """Return what a test would import to come to the code."""
    return tuple(dict.fromkeys(name.partition(".")[0] for name in planned_modules(blueprint, reader)))


def _names(path: str, declared: Collection[str], reader: Reader) -> list[str]:
    """Return the dotted names of a file: counted from the repository, then from each folder that is no package."""
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    names = []
    for start in range(len(parts)):
        names.append(".".join(parts[start:]))
        initialiser = "/".join((*parts[: start + 1], "__init__.py"))
        if initialiser in declared or reader.read(initialiser) is not None:
            break
    return names
