"""Count the tokens of a call from all places where the command reports them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentos.gateway.providers.streaming import count_tokens
from agentos.gateway.providers.tokens import LONG_TOKEN
from agentos.usage import Usage

Report = Mapping[str, Any]
"""A JSON object in the output of the command."""


@dataclass(slots=True)
class Count:
    """Tokens of one call so far; all reports are totals, so the largest is the latest."""

    has_begun: bool = False
    """Whether a piece of the answer has arrived."""
    is_whole: bool = False
    """Whether the API's own count of the whole call has arrived."""
    _input: int = 0
    _cached: int = 0
    _written: int = 0
    _output: int = 0
    _opening: int = 0
    """Output tokens that were reported before the answer began."""
    _seen: int = 0
    """Characters of the answer."""

    def open(self, usage: Report) -> None:
        """Take the report at the beginning of an answer."""
        self.take(usage)
        self._opening = self._output
        self.is_whole = False

    def take(self, usage: Report) -> None:
        """Take a report of the API."""
        self._raise_to(
            usage.get("input_tokens"),
            usage.get("cache_read_input_tokens"),
            usage.get("cache_creation_input_tokens"),
            usage.get("output_tokens"),
        )

    def take_models(self, models: list[Report]) -> None:
        """Take the command's own totals by model, which include requests besides the
        one for the answer.
        """
        self._raise_to(
            _sum(models, "inputTokens"),
            _sum(models, "cacheReadInputTokens"),
            _sum(models, "cacheCreationInputTokens"),
            _sum(models, "outputTokens"),
        )

    def see(self, piece: str) -> None:
        """Take a piece of the answer."""
        self.has_begun = True
        self._seen += len(piece)

    def usage(self) -> Usage:
        """Return the count; uncounted output is estimated from below by what was seen."""
        output = self._output
        if not self.is_whole:
            output = max(output, self._seen // LONG_TOKEN)
        given = self._input + self._cached + self._written
        return Usage(given, output, self._cached, self._written)

    def _raise_to(
        self, given: object, cached: object, written: object, output: object
    ) -> None:
        self._input = max(self._input, count_tokens(given))
        self._cached = max(self._cached, count_tokens(cached))
        self._written = max(self._written, count_tokens(written))
        self._output = max(self._output, count_tokens(output))
        # The command may know the final count without having passed it on.
        if self._output > self._opening:
            self.is_whole = True


def _sum(models: list[Report], name: str) -> int:
    counts = [model.get(name) for model in models]
    return count_tokens(*counts)
