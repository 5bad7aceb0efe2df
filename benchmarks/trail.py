"""Read from the audit trails of a run when each item ran and what its worker needed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from agentos.run.report.audit import read_audit


@dataclass(frozen=True, slots=True)
class ItemTimes:
    """One item in time; wall clock seconds."""

    item: int
    began: float
    ended: float
    calls: tuple[float, ...]
    """Seconds that each call took."""
    worker_ready: tuple[float, ...]
    """Milliseconds until each worker was ready."""
    worker_cpu: float


def read_items(run_folder: Path) -> list[ItemTimes]:
    """Return the items of a run in the order of their numbers."""
    return sorted(
        (_read_item(path) for path in run_folder.glob("workflow-audit-*.jsonl")),
        key=lambda item: item.item,
    )


def read_workers(trail: Path) -> list[int]:
    """Return the process ids of the workers that an item has had."""
    return [
        int(event["pid"]) for event in _select(list(read_audit(trail)), "worker-ready")
    ]


def _read_item(path: Path) -> ItemTimes:
    events = list(read_audit(path))
    (end,) = _select(events, "ended")
    ended = datetime.fromisoformat(end["time"]).timestamp()
    return ItemTimes(
        item=int(events[0]["item"]),
        began=ended - end["seconds"],
        ended=ended,
        calls=tuple(event["seconds"] for event in _select(events, "call")),
        worker_ready=tuple(
            event["milliseconds"] for event in _select(events, "worker-ready")
        ),
        worker_cpu=sum(
            event["cpu_seconds"] for event in _select(events, "worker-exited")
        ),
    )


def _select(events: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [event for event in events if event["event"] == name]
