"""What a run has asked and paid, by node and model."""

from __future__ import annotations

from dataclasses import dataclass, field

from agentos.money import NO_COST, Cost
from agentos.providers import Request, Usage


@dataclass(slots=True)
class Line:
    """What the calls of one node to one model came to."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: Cost = NO_COST


@dataclass(slots=True)
class Account:
    """What a run has asked and paid."""

    lines: dict[tuple[str, str], Line] = field(default_factory=dict)
    """By node and model."""
    from_journal: int = 0
    """Answers that were paid for by an earlier run, or by an earlier attempt."""
    repeated: int = 0
    """Calls that were under way when an earlier run was killed, and had to be asked again."""
    resent: int = 0
    """Calls that were sent again although an earlier one for the same answer may have been billed."""

    @property
    def calls(self) -> int:
        """How many calls were answered."""
        return sum(line.calls for line in self.lines.values())

    @property
    def cost(self) -> Cost:
        """What all calls cost."""
        return sum((line.cost for line in self.lines.values()), NO_COST)

    def add(self, request: Request, usage: Usage, cost: Cost) -> None:
        """Count an answered call."""
        line = self.lines.setdefault((request.node, request.model), Line())
        line.calls += 1
        line.input_tokens += usage.input_tokens
        line.output_tokens += usage.output_tokens
        line.cached_tokens += usage.cached_tokens
        line.cost += cost

    def add_loss(self, request: Request, cost: Cost) -> None:
        """Count what a call without an answer may have cost."""
        if cost:
            self.lines.setdefault((request.node, request.model), Line()).cost += cost
