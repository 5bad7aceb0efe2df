"""Tell the tests that an item brings from those that a test file held before it. Pure."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass, replace

from agentos.inspection.collection import collect_tests
from agentos.inspection.parsing import parse_python
from agentos.proofs.runs import TestRun


@dataclass(frozen=True, slots=True)
class Comparison:
    """A test file now, held against what it was; names are those within the file."""

    brought: frozenset[str]
    """Tests that are new or read differently."""
    earlier: tuple[str, ...]
    """Tests that were there, also those that were changed."""
    lost: tuple[str, ...]
    """Tests that were there and are not any more."""


def compare(text: str, base: str | None) -> Comparison:
    """Hold the tests of a file against those of its text before the item; None when there was no such file."""
    now, before = _tests(text), _tests(base or "")
    return Comparison(
        brought=frozenset(name for name, body in now.items() if before.get(name) != body),
        earlier=tuple(before),
        lost=tuple(name for name in before if name not in now),
    )


def without_earlier(run: TestRun, names: Collection[str], earlier: Collection[str]) -> TestRun:
    """Leave out of a run what the item's test files held before: the whole suite is where those are judged."""
    hidden = {*earlier} - {*names}
    return replace(run, tests=tuple(test for test in run.tests if not hidden & {test.id, test.base}))


def _tests(text: str) -> dict[str, str]:
    module = parse_python(text)
    return {test.name: ast.dump(test.node) for test in collect_tests(module)} if isinstance(module, ast.Module) else {}
