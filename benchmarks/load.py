"""A load of calls for a server with limits: the same questions, keys and limits for
everyone who is compared.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentos.workflows.prompts.rendering import load_prompt, render_prompt

ITEMS = 200
CALLS = 3
PACKAGE = "agentos.workflows.drafting.lld"
MODELS = {"openai": "gpt-6-luna", "gemini": "gemini-3.5-flash"}
SEED = 7
CHARACTERS_A_TOKEN = 4
WINDOW = 5.0
"""Seconds that stand for a minute."""
CALLS_A_WINDOW = 25
"""What each group has room for in a window."""
ROOMY = 2.0
"""How much more than that the limit has that does not bind."""
NEARLY = 1.1
LATENCY = 0.25
TOKENS_PER_SECOND = 3_000.0


@dataclass(frozen=True, slots=True)
class Question:
    """One call: what is asked, and the answer that the server will give."""

    item: str
    role: str
    round: int
    prompt: str
    answer: str

    @property
    def tokens(self) -> int:
        """Return what the server counts for it."""
        return -(-len(self.prompt) // CHARACTERS_A_TOKEN) + -(
            -len(self.answer) // CHARACTERS_A_TOKEN
        )


@dataclass(frozen=True, slots=True)
class Limits:
    """A quota group with one key."""

    name: str
    requests: int
    tokens: int

    @property
    def secret(self) -> str:
        """Return the group's key."""
        return f"key-of-{self.name}"

    def allowed(self, tokens_a_call: float) -> float:
        """Return how many calls of a size a window may have."""
        return min(self.requests, self.tokens / tokens_a_call)


def make_items(count: int = ITEMS) -> list[list[Question]]:
    """Return the calls of each item: a draft, its review and a second draft, sizes
    differing from item to item.
    """
    chance = random.Random(SEED)
    return [_make_item(str(number), chance) for number in range(1, count + 1)]


def _make_item(item: str, chance: random.Random) -> list[Question]:
    issue, draft, verdict = (
        _words(chance.randint(*span)) for span in ((100, 500), (400, 1_000), (60, 240))
    )
    first = {"item": item, "issue": issue}
    review = first | {"draft": draft}
    second = first | {"previous_draft": draft, "findings": verdict}
    return [
        Question(item, "draft", 1, _render("draft", first), draft),
        Question(item, "review", 1, _render("review", review), verdict),
        Question(item, "draft", 2, _render("draft", second), draft),
    ]


def _render(role: str, inputs: Mapping[str, str]) -> str:
    """Fill the prompt of a role; what is not given is empty."""
    declared = load_prompt(PACKAGE, role).inputs
    return render_prompt(PACKAGE, role, {**dict.fromkeys(declared, ""), **inputs})


def _words(tokens: int) -> str:
    return ("word " * tokens)[: tokens * CHARACTERS_A_TOKEN - 1] + "."


def mean_tokens(items: Sequence[Sequence[Question]]) -> float:
    """Return how many tokens a call has on average."""
    questions = [question for item in items for question in item]
    return sum(question.tokens for question in questions) / len(questions)


def make_limits(tokens_a_call: float) -> list[Limits]:
    """Return a group that requests hold back, one that tokens hold back, and one where
    both nearly do.
    """
    requests, tokens = CALLS_A_WINDOW, int(CALLS_A_WINDOW * tokens_a_call)
    return [
        Limits("by-requests", requests, int(tokens * ROOMY)),
        Limits("by-tokens", int(requests * ROOMY), tokens),
        Limits("by-both", requests, int(tokens * NEARLY)),
    ]


def make_script(
    items: Sequence[Sequence[Question]], limits: Sequence[Limits]
) -> Mapping[str, Any]:
    """Return the script of the server that answers these items within these limits."""
    answers = {
        (question.item, question.role): question.answer
        for item in items
        for question in item
    }
    return {
        "window": WINDOW,
        "latency": LATENCY,
        "tokens_per_second": TOKENS_PER_SECOND,
        "group": [
            {
                "name": group.name,
                "requests_per_window": group.requests,
                "tokens_per_window": group.tokens,
            }
            for group in limits
        ],
        "key": [{"secret": group.secret, "group": group.name} for group in limits],
        "answer": [
            {"item": item, "purpose": f"lld.{role}", "text": answer}
            for (item, role), answer in answers.items()
        ],
    }
