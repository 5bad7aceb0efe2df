"""Tell how every item stands, from what is on disk; nothing is locked, opened for writing or created."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentos.cli.repository import repository_of
from agentos.errors import UsageError
from agentos.gateway.journal import CallCost, item_key
from agentos.github import SCHEME
from agentos.home import JOURNAL_FILE, Home, home_path, repository_key
from agentos.inbox.answered import AnsweredInbox
from agentos.inbox.directory import DirectoryInbox
from agentos.inbox.remembered import RememberedInbox
from agentos.locks import read_holder
from agentos.money import NO_COST, Cost
from agentos.places import document_path
from agentos.plan.selection import Ledger, Standing
from agentos.task import State, Task, Workflow
from agentos.untrusted import print_clean

SHOWN_AT_MOST = 200
RUNNING = "running"
PENDING = "pending"


@dataclass(frozen=True, slots=True)
class Row:
    """How one item stands."""

    task: Task
    status: str
    failure: str | None = None
    message: str = ""
    updated: str = ""
    artefact: str = ""
    calls: tuple[CallCost, ...] = ()
    """What was asked for it and what that cost, by node and model."""

    @property
    def cost(self) -> Cost:
        """What it has cost so far."""
        return sum((call.cost for call in self.calls), NO_COST)

    @property
    def label(self) -> str:
        """The item's label."""
        return self.task.label

    def to_json(self) -> dict[str, Any]:
        """Return the row as JSON data."""
        return {
            "id": self.task.item,
            "workflow": self.task.workflow,
            "label": self.label,
            "source": self.task.source,
            "status": self.status,
            "class": self.failure,
            "message": self.message,
            "updated": self.updated or None,
            "artefact": self.artefact or None,
            **self.cost.to_json(),
            "calls": [
                {
                    "node": call.node,
                    "model": call.model,
                    "calls": call.calls,
                    "input_tokens": call.input_tokens,
                    "output_tokens": call.output_tokens,
                    **call.cost.to_json(),
                }
                for call in self.calls
            ],
        }


def show_status(args: argparse.Namespace) -> int:
    """Print the counts and every item that is not simply waiting or approved."""
    repository = repository_of(args)
    if not repository.is_dir():
        raise UsageError(f"{repository}: no such folder; give the repository with --repo DIR")
    home = Home(home_path(os.environ))
    costs = _read_costs(home, repository_key(repository))
    rows = [
        replace(row, calls=tuple(costs.get(item_key(repository_key(repository), workflow, row.task.item), ())))
        for workflow in Workflow
        for row in read_status(home, repository, workflow)
        # An approved design is listed as such already; nobody may ever want it built here.
        if workflow is not Workflow.IMPLEMENTATION or row.status != PENDING or row.message
    ]
    if args.json:
        items = [row.to_json() for row in rows]
        document = {
            "schema": 1,
            "repository": str(repository),
            "counts": Counter(r.status for r in rows),
            "items": items,
        }
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    else:
        print_clean(_render(rows))
    return 0


def _read_costs(home: Home, key: str) -> dict[str, list[CallCost]]:
    """Return what was spent, by item; nothing where no model was ever asked."""
    path = home.root / JOURNAL_FILE
    if not path.is_file():
        return {}
    from agentos.gateway.sqlite_journal import SqliteJournal

    journal = SqliteJournal.reader(path)
    costs: dict[str, list[CallCost]] = {}
    if journal is not None:
        with closing(journal):
            for call in journal.costs_in(key):
                costs.setdefault(call.item, []).append(call)
    return costs


def read_status(home: Home, repository: Path, workflow: Workflow) -> Iterator[Row]:
    """Return how each item of a workflow stands: those in the folder, then those that were taken from elsewhere."""
    key = repository_key(repository)
    inbox = DirectoryInbox(repository, workflow)
    seen = set[str]()
    if inbox.folder.is_dir():
        ledger = Ledger(home, repository, key, AnsweredInbox(inbox, repository, workflow))
        collected = inbox.collect()
        for task in collected.tasks:
            yield _describe(task, home, key, ledger)
        for reject in collected.rejects:
            yield Row(reject.task, "failed", "bad-input", reject.reason)
        seen = {task.item.casefold() for task in (*collected.tasks, *(reject.task for reject in collected.rejects))}
    remembered = RememberedInbox(home, repository, workflow, seen)
    ledger = Ledger(home, repository, key, remembered)
    for task in remembered.collect().tasks:
        yield _describe(task, home, key, ledger)


def _describe(task: Task, home: Home, key: str, ledger: Ledger) -> Row:
    holder = read_holder(home.item(key, task).lock)
    if holder is not None and holder.is_alive:
        return Row(task, RUNNING, None, f"pid {holder.pid} ({holder.command})", holder.since)
    standing = ledger.standing(task)
    record = ledger.record(task)
    if record is None and standing is Standing.COMPLETE:
        # Known by the stamp of the document alone, as in a fresh clone.
        return Row(task, State.APPROVED, artefact=document_path(task.workflow, task.item))
    if record is None or standing is Standing.NEW:
        return Row(task, "interrupted" if standing is Standing.INTERRUPTED else PENDING)
    if standing is Standing.EDITED:
        return Row(task, PENDING, None, f"edited since it ended as {record.state}", record.updated)
    is_cut_off = standing is Standing.INTERRUPTED and record.state is not State.SCAFFOLDED
    status = str(State.INTERRUPTED if is_cut_off else record.state)
    failure = str(record.failure) if record.failure else None
    return Row(task, status, failure, record.message, record.updated, record.artefact)


def _shorten(text: str, limit: int = 120) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _render(rows: list[Row]) -> str:
    if not rows:
        return "Nothing here: no Markdown files in docs/briefs or docs/issues, and nothing taken from elsewhere.\n"
    counts = Counter(row.status for row in rows)
    lines = [", ".join(f"{count} {status}" for status, count in sorted(counts.items()))]
    total = sum((row.cost for row in rows), NO_COST)
    if total:
        lines[0] += f"; {total.describe()} spent so far"
    shown = rows
    width = max((len(row.label) for row in shown), default=0)
    for row in shown[:SHOWN_AT_MOST]:
        status = f"failed: {row.failure}" if row.failure else row.status
        detail = row.artefact or _shorten(row.message.split("\n")[0])
        cost = f"{row.cost.describe().ljust(8)}  " if total else ""
        origin = f"  ({row.task.source})" if row.task.source.startswith(f"{SCHEME}:") else ""
        lines.append(f"  {row.label.ljust(width)}  {status.ljust(20)}  {cost}{detail}{origin}".rstrip())
    if len(shown) > SHOWN_AT_MOST:
        lines.append(f"  ... and {len(shown) - SHOWN_AT_MOST} more; --json lists all")
    return "\n".join(lines) + "\n"
