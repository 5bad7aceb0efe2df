"""What a benchmark reports: figures with their targets and what they are compared
with.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number; smaller is better."""

    name: str
    measured: float
    unit: str
    target: float | None = None
    peer: float | None = None
    """The same of what a user would pick instead, in the same unit and from the same
    run.
    """
    compared_with: str = ""
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Measured over peer: below 1 we are better."""
        return self.measured / self.peer if self.peer else None

    @property
    def is_met(self) -> bool | None:
        """Whether the target is reached; None without one."""
        return None if self.target is None else self.measured <= self.target

    def to_json(self) -> dict[str, Any]:
        """Return the figure as JSON data."""
        numbers = {
            name: _shorten(getattr(self, name))
            for name in ("measured", "target", "peer", "ratio")
        }
        return asdict(self) | numbers | {"met": self.is_met}


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to one question."""

    question: str
    method: str
    """What is measured and how, what is in and what is out."""
    figures: list[Figure]
    facts: dict[str, Any] = field(default_factory=dict)
    """Numbers that explain the figures."""

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON data."""
        figures = [figure.to_json() for figure in self.figures]
        return {
            "question": self.question,
            "method": self.method,
            "figures": figures,
            "facts": self.facts,
        }


def print_result(measure: Callable[[], Result]) -> int:
    """Measure, and print the result as one JSON object."""
    json.dump(measure().to_json(), sys.stdout, indent=1)
    print()
    return 0


def _shorten(number: float | None) -> float | None:
    """Keep four significant digits: more would be noise."""
    return None if number is None else float(f"{number:.4g}")
