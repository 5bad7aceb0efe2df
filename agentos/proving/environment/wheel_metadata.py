"""Read the dependencies and the commands that a wheel declares."""

from __future__ import annotations

import configparser
from collections.abc import Mapping
from email.parser import HeaderParser

from agentos.proving.environment.declared import Groups, Lines, normalize_group
from agentos.proving.environment.safe_requirements import is_plain

_MOST_LINES = 100_000


def read_requirements(files: Mapping[str, bytes]) -> tuple[Lines, Groups]:
    """Return the dependencies of a wheel, and those of each of its extras; lines that
    are no plain requirements are left out.
    """
    metadata = _metadata_file(files, "METADATA")
    headers = HeaderParser().parsestr(metadata)
    lines = headers.get_all("Requires-Dist", [])
    extras = headers.get_all("Provides-Extra", [])
    if len(lines) * len(extras) > _MOST_LINES:
        extras = []
    dependencies = _applying(lines, "")
    groups: Groups = {}
    for extra in extras:
        group = normalize_group(extra)
        groups[group] = _applying(lines, extra)
    return dependencies, groups


def _applying(lines: list[str], extra: str) -> Lines:
    """Return the requirements that an extra has, or the project itself."""
    from packaging.requirements import Requirement

    found = []
    for line in lines:
        try:
            requirement = Requirement(line)
            marker = requirement.marker
            if marker and not marker.evaluate({"extra": extra}):
                continue
        # Either it is none, or its marker compares what cannot be compared.
        except ValueError:
            continue
        requirement.marker = None
        text = str(requirement)
        if is_plain(text):
            found.append(text)
    return tuple(found)


def read_commands(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the console scripts of a wheel."""
    parser = configparser.ConfigParser(
        interpolation=None, strict=False, delimiters=("=",)
    )
    parser.optionxform = str  # type: ignore[method-assign, assignment]
    try:
        parser.read_string(_metadata_file(files, "entry_points.txt"))
    except configparser.Error:
        return {}
    if "console_scripts" not in parser:
        return {}
    return dict(parser["console_scripts"])


def _metadata_file(files: Mapping[str, bytes], wanted: str) -> str:
    for path, data in files.items():
        top, _, name = path.partition("/")
        if top.endswith(".dist-info") and name == wanted:
            return data.decode("utf-8", "replace")
    return ""
