"""How many tokens a call took, put together from all the places where the command tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentos.providers import Usage
from agentos.providers.streaming import count_tokens
from agentos.providers.tokens import LONG_TOKEN


@dataclass(slots=True)
class Count:
    """The tokens of one call so far. All that is told is a total, so the largest is the latest."""

    has_begun: bool = False
    """Whether a piece of the answer has arrived."""
    is_whole: bool = False
    """Whether the API's own count of the whole call has arrived."""
    _input: int = 0
    _cached: int = 0
    _written: int = 0
    _output: int = 0
    _opening: int = 0
    """Output tokens that were told before the answer began."""
    _seen: int = 0
    """Characters of the answer."""

    def open(self, usage: Mapping[str, Any]) -> None:
        """Take what the beginning of an answer tells."""
        self.take(usage)
        self._opening = self._output
        self.is_whole = False

    def take(self, usage: Mapping[str, Any]) -> None:
        """Take a count in the API's own words."""
        self._input = max(self._input, count_tokens(usage.get("input_tokens")))
        self._cached = max(self._cached, count_tokens(usage.get("cache_read_input_tokens")))
        self._written = max(self._written, count_tokens(usage.get("cache_creation_input_tokens")))
        self._take_output(count_tokens(usage.get("output_tokens")))

    def take_models(self, models: list[Mapping[str, Any]]) -> None:
        """Take the command's own counts by model, which include requests beside the one for the answer."""
        self._input = max(self._input, _sum(models, "inputTokens"))
        self._cached = max(self._cached, _sum(models, "cacheReadInputTokens"))
        self._written = max(self._written, _sum(models, "cacheCreationInputTokens"))
        self._take_output(_sum(models, "outputTokens"))

    def see(self, piece: str) -> None:
        """Take a piece of the answer."""
        self.has_begun = True
        self._seen += len(piece)

    def usage(self) -> Usage:
        """Return the count; of output that was never counted, what was seen of it at least."""
        output = self._output
        if not self.is_whole:
            output = max(output, self._seen // LONG_TOKEN)
        return Usage(self._input + self._cached + self._written, output, self._cached, self._written)

    def _take_output(self, tokens: int) -> None:
        self._output = max(self._output, tokens)
        # The command may know the last count without having passed it on.
        if self._output > self._opening:
            self.is_whole = True


def _sum(models: list[Mapping[str, Any]], name: str) -> int:
    return count_tokens(*(model.get(name) for model in models))
