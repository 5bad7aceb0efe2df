"""What is known of items whose texts are elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

from agentos.home import Home, repository_key
from agentos.inbox.remembered import RememberedInbox
from agentos.records import Record, read_record, write_record
from agentos.task import Outcome, State, Task, Workflow


def keep(home: Home, repository: Path, task: Task) -> Path:
    """Write the record of an approved item."""
    path = home.item(repository_key(repository), task).record
    path.parent.mkdir(parents=True, exist_ok=True)
    record = Record.of(task, Outcome(State.APPROVED), digest="d", run="run", attempts=1, seconds=1.0)
    write_record(path, record, home.root / "temporary")
    return path


def test_a_record_without_a_source_is_read_and_listed_all_the_same(tmp_path: Path) -> None:
    home = Home(tmp_path)
    path = keep(home, tmp_path, Task(Workflow.LLD, "7", "github:acme/shop#7"))
    data = json.loads(path.read_text("utf-8"))
    assert data.pop("source") == "github:acme/shop#7"
    path.write_text(json.dumps(data), "utf-8")
    record = read_record(path)
    assert record is not None
    assert record.source == ""
    assert RememberedInbox(home, tmp_path, Workflow.LLD).collect().tasks == (Task(Workflow.LLD, "7", ""),)


def test_items_are_in_order_without_those_listed_otherwise_or_gone_or_of_another_workflow(tmp_path: Path) -> None:
    home = Home(tmp_path)
    for workflow, item, source in (
        (Workflow.LLD, "10", "github:acme/shop#10"),
        (Workflow.LLD, "9", "github:acme/shop#9"),
        (Workflow.LLD, "8", "docs/issues/8.md"),
        (Workflow.LLD, "Seen", ""),
        (Workflow.ISSUE, "3", "github:acme/shop#3"),
    ):
        keep(home, tmp_path, Task(workflow, item, source))
    locks = tmp_path / "locks" / repository_key(tmp_path)
    locks.mkdir(parents=True)
    (locks / "lld_11.lock").touch()
    inbox = RememberedInbox(home, tmp_path, Workflow.LLD, {"seen"})
    tasks = inbox.collect().tasks
    assert [task.item for task in tasks] == ["9", "10", "11"]
    assert [inbox.digest(task) for task in tasks] == ["d", "d", ""]
