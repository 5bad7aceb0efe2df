"""Real repositories to look at."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from agentos.repository.look import Looker, LookLimits, record_snapshot

ENVIRON = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.com",
    "GIT_AUTHOR_DATE": "2025-01-02T12:00:00Z",
    "GIT_COMMITTER_DATE": "2025-01-02T12:00:00Z",
}

TABLES = '''\
"""Formats of tables."""

from functools import cache

WIDTH = 80
LEFT, RIGHT = "l", "r"
FORMATS = {
    "plain": 1,
    "grid": (
        2,
        3,
    ),
}


@cache
def align(text: str, width: int = WIDTH) -> str:
    """Align a text."""

    def pad() -> str:
        inner = " " * width
        return inner

    return text + pad()


class Table:
    """Rows and columns."""

    style = "grid"

    @property
    def head(self) -> str:
        return align(self.style)
'''

USES = """\
from shop.tables import FORMATS, align, Table

print(align("x"), FORMATS["grid"], Table().head)
"""

TESTS = """\
from shop.tables import align, Table


def test_align():
    assert align("a", 3)


class TestTable:
    def test_head(self):
        assert Table().head

    def test_nothing(self):
        assert True
"""

README = """\
The Shop
========

Sells tables.

Use
---

```sh
# no heading
shop
```

## Install

pip install shop
"""

FILES: Mapping[str, str] = {
    "shop/__init__.py": "",
    "shop/tables.py": TABLES,
    "shop/uses.py": USES,
    "tests/test_tables.py": TESTS,
    "README.md": README,
}


def git(folder: Path, *arguments: str) -> str:
    """Run git with an identity and without anyone's configuration."""
    command = ["git", *arguments]
    done = subprocess.run(
        command,
        cwd=folder,
        env=ENVIRON,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files below a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(content)


def commit(folder: Path, message: str = "Begin") -> None:
    """Commit everything."""
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--message", message)


def make_repository(folder: Path, files: Mapping[str, str | bytes] = FILES) -> Path:
    """Return a new repository with one commit of some files."""
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, files)
    git(folder, "init", "--quiet")
    commit(folder)
    return folder


def look(repository: Path, *lines: str, limits: LookLimits | None = None) -> str:
    """Return the answer to looks at a repository as it is now."""
    looker = Looker(repository, record_snapshot(repository), limits)
    return looker.answer(lines, turn=1).text


def look_once(repository: Path, line: str) -> list[str]:
    """Return the rows of the answer to one look, without the frame around it."""
    title, _, rest = look(repository, line).partition("\n")
    assert title.startswith("look 1: ")
    body, _, _ = rest.rpartition("\n\nLeft: ")
    return body.split("\n")
