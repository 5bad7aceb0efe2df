"""Find the lines that use a name, those of code that calls it first."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from pathlib import PurePosixPath

from agentos.repository.look.asking import show_line
from agentos.repository.look.naming import Name, is_test_file
from agentos.repository.look.prose import is_document, prose_lines
from agentos.repository.look.showing import shorten
from agentos.repository.look.texts import FileText
from agentos.state.wording import count

_SETTINGS = (".toml", ".cfg", ".ini", ".json", ".yml", ".yaml")

Rows = list[str]
Places = Container[tuple[str, int]]


class Uses:
    """The lines that use a name; only counted are those that may mean something else."""

    def __init__(
        self,
        name: Name,
        owners: Iterable[str],
        paths: Iterable[str],
    ) -> None:
        self.tested = 0
        self._name = name
        self._use = name.word
        self._owners = ", ".join(sorted(owners))
        self._calls: Rows = []
        self._others: Rows = []
        self._prose = 0
        self._foreign = 0
        known = {re.escape(owner) for owner in owners}
        if known:
            # What is defined inside of something has a dot or quotes before it.
            self._use = re.compile(rf"""[."']{re.escape(name.last)}(?!\w)""")
        modules = {re.escape(_module(path)) for path in paths}
        listed = "|".join(sorted(known))
        imported = "|".join(sorted(modules))
        self._knows = re.compile(
            rf"(?<!\w)(?:{listed})(?!\w)"
            rf"|^[ \t]*(?:import|from)\b.*(?<!\w)(?:{imported})(?!\w)",
            re.MULTILINE,
        )

    def look_in(
        self,
        file: FileText,
        definitions: Places,
    ) -> None:
        """Remember the lines of a file, other than those of definitions."""
        numbers = []
        for number, line in enumerate(file.lines, 1):
            if (file.path, number) in definitions:
                continue
            if self._use.search(line):
                numbers.append(number)
        if not numbers:
            return
        if is_document(file.path):
            self._prose += len(numbers)
            return
        if self._owners and not self._knows.search(file.source):
            self._foreign += len(numbers)
            return
        prose = prose_lines(file)
        is_test = is_test_file(file.path)
        for number in numbers:
            if number in prose:
                self._prose += 1
            elif is_test:
                self.tested += 1
            else:
                self._add(file, number)

    def _add(
        self,
        file: FileText,
        number: int,
    ) -> None:
        line = file.lines[number - 1]
        row = show_use(file.path, number, line)
        is_settings = file.path.casefold().endswith(_SETTINGS)
        if self._name.call.search(line) and not is_settings:
            self._calls.append(row)
        else:
            self._others.append(row)

    @property
    def rows(self) -> Rows:
        """The lines of code outside of tests, the calls first."""
        return [*self._calls, *self._others]

    @property
    def counted(self) -> Rows:
        """Rows about the lines that are only counted."""
        parts = []
        if self._prose:
            lines = count(self._prose, "line")
            parts.append(f"{lines} of documents, docstrings or comments")
        if self._foreign:
            lines = count(self._foreign, "line")
            last = show_line(self._name.last)
            owners = show_line(self._owners)
            parts.append(f"{lines} with .{last} in files that do not name {owners}")
        if not parts:
            return []
        listed = ", and ".join(parts)
        return [f"only counted: {listed}"]


def show_use(
    path: str,
    number: int,
    line: str,
) -> str:
    """Return a row with the place of a line."""
    stripped = line.strip()
    shown = shorten(stripped)
    return f"{show_line(path)}:{number}: {shown}"


def _module(path: str) -> str:
    """Return the name by which a module is imported."""
    plain = PurePosixPath(path)
    if plain.stem == "__init__":
        return plain.parent.name or plain.stem
    return plain.stem
