"""Count the calls of a run and their costs by node and model."""

from __future__ import annotations

from dataclasses import dataclass, field

from agentos.gateway.providers import Request
from agentos.money import NO_COST, Cost
from agentos.usage import Usage


@dataclass(slots=True)
class CostLine:
    """Totals of the calls of one node to one model."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    saved: int = 0
    """Micro-dollars that caches saved, less what writing to them cost."""
    cost: Cost = NO_COST


@dataclass(slots=True)
class RunCosts:
    """Calls and costs of a run."""

    lines: dict[tuple[str, str], CostLine] = field(default_factory=dict)
    """By node and model."""
    from_journal: int = 0
    """Answers that an earlier run or attempt had paid for."""
    repeated: int = 0
    """Calls that were repeated because an earlier run was killed before the answer."""
    resent: int = 0
    """Calls that were sent although an earlier one for the same answer may have been
    billed.
    """

    @property
    def calls(self) -> int:
        """Number of answered calls."""
        total = 0
        for line in self.lines.values():
            total += line.calls
        return total

    @property
    def cost(self) -> Cost:
        """Total cost of all calls."""
        total = NO_COST
        for line in self.lines.values():
            total += line.cost
        return total

    @property
    def saved(self) -> int:
        """Micro-dollars that caches saved in all."""
        total = 0
        for line in self.lines.values():
            total += line.saved
        return total

    @property
    def cached_share(self) -> float:
        """Share of the input that was read from caches."""
        given = 0
        cached = 0
        for line in self.lines.values():
            given += line.input_tokens
            cached += line.cached_tokens
        if not given:
            return 0.0
        return cached / given

    def add(self, request: Request, usage: Usage, cost: Cost, saved: int = 0) -> None:
        """Count an answered call."""
        line = self._line(request)
        line.calls += 1
        line.input_tokens += usage.input_tokens
        line.output_tokens += usage.output_tokens
        line.cached_tokens += usage.cached_tokens
        line.saved += saved
        line.cost += cost

    def add_loss(self, request: Request, cost: Cost) -> None:
        """Count the possible cost of a call without an answer."""
        if cost:
            self._line(request).cost += cost

    def _line(self, request: Request) -> CostLine:
        name = (request.node, request.model)
        return self.lines.setdefault(name, CostLine())
