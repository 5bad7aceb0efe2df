"""What is known of items whose texts are elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

from agentos.backlog.inbox.remembered import RememberedInbox
from agentos.item import Item, Outcome, State
from agentos.kinds import Kind
from agentos.state.home import Home, repository_key
from agentos.state.records import ItemRecord, read_record, write_record


def keep(home: Home, repository: Path, item: Item) -> Path:
    """Write the record of an approved item."""
    path = home.item(repository_key(repository), item).record
    path.parent.mkdir(parents=True, exist_ok=True)
    record = ItemRecord.of(
        item, Outcome(State.APPROVED), digest="d", run="run", attempts=1, seconds=1.0
    )
    write_record(path, record, home.root / "temporary")
    return path


def test_a_record_without_a_source_is_read_and_listed_all_the_same(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path)
    path = keep(home, tmp_path, Item(Kind.LLD, "7", "github:acme/shop#7"))
    data = json.loads(path.read_text("utf-8"))
    assert data.pop("source") == "github:acme/shop#7"
    path.write_text(json.dumps(data), "utf-8")
    record = read_record(path)
    assert record is not None
    assert record.source == ""
    assert RememberedInbox(home, tmp_path, Kind.LLD).collect().items == (
        Item(Kind.LLD, "7", ""),
    )


def test_items_are_in_order_without_those_listed_otherwise_or_gone_or_of_another_workflow(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path)
    for workflow, id, source in (
        (Kind.LLD, "10", "github:acme/shop#10"),
        (Kind.LLD, "9", "github:acme/shop#9"),
        (Kind.LLD, "8", "docs/issues/8.md"),
        (Kind.LLD, "Seen", ""),
        (Kind.ISSUE, "3", "github:acme/shop#3"),
    ):
        keep(home, tmp_path, Item(workflow, id, source))
    locks = tmp_path / "locks" / repository_key(tmp_path)
    locks.mkdir(parents=True)
    (locks / "lld_11.lock").touch()
    inbox = RememberedInbox(home, tmp_path, Kind.LLD, {"seen"})
    items = inbox.collect().items
    assert [item.id for item in items] == ["9", "10", "11"]
    assert [inbox.digest(item) for item in items] == ["d", "d", ""]
