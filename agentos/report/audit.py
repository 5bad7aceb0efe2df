"""The audit trail of one workflow: one JSON object a line, numbered without gaps.

Every line has `schema`, `seq`, `time`, `run`, `workflow`, `item` and `event`; docs/audit.md lists the events.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from agentos.redaction import redact_json
from agentos.task import Task
from agentos.wording import utc_now

SCHEMA = 1
_FIXED = frozenset({"schema", "seq", "time", "run", "workflow", "item", "event"})

_encode = json.JSONEncoder(ensure_ascii=False).encode


class Audit:
    """An append-only file; what is told at once is one write, so that a kill can cut the last line at the most."""

    def __init__(self, path: Path | str, run: str, task: Task) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        self._descriptor = os.open(path, flags, 0o600)
        self._head = _encode({"run": run, "workflow": str(task.workflow), "item": task.item})[1:-1]
        self._sequence = 0
        self._lock = threading.Lock()
        self._is_torn = False

    def record(self, event: str, details: Mapping[str, Any] | None = None) -> None:
        """Append one event."""
        self.record_all([{**(details or {}), "event": event}])

    def record_all(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Append events at once, each of the moment in its `time`, or of now."""
        with self._lock:
            data = "".join(map(self._make_line, events)).encode("utf-8", "replace")
            if self._is_torn:
                data = b"\n" + data
            try:
                self._is_torn = os.write(self._descriptor, data) < len(data)
            except OSError:
                # A full disk must not cost the work that is being audited; the gap in `seq` shows it.
                self._is_torn = True

    def _make_line(self, event: Mapping[str, Any]) -> str:
        self._sequence += 1
        moment = _encode(str(event.get("time") or utc_now("milliseconds")))
        start = f'"schema": {SCHEMA}, "seq": {self._sequence}, "time": {moment}'
        rest = {"event": event["event"], **{name: value for name, value in event.items() if name not in _FIXED}}
        return redact_json(f"{{{start}, {self._head}, {_encode(rest)[1:]}") + "\n"

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def read_audit(path: Path) -> Iterator[dict[str, Any]]:
    """Return the events of a trail; a last line that was cut off by a kill is left out."""
    for line in path.read_bytes().split(b"\n"):
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event
