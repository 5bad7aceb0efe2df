"""Select repository context for prompts: a map, and the lines that an issue is about.

    files = open_snapshot(repository, record_snapshot(repository, own_documents))
    context = select_context(files, issue)

It reads the snapshot that looks are answered from.
"""

from agentos.repository.context.selection import RepositoryContext, select_context

__all__ = ["RepositoryContext", "select_context"]
