"""What the user asked for, and what that means before anything is started. Nothing here writes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agentos.errors import UsageError
from agentos.home import Home, repository_key
from agentos.inbox.directory import DirectoryInbox
from agentos.plan.selection import Choice, Ledger, Selection, select
from agentos.task import Workflow


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked for, settled."""

    workflow: Workflow
    repository: Path
    choice: Choice
    parallel: int
    drafter: str
    reviewer: str
    max_rounds: int
    timeout: float
    retries: int
    delay: float
    halt: str
    command: str
    """The command line, for the log and for whoever finds an item locked."""
    retry: tuple[str, ...]
    """The command that takes `--ids` to run items again."""
    brief: Path | None = None
    max_cost: str = ""
    """Dollars, as the next two; empty for no cap."""
    max_cost_per_item: str = ""
    max_cost_per_day: str = ""
    price: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Preview:
    """A batch before it starts: nothing has been written yet."""

    home: Home
    key: str
    inbox: DirectoryInbox
    selection: Selection
    earlier: tuple[float, ...]
    """Seconds that complete items took."""


def look_ahead(options: Options, home: Home) -> Preview:
    """Read what there is to do; touches nothing."""
    home.check_private()
    if not options.repository.is_dir():
        raise UsageError(f"{options.repository}: no such folder; give the repository with --repo DIR")
    key = repository_key(options.repository)
    inbox = DirectoryInbox(options.repository, options.workflow, options.brief)
    ledger = Ledger(home, options.repository, key, inbox)
    selection = select(inbox.collect(), options.choice, ledger, inbox.folder.relative_to(options.repository))
    return Preview(home, key, inbox, selection, tuple(ledger.seconds))
