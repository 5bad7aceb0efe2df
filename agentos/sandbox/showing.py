"""Decide which folders a sandbox shows, so that a Python can run in it and the user's home stays hidden.

A Python may be installed anywhere, also in the home itself. What it shares with other things is never shown as a
whole: of such a place only the standard library, the program and the shared libraries beside it are shown.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from agentos.errors import BadInput
from agentos.files import list_names
from agentos.home import home_path

_LINKS = 40
_PARTS_OF_PYTHON = frozenset({"bin", "include", "lib", "lib64", "share", "pyvenv.cfg", ".gitignore", ".lock", "BUILD"})
_SHARED_BY_PYTHON = frozenset({"doc", "info", "man", "terminfo"})
_OWN_MARKS = frozenset({"conda-meta", "pyvenv.cfg"})
"""What only the folder of an installation, or of a virtual environment, has at its top."""


def private_places(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the folders that no sandbox may show: the user's home, and that of AgentOS with the keys."""
    found = [home_path(environ)]
    if named := environ.get("HOME"):
        found.append(Path(named))
    with suppress(KeyError):
        found.append(Path(pwd.getpwuid(os.getuid()).pw_dir))
    # An empty or relative home is none, and in `/` there is nothing that the system's folders are not.
    places = (_resolve(place) for place in found if place.is_absolute())
    return tuple(place for place in dict.fromkeys(places) if place != Path("/"))


def check_hidden(shown: Iterable[Path], private: Iterable[Path]) -> None:
    """Refuse to show a folder in which a private one lies."""
    for folder in shown:
        for place in private:
            if place.is_relative_to(_resolve(folder)):
                raise BadInput(
                    f"{folder}: generated code would see {place} in it; "
                    "move your Python, or with AGENTOS_HOME the state of AgentOS, to a folder of its own"
                )


def environment_folders(environment: Path, base_prefix: Path, private: Iterable[Path]) -> tuple[Path, ...]:
    """Return what must be readable for the Python of an environment to run: its folder and each Python behind it."""
    private = tuple(private)
    environment = environment.absolute()
    found = [environment] if _is_own(_resolve(environment), private) else _parts_of(environment, private)
    for program in _programs(environment / "bin" / "python"):
        found += _parts_of(program.parent.parent, private)
        if not any(program.is_relative_to(folder) for folder in found):
            found.append(program)
    found += _parts_of(base_prefix.absolute(), private)
    shown = tuple(path for path in dict.fromkeys(found) if path.exists())
    check_hidden(shown, private)
    return shown


def _programs(python: Path) -> Iterator[Path]:
    """Yield a program and, where it is a link, each that it leads to."""
    for _ in range(_LINKS):
        yield python
        try:
            python = Path(os.path.normpath(python.parent / python.readlink()))
        except OSError:
            break
    # A folder on the way may be a link as well.
    yield _resolve(python)


def _parts_of(prefix: Path, private: tuple[Path, ...]) -> list[Path]:
    """Return a prefix when it is Python's own, else what Python needs of it."""
    libraries = sorted(prefix.glob("lib*/python3*"))
    if not libraries:
        return []
    if _is_own(_resolve(prefix), private):
        return [prefix]
    shared = [path for path in sorted(prefix.glob("lib*/lib*.so*")) if path.is_file()]
    return [prefix / "pyvenv.cfg", *libraries, *shared]


def _is_own(prefix: Path, private: tuple[Path, ...]) -> bool:
    """Tell whether a prefix holds an installation of Python and nothing else."""
    if any(place.is_relative_to(prefix) for place in private):
        return False
    if not any(prefix.is_relative_to(place) for place in private):
        return True
    if any(prefix == place / ".local" for place in private):
        return False
    names = list_names(prefix)
    return bool(names & _OWN_MARKS) or names | (list_names(prefix / "share") - _SHARED_BY_PYTHON) <= _PARTS_OF_PYTHON


def _resolve(path: Path) -> Path:
    """Follow the links of a path; one whose links go round is itself."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path.absolute()
