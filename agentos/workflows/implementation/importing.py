"""Find the names by which the code of a design can be imported (pure)."""

from __future__ import annotations

import re
from collections.abc import Collection

from agentos.proving.inspection.parsing import top_name
from agentos.workflows.implementation.blueprint import Blueprint
from agentos.workflows.implementation.rendering import Reader

_ENTRY_POINT = re.compile(
    r"""(?<![\w.-])([\w.-]{1,100})["']? {0,9}= {0,9}["']?[A-Za-z_][\w.]{0,200}:[A-Za-z_]"""
)


def planned_modules(blueprint: Blueprint, reader: Reader) -> tuple[str, ...]:
    """Return the names of all declared modules, also as seen from a folder that may be
    an import root.
    """
    names: list[str] = []
    for path in blueprint.python_sources:
        names += _names(path, blueprint.declared, reader)
    return tuple(dict.fromkeys(names))


def top_level_names(blueprint: Blueprint, reader: Reader) -> tuple[str, ...]:
    """Return the top-level packages that a test imports to reach the code."""
    modules = planned_modules(blueprint, reader)
    names = map(top_name, modules)
    return tuple(dict.fromkeys(names))


def command_names(reader: Reader) -> frozenset[str]:
    """Return the names of the commands that the project declares."""
    found: set[str] = set()
    for path in ("pyproject.toml", "setup.cfg", "setup.py"):
        text = reader.read(path)
        if text is None:
            continue
        names = _ENTRY_POINT.findall(text)
        found.update(names)
    return frozenset(found)


def _names(path: str, declared: Collection[str], reader: Reader) -> list[str]:
    """Return the dotted names of a file: from the root of the repository, then from
    each parent folder up to the first package.
    """
    module = path.removesuffix(".py")
    module = module.removesuffix("/__init__")
    parts = module.split("/")
    names = []
    package = ""
    for start, part in enumerate(parts):
        inner = parts[start:]
        name = ".".join(inner)
        names.append(name)
        package += f"{part}/"
        marker = f"{package}__init__.py"
        if marker in declared:
            break
        if reader.read(marker) is not None:
            break
    return names
