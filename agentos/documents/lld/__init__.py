"""Low-level designs: parse the twelve sections, check them, write the final form.

Begin with `model`, then `parse` and `check`.
"""

from agentos.documents.lld.check import check_lld, check_plan
from agentos.documents.lld.coverage import coverage
from agentos.documents.lld.final import finalize_lld, status_of
from agentos.documents.lld.model import (
    DeclaredFile,
    DoneItem,
    Lld,
    LldDecision,
    LldRequirement,
    LldRisk,
    LldScenario,
    LldSection,
)
from agentos.documents.lld.parse import parse_lld
from agentos.documents.lld.paths import ListedTree, Tree
from agentos.documents.lld.titles import SECTION_TITLES
from agentos.documents.wrapping import unwrap

__all__ = [
    "SECTION_TITLES",
    "DeclaredFile",
    "DoneItem",
    "ListedTree",
    "Lld",
    "LldDecision",
    "LldRequirement",
    "LldRisk",
    "LldScenario",
    "LldSection",
    "Tree",
    "check_lld",
    "check_plan",
    "coverage",
    "finalize_lld",
    "parse_lld",
    "status_of",
    "unwrap",
]
