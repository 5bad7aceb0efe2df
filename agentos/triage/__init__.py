"""Say what is wrong with the items of a backlog before anybody is paid for working on them: rules, no model."""

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
    """One thing that is wrong with an item: what exactly, where, and what to do about it."""

    kind: Class
    what: str
    advice: str
    lines: tuple[int, ...] = ()
    is_serious: bool = True
    """Whether work on the item would be wasted; otherwise it is only good to know."""

    def to_json(self) -> dict[str, Any]:
        """Return the complaint as JSON data."""
        return {
            "class": self.kind,
            "serious": self.is_serious,
            "what": self.what,
            "lines": list(self.lines),
            "advice": self.advice,
        }
