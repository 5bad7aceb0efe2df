"""Find the records that installed packages add, by entry points.

Packages are looked at only for a name that is not built in: reading what is installed is
slow, and a broken package must not harm runs that do not use it.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Callable
from functools import cache
from traceback import extract_tb
from typing import TYPE_CHECKING, TypeVar

from agentos.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

LONGEST_REASON = 300
Record = TypeVar("Record")


@cache
def entry_points_of(group: str) -> dict[str, tuple[EntryPoint, ...]]:
    """Return the entry points of a group by name, without importing anything."""
    # Importing this takes longer than most commands need for their help.
    from importlib.metadata import entry_points

    found: dict[str, tuple[EntryPoint, ...]] = {}
    for entry in entry_points(group=group):
        found[entry.name] = (*found.get(entry.name, ()), entry)
    return found


def load_record(
    entries: tuple[EntryPoint, ...],
    what: str,
    record: type[Record],
    find_problem: Callable[[Record], str],
) -> Record:
    """Return the record that an entry point refers to, or raise `UsageError`.

    `what` is the word for such a record; `find_problem` says why one cannot be used.
    """
    entry = entries[0]
    if len(entries) > 1:
        values = " and ".join(sorted(each.value for each in entries))
        raise UsageError(
            f"two packages offer the {what} {entry.name!r} ({values}): uninstall one of"
            " them"
        )
    try:
        loaded = entry.load()
        if not isinstance(loaded, record):
            raise TypeError(f"it is not a {record.__name__}")
        problem = find_problem(loaded)
    # The package is somebody else's: whatever it raises is reported, not our bug.
    except (Exception, SystemExit) as error:
        problem = describe_error(error)
    if problem:
        raise refuse(what, entry.name, entry.value, problem)
    checked: Record = loaded
    return checked


def refuse(what: str, name: str, place: str, problem: str) -> UsageError:
    """Return the error about something of a package that cannot be used."""
    return UsageError(
        f"{what} {name!r} cannot be used: {place}: {problem}; correct or uninstall its"
        " package"
    )


def describe_failure(error: Exception) -> str:
    """Return an error of another package with the file and line that its author knows:
    the last one outside of the standard library.
    """
    shown = describe_error(error)
    library = sysconfig.get_path("stdlib")
    for frame in reversed(extract_tb(error.__traceback__)):
        if not frame.filename.startswith((library, "<")):
            return f"{shown} ({frame.filename}, line {frame.lineno})"
    return shown


def describe_error(error: BaseException) -> str:
    """Return an error of another package as one line."""
    words = str(error).split()
    text = " ".join(words)[:LONGEST_REASON]
    return f"{type(error).__name__}: {text}"
