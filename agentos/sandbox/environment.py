"""What a command needs around it: a few variables, and the folders in which its Python lies."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from agentos.errors import BadInput

PATH = "/usr/local/bin:/usr/bin:/bin"
_LINKS = 40


def build_environ(extra: Mapping[str, str], home: str, temporary: str) -> dict[str, str]:
    """Return the variables of a command, made from nothing: whatever this process has, it does not get."""
    environ = {
        "PATH": PATH,
        "HOME": home,
        "TMPDIR": temporary,
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        **extra,
    }
    for name, value in environ.items():
        if "\0" in name + value or "=" in name or not name:
            raise BadInput(f"{name!r}: cannot be the name of a variable, or its value has a NUL byte")
    return environ


def environment_folders(environment: Path) -> tuple[Path, ...]:
    """Return the folders that must be readable for a virtual environment to work: itself and, where its links lead,
    each Python behind it."""
    found = [environment.absolute()]
    python = environment.absolute() / "bin" / "python"
    for _ in range(_LINKS):
        try:
            target = Path(os.path.normpath(python.parent / python.readlink()))
        except OSError:
            break
        found += _folders_of(target)
        python = target
    try:
        found += _folders_of(python.resolve())
    except (OSError, RuntimeError):
        pass
    return tuple(dict.fromkeys(folder for folder in found if folder.is_dir()))


def _folders_of(python: Path) -> list[Path]:
    prefix = python.parent.parent
    if len(list(prefix.glob("lib/python3*"))) and not _is_shared(prefix):
        return [prefix]
    # A prefix that holds more than a Python, such as a home with `~/bin/python`, is not shown as a whole.
    return [python.parent, *sorted(prefix.glob("lib/python3*"))]


def _is_shared(prefix: Path) -> bool:
    return len(prefix.parts) < 3 or (prefix / ".ssh").exists() or prefix.resolve() == Path.home().resolve()
