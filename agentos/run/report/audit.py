"""The audit trail of one item: one JSON object per line, numbered without gaps.

Every line has `schema`, `seq`, `time`, `run`, `workflow`, `item` and `event`;
docs/audit.md lists the events.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from agentos.item import Item
from agentos.state.redaction import redact_json
from agentos.state.wording import utc_now

SCHEMA = 1
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC

_encode = json.JSONEncoder(ensure_ascii=False).encode


class Audit:
    """An append-only file; events that come together are one write, so that a kill can
    truncate only the last line.
    """

    def __init__(self, path: Path | str, run: str, item: Item) -> None:
        self._descriptor = os.open(path, _FLAGS, 0o600)
        self._origin = {
            "run": run,
            "workflow": str(item.kind),
            "item": item.id,
        }
        self._sequence = 0
        self._lock = threading.Lock()
        self._is_torn = False

    def record(self, event: str, details: Mapping[str, Any] | None = None) -> None:
        """Append one event."""
        self.record_all([{**(details or {}), "event": event}])

    def record_all(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Append events in one write, each with its own `time` or the current one."""
        with self._lock:
            text = "".join(map(self._make_line, events))
            data = text.encode("utf-8", "replace")
            if self._is_torn:
                data = b"\n" + data
            try:
                written = os.write(self._descriptor, data)
            except OSError:
                # A full disk must not fail the item that is audited; the gap in `seq`
                # shows the loss.
                written = 0
            self._is_torn = written < len(data)

    def _make_line(self, event: Mapping[str, Any]) -> str:
        self._sequence += 1
        fixed = {
            "schema": SCHEMA,
            "seq": self._sequence,
            "time": str(event.get("time") or utc_now("milliseconds")),
            **self._origin,
            "event": event["event"],
        }
        # Twice: the first sets the order, the second keeps an event from changing them.
        line = {**fixed, **event, **fixed}
        return redact_json(_encode(line)) + "\n"

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def read_audit(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the events of a trail; skip a last line that a kill truncated."""
    for line in path.read_bytes().split(b"\n"):
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event
