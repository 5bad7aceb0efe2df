"""Programs that lie in the repository are never run in the place of the real ones,
whatever the search path says.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agentos.repository.forge.github.token import find_token
from agentos.repository.forge.remotes import find_origin
from agentos.state.programs import find_program, search_path
from tests.designs import Item, fill
from tests.support import World

PLANTED = (
    "git",
    "bwrap",
    "claude",
    "gh",
    "python3",
    "python3.11",
    "python3.12",
    "sh",
    "pip",
)


@pytest.mark.parametrize("entry", [".", "", "bin", "./bin"])
def test_a_program_of_the_repository_is_not_run(world: World, entry: str) -> None:
    fill(world, Item(1))
    ran = _plant(world.repo)
    environ = {"PATH": f"{entry}:{world.environ['PATH']}:{entry}"}
    with world.start(
        "implement-workflow", "--all", "--json", environ=environ
    ) as running:
        [item] = json.loads(running.finish().stdout)["items"]
    assert item["status"] == "implemented", item
    asked = world.run(
        "lld-workflow", "--ids", "1", "--drafter", "claude-cli:sonnet", environ=environ
    )
    assert not ran.exists(), ran.read_text("utf-8") + asked.text


def test_github_is_not_asked_with_a_program_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = _plant(tmp_path / "repo")
    monkeypatch.chdir(tmp_path / "repo")
    environ = {"PATH": f".:{tmp_path / 'nothing'}:"}
    assert find_token(environ, "github.com") is None
    assert find_origin(tmp_path / "repo", environ) is None
    assert not ran.exists()


def _plant(repository: Path) -> Path:
    """Put programs into a repository and into its `bin`; return the file in which they
    say that they were run.
    """
    ran = repository.parent / "ran"
    for folder in (repository, repository / "bin"):
        folder.mkdir(parents=True, exist_ok=True)
        for name in PLANTED:
            (folder / name).write_text(
                f"#!/bin/sh\necho {name} >> '{ran}'\nexit 1\n", "utf-8"
            )
            (folder / name).chmod(0o755)
    return ran


def test_only_absolute_entries_are_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\n", "utf-8")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for path in (".", "", ":", "./", "..:."):
        assert find_program("git", {"PATH": path}) == find_program(
            "git", {"PATH": os.defpath}
        )
    assert find_program("git", {"PATH": str(tmp_path)}) == str(tmp_path / "git")
    assert find_program("./git", {}) == str(tmp_path / "git")
    assert search_path({"PATH": f".:/usr/bin::{tmp_path}:x"}) == f"/usr/bin:{tmp_path}"
