"""Record what the tests of this folder replay: `python -m tests.replay.record` writes
the folder of this version.

A transcript is every question and answer of an item. A checkpoint is the database of an
item that was cut off in its review. Earlier versions' folders are never written again:
they show what people have on their disks.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agentos import __version__
from agentos.backlog.inbox.directory import DirectoryInbox
from agentos.documents.verdict import verdict_json
from agentos.gateway.providers import Completion, Request
from agentos.item import Item
from agentos.kinds import DRAFTING, Kind
from agentos.settings import RunConfig
from agentos.workflows.engine.assignment import Assignment
from agentos.workflows.engine.flow import Session
from agentos.workflows.engine.runner import run_session
from agentos.workflows.engine.stores import SqliteStore
from tests.stand_in import write_draft, write_review
from tests.support import BRIEF, ISSUE

HERE = Path(__file__).parent
INPUTS = {
    Kind.LLD: ("docs/issues/7-export.md", ISSUE.format(number=7)),
    Kind.ISSUE: ("docs/briefs/8-reminders.md", BRIEF.format(number=8)),
}
MODELS = ("openai:recorded-drafter", "anthropic:recorded-reviewer")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One question and its answer."""

    request: Request
    completion: Completion

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return {"request": asdict(self.request), "text": self.completion.text}


class CutOff(Exception):
    """The moment at which a recording ends as if the process were killed."""


def write_input(repository: Path, workflow: Kind) -> Item:
    """Put the recorded item's input into a repository."""
    path, text = INPUTS[workflow]
    (repository / path).parent.mkdir(parents=True, exist_ok=True)
    (repository / path).write_text(text, "utf-8")
    (item,) = DirectoryInbox(repository, workflow).collect().items
    return item


def record(
    workflow: Kind, folder: Path, *, cut_in_review: bool
) -> tuple[list[Exchange], Path]:
    """Run an item in this process with the stand-in for a model; return what was asked
    and the checkpoint that is left.
    """
    repository = folder / "repo"
    item = write_input(repository, workflow)
    source = DirectoryInbox(repository, workflow).load(item)
    exchanges: list[Exchange] = []

    async def ask(*, role: str, **question: Any) -> Completion:
        if cut_in_review and role == "review":
            raise CutOff
        model = MODELS[role == "review"]
        request = Request(
            "",
            workflow,
            item.id,
            purpose=f"{workflow}.{role}",
            model=model,
            **question,
        )
        completion = Completion(_answer(request), model)
        exchanges.append(Exchange(request, completion))
        return completion

    checkpoint = folder / f"{workflow}.db"
    assignment = Assignment(
        item=item,
        text=source.text,
        digest=source.digest,
        repository="",
        config=RunConfig(max_rounds=5, drafter=MODELS[0], reviewer=MODELS[1]),
    )
    store = SqliteStore(checkpoint)
    session = Session(assignment, repository, store, ask, lambda *_: None)
    try:
        asyncio.run(run_session(session, lambda _: None))
    except CutOff:
        pass
    return exchanges, checkpoint


def _answer(request: Request) -> str:
    if request.purpose.endswith(".draft"):
        return write_draft(request.purpose, request.inputs)
    return verdict_json(write_review(request.purpose, request.inputs))


def main() -> None:
    """Write the folder of this version."""
    target = HERE / f"v{__version__}"
    target.mkdir(exist_ok=True)
    for workflow in DRAFTING:
        with tempfile.TemporaryDirectory() as folder:
            exchanges, _ = record(workflow, Path(folder), cut_in_review=False)
            text = json.dumps([exchange.to_json() for exchange in exchanges], indent=1)
            (target / f"{workflow}-transcript.json").write_text(text + "\n", "utf-8")
        with tempfile.TemporaryDirectory() as folder:
            _, checkpoint = record(workflow, Path(folder), cut_in_review=True)
            kept = target / f"{workflow}-checkpoint.db"
            kept.unlink(missing_ok=True)
            with sqlite3.connect(checkpoint) as source, sqlite3.connect(kept) as copy:
                source.backup(copy)


if __name__ == "__main__":
    main()
