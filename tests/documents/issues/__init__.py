"""Issues and briefs in the shapes in which people write them, as a person reads them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Shape:
    """A text with the title and the criteria that a person finds in it."""

    path: Path
    title: str
    criteria: tuple[str, ...]

    def __str__(self) -> str:
        return self.path.stem


def read_shapes(kind: str) -> Iterator[Shape]:
    """Return the texts of a kind, `issues` or `briefs`, as a person reads them."""
    expected = tomllib.loads((FOLDER / "expected.toml").read_text("utf-8"))[kind]
    for path in sorted((FOLDER / kind).iterdir()):
        found = expected[path.stem]
        yield Shape(path, found["title"], tuple(found["criteria"]))
