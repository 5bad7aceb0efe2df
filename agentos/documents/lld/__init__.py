"""A low-level design: its twelve sections as data, the mechanical rules, and its final form."""

from agentos.documents.lld.check import check_lld, check_plan
from agentos.documents.lld.coverage import coverage
from agentos.documents.lld.final import finalise_lld, lld_status
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
from agentos.documents.lld.parse import build_lld, parse_lld, render_lld
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
    "build_lld",
    "check_lld",
    "check_plan",
    "coverage",
    "finalise_lld",
    "lld_status",
    "parse_lld",
    "render_lld",
    "unwrap",
]
