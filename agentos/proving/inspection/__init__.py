"""Inspect Python that models wrote without running it, and find tests that prove
nothing and code that is missing. Begin with `tests.py` and `sources.py`.
"""

from __future__ import annotations

from agentos.proving.inspection.changed_tests import weakened
from agentos.proving.inspection.lost_names import lost_names
from agentos.proving.inspection.marks import condition_of_import, conditions
from agentos.proving.inspection.parsing import SourceProblem
from agentos.proving.inspection.reached_checks import idle_tests
from agentos.proving.inspection.skeletons import skeletons
from agentos.proving.inspection.sources import SourceReport, inspect_source
from agentos.proving.inspection.tampering import extends_pytest
from agentos.proving.inspection.written_tests import (
    FoundTest,
    TestInventory,
    inspect_support,
    inspect_tests,
    missing_scenarios,
    plain_id,
    scenario_of,
)

__all__ = [
    "FoundTest",
    "SourceProblem",
    "SourceReport",
    "TestInventory",
    "condition_of_import",
    "conditions",
    "extends_pytest",
    "idle_tests",
    "inspect_source",
    "inspect_support",
    "inspect_tests",
    "lost_names",
    "missing_scenarios",
    "plain_id",
    "scenario_of",
    "skeletons",
    "weakened",
]
