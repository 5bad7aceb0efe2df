"""Only the coordinator writes results into the repository, and a result that could not be
published is not asked for again.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentos.gateway.providers import Completion
from agentos.item import Item
from agentos.kinds import Kind
from agentos.run.report.audit import read_audit
from agentos.settings import RunConfig
from agentos.workflows.engine.assignment import Assignment
from agentos.workflows.engine.flow import Session
from agentos.workflows.engine.runner import run_session
from agentos.workflows.engine.stores import MemoryStore
from tests.support import ISSUE, World


def test_a_session_returns_its_results_and_writes_nothing_into_the_repository(
    tmp_path: Path,
) -> None:
    repository = tmp_path / "repo"
    repository.mkdir()

    async def ask(**_: object) -> Completion:
        return Completion(text="# Nothing", model="nobody")

    assignment = Assignment(
        item=Item(Kind.LLD, "1", "docs/issues/1.md"),
        text=ISSUE.format(number=1),
        digest="digest",
        repository="",
        config=RunConfig(max_rounds=1),
    )
    session = Session(assignment, repository, MemoryStore(), ask, lambda *_: None)
    outcome, artifacts = asyncio.run(run_session(session, lambda _: None))
    assert outcome.is_decided
    assert "001-issue.md" in artifacts.files[0]
    assert list(repository.iterdir()) == []


@pytest.mark.slow
def test_a_result_that_could_not_be_written_is_published_later_without_a_call(
    world: World,
) -> None:
    blocked = world.repo / "docs/lld"
    blocked.write_text("a file where a folder belongs\n", "utf-8")
    ended = world.run("lld-workflow", "--issue", "1", "--retries", "0")
    assert ended.code == 1, ended.text
    assert "cannot be written (Not a directory)" in ended.text
    assert str(blocked) in ended.text
    assert list(world.repo.rglob("*.tmp")) == []
    blocked.unlink()
    again = world.run("lld-workflow", "--issue", "1")
    assert again.code == 0, again.text
    assert (world.repo / "docs/lld/active/LLD-001.md").exists()
    events = read_audit(world.run_folders[-1] / "workflow-audit-1.jsonl")
    assert [event for event in events if event["event"] == "call"] == []
