"""Lend an environment what AgentOS's own interpreter has installed, when that is all it needs.

The files of exactly the needed distributions and of all that those require are copied, by the list that each
distribution keeps of its files. Copies and not links: an update of AgentOS cannot change an environment in use, code
under test cannot write into AgentOS, and a sandbox has no further folder to show.
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

from agentos.environments.needs import Needs
from agentos.environments.requirement_lines import without_options

if TYPE_CHECKING:
    from packaging.requirements import Requirement

CLOSURE_LIMIT = 500


@dataclass(frozen=True, slots=True)
class Loan:
    """What can be lent, or why it cannot be."""

    distributions: tuple[Distribution, ...] = ()
    pins: tuple[str, ...] = ()
    """The lent distributions with their versions."""
    refusal: str = ""


class _Refused(Exception):
    """Something that cannot be lent."""


def plan_loan(needs: Needs) -> Loan:
    """Find every distribution that the needs and their closure ask for among the installed ones."""
    if needs.install:
        return Loan(refusal="the settings give arguments for pip")
    try:
        lent = tuple(_closure(needs))
    except _Refused as refusal:
        return Loan(refusal=str(refusal))
    return Loan(lent, tuple(sorted(f"{one.metadata['Name']}=={one.version}" for one in lent)))


def hand_over(loan: Loan, site: Path, bin_folder: Path, python: Path, stop: threading.Event) -> None:
    """Copy the distributions into a virtual environment, with their commands; `stop` ends it early."""
    for lent in loan.distributions:
        for file in lent.files or ():
            source = Path(str(lent.locate_file(file)))
            # Commands and data lie outside; a command names its interpreter and is written anew.
            if ".." in file.parts or file.is_absolute() or not source.is_file():
                continue
            if stop.is_set():
                return
            target = site / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
        _write_commands(lent, bin_folder, python)


def _write_commands(lent: Distribution, bin_folder: Path, python: Path) -> None:
    for point in lent.entry_points:
        module, _, attribute = point.value.partition("[")[0].strip().partition(":")
        if point.group == "console_scripts" and "/" not in point.name and attribute:
            head = attribute.partition(".")[0].strip()
            script = bin_folder / point.name
            script.write_text(
                f"#!{python}\nimport sys\nfrom {module} import {head}\nsys.exit({attribute.strip()}())\n", "utf-8"
            )
            script.chmod(0o755)


def _closure(needs: Needs) -> Iterator[Distribution]:
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    wanted = list(_requirements((*needs.locked, *needs.requirements)))
    limits = {canonicalize_name(limit.name): limit for limit in _requirements(needs.constraint_lines)}
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
        try:
            further = [Requirement(line) for line in lent.requires or ()]
        except InvalidRequirement as error:
            raise _Refused(f"{name} is installed with a requirement that cannot be read") from error
        wanted += [inner for inner in further if _applies(inner, extras)]
        if name not in given:
            given.add(name)
            yield lent


def _check(requirement: Requirement, lent: Distribution | None, limit: Requirement | None) -> None:
    name = requirement.name[:80]
    if requirement.url:
        raise _Refused(f"{name} comes from an address")
    if lent is None:
        raise _Refused(f"{name} is not installed beside AgentOS")
    for asked in (requirement, limit):
        if asked is not None and not asked.specifier.contains(lent.version, prereleases=True):
            raise _Refused(f"{name} {lent.version} is installed beside AgentOS, {str(asked.specifier)[:80]} is needed")
    if lent.files is None or _is_editable(lent):
        raise _Refused(f"{name} is installed beside AgentOS in a form that cannot be copied")


def _requirements(lines: Iterable[str]) -> Iterator[Requirement]:
    from packaging.requirements import InvalidRequirement, Requirement

    for line in lines:
        if line.startswith("-"):
            if line.startswith("-r"):
                raise _Refused("a requirement file includes an address")
            continue
        try:
            requirement = Requirement(without_options(line))
        except InvalidRequirement:
            raise _Refused(f"{line[:80]} is no plain requirement") from None
        if _applies(requirement, frozenset()):
            yield requirement


def _applies(requirement: Requirement, extras: frozenset[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras))


def _find_installed(name: str) -> Distribution | None:
    from packaging.utils import canonicalize_name

    found = importlib.metadata.distributions(name=name)
    # A folder that was left half-removed has no name in it.
    return next((one for one in found if canonicalize_name(one.metadata["Name"] or "") == name), None)


def _is_editable(lent: Distribution) -> bool:
    try:
        origin = json.loads(lent.read_text("direct_url.json") or "{}")
    except ValueError:
        return True
    place = origin.get("dir_info") if isinstance(origin, dict) else None
    return bool(isinstance(place, dict) and place.get("editable"))


def describe(pins: Sequence[str]) -> str:
    """Say what was lent in a line."""
    shown = ", ".join(pins[:6])
    return f"{shown} and {len(pins) - 6} more" if len(pins) > 6 else shown
