"""The roles that models have, and how the model of a role is asked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentos.gateway.providers import Request

ROLES = ("drafter", "reviewer", "test_writer", "coder")
_BY_PROMPT = {
    "review": "reviewer",
    "contest": "reviewer",
    "diff": "reviewer",
    "tests": "test_writer",
    "tests-loop": "test_writer",
    "code": "coder",
    "code-loop": "coder",
}


def role_of(prompt: str) -> str:
    """Return the role that answers a prompt: `drafter` for `draft` and all others."""
    return _BY_PROMPT.get(prompt, "drafter")


@dataclass(frozen=True, slots=True)
class RoleTerms:
    """How the model of a role is asked; the names are those of the settings."""

    output_limit: int = 32_000
    effort: str = ""
    """How much the model thinks, in the provider's words; empty for its default."""
    thinking: int = 0
    """Tokens that the model may think for, 0 for its default."""
    temperature: float | None = None
    first_byte_timeout: float = 600.0
    idle_timeout: float = 120.0

    @property
    def chosen(self) -> list[str]:
        """The settings about the model's thinking that differ from its defaults."""
        usual = RoleTerms()
        names = ("effort", "thinking", "temperature")
        return [name for name in names if getattr(self, name) != getattr(usual, name)]

    def apply(self, request: Request) -> Request:
        """Return the request on these terms."""
        return replace(
            request,
            max_output_tokens=self.output_limit,
            effort=self.effort,
            thinking=self.thinking,
            temperature=self.temperature,
            first_byte_timeout=self.first_byte_timeout,
            idle_timeout=self.idle_timeout,
        )
