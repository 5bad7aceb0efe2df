"""The environment in which a repository's own tests run: built once, shared by all items that need the same."""

from __future__ import annotations

from agentos.environments.generated import generated_files
from agentos.environments.metadata import project_metadata
from agentos.environments.needs import TOOLS, Needs, read_needs
from agentos.environments.opening import Environment, open_environment
from agentos.environments.origins import is_asked_by_others

__all__ = [
    "TOOLS",
    "Environment",
    "Needs",
    "generated_files",
    "is_asked_by_others",
    "open_environment",
    "project_metadata",
    "read_needs",
]
