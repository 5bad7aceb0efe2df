"""What a role is told about looking."""

from __future__ import annotations

from pathlib import Path

from agentos.repository.look import Looker, record_snapshot
from agentos.workflows.looking import describe_looking
from tests.repository.context.trees import git, make_repository


def test_the_history_is_offered_where_there_is_one(tmp_path: Path) -> None:
    folder = make_repository(tmp_path, {"shop.py": "x = 1\n"})
    told = describe_looking("writer", Looker(folder, record_snapshot(folder)))
    assert "history" not in told
    assert "- `tests NAME`" in told
    git(folder, "commit", "-q", "--allow-empty", "-m", "more")
    told = describe_looking("writer", Looker(folder, record_snapshot(folder)))
    assert "- `history PATH`: the last commits that changed it\n" in told
