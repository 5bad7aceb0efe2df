"""Read requirement files the way pip does, with what they include, but leave the project itself out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from agentos.errors import BadInput
from agentos.files import is_inside, read_regular

FILE_LIMIT = 4_000_000
LINE_LIMIT = 50_000
INCLUDE_LIMIT = 50


@dataclass(slots=True)
class RequirementLines:
    """What a tree of requirement files says, each included file read once."""

    folder: Path
    requirements: list[str] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    project_extras: list[str] = field(default_factory=list)
    """The extras of the project itself that were asked for by lines such as `-e .[test]`."""
    names_project: bool = False

    def read(self, path: Path, *, is_constraint: bool = False) -> None:
        """Add the lines of a file and of all that it includes."""
        name = _relative(path, self.folder)
        if name in self.files:
            return
        if len(self.files) >= INCLUDE_LIMIT:
            raise BadInput(f"{name}: more than {INCLUDE_LIMIT} requirement files include each other; join them")
        self.files.append(name)
        for line in logical_lines(read_text(path)):
            self.take(line, path, is_constraint=is_constraint)

    def take(self, line: str, path: Path, *, is_constraint: bool = False) -> None:
        """Add one line of a file, with all that it includes."""
        if value := _option(line, "-r", "--requirement"):
            self._include(value, path, is_constraint)
        elif value := _option(line, "-c", "--constraint"):
            self._include(value, path, True)
        else:
            # An editable install would tie the shared environment to one worktree.
            self._keep(_option(line, "-e", "--editable") or line, is_constraint)
        if len(self.requirements) + len(self.constraints) > LINE_LIMIT:
            raise BadInput(f"{self.files[0]}: more than {LINE_LIMIT} requirements; split it up")

    def _include(self, value: str, path: Path, is_constraint: bool) -> None:
        if "://" in value:
            kept = self.constraints if is_constraint else self.requirements
            kept.append(f"{'-c' if is_constraint else '-r'} {value}")
        else:
            self.read(path.parent / value, is_constraint=is_constraint)

    def _keep(self, line: str, is_constraint: bool) -> None:
        if is_constraint:
            self.constraints.append(line)
        elif (extras := project_extras(line)) is not None:
            self.names_project = True
            self.project_extras.extend(extras)
        else:
            self.requirements.append(line)


def logical_lines(text: str) -> Iterator[str]:
    """Yield the lines that mean something: continued ones joined, comments and blanks gone."""
    parts: list[str] = []
    for row in text.splitlines():
        is_continued = row.endswith("\\") and not row.lstrip().startswith("#")
        parts.append(_without_comment(row[:-1] if is_continued else row))
        if not is_continued:
            if line := " ".join(" ".join(parts).split()):
                yield line
            parts = []
    if line := " ".join(" ".join(parts).split()):
        yield line


def project_extras(line: str) -> list[str] | None:
    """Return the extras when a line asks for the project itself, else None."""
    path, bracket, rest = line.partition("[")
    if path.strip() not in (".", "./", "file:.", "file:./"):
        return None
    return [extra.strip() for extra in rest.partition("]")[0].split(",") if extra.strip()] if bracket else []


def requirement_name(line: str) -> str:
    """Return the normalised name that a line asks for, empty for options, paths and addresses."""
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    try:
        return canonicalize_name(Requirement(without_options(line)).name)
    except InvalidRequirement:
        return ""


def without_options(line: str) -> str:
    """Return a requirement without its hashes and other options of pip."""
    return line.partition(" --")[0].strip() if not line.startswith("-") else ""


def read_text(path: Path) -> str:
    """Return the text of a file that says what is needed, whatever bytes it holds."""
    return read_regular(path, FILE_LIMIT).decode("utf-8-sig", "replace")


def _option(line: str, short: str, long: str) -> str:
    for name in (long, short):
        if line.startswith(name) and len(line) > len(name):
            rest = line[len(name) :]
            if name == short or rest[0] in " =":
                return rest.lstrip(" =").strip().strip("\"'")
    return ""


def _without_comment(row: str) -> str:
    if row.lstrip().startswith("#"):
        return ""
    cut = min((place for mark in (" #", "\t#") if (place := row.find(mark)) >= 0), default=len(row))
    return row[:cut]


def _relative(path: Path, folder: Path) -> str:
    if "\0" in str(path) or not is_inside(path, folder):
        raise BadInput(
            f"{path.name[:100]!r}: a requirement file includes it from outside the repository; move it inside"
        )
    return path.resolve().relative_to(folder.resolve()).as_posix()
