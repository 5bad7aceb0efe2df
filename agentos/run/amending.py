"""Claim the design that an item amends, so that nobody else changes it meanwhile."""

from __future__ import annotations

from agentos.backlog.preview import Preview, RunOptions
from agentos.errors import ItemError
from agentos.item import Item
from agentos.kinds import Kind
from agentos.repository.publish import Amendment
from agentos.run.recovery import publication_of, recover
from agentos.state import locks
from agentos.workflows.drafting.memory import ledger_hash


class DesignInUse(ItemError):
    """The design of an item was changed by somebody else, or is being changed."""

    failure = "conflict"


class DesignClaim:
    """The lock of the design that an item is made from."""

    def __init__(self, preview: Preview, item: Item, options: RunOptions) -> None:
        self._design = Item(Kind.LLD, item.id, "")
        self._paths = preview.home.item(preview.key, self._design)
        self._repository = options.repository
        self._command = options.command
        self._lock: locks.ItemLock | None = None
        self.is_locked_elsewhere = False

    def claim(self, amendment: Amendment) -> str:
        """Lock the design; return why it cannot be amended, empty if it can."""
        label = self._design.label
        holder = self._acquire()
        self.is_locked_elsewhere = holder is not None
        if holder is not None:
            return f"{label} is locked by pid {holder.pid} ({holder.command})"
        publication = publication_of(
            self._design,
            self._paths,
            self._repository,
        )
        recover(publication, self._paths)
        present = ledger_hash(self._repository, Kind.LLD, self._design.id)
        if present == amendment.ledger:
            return ""
        return f"the findings of {label} were changed meanwhile"

    def _acquire(self) -> locks.Holder | None:
        """Take the lock; return who else has it."""
        if self._lock is not None:
            return None
        lock = locks.acquire(self._paths.lock, self._command)
        if isinstance(lock, locks.Holder):
            return lock
        self._lock = lock
        return None

    def release(self) -> None:
        """Let others use the design."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None
