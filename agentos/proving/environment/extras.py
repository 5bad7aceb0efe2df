"""Find what a project declares as optional and the environment of its tests lacks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from agentos.proving.environment.declared import Declared, read_declared
from agentos.proving.environment.requirement_lines import requirement_name


def missing_extras(
    folder: Path, environment: Path, computed: Declared | None = None
) -> tuple[str, ...]:
    """Return the packages of each optional group of the project in `folder` that are
    not installed in an environment, a line for each group that lacks some.

    `computed` is what a build found out about the project.
    """
    declared = read_declared(folder)
    groups = dict(declared.groups)
    if computed:
        groups = {**computed.groups, **groups}
    present = set(_installed(environment))
    present.add(requirement_name(declared.name))
    found = []
    for group, lines in groups.items():
        lacking = []
        for line in lines:
            name = requirement_name(line)
            if name and name not in present and _applies(line):
                lacking.append(name)
        if lacking:
            listed = ", ".join(lacking)
            found.append(f"{group}: {listed}")
    return tuple(found)


def _installed(environment: Path) -> Iterator[str]:
    """Yield the normalized names of the packages in an environment."""
    for path in environment.glob("lib/python*/site-packages/*.dist-info"):
        name, _, _ = path.name.partition("-")
        yield requirement_name(name)


def _applies(line: str) -> bool:
    """Tell whether a requirement is one of this system and interpreter."""
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        marker = Requirement(line).marker
    except InvalidRequirement:
        return True
    return marker is None or marker.evaluate()
