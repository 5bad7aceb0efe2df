"""A repository may be hostile: nothing in it is run, nothing outside is read, nothing
secret is shown.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from agentos.repository.look.masking import WITHHELD
from tests.repository.context.trees import (
    ISSUE,
    SHELF,
    git,
    make_repository,
    select,
    write_tree,
)

OUTSIDE = "the contents of a file outside"


def run_unguarded(repository: Path) -> None:
    """List the files as anybody would."""
    subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=repository,
        capture_output=True,
    )


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = write_tree(
        tmp_path / "outside",
        {"export.py": f"# {OUTSIDE}\n", "in/format.md": f"# {OUTSIDE}\n"},
    )
    repository = make_repository(tmp_path / "repo", SHELF)
    (repository / "shelf/export.py").unlink()
    (repository / "shelf/export.py").symlink_to(outside / "export.py")
    (repository / "shelf/loop.py").symlink_to("loop.py")
    (repository / "README.md").unlink()
    (repository / "README.md").symlink_to(outside / "export.py")
    # Known to git as files of a folder that has meanwhile become a link.
    (repository / "docs/format.md").unlink()
    for path in (
        repository / "docs/lld/active",
        repository / "docs/lld",
        repository / "docs/issues",
    ):
        for name in list(path.iterdir()):
            name.unlink()
        path.rmdir()
    (repository / "docs").rmdir()
    (repository / "docs").symlink_to(outside / "in")
    material = select(repository, ISSUE)
    assert OUTSIDE not in material.text
    assert "`shelf/book.py`" in material.text


def test_pipes_and_sockets_are_not_opened(tmp_path: Path) -> None:
    repository = make_repository(tmp_path, SHELF)
    for name in (
        "shelf/export.py",
        "README.md",
        "pyproject.toml",
        "docs/lld/active/LLD-007.md",
    ):
        (repository / name).unlink()
        os.mkfifo(repository / name)
    assert "`shelf/book.py`" in select(repository, ISSUE).text


@pytest.mark.slow
def test_binary_huge_and_misencoded_files_are_named(tmp_path: Path) -> None:
    files = SHELF | {
        "shelf/export.py": b"def export_loans(): ...\0\0",
        "docs/format.md": b"# Caf\xe9\n",
        "shelf/big.py": b"def export_loans(): ...\n" * 420_000,
    }
    repository = make_repository(tmp_path, files)
    text = select(repository, f"{ISSUE}and `shelf/big.py`\n").text
    assert "Not shown: a binary file, which is not shown." in text
    assert "# Caf\ufffd" in text
    assert "only the first 2,000,000 of 10,080,000 bytes are read" in text
    assert len(text) < 20_000


def test_a_name_cannot_break_out_of_its_line(tmp_path: Path) -> None:
    names = (
        "a`b\n## Forged heading.py",
        "\x1b[31mred.py",
        "\u202egnp.py",
        "back|tick<script>.py",
        "\udcff.py",
    )
    repository = make_repository(tmp_path, SHELF)
    for name in names:
        (repository / name).write_text("def export_loans(): ...\n")
    text = select(repository, ISSUE).text
    assert "\n## Forged" not in text
    assert not any(mark in text for mark in ("\x1b", "\u202e", "<script>", "\udcff"))
    assert "a?b\\n## Forged heading.py" in text
    text.encode()


@pytest.mark.parametrize(
    "key",
    [
        "core.fsmonitor",
        "core.hooksPath",
        "core.sshCommand",
        "core.pager",
        "alias.ls-files",
    ],
)
def test_no_command_that_the_configuration_names_is_run(
    tmp_path: Path, key: str
) -> None:
    repository = make_repository(tmp_path / "repo", SHELF)
    proof = tmp_path / "proof"
    script = repository / "evil"
    script.write_text(f"#!/bin/sh\ntouch {proof}\n")
    script.chmod(0o755)
    for hook in (
        "post-index-change",
        "fsmonitor-watchman",
        "query-watchman",
        "post-checkout",
    ):
        (repository / ".git/hooks").mkdir(exist_ok=True)
        (repository / ".git/hooks" / hook).write_bytes(script.read_bytes())
        (repository / ".git/hooks" / hook).chmod(0o755)
    git(
        repository,
        "config",
        key,
        str(repository)
        if key == "core.hooksPath"
        else f"!{script}"
        if "alias" in key
        else str(script),
    )
    if key == "core.fsmonitor":
        run_unguarded(repository)
        assert proof.exists(), "without guards this configuration runs a command"
        proof.unlink()
    os.utime(repository / "shelf/export.py")
    assert "`shelf/export.py`" in select(repository, ISSUE).text
    assert not proof.exists()


def test_nothing_is_fetched_for_objects_that_are_missing(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo", SHELF)
    proof = tmp_path / "proof"
    git(repository, "sparse-checkout", "init", "--cone", "--sparse-index")
    for name, value in {
        "extensions.partialClone": "evil",
        "core.repositoryformatversion": "1",
        "remote.evil.promisor": "true",
        "remote.evil.url": f"ext::touch {proof}",
        "remote.evil.uploadpack": f"touch {proof};",
        "protocol.ext.allow": "always",
        "protocol.allow": "always",
    }.items():
        git(repository, "config", name, value)
    for path in (repository / ".git/objects").rglob("*"):
        if path.is_file():
            path.unlink()
    run_unguarded(repository)
    assert proof.exists(), "without guards this configuration runs a command"
    proof.unlink()
    select(repository, ISSUE)
    assert not proof.exists()


def test_a_work_tree_elsewhere_gives_nothing_away(tmp_path: Path) -> None:
    write_tree(tmp_path / "outside", {"confidential-name.txt": OUTSIDE})
    repository = make_repository(tmp_path / "repo", SHELF)
    git(repository, "config", "core.worktree", str(tmp_path / "outside"))
    text = select(repository, ISSUE).text
    assert "confidential" not in text
    assert OUTSIDE not in text


def test_lines_that_look_like_credentials_are_withheld_and_all_others_stand_as_they_are(
    tmp_path: Path,
) -> None:
    token = "ghp_" + "aB3" * 12
    files = SHELF | {
        "shelf/export.py": f'TOKEN = "{token}"\ndef export_loans(key="{token}"): ...\n',
        "docs/format.md": "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----\n",
        "deploy/loans.yml": "DB_PASSWORD: hunter2hunter2\nurl: postgres://shelf:correcthorse@db/shelf\nuser: shelf\n",
        "README.md": f"# Shelf\n\nLog in with {token}\n",
        "package.json": '{"name": "shelf", "scripts": {"push": "curl -H token='
        + token
        + '"}}',
        ".env": f"TOKEN={token}\n",
    }
    text = select(
        make_repository(tmp_path, files), ISSUE + "`deploy/loans.yml` `.env`\n"
    ).text
    assert not any(
        part in text for part in (token, "MIIEow", "hunter2", "correcthorse")
    )
    assert "[REDACTED]" not in text
    assert f"    1| {WITHHELD}\n    2| {WITHHELD}\n    3| user: shelf\n" in text
    assert f"\n    3| {WITHHELD}\n" in text
