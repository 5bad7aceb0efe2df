"""List the last commits that touched a file."""

from __future__ import annotations

from pathlib import Path

from agentos.errors import BadInput
from agentos.repository.git.names import checked_commit
from agentos.repository.git.repository import find_repository
from agentos.repository.git.run import GitError
from agentos.repository.look.showing import shorten
from agentos.state.redaction import redact
from agentos.state.terminal_text import clean_text
from agentos.state.wording import count

NO_HISTORY = "no git history"
_MOST_COMMITS = 20
_TIMEOUT = 10.0
_OUTPUT_LIMIT = 200_000


def list_commits(root: Path, head: str, path: str) -> list[str]:
    """Return date and subject of the last commits before the snapshot's."""
    if not head:
        return [NO_HISTORY]
    try:
        repository = find_repository(root)
        git = repository.git().with_variables(GIT_LITERAL_PATHSPECS="1")
        arguments = (
            "log",
            f"--max-count={_MOST_COMMITS + 1}",
            "--no-show-signature",
            "--date=short",
            "--format=%ad %s",
            "--end-of-options",
            checked_commit(head),
            "--",
            f"{repository.prefix}{path}",
        )
        with git.start(*arguments, timeout=_TIMEOUT) as output:
            data = output.read(_OUTPUT_LIMIT)
    except (BadInput, GitError, OSError):
        return [f"{NO_HISTORY} of this file could be read"]
    return _show(data)


def _show(data: bytes) -> list[str]:
    text = redact(data.decode("utf-8", "replace"))
    rows = clean_text(text).decode().splitlines()
    if not rows:
        return ["0 commits: git does not track it yet"]
    shown = [shorten(row) for row in rows[:_MOST_COMMITS]]
    head = count(len(shown), "commit")
    if len(rows) > _MOST_COMMITS:
        head = f"the last {head}"
    return [f"{head}, newest first:", *shown]
