"""Draft a design from an issue, by rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentos.providers.offline import lld_body
from agentos.providers.offline.blueprint import Blueprint
from agentos.providers.offline.lld_changes import write_changes
from agentos.providers.offline.lld_data import write_data, write_diagram
from agentos.providers.offline.lld_tests import write_tests

WRITERS: Mapping[int, Callable[[Blueprint], str]] = {
    1: lld_body.write_context,
    2: write_changes,
    3: lld_body.write_requirements,
    4: lld_body.write_alternatives,
    5: write_data,
    6: write_diagram,
    7: lld_body.write_security,
    8: lld_body.write_performance,
    9: lld_body.write_legal,
    10: write_tests,
    11: lld_body.write_risks,
    12: lld_body.write_done,
}


def draft_lld(blueprint: Blueprint) -> str:
    """Return a whole design with its twelve sections."""
    head = f"# {blueprint.item} - {blueprint.title}\n\n{lld_body.NOTICE}"
    return "\n\n".join([head, *(write(blueprint) for write in WRITERS.values())]) + "\n"
