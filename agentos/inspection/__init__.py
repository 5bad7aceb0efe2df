"""Look at Python that models wrote without running it: tests that prove nothing, code that is not there."""

from __future__ import annotations

from agentos.inspection.parsing import Problem
from agentos.inspection.skeletons import skeletons
from agentos.inspection.sources import SourceReport, inspect_source
from agentos.inspection.tampering import extends_pytest
from agentos.inspection.tests import (
    FoundTest,
    TestInventory,
    inspect_support,
    inspect_tests,
    missing_scenarios,
    plain_id,
    scenario_of,
)
from agentos.inspection.weakening import weakened

__all__ = [
    "FoundTest",
    "Problem",
    "SourceReport",
    "TestInventory",
    "extends_pytest",
    "inspect_source",
    "inspect_support",
    "inspect_tests",
    "missing_scenarios",
    "plain_id",
    "scenario_of",
    "skeletons",
    "weakened",
]
