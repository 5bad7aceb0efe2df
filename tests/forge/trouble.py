"""Faults that a test puts in the way of chosen requests."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.forge.hub import Seen

PATIENCE = 60.0


@dataclass
class Fault:
    """Strikes at requests that `when` picks, so many times."""

    when: Callable[[Seen], bool]
    times: int = 1
    struck: int = 0

    def strikes(self, seen: Seen) -> bool:
        """Tell whether this request is struck, and count it."""
        if self.struck >= self.times or not self.when(seen):
            return False
        self.struck += 1
        return True


@dataclass
class Status(Fault):
    """Answer with a status and nothing done."""

    status: int = 502


@dataclass
class Limit(Fault):
    """Refuse with a secondary rate limit; whoever comes back too early is written
    down.
    """

    status: int = 403
    retry_after: int | None = 1


@dataclass
class Cut(Fault):
    """Cut the connection, before the request has its effect or after it."""

    after_effect: bool = False


@dataclass
class Slow(Fault):
    """Take a while."""

    seconds: float = 1.0


@dataclass
class Expire(Fault):
    """From this request on the token is no longer valid."""


@dataclass
class Hold(Fault):
    """Keep a request until the test lets it go, before its effect or after it."""

    after_effect: bool = False
    is_dropped: bool = False
    """Whether a request that was held before its effect never has it."""
    reached: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)

    def wait(self) -> None:
        """Say that the request is here, and keep it."""
        self.reached.set()
        assert self.released.wait(PATIENCE), "nobody let the request go"
