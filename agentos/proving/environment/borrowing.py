"""Fill an environment with packages that are installed beside AgentOS, if those are all
it needs.

The files of the needed distributions and of their dependencies are copied, by the list
of files that each distribution keeps. They are copies and not links, so that an update
of AgentOS cannot change an environment in use, code under test cannot write into
AgentOS, and a sandbox need not show another folder.
"""

from __future__ import annotations

import importlib.metadata
import json
import shutil
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution
from pathlib import Path
from typing import TYPE_CHECKING

from agentos.proving.environment.needs import Needs
from agentos.proving.environment.requirement_lines import without_options
from agentos.proving.environment.scripts import write_scripts

if TYPE_CHECKING:
    from packaging.requirements import Requirement

CLOSURE_LIMIT = 500


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """The distributions to copy, or why they cannot be copied."""

    distributions: tuple[Distribution, ...] = ()
    pins: tuple[str, ...] = ()
    """The distributions with their versions."""
    refusal: str = ""


class _Refused(Exception):
    """A requirement that the installed distributions cannot meet."""


def plan_copy(needs: Needs) -> CopyPlan:
    """Find all needed distributions and their dependencies among the installed ones."""
    if needs.newest:
        return CopyPlan(refusal="for a build")
    try:
        found = tuple(_closure(needs))
    except _Refused as refusal:
        return CopyPlan(refusal=str(refusal))
    # What cannot be parsed or compared is left to pip.
    except ValueError:
        return CopyPlan(refusal="a requirement cannot be read")
    pins = [f"{one.metadata['Name']}=={one.version}" for one in found]
    return CopyPlan(found, tuple(sorted(pins)))


def copy_distributions(
    loan: CopyPlan, site: Path, bin_folder: Path, python: Path, stop: threading.Event
) -> None:
    """Copy the distributions and their commands into a virtual environment, until
    `stop` is set.
    """
    for lent in loan.distributions:
        for file in lent.files or ():
            source = Path(str(lent.locate_file(file)))
            # Commands and data are outside of the site folder. A command contains the
            # path of its interpreter and is written anew.
            if ".." in file.parts or file.is_absolute() or not source.is_file():
                continue
            if stop.is_set():
                return
            target = site / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
        points = lent.entry_points.select(group="console_scripts")
        commands = {point.name: point.value for point in points}
        write_scripts(commands, bin_folder, python)


def _closure(needs: Needs) -> Iterator[Distribution]:
    """Yield the installed distributions that the needs require, directly or not."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    wanted = list(_requirements((*needs.locked, *needs.requirements)))
    limits = {}
    for limit in _requirements(needs.constraint_lines):
        limits[canonicalize_name(limit.name)] = limit
    # A distribution is visited once for each set of extras, but yielded once.
    seen: set[tuple[str, frozenset[str]]] = set()
    given: set[str] = set()
    while wanted:
        requirement = wanted.pop()
        name = canonicalize_name(requirement.name)
        extras = frozenset(requirement.extras)
        lent = _find_installed(name)
        _check(requirement, lent, limits.get(name))
        assert lent
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        if len(seen) > CLOSURE_LIMIT:
            raise _Refused(f"more than {CLOSURE_LIMIT} distributions")
        further = map(Requirement, lent.requires or ())
        wanted += [inner for inner in further if _applies(inner, extras)]
        if name not in given:
            given.add(name)
            yield lent


def _check(
    requirement: Requirement, lent: Distribution | None, limit: Requirement | None
) -> None:
    name = requirement.name[:80]
    if requirement.url:
        raise _Refused(f"{name} comes from an address")
    if lent is None:
        raise _Refused(f"{name} is not installed beside AgentOS")
    for asked in (requirement, limit):
        if asked is None:
            continue
        specifier = asked.specifier
        if not specifier.contains(lent.version, prereleases=True):
            raise _Refused(
                f"{name} {lent.version} is installed beside AgentOS,"
                f" {str(specifier)[:80]} is needed"
            )
    if lent.files is None or _is_editable(lent):
        raise _Refused(
            f"{name} is installed beside AgentOS in a form that cannot be copied"
        )


def _requirements(lines: Iterable[str]) -> Iterator[Requirement]:
    from packaging.requirements import Requirement

    for line in lines:
        if line.startswith("-"):
            if line.startswith("-r"):
                raise _Refused("a requirement file includes an address")
            continue
        requirement = Requirement(without_options(line))
        if _applies(requirement, frozenset()):
            yield requirement


def _applies(requirement: Requirement, extras: frozenset[str]) -> bool:
    marker = requirement.marker
    if marker is None:
        return True
    return any(marker.evaluate({"extra": extra}) for extra in ("", *extras))


def _find_installed(name: str) -> Distribution | None:
    from packaging.utils import canonicalize_name

    for found in importlib.metadata.distributions(name=name):
        # A folder that was only partly removed contains no name.
        own_name = found.metadata["Name"] or ""
        if canonicalize_name(own_name) == name:
            return found
    return None


def _is_editable(lent: Distribution) -> bool:
    try:
        origin = json.loads(lent.read_text("direct_url.json") or "{}")
    except ValueError:
        return True
    if not isinstance(origin, dict):
        return False
    folder = origin.get("dir_info")
    return isinstance(folder, dict) and bool(folder.get("editable"))


def describe(pins: Sequence[str]) -> str:
    """Describe the copied distributions in one line."""
    shown = ", ".join(pins[:6])
    if len(pins) <= 6:
        return shown
    return f"{shown} and {len(pins) - 6} more"
