"""Draw the issue's scenarios as a Mermaid sequence diagram."""

from __future__ import annotations

from collections.abc import Sequence

from agentos.documents.issue import Scenario
from agentos.documents.words import code_spans
from agentos.providers.offline.blueprint import Blueprint
from agentos.providers.offline.proofs import prove, shorten

_MOST_SCENARIOS = 6
_MOST_STEPS = 12
_PEOPLE = frozenset(
    (
        "user",
        "users",
        "person",
        "developer",
        "admin",
        "administrator",
        "operator",
        "member",
        "librarian",
        "client",
    )
)
_SHOWN = frozenset(("console", "summary", "report", "page", "output", "screen", "terminal", "response"))


def draw(blueprint: Blueprint) -> str:
    """Return a Mermaid block: the first scenario as the way through, the others as its alternatives."""
    scenarios = blueprint.issue.scenarios[:_MOST_SCENARIOS] or _stand_in(blueprint)
    lines = [
        "```mermaid",
        "sequenceDiagram",
        "    actor User",
        f"    participant System as {_product(blueprint)}",
    ]
    for number, scenario in enumerate(scenarios):
        if len(scenarios) > 1:
            lines.append(f"    {'alt' if number == 0 else 'else'} {_safe(scenario.title)}")
        indent = "        " if len(scenarios) > 1 else "    "
        lines.extend(indent + _message(step) for step in scenario.steps[:_MOST_STEPS])
    if len(scenarios) > 1:
        lines.append("    end")
    return "\n".join([*lines, "```"])


def _product(blueprint: Blueprint) -> str:
    command = blueprint.main_command.split(" ", 1)[0]
    return _safe(command if command and not command.isupper() else "System") or "System"


def _stand_in(blueprint: Blueprint) -> Sequence[Scenario]:
    """Use the test scenarios when the issue walks through none."""
    steps: list[str] = []
    for demand in blueprint.demands[:4]:
        proof = prove(demand, blueprint)
        steps += [f"User: {proof.input}", f"Output: {proof.expected}"]
    return [Scenario(blueprint.title, tuple(steps))]


def _message(step: str) -> str:
    first = step.split(" ", 1)[0].strip(":,").casefold()
    text = _safe(step.partition(": ")[2] if step.startswith(("User: ", "Output: ")) else step)
    if first in _PEOPLE:
        return f"User->>System: {text}"
    if first in _SHOWN or any(span.startswith("[") for span in code_spans(step)):
        return f"System-->>User: {text}"
    return f"System->>System: {text}"


def _safe(text: str) -> str:
    """Leave out what Mermaid reads as syntax."""
    flat = shorten(text.replace("`", ""), 80)
    for mark, instead in ((";", ","), ("#", "no. "), ("%%", "%"), ("<", "("), (">", ")"), ('"', "'")):
        flat = flat.replace(mark, instead)
    words = ("finish" if word.casefold() == "end" else word for word in flat.split(" "))
    return " ".join(words).strip(": ")
