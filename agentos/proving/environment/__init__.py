"""The Python environment in which a repository's tests run: built once and shared by
all items with the same needs. Start reading at `opening`.
"""

from __future__ import annotations

from agentos.proving.environment.building import Builder, Built
from agentos.proving.environment.extras import missing_extras
from agentos.proving.environment.generated import generated_files
from agentos.proving.environment.metadata import describe_project, nearest_tag
from agentos.proving.environment.needs import TOOLS, Needs, optional_modules, read_needs
from agentos.proving.environment.opening import Environment, open_environment
from agentos.proving.environment.origins import has_untrusted_needs
from agentos.proving.environment.project import install_project

__all__ = [
    "TOOLS",
    "Builder",
    "Built",
    "Environment",
    "Needs",
    "describe_project",
    "generated_files",
    "has_untrusted_needs",
    "install_project",
    "missing_extras",
    "nearest_tag",
    "open_environment",
    "optional_modules",
    "read_needs",
]
