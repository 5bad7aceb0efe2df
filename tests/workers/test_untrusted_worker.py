"""Whatever a worker says, the coordinator answers it, and lets it ask and report only for
the item that it was given.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agentos.errors import BadInput
from agentos.gateway.budget import Caps
from agentos.gateway.journal.memory import MemoryJournal
from agentos.gateway.keys.pool import Pool
from agentos.gateway.keys.store import Store
from agentos.gateway.prices import flat_price
from agentos.gateway.providers import Request, ask_once
from agentos.gateway.providers.offline import create
from agentos.gateway.server import Gateway
from agentos.gateway.wire import request_to_json
from agentos.item import Failure, Item, State, failed
from agentos.kinds import Kind
from agentos.repository.publish import Amendment
from agentos.settings import RunConfig
from agentos.workers import Event
from agentos.workers.process.channel import Channel, Message
from agentos.workers.process.conversation import Conversation
from agentos.workers.process.messages import read_report
from agentos.workers.process.pacing import Pace
from agentos.workflows.engine.assignment import Assignment
from tests.support import ISSUE

MODEL = "offline:approve_after=1"
ASSIGNMENT = Assignment(
    item=Item(Kind.LLD, "1", "docs/issues/1.md"),
    text=ISSUE.format(number=1),
    digest="digest",
    repository="repository-key",
    config=RunConfig(drafter=MODEL, reviewer=MODEL),
)
OUTCOME: Message = {"outcome": failed(Failure.INFRA, "over").to_json()}
NOTHING: Message = {"files": [], "document": "", "commit": ""}


def ask(**changes: str) -> Message:
    """Return a question about the item, or about what the changes name."""
    request = Request(
        repository="repository-key",
        workflow="lld",
        item="1",
        node="N1_design",
        round=1,
        attempt=1,
        purpose="lld.review",
        model=MODEL,
        messages=ask_once("# Hello"),
        inputs={"draft": "# Hello"},
        schema="verdict",
    )
    return {"op": "ask", "id": 1, "request": request_to_json(request) | changes}


def answer_to(message: Message, folder: Path) -> Message:
    """Return what the coordinator answers to a worker that says this."""
    return asyncio.run(_answer_to(message, folder))


async def _answer_to(message: Message, folder: Path) -> Message:
    gateway = Gateway(
        MemoryJournal(),
        Pool(Store(":memory:", time.time), lambda: (), lambda _: None),
        caps=Caps(),
        price=lambda _: flat_price(0, 0, "free"),
        create=lambda _: create("approve_after=1"),
    )
    events: list[Event] = []

    def note(new: Sequence[Event]) -> None:
        events.extend(new)

    conversation = Conversation(
        gateway, Pace(1), ASSIGNMENT, folder, folder / "checkpoint.db", note
    )
    ours, theirs = socket.socketpair()
    heard: asyncio.Queue[Message] = asyncio.Queue()
    worker = Channel(theirs, heard.put_nowait, lambda: None)
    running = asyncio.create_task(conversation.run(ours, lambda: None, {}))
    assert "assignment" in await heard.get()
    worker.send(message)
    async with asyncio.timeout(10):
        answer = await heard.get()
    worker.close()
    assert await running is None
    await gateway.close()
    return answer


def test_a_question_about_the_item_is_answered(tmp_path: Path) -> None:
    assert "completion" in answer_to(ask(), tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"item": "2"},
        {"workflow": "implementation"},
        {"repository": "another-key"},
        {"model": "anthropic:claude-opus-5"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_question_for_another_item_or_model_is_refused(
    tmp_path: Path, change: dict[str, str]
) -> None:
    answer = answer_to(ask(**change), tmp_path)
    assert "completion" not in answer
    assert answer["error"]["failure"] == Failure.BAD_INPUT
    assert "another item or model" in answer["error"]["message"]


@pytest.mark.parametrize(
    "text",
    [
        b'{"do": "store", "table": 5, "rows": []}',
        b'{"do": "store", "table": "checkpoints; DROP", "rows": []}',
        b'{"do": "open", "identity": 7}',
        b'{"do": "open", "identity": ["a"]}',
        b'{"do": "store"}',
        b"[]",
        b"no JSON",
    ],
)
def test_a_checkpoint_message_that_makes_no_sense_is_answered_too(
    tmp_path: Path, text: bytes
) -> None:
    message = {"op": "checkpoint", "id": 3, "blobs": [text]}
    answer = answer_to(message, tmp_path)
    assert answer["id"] == 3
    assert b"error" in answer["blobs"][0]


@pytest.mark.parametrize(
    "report",
    [
        {},
        {"outcome": "approved"},
        {"outcome": {"state": "wonderful"}},
        {**OUTCOME, "cpu_seconds": "long"},
        {**OUTCOME, "artifacts": "all"},
        {**OUTCOME, "artifacts": NOTHING},
        {**OUTCOME, "artifacts": {**NOTHING, "files": [["a"]]}, "blobs": [b""]},
        {**OUTCOME, "artifacts": {**NOTHING, "files": [{"a": 1}]}, "blobs": [b""]},
        {**OUTCOME, "artifacts": {**NOTHING, "document": 1}, "blobs": [b""]},
        {**OUTCOME, "artifacts": {**NOTHING, "commit": None}, "blobs": [b""]},
    ],
)
def test_a_report_that_makes_no_sense_is_one_line(report: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="report cannot be read") as caught:
        read_report(report)
    assert "\n" not in str(caught.value)


def test_an_amendment_is_read_as_it_was_sent() -> None:
    sent = {"files": {"005-draft.md": "draft"}, "document": "new", "ledger": "was"}
    results = {**NOTHING, "amendment": sent}
    read = read_report({**OUTCOME, "artifacts": results, "blobs": [b""]})
    assert read.artifacts is not None
    assert read.artifacts.amendment == Amendment(
        {"005-draft.md": "draft"}, "new", "was"
    )


@pytest.mark.parametrize(
    "sent", [1, {}, {"files": [], "document": "", "ledger": ""}, {"files": {"a": 1}}]
)
def test_an_amendment_that_cannot_be_read_is_refused(sent: object) -> None:
    results = {**NOTHING, "amendment": sent}
    with pytest.raises(BadInput):
        read_report({**OUTCOME, "artifacts": results, "blobs": [b""]})


def test_a_report_is_read_as_it_was_sent() -> None:
    read = read_report({**OUTCOME, "artifacts": NOTHING, "blobs": [b"pack"]})
    assert read.outcome.state is State.FAILED
    assert read.artifacts is not None
    assert read.artifacts.bundle == b"pack"
