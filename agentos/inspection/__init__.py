"""Look at Python that models wrote without running it: tests that prove nothing, code that is not there."""

from __future__ import annotations

from agentos.inspection.parsing import Problem
from agentos.inspection.skeletons import skeletons
from agentos.inspection.sources import SourceReport, inspect_source
from agentos.inspection.tests import FoundTest, TestInventory, inspect_tests, missing_scenarios, scenario_of

__all__ = [
    "FoundTest",
    "Problem",
    "SourceReport",
    "TestInventory",
    "inspect_source",
    "inspect_tests",
    "missing_scenarios",
    "scenario_of",
    "skeletons",
]
