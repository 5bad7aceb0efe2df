"""The example backlog by real SDKs against the scenario server: ends as with offline,
every cent accounted for.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.commands.asking import (
    MODELS,
    PRICES,
    command,
    events_of,
    key,
    status_of,
    summary_of,
    write_keys,
)
from tests.scenario import Serving, serve
from tests.support import NO_CLAUDE, ROOT, World, find_claudes

PAIRS = [
    ("anthropic", "gemini"),
    ("gemini", "openai"),
    ("openai", "anthropic"),
    ("openai", "claude-cli"),
]
CLAUDES = find_claudes()

RECORDED = ROOT / "examples" / "recorded"
SLOWEST = 240.0
"""Seconds; the claude command takes seconds of computing for each review."""


@pytest.fixture
def backlog(make_world: Callable[..., World]) -> World:
    """A copy of the example backlog."""
    world = make_world(issues=0)
    shutil.rmtree(world.repo)
    shutil.copytree(ROOT / "examples/backlog", world.repo)
    return world


@pytest.fixture(scope="module")
def offline_ends(
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, tuple[str, str | None]]:
    """How the items of the backlog end with the recorded answers."""
    folder = tmp_path_factory.mktemp("offline")
    shutil.copytree(ROOT / "examples/backlog", folder / "repo")
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "AGENTOS_HOME": str(folder / "home"),
    }
    world = World(folder / "repo", folder / "home", environ)
    recorded = ("--drafter", f"offline:answers={RECORDED}")
    assert world.run("lld-workflow", "--all", "--parallel", "5", *recorded).code == 0
    return status_of(world)


def recorded_answers() -> list[dict[str, Any]]:
    """Return the recorded drafts and reviews of designs as answers of the server."""
    answers = []
    for folder in sorted(RECORDED.iterdir()):
        for role, suffix in (("draft", "md"), ("review", "json")):
            files = sorted(folder.glob(f"lld-{role}-*.{suffix}"))
            texts = [path.read_text("utf-8") for path in files]
            if texts:
                purpose = f"lld.{role}"
                answer = {"purpose": purpose, "item": folder.name, "texts": texts}
                answers.append(answer)
    return answers


@pytest.mark.parametrize(
    ("drafter", "reviewer"), PAIRS, ids=["-".join(pair) for pair in PAIRS]
)
def test_the_backlog_ends_as_recorded_and_costs_what_the_server_bills(
    backlog: World,
    offline_ends: dict[str, tuple[str, str | None]],
    drafter: str,
    reviewer: str,
) -> None:
    environ = {}
    if reviewer == "claude-cli":
        if not CLAUDES:
            pytest.skip(NO_CLAUDE)
        environ["AGENTOS_CLAUDE_COMMAND"] = CLAUDES[-1]
    with serve({**PRICES, "answer": recorded_answers()}) as server:
        write_keys(backlog, key(drafter, server.url), key(reviewer, server.url))
        with backlog.start(*command(drafter, reviewer), environ=environ) as running:
            running.ends_within(SLOWEST)
            ended = running.finish()
        assert ended.code == 0, ended.text
        assert "8 approved, 2 need discussion" in ended.stdout
        assert "Traceback" not in ended.text
        assert status_of(backlog) == offline_ends
        assert_the_books_agree(backlog.run_folders[-1], server, drafter, reviewer)


def assert_the_books_agree(
    folder: Path, server: Serving, drafter: str, reviewer: str
) -> None:
    summary, calls = summary_of(folder), list(events_of(folder, "call"))
    ledger = server.ledger
    assert summary["cost"] == pytest.approx(ledger.bill(), abs=1e-9)
    assert summary["cost"] == pytest.approx(
        sum(item["cost"] for item in summary["items"])
    )
    for item in summary["items"]:
        assert item["cost"] > 0
        assert item["cost"] == pytest.approx(
            sum(call.cost for call in ledger.calls(item=item["id"])), abs=1e-9
        )
        assert item["cost"] == pytest.approx(
            sum(call["cost"] for call in calls if call["item"] == item["id"])
        )
    lines = summary["calls"]["by_node_and_model"]
    assert {(line["node"], line["model"]) for line in lines} == {
        ("N1_design", f"{drafter}:{MODELS[drafter]}"),
        ("N3_review", f"{reviewer}:{MODELS[reviewer]}"),
    }
    assert (
        sum(line["calls"] for line in lines)
        == summary["calls"]["answered"]
        == len(calls)
    )
    assert len(ledger.calls()) == len(calls)
    for call in calls:
        asked = drafter if call["purpose"] == "lld.draft" else reviewer
        assert call["key"].startswith(f"{asked}-")
        assert call["input_tokens"] > 0
        assert call["output_tokens"] > 0
        assert call["cost"] > 0
        assert call["retries"] == 0


def test_a_running_batch_is_told_by_status_and_nothing_on_disk_has_the_key(
    backlog: World,
) -> None:
    with serve({**PRICES, "latency": 60.0}) as server:
        write_keys(backlog, key("openai", server.url))
        with backlog.start(*command("openai", "openai", parallel=2)) as running:
            running.wait_for("Executing: N1_design", times=2)
            document = json.loads(backlog.run("agentos", "status", "--json").stdout)
            assert document["counts"]["running"] == 2
    for path in backlog.home.rglob("*"):
        if path.is_file() and path.name != "keys.toml":
            assert b"sk-openai-0000001" not in path.read_bytes(), path
