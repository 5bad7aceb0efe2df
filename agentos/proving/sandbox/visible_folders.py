"""Decide which folders a sandbox shows, so that Python can run in it and the user's
home stays hidden.

Python may be installed anywhere, even in the home itself. A prefix that it shares with
other programs is never shown as a whole: only the standard library, the interpreter and
its shared libraries are.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from agentos.errors import BadInput
from agentos.state.files import list_names
from agentos.state.home import home_path

_LINKS = 40
_PARTS_OF_PYTHON = frozenset(
    {
        "bin",
        "include",
        "lib",
        "lib64",
        "share",
        "pyvenv.cfg",
        ".gitignore",
        ".lock",
        "BUILD",
    }
)
_SHARED_BY_PYTHON = frozenset({"doc", "info", "man", "terminfo"})
_OWN_MARKS = frozenset({"conda-meta", "pyvenv.cfg"})
"""Names that only an installation of Python or a virtual environment has at its top."""


def private_places(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the folders that no sandbox may show: the user's home, and the state
    folder of AgentOS with the keys.
    """
    homes = [home_path(environ), Path(environ.get("HOME", ""))]
    with suppress(KeyError):
        homes.append(Path(pwd.getpwuid(os.getuid()).pw_dir))
    resolved = [_resolve(home) for home in homes if home.is_absolute()]
    # A home of `/` contains nothing but the system's folders, which are not private.
    return tuple(home for home in dict.fromkeys(resolved) if home != Path("/"))


def check_hidden(shown: Iterable[Path], private: Iterable[Path]) -> None:
    """Refuse to show a folder that contains a private one."""
    for folder in shown:
        for hidden in private:
            if hidden.is_relative_to(_resolve(folder)):
                raise BadInput(
                    f"{folder}: generated code would see {hidden} in it; move your"
                    " Python, or with AGENTOS_HOME the state of AgentOS, to a folder"
                    " of its own"
                )


def environment_folders(
    environment: Path, base_prefix: Path, private: Iterable[Path]
) -> tuple[Path, ...]:
    """Return what the Python of an environment must be able to read: its folder and
    each Python it is based on.
    """
    private = tuple(private)
    environment = environment.absolute()
    found = [environment]
    if not _is_own(_resolve(environment), private):
        found = _parts_of(environment, private)
    for program in _programs(environment / "bin" / "python"):
        found += _parts_of(program.parent.parent, private)
        if not any(program.is_relative_to(folder) for folder in found):
            found.append(program)
    found += _parts_of(base_prefix.absolute(), private)
    shown = tuple(path for path in dict.fromkeys(found) if path.exists())
    check_hidden(shown, private)
    return shown


def _programs(python: Path) -> Iterator[Path]:
    """Yield a program and, if it is a link, each path that it leads to."""
    for _ in range(_LINKS):
        yield python
        try:
            python = Path(os.path.normpath(python.parent / python.readlink()))
        except OSError:
            break
    # A folder on the way may be a link too.
    yield _resolve(python)


def _parts_of(prefix: Path, private: tuple[Path, ...]) -> list[Path]:
    """Return a prefix if only Python uses it, else the parts of it that Python
    needs.
    """
    libraries = sorted(prefix.glob("lib*/python3*"))
    if not libraries:
        return []
    if _is_own(_resolve(prefix), private):
        return [prefix]
    shared = sorted(filter(Path.is_file, prefix.glob("lib*/lib*.so*")))
    return [prefix / "pyvenv.cfg", *libraries, *shared]


def _is_own(prefix: Path, private: tuple[Path, ...]) -> bool:
    """Return whether a prefix contains an installation of Python and nothing else."""
    is_in_home = False
    for home in private:
        if home.is_relative_to(prefix) or prefix == home / ".local":
            return False
        if prefix.is_relative_to(home):
            is_in_home = True
    if not is_in_home:
        return True
    names = list_names(prefix)
    if names & _OWN_MARKS:
        return True
    shared = list_names(prefix / "share") - _SHARED_BY_PYTHON
    return names | shared <= _PARTS_OF_PYTHON


def _resolve(path: Path) -> Path:
    """Resolve the links of a path, unless they form a cycle."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path.absolute()
