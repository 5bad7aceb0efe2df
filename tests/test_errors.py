"""The error tree in `agentos/errors.py` is drawn whole."""

from __future__ import annotations

import importlib
import pkgutil
import re

import agentos
from agentos import errors

BRANCH = re.compile(r"([│ ]*)[├└]── (\w+)")


def drawn_parents() -> dict[str, str]:
    """Return each error of the drawing with the one above it."""
    parents: dict[str, str] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        match = BRANCH.match(line)
        if match is None:
            path = [line.strip()]
            continue
        depth = len(match[1]) // 4 + 1
        del path[depth:]
        parents[match[2]] = path[-1]
        path.append(match[2])
    return parents


def defined_parents() -> dict[str, str]:
    """Return each public exception of the package with its first base."""
    parents: dict[str, str] = {}
    for module in pkgutil.walk_packages(agentos.__path__, "agentos."):
        if ".inside." in module.name:
            # These run inside the tests of another project.
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if not isinstance(value, type) or not issubclass(value, Exception):
                continue
            is_ours = value.__module__.startswith("agentos.")
            if is_ours and not value.__name__.startswith("_"):
                parents[value.__name__] = value.__bases__[0].__name__
    del parents["AgentOSError"]
    return parents


def test_the_drawing_shows_every_error_below_its_parent() -> None:
    assert drawn_parents() == defined_parents()
