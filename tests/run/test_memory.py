"""A run of thousands of items needs no more memory than one of a few."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support import World

FEW, MANY = 5, 25
COUNT = """\
import gc, sys
gc.disable()
from agentos.cli.main import lld_workflow
sys.argv = sys.argv[1:]
code = lld_workflow()
print(gc.collect(), len(gc.get_objects()))
sys.exit(code)
"""
"""Run a command without the garbage collector; print how many objects only the collector
could free, and how many are alive after it.
"""


@pytest.mark.slow
def test_an_ended_item_leaves_nothing_in_the_memory_of_the_coordinator(
    make_world: Callable[..., World],
) -> None:
    few = run_and_count(make_world(issues=FEW, name="few", home="home-few"))
    many = run_and_count(make_world(issues=MANY, name="many", home="home-many"))
    # One object an item is in the list of items, which ends with the run.
    most = 2 * (MANY - FEW)
    # Old garbage waits long for the collector, with all that it refers to.
    assert many["garbage"] - few["garbage"] <= most
    assert many["alive"] - few["alive"] <= most


def run_and_count(world: World) -> dict[str, int]:
    """Run all items; count the objects that are left at the end."""
    ended = world.run("python", "-c", COUNT, "lld-workflow", "--all", "--parallel", "4")
    assert ended.code == 0, ended.text
    garbage, alive = ended.stdout.splitlines()[-1].split()
    return {"garbage": int(garbage), "alive": int(alive)}
