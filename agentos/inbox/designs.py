"""The approved designs of a repository as inbox: `docs/lld/active/LLD-042.md`."""

from __future__ import annotations

from dataclasses import replace

from agentos.documents.lld import lld_status
from agentos.inbox import Collected, Inbox, Reject, Source
from agentos.task import Task

APPROVED = "APPROVED"


class DesignInbox:
    """The designs of another inbox, those that are not approved set apart: nobody asked to have them built yet."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    def collect(self) -> Collected:
        """List the approved designs; what cannot be read stays among them, to be refused when it is run."""
        collected = self._inbox.collect()
        unready = [Reject(task, problem) for task in collected.tasks if (problem := self._why_not(task))]
        apart = {reject.task for reject in unready}
        ready = tuple(task for task in collected.tasks if task not in apart)
        return replace(collected, tasks=ready, unready=tuple(unready))

    def load(self, task: Task) -> Source:
        """Return the design."""
        return self._inbox.load(task)

    def digest(self, task: Task) -> str:
        """Return the hash of the design."""
        return self._inbox.digest(task)

    def _why_not(self, task: Task) -> str:
        source = self._inbox.load(task)
        status = APPROVED if source.problem else lld_status(source.text).upper()
        if status == APPROVED:
            return ""
        said = f"its status is {status}" if status else "it has no status"
        return f"{task.source}: {said}, only approved designs are built; run: lld-workflow --ids {task.item}"
