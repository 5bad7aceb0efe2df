"""A low-level design: its twelve sections as data, the mechanical rules, and its final form."""

from agentos.documents.lld.check import check_lld, coverage
from agentos.documents.lld.final import finalise_lld, lld_status
from agentos.documents.lld.parse import (
    SECTION_TITLES,
    Lld,
    LldRequirement,
    LldScenario,
    LldSection,
    parse_lld,
)

__all__ = [
    "SECTION_TITLES",
    "Lld",
    "LldRequirement",
    "LldScenario",
    "LldSection",
    "check_lld",
    "coverage",
    "finalise_lld",
    "lld_status",
    "parse_lld",
]
