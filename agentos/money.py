"""Amounts of money in whole micro-dollars, rounded up, and costs as a range."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agentos.errors import UsageError

DOLLAR = 1_000_000
"""Micro-dollars per dollar."""
HIGHEST_AMOUNT = 1_000_000 * DOLLAR
"""Highest price and highest cap: more than this is a typing error."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of calls in micro-dollars: the known amount and the highest possible one."""

    known: int = 0
    most: int = 0

    @classmethod
    def exactly(cls, amount: int) -> Cost:
        """Return a cost whose amount is known."""
        return cls(amount, amount)

    def __add__(self, other: Cost) -> Cost:
        known = self.known + other.known
        most = self.most + other.most
        return Cost(known, most)

    def __bool__(self) -> bool:
        return self.most > 0

    @property
    def is_exact(self) -> bool:
        """Whether the known and the highest possible amount are equal."""
        return self.known == self.most

    def describe(self) -> str:
        """Format the amount, or the range: `$0.05 to $1.79`."""
        known = format_dollars(self.known)
        if self.is_exact:
            return known
        most = format_dollars(self.most)
        return f"{known} to {most}"

    def to_json(self) -> dict[str, float]:
        """Return both amounts in dollars."""
        known = self.known / DOLLAR
        most = self.most / DOLLAR
        return {"cost": known, "cost_at_most": most}


NO_COST = Cost()
_AMOUNT = re.compile(r"\$?(?=[.0-9])([0-9]*)(?:\.([0-9]+))?")


def parse_dollars(text: str) -> int:
    """Parse an amount such as `5`, `0.25` or `$1.50` into micro-dollars."""
    shown = repr(text[:80])
    number = text.strip()
    match = _AMOUNT.fullmatch(number)
    if match is None:
        raise UsageError(f"{shown} is not an amount in dollars; write it as 5 or 0.25")
    whole, fraction = match.groups("")
    whole = whole.lstrip("0")
    if len(fraction) > 6:
        raise UsageError(
            f"{shown} is finer than a millionth of a dollar; use at most six decimals"
        )
    # int() refuses very long texts; the first nine digits already exceed the limit.
    decimals = fraction.ljust(6, "0")
    digits = whole[:9] + decimals
    amount = int(digits)
    if amount > HIGHEST_AMOUNT:
        raise UsageError(f"{shown} is more than 1000000 dollars")
    return amount


def format_dollars(amount: int) -> str:
    """Format micro-dollars, rounded up to four decimals: `$4.80`, `$0.0123`."""
    rounded = round_up(amount, 100)
    whole, fraction = divmod(rounded, 10_000)
    padded = f"{fraction:04}"
    decimals = padded.rstrip("0")
    decimals = decimals.ljust(2, "0")
    return f"${whole}.{decimals}"


def round_up(numerator: int, denominator: int) -> int:
    """Divide whole numbers and round up."""
    return -(-numerator // denominator)
