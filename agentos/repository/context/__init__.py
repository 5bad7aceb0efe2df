"""Select repository context for prompts: outlines of code, and files with the reason
why each is shown.
"""

from agentos.repository.context.python import python_map
from agentos.repository.context.selection import RepositoryContext, select_context

__all__ = ["RepositoryContext", "python_map", "select_context"]
