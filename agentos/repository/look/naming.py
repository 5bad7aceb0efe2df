"""Read the names that looks ask for, and find what has such a name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from agentos.documents.changes import is_named_as_test
from agentos.repository.look.definitions import Definition

SPECIAL = (
    "Python calls this name through operators and built-in functions, such as str() or"
    " sorted(); such uses are not found."
)
_TEST_FOLDERS = frozenset({"test", "tests"})
_ENTRY = re.compile(r"""\[[ ]*["']?([^"'\]\[]*)["']?[ ]*\]""")


@dataclass(frozen=True, slots=True)
class Name:
    """A name that is looked for."""

    whole: str
    """With dots, also that of an entry such as `TABLE["key"]`."""
    last: str
    """Its last part."""
    word: re.Pattern[str]
    """Its last part as a whole word."""
    call: re.Pattern[str]
    """How it is called or imported."""
    is_module: bool

    @property
    def owner(self) -> str:
        """The part before the last one, such as a class; empty if there is none."""
        before, _, _ = self.whole.rpartition(".")
        return before.rpartition(".")[2]


def read_name(target: str) -> Name:
    """Return what a look asks for."""
    is_module = "/" in target or target.endswith(".py")
    whole = _ENTRY.sub(r".\1", target)
    whole = whole.removesuffix("()")
    if is_module:
        whole = PurePosixPath(target).stem
    _, _, last = whole.rpartition(".")
    last = last or whole
    plain = re.escape(last)
    word = rf"(?<!\w){plain}(?!\w)"
    return Name(
        whole,
        last,
        re.compile(word),
        re.compile(rf"{word}[ \t]*\(|\bimport\b.*{word}"),
        is_module,
    )


def is_special(name: Name) -> bool:
    """Tell whether Python itself calls what is looked for."""
    last = name.last
    return last.startswith("__") and last.endswith("__") and len(last) > 4


def definitions_of(
    path: str,
    definitions: Iterable[Definition],
    name: str,
) -> list[Definition]:
    """Return the definitions with a name, or with a longer one that ends in it; the
    name may begin with that of the module.
    """
    matching = []
    ending = f".{name}"
    module, _, _ = path.rpartition(".")
    package = module.removesuffix("/__init__")
    prefix = package.replace("/", ".")
    for definition in definitions:
        whole = f".{prefix}.{definition.name}"
        if not whole.endswith(ending):
            continue
        _, _, last = definition.name.rpartition(".")
        if ending.endswith(f".{last}"):
            matching.append(definition)
    return matching


def is_stub(path: str) -> bool:
    """Tell whether a file only declares what another one defines."""
    return path.casefold().endswith(".pyi")


def is_test_file(path: str) -> bool:
    """Tell whether a file belongs to the tests."""
    if is_named_as_test(path):
        return True
    lowered = path.casefold()
    folders = lowered.split("/")
    folders.pop()
    return not _TEST_FOLDERS.isdisjoint(folders)


def first_rows(rows: list[str], most: int) -> list[str]:
    """Return the first rows, and say how many are missing."""
    missing = len(rows) - most
    if missing <= 0:
        return rows
    noun = "more line" if missing == 1 else "more lines"
    return [*rows[:most], f"cut, {missing} {noun}"]
