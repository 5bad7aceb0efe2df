"""One phase of writing in a loop: of the tests, or of the code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agentos.documents.changes import is_sensitive, is_test
from agentos.documents.changes.contract import TESTS


@dataclass(frozen=True, slots=True)
class Phase:
    """Who writes what, and from where it began."""

    role: str
    """`tests` or `code`."""
    node: str
    called: str
    """What the role is called in the log."""
    declared: Mapping[str, str]
    """The files that it writes, each with its kind of change."""
    start: str
    """The snapshot from which what differs is the role's work."""
    own_tests: Mapping[str, str] = field(default_factory=dict)
    """The item's accepted tests, which the coder does not change."""
    begin: str = ""
    """The snapshot with its work so far; empty for none."""

    def is_protected(self, path: str) -> bool:
        """Tell whether a file that was there before is not this role's to change."""
        if path in self.declared:
            return False
        if self.role == TESTS:
            return True
        return is_test(path) or is_sensitive(path)
