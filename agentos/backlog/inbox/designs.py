"""The inbox of approved designs of a repository: `docs/lld/active/LLD-042.md`."""

from __future__ import annotations

from dataclasses import replace

from agentos.backlog.inbox import Collected, Inbox, Reject, Source
from agentos.documents.judged_text import is_edited
from agentos.documents.lld import parse_lld, status_of
from agentos.documents.provenance import (
    APPROVED_STATUS,
    RECORDED_STATUS,
    SKELETON_STATUS,
)
from agentos.item import Item


class DesignInbox:
    """The designs of another inbox; those that are not approved are not ready."""

    def __init__(self, inbox: Inbox, *, takes_recorded: bool = False) -> None:
        self._inbox = inbox
        self._takes_recorded = takes_recorded
        """Whether a recorded approval counts as one."""

    def collect(self) -> Collected:
        """List the approved designs, and those that cannot be read: they fail when they
        are run.
        """
        collected = self._inbox.collect()
        ready, unready = [], []
        for item in collected.items:
            problem = self._why_not(item)
            if problem:
                unready.append(Reject(item, problem))
            else:
                ready.append(item)
        return replace(collected, items=tuple(ready), unready=tuple(unready))

    def load(self, item: Item) -> Source:
        """Return the design."""
        return self._inbox.load(item)

    def digest(self, item: Item) -> str:
        """Return the hash of the design."""
        return self._inbox.digest(item)

    def _why_not(self, item: Item) -> str:
        """Return why a design is not built; empty if it is."""
        source = self._inbox.load(item)
        if source.problem:
            return ""
        status = status_of(parse_lld(source.text)).upper()
        if status == APPROVED_STATUS:
            if not is_edited(source.text):
                return ""
            return (
                f"{item.source}: it was edited since its approval; have it reviewed:"
                f" lld-workflow --ids {item.id}, or sign it: agentos approve {item.id}"
            )
        redo = f"lld-workflow --ids {item.id}"
        said = f"its status is {status}" if status else "it has no status"
        if status == RECORDED_STATUS.upper():
            if self._takes_recorded:
                return ""
            said = "its approval was recorded, not given by a model"
            redo = (
                f"implement-workflow --ids {item.id} --drafter"
                f" offline:answers=FOLDER, or {redo} --redo --drafter PROVIDER:MODEL"
            )
        if status == SKELETON_STATUS:
            said = "it is a skeleton, which no model has seen"
            redo = f"{redo} --drafter PROVIDER:MODEL"
        return f"{item.source}: {said}, only approved designs are built; run: {redo}"
