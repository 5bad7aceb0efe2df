"""What a run has asked and paid, by node and model."""

from __future__ import annotations

from dataclasses import dataclass, field

from agentos.providers import Request, Usage


@dataclass(slots=True)
class Line:
    """What the calls of one node to one model came to."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: int = 0
    """Micro-dollars."""


@dataclass(slots=True)
class Account:
    """What a run has asked and paid."""

    lines: dict[tuple[str, str], Line] = field(default_factory=dict)
    """By node and model."""
    from_journal: int = 0
    """Answers that were paid for by an earlier run, or by an earlier attempt."""
    repeated: int = 0
    """Calls that were under way when an earlier run was killed, and had to be asked again."""

    @property
    def calls(self) -> int:
        """How many calls were answered."""
        return sum(line.calls for line in self.lines.values())

    @property
    def cost(self) -> int:
        """What all calls cost, in micro-dollars."""
        return sum(line.cost for line in self.lines.values())

    def add(self, request: Request, usage: Usage, cost: int) -> None:
        """Count an answered call."""
        line = self.lines.setdefault((request.node, request.model), Line())
        line.calls += 1
        line.input_tokens += usage.input_tokens
        line.output_tokens += usage.output_tokens
        line.cost += cost

    def add_loss(self, request: Request, cost: int) -> None:
        """Count what a call without an answer must be assumed to have cost."""
        if cost:
            self.lines.setdefault((request.node, request.model), Line()).cost += cost
