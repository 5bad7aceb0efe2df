"""Answer looks for the history of a file or a folder."""

from __future__ import annotations

from agentos.repository.git.names import checked_commit
from agentos.repository.look.asking import show_line
from agentos.repository.look.recorded import RecordedFiles
from agentos.repository.look.snapshot import NO_GIT
from agentos.state.terminal_text import clean_text
from agentos.state.wording import count

_MOST_COMMITS = 20
_LOG_LIMIT = 200_000
_ID_LENGTH = 10

Rows = list[str]


def find_history(files: RecordedFiles, target: str) -> Rows:
    """Return the last commits of a path up to that of the snapshot."""
    path = files.find_any(target)
    if not files.snapshot.head:
        return ["no git history"]
    rows = _list_commits(files, path, _MOST_COMMITS + 1)
    if rows is None:
        return ["its history cannot be read"]
    if not rows:
        return ["0 commits: git does not track it yet"]
    if len(rows) == 1:
        only = f"1 commit: {rows[0]}"
        if has_one_commit(files):
            only += "; the repository has no other"
        return [only]
    head = f"{count(len(rows), 'commit')}, newest first:"
    if len(rows) > _MOST_COMMITS:
        rows.pop()
        head = f"the last {_MOST_COMMITS} commits:"
    return [head, *rows]


def has_one_commit(files: RecordedFiles) -> bool:
    """Tell whether the history of a snapshot is a single commit."""
    if not files.has_history:
        return False
    rows = _list_commits(files, "", 2)
    return rows is not None and len(rows) == 1


def _list_commits(files: RecordedFiles, path: str, most: int) -> Rows | None:
    """Return a row for each of the last commits, of all files without a path; None if
    git fails.
    """
    try:
        git, prefix = files.git()
        literal = git.with_variables(GIT_LITERAL_PATHSPECS="1")
        whole = f"{prefix}{path}"
        places = [whole] if path else []
        printed = literal.run(
            "log",
            f"--max-count={most}",
            "--no-show-signature",
            "--date=short",
            "--format=%H %ad %s",
            "--end-of-options",
            checked_commit(files.snapshot.head),
            "--",
            *places,
            limit=_LOG_LIMIT,
        )
    except NO_GIT:
        return None
    text = printed.decode("utf-8", "replace")
    clean = clean_text(text).decode()
    rows = []
    for row in clean.split("\n")[:-1]:
        found, _, rest = row.partition(" ")
        short = found[:_ID_LENGTH]
        shown = show_line(rest)
        rows.append(f"{short} {shown}")
    return rows
