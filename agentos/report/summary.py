"""The end of a run in words, as a table and as JSON."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from dataclasses import dataclass
from typing import Any

from agentos.task import Outcome, State, Task
from agentos.wording import describe_seconds

SCHEMA = 1
LONG_TABLE = 200
NOT_STARTED = "not-started"
HELD = "held"
COMPLETE = "complete"

_WORDS = {
    State.APPROVED: "approved",
    State.NEEDS_REVISION: "need revision",
    State.NEEDS_DISCUSSION: "need discussion",
    State.INTERRUPTED: "interrupted",
    HELD: "held by another run",
    COMPLETE: "completed by another run",
    NOT_STARTED: "not started",
}

_NEEDS_NO_WORD = (State.APPROVED, State.INTERRUPTED, NOT_STARTED)


@dataclass(frozen=True, slots=True)
class Entry:
    """How one item fared in this run."""

    task: Task
    status: str
    """A state, or one of `not-started`, `held`, `complete`."""
    outcome: Outcome | None = None
    message: str = ""
    seconds: float = 0.0
    attempts: int = 0
    log: str = ""
    artefact: str = ""

    @property
    def is_failed(self) -> bool:
        """Whether the item failed."""
        return self.status == State.FAILED


@dataclass(frozen=True, slots=True)
class Summary:
    """All entries of a run."""

    run: str
    workflow: str
    repository: str
    command: str
    started: str
    finished: str
    seconds: float
    parallel: int
    folder: str
    retry: tuple[str, ...]
    """The command that runs chosen items again, without the ids."""
    entries: tuple[Entry, ...]
    is_interrupted: bool = False
    trouble: str = ""
    """What went wrong with the run itself."""

    @property
    def failed(self) -> list[Entry]:
        """The items that failed."""
        return [entry for entry in self.entries if entry.is_failed]

    def counts(self) -> dict[str, int]:
        """Return how many items ended in each status."""
        return dict(Counter(entry.status for entry in self.entries))

    def counts_line(self) -> str:
        """Say it as `8 approved, 2 need revision` or `9 completed, 1 failed (LLD-42)`."""
        counts = Counter(entry.status for entry in self.entries)
        parts = [f"{counts[status]} {words}" for status, words in _WORDS.items() if counts[status]]
        if not self.failed:
            return ", ".join(parts) or "nothing to do"
        ended = [status for status in (State.APPROVED, State.NEEDS_REVISION, State.NEEDS_DISCUSSION) if counts[status]]
        names = ", ".join(entry.task.label for entry in self.failed[:20])
        more = f" and {len(self.failed) - 20} more" if len(self.failed) > 20 else ""
        line = f"{sum(counts[status] for status in ended)} completed, {len(self.failed)} failed ({names}{more})"
        others = [status for status in _WORDS if counts[status] and status not in ended]
        line = ", ".join([line, *(f"{counts[status]} {_WORDS[status]}" for status in others)])
        if ended in ([], [State.APPROVED]):
            return line
        return f"{line}; of the completed {', '.join(f'{counts[status]} {_WORDS[status]}' for status in ended)}"

    def retry_line(self) -> str:
        """Return the ids that failed and the command that runs them again; empty when none failed."""
        if not self.failed:
            return ""
        ids = list(dict.fromkeys(entry.task.item for entry in self.failed))
        # A file that gave no usable id has to be renamed; no command can name it.
        usable = [item for item in ids if "?" not in item]
        named = () if "--brief" in self.retry else ("--ids", *usable)
        retry = f" Retry: {shlex.join((*self.retry, *named))}" if usable else ""
        return f"Failed: {', '.join(ids)}.{retry}"

    def _shown(self) -> list[Entry]:
        """Return the entries of the table: all that were begun, but of a long list only what needs a look."""
        begun = [entry for entry in self.entries if entry.status != NOT_STARTED]
        if len(begun) <= LONG_TABLE:
            return begun
        return [entry for entry in begun if entry.status != State.APPROVED]

    def trouble_line(self) -> str:
        """Say what went wrong with the run itself; empty when nothing did."""
        return f"The run itself was cut short: {self.trouble}" if self.trouble else ""

    def resume_line(self) -> str:
        """Say how to go on; empty when there is nothing to go on with."""
        if self.trouble or not self.is_interrupted:
            return ""
        if "--redo" not in self.retry:
            return "Stopped early: run the same command again to go on from the checkpoints."
        left = [entry.task.item for entry in self.entries if entry.status in (NOT_STARTED, State.INTERRUPTED)]
        return f"Stopped early. Go on with: {shlex.join((*self.retry, '--ids', *left))}"

    def render(self) -> str:
        """Return the table, the counts and the retry command."""
        rows = [("ITEM", "STATUS", "TIME", "TRIES", "COST", "LOG")]
        rows += [
            (
                e.task.label,
                _status_words(e),
                describe_seconds(e.seconds) if e.attempts else "-",
                str(e.attempts or "-"),
                "-",
                e.log or "-",
            )
            for e in self._shown()
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(5)]
        lines = ["  ".join((*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[5])) for row in rows]
        if hidden := sum(entry.status != NOT_STARTED for entry in self.entries) - len(rows) + 1:
            lines.append(f"... and {hidden} approved, which summary.json lists")
        told = [f"  {e.task.label}: {e.message}" for e in self.entries if e.message and e.status not in _NEEDS_NO_WORD]
        lines += ["", *told] if told else []
        lines += [
            "",
            f"{self.counts_line()} in {describe_seconds(self.seconds)}, {self.parallel} at a time. Logs: {self.folder}",
        ]
        if self.retry_line():
            lines.append(self.retry_line())
        lines += [line for line in (self.trouble_line(), self.resume_line()) if line]
        return "\n".join(lines) + "\n"

    def to_json(self) -> dict[str, Any]:
        """Return the summary, its items aside, as JSON data with a versioned schema."""
        return {
            "schema": SCHEMA,
            "run": self.run,
            "workflow": self.workflow,
            "repository": self.repository,
            "command": self.command,
            "started": self.started,
            "finished": self.finished,
            "seconds": round(self.seconds, 3),
            "parallel": self.parallel,
            "interrupted": self.is_interrupted,
            "trouble": self.trouble or None,
            "counts": self.counts(),
            "failed": [entry.task.item for entry in self.failed],
            "logs": self.folder,
        }

    def to_json_text(self) -> str:
        """Return the summary as one JSON document, an item a line; thousands of items are never data all at once."""
        items = ",\n".join(json.dumps(_entry_to_json(entry)) for entry in self.entries)
        return f'{json.dumps(self.to_json(), indent=1)[:-2]},\n "items": [\n{items}\n]}}\n'


def _status_words(entry: Entry) -> str:
    if entry.outcome is not None and entry.outcome.failure is not None:
        return f"failed: {entry.outcome.failure}"
    return entry.status


def _entry_to_json(entry: Entry) -> dict[str, Any]:
    outcome = entry.outcome
    return {
        "id": entry.task.item,
        "label": entry.task.label,
        "source": entry.task.source,
        "status": entry.status,
        "class": str(outcome.failure) if outcome is not None and outcome.failure is not None else None,
        "message": entry.message,
        "seconds": round(entry.seconds, 3),
        "attempts": entry.attempts,
        "rounds": outcome.rounds if outcome is not None else 0,
        "calls": outcome.calls if outcome is not None else 0,
        "cost": 0.0,
        "artefact": entry.artefact or None,
        "log": entry.log or None,
    }
