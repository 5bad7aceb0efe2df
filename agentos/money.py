"""Money: whole micro-dollars, rounded up, and what was spent as a pair of figures."""

from __future__ import annotations

from dataclasses import dataclass

from agentos.errors import UsageError

DOLLAR = 1_000_000
"""Micro-dollars in a dollar."""
DEAREST = 1_000_000 * DOLLAR
"""No price and no cap is higher than this: a slip of the finger, not a price."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What calls cost, in micro-dollars: what is known to be billed, and what may be billed at most."""

    known: int = 0
    most: int = 0

    @classmethod
    def exactly(cls, amount: int) -> Cost:
        """Return a cost of which everything is known."""
        return cls(amount, amount)

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.known + other.known, self.most + other.most)

    def __bool__(self) -> bool:
        return self.most > 0

    @property
    def is_exact(self) -> bool:
        """Whether there is only one figure to show."""
        return self.known == self.most

    def describe(self) -> str:
        """Say one figure where both are the same, else both: `$0.05 to $1.79`."""
        if self.is_exact:
            return say_dollars(self.known)
        return f"{say_dollars(self.known)} to {say_dollars(self.most)}"

    def to_json(self) -> dict[str, float]:
        """Return both figures in dollars."""
        return {"cost": self.known / DOLLAR, "cost_at_most": self.most / DOLLAR}


NO_COST = Cost()


def parse_dollars(text: str) -> int:
    """Read an amount such as `5`, `0.25` or `$1.50`; return micro-dollars."""
    whole, point, fraction = text.strip().removeprefix("$").partition(".")
    digits = whole + fraction
    if not (digits.isascii() and digits.isdigit()) or (point and not fraction):
        raise UsageError(f"{text[:80]!r} is not an amount in dollars; write it as 5 or 0.25")
    if len(fraction) > 6:
        raise UsageError(f"{text[:80]!r} is finer than a millionth of a dollar; use six decimals at the most")
    amount = int(whole[-9:] or "0") * DOLLAR + int(fraction.ljust(6, "0"))
    if len(whole.lstrip("0")) > 9 or amount > DEAREST:
        raise UsageError(f"{text[:80]!r} is more than {DEAREST // DOLLAR} dollars")
    return amount


def say_dollars(amount: int) -> str:
    """Say micro-dollars as people do, rounded up: `$4.80`, `$0.0123`."""
    whole, fraction = divmod(round_up(amount, 100), DOLLAR // 100)
    return f"${whole}.{f'{fraction:04}'.rstrip('0').ljust(2, '0')}"


def round_up(numerator: int, denominator: int) -> int:
    """Divide whole numbers, so that no fraction of an amount is lost."""
    return -(-numerator // denominator)
