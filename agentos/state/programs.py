"""Find programs, using only absolute entries of the search path.

A `.` or an empty entry would let a file in the repository stand in for the real
program.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import PurePath


def find_program(name: str, environ: Mapping[str, str]) -> str | None:
    """Return the absolute path of a program, or None; a name with a slash is a path."""
    if "/" in name:
        return shutil.which(os.path.abspath(name))  # noqa: PTH100
    return shutil.which(name, path=search_path(environ))


def search_path(environ: Mapping[str, str]) -> str:
    """Return the search path of an environment without its relative entries."""
    entries = (environ.get("PATH") or os.defpath).split(os.pathsep)
    absolute = [entry for entry in entries if PurePath(entry).is_absolute()]
    return os.pathsep.join(absolute) or os.defpath


def with_search_path(environ: Mapping[str, str]) -> dict[str, str]:
    """Return a child's environment with the search path that AgentOS itself uses."""
    return {**environ, "PATH": search_path(environ)}
