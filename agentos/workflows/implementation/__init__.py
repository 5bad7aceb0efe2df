"""An approved design becomes a branch with tested code."""

from agentos.workflows.implementation.flow import Implementation

FLOW = Implementation()
