"""Run a function over many items at once: a library without graphs and providers. Begin
with `coordinator.py`.
"""

from agentos.workflows.parallel.coordinator import (
    ParallelCoordinator,
    ProgressStats,
    WorkflowResult,
)
from agentos.workflows.parallel.credential_coordinator import (
    CredentialCoordinator,
    Prospect,
)
from agentos.workflows.parallel.input_sanitizer import sanitize_identifier
from agentos.workflows.parallel.output_prefixer import OutputPrefixer

__all__ = [
    "CredentialCoordinator",
    "OutputPrefixer",
    "ParallelCoordinator",
    "ProgressStats",
    "Prospect",
    "WorkflowResult",
    "sanitize_identifier",
]
