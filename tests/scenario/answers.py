"""What the server answers: usable drafts and verdicts for AgentOS's prompts, as the
stand-in for a model writes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from agentos.documents.verdict import verdict_json
from agentos.errors import AgentOSError
from agentos.workflows.prompts.rendering import load_prompt
from tests.scenario.script import Answer
from tests.stand_in import write_draft, write_review

OTHER = "other"
PLAIN_ANSWER = "This is the scenario server. It answers AgentOS's prompts and says this to everything else."
BROKEN_JSON = '{"decision": "APPROVED", "summary": "cut off in the mid'
_PACKAGES = {
    "lld": "agentos.workflows.drafting.lld",
    "issue": "agentos.workflows.drafting.issue",
}
_ROLES = ("draft", "review")


@dataclass(frozen=True, slots=True)
class Recognised:
    """A prompt of AgentOS and what it was rendered from; for any other text the purpose
    is `other`.
    """

    prompt: str
    purpose: str = OTHER
    inputs: tuple[tuple[str, str], ...] = ()

    @property
    def item(self) -> str:
        """Return the item that the prompt is about, or nothing."""
        return dict(self.inputs).get("item", "")


def recognise(texts: Sequence[str]) -> Recognised:
    """Find the block that is a prompt of AgentOS; without one all the blocks are the
    prompt.
    """
    for text in reversed(texts):
        for purpose, parts in _templates().items():
            inputs = _extract(text, parts)
            if inputs is not None:
                return Recognised(text, purpose, tuple(sorted(inputs.items())))
    return Recognised("\n\n".join(texts))


def write_answer(
    recognised: Recognised, answers: Iterable[Answer], turn: int = 1
) -> str:
    """Return the script's answer to a prompt, else what the stand-in says, else a
    fixed text.

    `turn` counts the calls of this purpose for this item.
    """
    for answer in answers:
        if answer.purpose in ("*", recognised.purpose) and answer.item in (
            "",
            recognised.item,
        ):
            return (
                answer.texts[min(turn, len(answer.texts)) - 1]
                if answer.texts
                else answer.text
            )
    return (
        PLAIN_ANSWER
        if recognised.purpose == OTHER
        else _apply_rules(recognised.purpose, recognised.inputs)
    )


def wrap_verdict(text: str) -> str:
    """Return a verdict as a tool takes it that also takes looks, any other text as it
    is.
    """
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if not isinstance(value, dict) or "decision" not in value:
        return text
    whole = {"earlier": [], "source_errors": [], **value}
    return json.dumps({"look": None, "verdict": whole})


@lru_cache(maxsize=1000)
def _apply_rules(purpose: str, inputs: tuple[tuple[str, str], ...]) -> str:
    try:
        if purpose.endswith(".draft"):
            return write_draft(purpose, dict(inputs))
        return verdict_json(write_review(purpose, dict(inputs)))
    except AgentOSError as error:
        return f"The stand-in has no answer to this {purpose}: {error}"


@cache
def _templates() -> Mapping[str, tuple[str, ...]]:
    """Return each template as literal text and names by turns."""
    found = {}
    for workflow, package in _PACKAGES.items():
        for role in _ROLES:
            body = load_prompt(package, role).body
            pieces = body.split("{{")
            parts = [pieces[0]]
            for piece in pieces[1:]:
                name, _, literal = piece.partition("}}")
                parts += [name, literal]
            found[f"{workflow}.{role}"] = tuple(parts)
    return found


def _extract(text: str, parts: Sequence[str]) -> dict[str, str] | None:
    """Walk a rendered prompt along its template, or return None when it does not follow
    it.
    """
    start = text.find(parts[0])
    if start < 0:
        return None
    position = start + len(parts[0])
    inputs: dict[str, str] = {}
    for name, literal in zip(parts[1::2], parts[2::2], strict=True):
        is_last = literal is parts[-1]
        value, position = _read_value(text, position, name, inputs.get(name), literal)
        expected = literal.rstrip() if is_last else literal
        if value is None or not text.startswith(expected, position):
            return None
        inputs[name] = value
        position += len(expected)
    return inputs


def _read_value(
    text: str, position: int, name: str, known: str | None, literal: str
) -> tuple[str | None, int]:
    if known is not None and text.startswith(known, position) and name == "item":
        return known, position + len(known)
    if name in ("item", "looking"):
        # AgentOS itself wrote it, so it has no marks.
        end = text.find(literal, position, position + 5000 + len(literal))
        return (text[position:end], end) if end >= 0 else (None, position)
    if text.startswith("(none)", position):
        return "", position + len("(none)")
    line_end = text.find("\n", position, position + 200)
    if line_end < 0 or not text.startswith("<<<", position):
        return None, position
    closing = f"\n{text[position + 3 : line_end]}>>>"
    end = text.find(closing, line_end + 1)
    if end < 0:
        return None, position
    return text[line_end + 1 : end], end + len(closing)
