"""Find items of a backlog that are not ready, by rules, before a model is paid for them.

`backlog` judges all items, `weaknesses` one of them; the other modules compare items.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Class(StrEnum):
    """What can be wrong with an item."""

    UNUSABLE = "unusable"
    CONTRADICTORY = "contradictory"
    DUPLICATE = "duplicate"
    VAGUE = "vague"
    NO_CRITERIA = "no-criteria"
    TOO_LARGE = "too-large"
    CYCLE = "cycle"
    UNKNOWN_DEPENDENCY = "unknown-dependency"
    OPEN_QUESTION = "open-question"


@dataclass(frozen=True, slots=True)
class Complaint:
    """One thing that is wrong with an item, where, and what to do about it."""

    kind: Class
    what: str
    advice: str
    lines: tuple[int, ...] = ()
    is_serious: bool = True
    """Whether work on the item would be wasted; otherwise it is a note."""

    def to_json(self) -> dict[str, Any]:
        """Return the complaint as JSON data."""
        return {
            "class": self.kind,
            "serious": self.is_serious,
            "what": self.what,
            "lines": list(self.lines),
            "advice": self.advice,
        }
