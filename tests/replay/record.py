"""Record what the tests of this folder replay: `python -m tests.replay.record` writes the folder of this version.

A transcript is every question and answer of an item. A checkpoint is the database of an item that was cut off in its
review. Earlier versions' folders are never written again: they show what people have on their disks.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from agentos import __version__
from agentos.artefacts import Publication
from agentos.gateway.client import Asker
from agentos.inbox.directory import DirectoryInbox
from agentos.providers import Completion, Request, create_provider, parse_model_spec
from agentos.task import DRAFTING, Task, Workflow
from agentos.workflows.flow import Job
from agentos.workflows.runner import run_job
from tests.support import BRIEF, ISSUE

HERE = Path(__file__).parent
INPUTS = {
    Workflow.LLD: ("docs/issues/7-export.md", ISSUE.format(number=7)),
    Workflow.ISSUE: ("docs/briefs/8-reminders.md", BRIEF.format(number=8)),
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


def write_input(repository: Path, workflow: Workflow) -> Task:
    """Put the recorded item's input into a repository."""
    path, text = INPUTS[workflow]
    (repository / path).parent.mkdir(parents=True, exist_ok=True)
    (repository / path).write_text(text, "utf-8")
    (task,) = DirectoryInbox(repository, workflow).collect().tasks
    return task


def record(workflow: Workflow, folder: Path, *, cut_in_review: bool) -> tuple[list[Exchange], Path]:
    """Run an item in this process by the rules; return what was asked and the checkpoint that is left."""
    repository = folder / "repo"
    task = write_input(repository, workflow)
    source = DirectoryInbox(repository, workflow).load(task)
    asker = Asker("", workflow, task.item, *MODELS)
    rules = create_provider(parse_model_spec("offline"))
    exchanges: list[Exchange] = []

    async def ask(*, role: str, **question: Any) -> Completion:
        if cut_in_review and role == "review":
            raise CutOff
        model = asker.drafter if role == "draft" else asker.reviewer
        request = Request("", asker.workflow, asker.item, purpose=f"{workflow}.{role}", model=model, **question)
        completion = replace(await rules.complete(request, None), model=model)
        exchanges.append(Exchange(request, completion))
        return completion

    checkpoint = folder / f"{workflow}.db"
    publication = Publication(str(repository), ("papers/1",), "documents/1.md", "recording")
    job = Job(task, source.text, source.digest, checkpoint, publication, max_rounds=5)
    try:
        asyncio.run(run_job(job, ask, lambda *_: None, lambda _: None))
    except CutOff:
        pass
    return exchanges, checkpoint


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
