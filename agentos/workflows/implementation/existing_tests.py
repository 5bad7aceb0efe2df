"""Tell the new tests of an item from those that a test file already held (pure)."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from agentos.proving.inspection import plain_id, scenario_of
from agentos.proving.inspection.collection import collect_tests
from agentos.proving.inspection.parsing import parse_python
from agentos.proving.runners.runs import TestRun

_MOST_TAKEN = 60


@dataclass(frozen=True, slots=True)
class Comparison:
    """The tests of a file compared with those before the item, by their names within
    the file.
    """

    new: frozenset[str]
    """Tests that were added or changed."""
    existing: tuple[str, ...]
    """Tests that were there before, changed or not."""
    lost: tuple[str, ...]
    """Tests that were there before and are gone."""


def compare(text: str, base: str | None) -> Comparison:
    """Compare the tests of a file with those of its base text; None if there was no
    such file.
    """
    now = _tests(text)
    before = _tests(base or "")
    new = set()
    for name, body in now.items():
        if before.get(name) != body:
            new.add(name)
    return Comparison(
        new=frozenset(new),
        existing=tuple(before),
        lost=tuple(name for name in before if name not in now),
    )


def without_existing(
    run: TestRun, names: Collection[str], existing: Collection[str]
) -> TestRun:
    """Leave out the unchanged tests that the item's files already held: they are judged
    with the whole suite.
    """
    hidden = set(existing).difference(names)
    return replace(
        run,
        tests=tuple(
            test
            for test in run.tests
            if test.id not in hidden and test.base not in hidden
        ),
    )


def say_taken(
    path: str, text: str | None, scenarios: Iterable[str], most: int = _MOST_TAKEN
) -> str:
    """Return a test file with the names of its tests that a new test for one of the
    scenarios might be given, too.
    """
    wanted = set(map(plain_id, scenarios))
    taken = []
    for name in _tests(text or ""):
        scenario = plain_id(scenario_of(name))
        if scenario in wanted:
            taken.append(name)
    if not taken:
        return path
    listed = ", ".join(taken[:most])
    more = len(taken) - most
    if more > 0:
        listed += f" and {more} more"
    return f"{path} (already there, so these names are taken: {listed})"


def _tests(text: str) -> dict[str, str]:
    module = parse_python(text)
    if not isinstance(module, ast.Module):
        return {}
    tests = {}
    for test in collect_tests(module):
        tests[test.name] = ast.dump(test.node)
    return tests
