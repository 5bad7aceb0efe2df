"""When failures end a batch, in GNU parallel's grammar: `never`, `soon,fail=3`, `now,fail=10%`."""

from __future__ import annotations

import re
from dataclasses import dataclass

_RULE = re.compile(r"(soon|now),fail=([0-9]{1,6})(%?)")


@dataclass(frozen=True, slots=True)
class Halt:
    """A rule that looks at the count of failures."""

    is_immediate: bool
    """Whether the running items are stopped too."""
    limit: int
    is_percentage: bool

    def is_reached(self, failed: int, total: int) -> bool:
        """Tell whether the batch has to end."""
        if failed == 0:
            return False
        return failed * 100 >= self.limit * total if self.is_percentage else failed >= self.limit


def parse_halt(text: str) -> Halt | None:
    """Read a halt rule; None means never."""
    if text == "never":
        return None
    match = _RULE.fullmatch(text)
    if match is None or int(match[2]) == 0:
        raise ValueError(f"must be never, soon,fail=N, now,fail=N or with N%, not {text!r}")
    return Halt(match[1] == "now", int(match[2]), bool(match[3]))
