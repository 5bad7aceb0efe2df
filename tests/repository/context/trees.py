"""Real repositories for the tests of the selection."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from agentos.repository.context import RepositoryContext, select_context
from agentos.repository.look import open_snapshot, record_snapshot

ISSUE = """\
# 42 - Export loans as CSV

Depends on: #7

## Objective
Add `export_loans` to `shelf/export.py`; `LoanBook` stays as it is. See docs/format.md.

## Acceptance Criteria
- [ ] `shelf export --year 2025` writes one row for each loan
"""

EXPORT = '''\
"""Write loans."""

from shelf.book import LoanBook


def export_loans(book: LoanBook, year: int = 2025) -> list[str]:
    """Return one row for each loan."""
    return []
'''

BOOK = '''\
"""Keep loans."""


class LoanBook:
    """All loans."""

    def lend(self, item: int, *, days: int = 14) -> None:
        """Lend an item."""
'''

DESIGN = """\
# 7 - Feature: Keep a loan book

## 1. Context & Goal
* **Status:** APPROVED

## 2. Proposed Changes

### 2.1 Files Changed

| File | Change Type | Description |
|------|-------------|-------------|
| `shelf/book.py` | Add | the loan book |

### 2.4 Function Signatures

```python
def open_book(path: Path) -> LoanBook: ...
```

### 2.5 Logic Flow
1. Something long that nobody builds on.

## 3. Requirements
1. A loan has a first and a last day.
"""

SHELF = {
    "shelf/__init__.py": "",
    "shelf/export.py": EXPORT,
    "shelf/book.py": BOOK,
    "shelf/web.py": '"""Serve pages."""\n\n\ndef serve() -> None: ...\n',
    "tests/test_export.py": "from shelf.export import export_loans\n\n\ndef test_it() -> None: ...\n",
    "docs/format.md": "# The format\n\nOne row for each loan.\n",
    "docs/lld/active/LLD-007.md": DESIGN,
    "docs/issues/42.md": ISSUE,
    "CONTRIBUTING.md": "# Contributing\n\nTests first.\n",
    "README.md": "# Shelf\n\nLends cake tins.\n",
    "pyproject.toml": '[project]\nname = "shelf"\nrequires-python = ">=3.11"\ndependencies = ["click>=8"]\n',
}


def write_tree(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Put files into a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def git(folder: Path, *arguments: str) -> None:
    """Run git as nobody's user in nobody's home."""
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }
    subprocess.run(
        ["git", *arguments], cwd=folder, env=environ, check=True, capture_output=True
    )


def make_repository(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Make a git repository in which everything is committed."""
    write_tree(folder, files)
    git(folder, "init", "-q", ".")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "all")
    return folder


def select(
    repository: Path, source: str, limit: int = 60_000, called: str = "issue"
) -> RepositoryContext:
    """Return the context of a source in a repository as it is now."""
    files = open_snapshot(repository, record_snapshot(repository))
    return select_context(files, source, limit, called=called)
