"""Find programs on absolute entries of the search path only.

With `.` or an empty entry in it, a program that lies in the repository at hand would be run in the place of the real
one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import PurePath


def find_program(name: str, environ: Mapping[str, str]) -> str | None:
    """Return the absolute path of a program, None when there is none; a name with a slash in it is a path."""
    if "/" in name:
        return shutil.which(os.path.abspath(name))  # noqa: PTH100
    return shutil.which(name, path=search_path(environ))


def search_path(environ: Mapping[str, str]) -> str:
    """Return the search path of an environment, without what counts from the working directory."""
    entries = (environ.get("PATH") or os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if PurePath(entry).is_absolute()) or os.defpath


def with_search_path(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment for a child, in which programs are found as they are here."""
    return {**environ, "PATH": search_path(environ)}
