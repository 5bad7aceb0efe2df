"""`agentos status`: show the state of every item; locks and writes nothing."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentos.backlog.inbox.answered import AnsweredInbox
from agentos.backlog.inbox.directory import DirectoryInbox
from agentos.backlog.inbox.remembered import RememberedInbox
from agentos.backlog.selection import ItemIndex, ItemStatus
from agentos.cli.command import (
    Arguments,
    Parser,
    align,
)
from agentos.gateway.journal import CallCost, Journal, item_key
from agentos.item import Item, State
from agentos.kinds import Kind, installed_kinds
from agentos.money import NO_COST, Cost
from agentos.repository.forge import is_source
from agentos.repository.paths import document_path
from agentos.state.home import JOURNAL_FILE, Home, repository_key
from agentos.state.locks import read_holder
from agentos.state.terminal_text import print_clean

MAX_SHOWN = 200
MAX_MESSAGE = 120
RUNNING = "running"
PENDING = "pending"


@dataclass(frozen=True, slots=True)
class Row:
    """The state of one item."""

    item: Item
    status: str
    failure: str | None = None
    message: str = ""
    updated: str = ""
    artefact: str = ""
    calls: Sequence[CallCost] = ()
    """The cost of its model calls, by node and model."""

    @property
    def cost(self) -> Cost:
        """The cost of the item so far."""
        return sum((call.cost for call in self.calls), NO_COST)

    def to_json(self) -> dict[str, Any]:
        """Return the row as JSON data."""
        calls = []
        for call in self.calls:
            cost = call.cost.to_json()
            document = {
                "node": call.node,
                "model": call.model,
                "calls": call.calls,
                "input_tokens": call.input_tokens,
                "output_tokens": call.output_tokens,
                **cost,
            }
            calls.append(document)
        return {
            "id": self.item.id,
            "workflow": self.item.kind,
            "label": self.item.label,
            "source": self.item.source,
            "status": self.status,
            "class": self.failure,
            "message": self.message,
            "updated": self.updated or None,
            "artefact": self.artefact or None,
            **self.cost.to_json(),
            "calls": calls,
        }


def add_arguments(parser: Parser) -> None:
    """Add the options."""
    parser.add_common_arguments()


def run(arguments: Arguments) -> int:
    """Print the counts, and every item with its state."""
    repository, home = arguments.repository, arguments.home
    key = arguments.repository_key
    costs = _read_costs(home, key)
    rows = []
    for kind in installed_kinds(_warn):
        for row in read_status(home, repository, kind):
            # An approved design is listed as such, and need not be built here.
            is_unbuilt = row.status == PENDING and not row.message
            if is_unbuilt and kind.record.builds:
                continue
            calls = costs.get(item_key(key, kind, row.item.id), ())
            rows.append(replace(row, calls=calls))
    counts = Counter(row.status for row in rows)
    document = {
        "repository": str(repository),
        "counts": counts,
        "items": [row.to_json() for row in rows],
    }
    arguments.print_result(document, _render(rows, counts))
    return 0


def _warn(text: str) -> None:
    print_clean(f"Warning: {text}\n", sys.stderr)


def _read_costs(home: Home, key: str) -> dict[str, list[CallCost]]:
    """Return the cost of calls by item."""
    path = home.root / JOURNAL_FILE
    costs: dict[str, list[CallCost]] = {}
    if not path.is_file():
        return costs
    from agentos.gateway.journal.sqlite import SqliteJournal

    journal: Journal | None = SqliteJournal.reader(path)
    if journal is not None:
        with closing(journal):
            for call in journal.costs_in(key):
                costs.setdefault(call.item, []).append(call)
    return costs


def read_status(home: Home, repository: Path, kind: Kind) -> Iterator[Row]:
    """Yield the state of each item of a kind: first those in the folder, then those
    that were fetched from elsewhere.
    """
    key = repository_key(repository)
    inbox = DirectoryInbox(repository, kind)
    seen = set[str]()
    if inbox.folder.is_dir():
        answered = AnsweredInbox(inbox, repository, kind)
        index = ItemIndex(home, repository, key, answered)
        collected = inbox.collect()
        for item in collected.items:
            seen.add(item.id.casefold())
            yield _describe(item, home, key, index)
        for reject in collected.rejects:
            seen.add(reject.item.id.casefold())
            yield Row(reject.item, "failed", "bad-input", reject.reason)
    remembered = RememberedInbox(home, repository, kind, seen)
    index = ItemIndex(home, repository, key, remembered)
    for item in remembered.collect().items:
        yield _describe(item, home, key, index)


def _describe(item: Item, home: Home, key: str, index: ItemIndex) -> Row:
    holder = read_holder(home.item(key, item).lock)
    if holder is not None and holder.is_alive:
        message = f"pid {holder.pid} ({holder.command})"
        return Row(item, RUNNING, None, message, holder.since)
    status = index.status(item)
    record = index.record(item)
    if record is None and status is ItemStatus.COMPLETE:
        # Known only by the provenance in the document, as in a fresh clone.
        path = document_path(item.kind, item.id)
        return Row(item, index.documented_state(item), artefact=path)
    if record is not None and record.state is State.SIMULATED:
        return Row(
            item, State.SIMULATED, None, record.message, record.updated, record.artefact
        )
    is_interrupted = status is ItemStatus.INTERRUPTED
    if record is None or status is ItemStatus.NEW:
        return Row(item, State.INTERRUPTED if is_interrupted else PENDING)
    if status is ItemStatus.EDITED:
        message = f"edited since it ended as {record.state}"
        return Row(item, PENDING, None, message, record.updated)
    state = record.state
    if is_interrupted and state is not State.SCAFFOLDED:
        state = State.INTERRUPTED
    return Row(
        item,
        state,
        record.failure,
        record.message,
        record.updated,
        record.artefact,
    )


def _render(rows: list[Row], counts: Mapping[str, int]) -> Iterator[str]:
    if not rows:
        yield (
            "Nothing here: no Markdown files in docs/briefs or docs/issues, and no item"
            " was fetched from elsewhere."
        )
        return
    parts = [f"{counts[status]} {status}" for status in sorted(counts)]
    heading = ", ".join(parts)
    costs = [row.cost for row in rows]
    total = sum(costs, NO_COST)
    if total:
        heading += f"; {total.describe()} spent so far"
    yield heading
    table = []
    for row in rows[:MAX_SHOWN]:
        cells = [f"  {row.item.label}", row.status]
        if row.failure:
            cells[1] = f"failed: {row.failure}"
        if total:
            cells.append(row.cost.describe())
        first_line, _, _ = row.message.partition("\n")
        detail = row.artefact or _shorten(first_line)
        source = row.item.source
        if is_source(source):
            detail += f"  ({source})"
        cells.append(detail)
        table.append(cells)
    yield from align(table)
    more = len(rows) - MAX_SHOWN
    if more > 0:
        yield f"  ... and {more} more; --json lists all"


def _shorten(text: str) -> str:
    if len(text) <= MAX_MESSAGE:
        return text
    return text[: MAX_MESSAGE - 3] + "..."
