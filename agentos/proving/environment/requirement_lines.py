"""Read requirement files as pip does, including the files they include, but without the
project itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from agentos.errors import BadInput
from agentos.state.files import is_inside, read_regular

FILE_LIMIT = 4_000_000
LINE_LIMIT = 50_000
INCLUDE_LIMIT = 50
_PROJECT = (".", "./", "file:.", "file:./")
_FORMATS = re.compile(r"--(?:no|only)-binary[ =]\S+")
"""Whether a wheel is taken is decided here."""
_COMMENT = re.compile(r"[ \t]#")

_Lines = list[str]


@dataclass(slots=True)
class RequirementLines:
    """The lines of requirement files and of the files they include, each read once."""

    folder: Path
    requirements: _Lines = field(default_factory=list)
    constraints: _Lines = field(default_factory=list)
    files: _Lines = field(default_factory=list)
    project_extras: _Lines = field(default_factory=list)
    """Extras of the project itself, from lines such as `-e .[test]`."""

    def read(self, path: Path, *, is_constraint: bool = False) -> None:
        """Add the lines of a file and of the files it includes."""
        name = _relative(path, self.folder)
        if name in self.files:
            return
        if len(self.files) >= INCLUDE_LIMIT:
            raise BadInput(
                f"{name}: more than {INCLUDE_LIMIT} requirement files include each"
                " other; join them"
            )
        self.files.append(name)
        for line in logical_lines(read_text(path)):
            self.take(line, path, is_constraint=is_constraint)

    def take(self, line: str, path: Path, *, is_constraint: bool = False) -> None:
        """Add one line of a file, or the lines of the file it includes."""
        requirement = _option(line, "-r", "--requirement")
        constraint = _option(line, "-c", "--constraint")
        if requirement:
            self._include(requirement, path, is_constraint)
        elif constraint:
            self._include(constraint, path, True)
        elif not _FORMATS.fullmatch(line):
            # An editable install would tie the shared environment to one worktree.
            editable = _option(line, "-e", "--editable")
            self._keep(editable or line, is_constraint)
        count = len(self.requirements) + len(self.constraints)
        if count > LINE_LIMIT:
            raise BadInput(
                f"{self.files[0]}: more than {LINE_LIMIT} requirements; split it up"
            )

    def _include(self, value: str, path: Path, is_constraint: bool) -> None:
        if "://" not in value:
            self.read(path.parent / value, is_constraint=is_constraint)
        elif is_constraint:
            self.constraints.append(f"-c {value}")
        else:
            self.requirements.append(f"-r {value}")

    def _keep(self, line: str, is_constraint: bool) -> None:
        if is_constraint:
            self.constraints.append(line)
            return
        extras = project_extras(line)
        if extras is None:
            self.requirements.append(line)
        else:
            self.project_extras += extras


def logical_lines(text: str) -> Iterator[str]:
    """Yield the lines with continued ones joined, without comments and blank lines."""
    joined = ""
    # The empty row ends a line that is still continued at the end of the file.
    for row in (*text.splitlines(), ""):
        if row.lstrip().startswith("#"):
            row = ""
        content = _COMMENT.split(row.removesuffix("\\"), maxsplit=1)[0]
        joined += f"{content} "
        if row.endswith("\\"):
            continue
        line = " ".join(joined.split())
        if line:
            yield line
        joined = ""


def project_extras(line: str) -> _Lines | None:
    """Return the extras if a line asks for the project itself, else None."""
    path, _, rest = line.partition("[")
    if path.strip() not in _PROJECT:
        return None
    extras = rest.partition("]")[0]
    names = map(str.strip, extras.split(","))
    return list(filter(None, names))


def path_of(address: str) -> str:
    """Return the path in an address without marker, fragment and extras."""
    path = re.split(r"[;#\[]", address, maxsplit=1)[0]
    return path.strip()


def requirement_name(line: str) -> str:
    """Return the normalized name that a line asks for, empty for options, paths and
    addresses.
    """
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    try:
        requirement = Requirement(without_options(line))
    except InvalidRequirement:
        return ""
    return canonicalize_name(requirement.name)


def without_options(line: str) -> str:
    """Return a requirement without its hashes and other pip options."""
    if line.startswith("-"):
        return ""
    return line.partition(" --")[0].strip()


def read_text(path: Path) -> str:
    """Return the text of a project file, with invalid bytes replaced."""
    return read_regular(path, FILE_LIMIT).decode("utf-8-sig", "replace")


def _option(line: str, short: str, long: str) -> str:
    """Return the value of an option, empty if the line is not that option."""
    value = ""
    if line.startswith((f"{long} ", f"{long}=")):
        value = line.removeprefix(long)
    elif line.startswith(short):
        value = line.removeprefix(short)
    value = value.lstrip(" =").strip()
    return value.strip("\"'")


def _relative(path: Path, folder: Path) -> str:
    if not is_inside(path, folder):
        raise BadInput(
            f"{path.name[:100]!r}: a requirement file includes it from outside the"
            " repository; move it inside"
        )
    root = folder.resolve()
    return path.resolve().relative_to(root).as_posix()
