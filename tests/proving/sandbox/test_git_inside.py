"""Generated code and tests have a real git in the sandbox, and see no more of the user's
repository than their base.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.proving.sandbox.stage import Stage, open_sandbox
from tests.repository.git.ground import git, make_repository, open_item, write_files

ASK = """
import json, os, shutil, subprocess, sys
if shutil.which("git") is None:
    sys.exit(77)
def ask(*arguments):
    ended = subprocess.run(["git", *arguments], capture_output=True, text=True)
    return ended.stdout if ended.returncode == 0 else f"{ended.returncode}: {ended.stderr}"
def is_refused(path):
    try:
        open(path, "w").close()
    except OSError:
        return True
    return False
top = os.getcwd()
with open(os.path.join(sys.argv[1], "said"), "w") as file:
    json.dump({
        "status": ask("status", "--porcelain", "--branch"),
        "log": ask("log", "--format=%s"),
        "diff": ask("diff", "--stat"),
        "refs": ask("for-each-ref", "--format=%(refname)"),
        "remotes": ask("remote"),
        "config": ask("config", "--list", "--name-only"),
        "older": ask("cat-file", "-t", OLDER),
        "beside": sorted(os.listdir(os.path.dirname(top))),
        "is_protected": is_refused(os.path.join(top, ".git", "config")),
    }, file)
"""


@pytest.mark.parametrize("name", ["bubblewrap", "plain"])
def test_git_works_in_the_sandbox_on_the_base_alone(tmp_path: Path, name: str) -> None:
    stage = Stage(open_sandbox(name), tmp_path)
    repository = make_repository(tmp_path / "repo")
    older = git(repository, "rev-parse", "HEAD").strip()
    write_files(repository, {"README.md": b"# Second\n"})
    git(repository, "commit", "-q", "-a", "-m", "Second")
    git(repository, "remote", "add", "origin", "https://example.org/x.git")
    git(repository, "tag", "v1")
    worktree = open_item(repository)
    write_files(worktree.path, {"new.py": b"1\n", "README.md": b"# Third\n"})
    scene = replace(stage.scene(), folder=worktree.path)
    finished = asyncio.run(stage.run(ASK.replace("OLDER", repr(older)), scene))
    if finished.code == 77:
        pytest.skip("git is not among the programs of the sandbox")
    assert finished.code == 0, finished.output
    said = json.loads((stage.results / "said").read_text("utf-8"))
    assert said["status"] == f"## {worktree.branch}\n M README.md\n?? new.py\n"
    assert said["log"] == "Second\n"
    assert "README.md | 2 +-" in said["diff"]
    assert said["refs"] == f"{worktree.branch_ref}\n"
    assert said["remotes"] == ""
    assert "remote." not in said["config"]
    assert said["older"].startswith("128: ")
    if name == "bubblewrap":
        assert said["beside"] == ["42"], "its own repository is not shown"
        assert said["is_protected"]
