"""What the user asked for, and what that means before anything is started. Nothing here writes."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from agentos.errors import BadInput, UsageError
from agentos.filing.place import Place
from agentos.github import Repository, read_repository
from agentos.home import Home, repository_key
from agentos.inbox import Collected, Inbox, LookUp
from agentos.inbox.answered import AnsweredInbox
from agentos.inbox.designs import DesignInbox
from agentos.inbox.directory import FOLDERS, DirectoryInbox
from agentos.plan.dependence import Order, arrange, reader
from agentos.plan.overlap import arrange_by_files
from agentos.plan.selection import Choice, Ledger, Selection, select
from agentos.task import Workflow
from agentos.untrusted import print_clean
from agentos.wording import count

MOST_NAMED = 10


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
    price_at_least: tuple[str, ...] = ()
    """Prices that count where they are higher than what is known otherwise."""
    base_url: tuple[str, ...] = ()
    """Where providers are asked, each as `provider=URL`."""
    drafter_output_limit: int = 32_000
    reviewer_output_limit: int = 32_000
    first_byte_timeout: float = 600.0
    idle_timeout: float = 120.0
    source: str = ""
    """Where the items are, as `github:owner/name`; empty for the repository's own folders."""
    labels: tuple[str, ...] = ()
    """What an issue of the source has to have."""
    milestone: str = ""
    file: str | None = None
    """Where approved issues are filed: `github:owner/name`, or empty for where the clone is from; None for nowhere."""
    file_labels: tuple[str, ...] = ()
    max_iterations: int = 5
    coverage_target: float = 95.0
    test_timeout: float = 300.0
    scaffold_only: bool = False
    """Whether an implementation ends when its tests are written and proven red."""

    @property
    def builds(self) -> bool:
        """Whether items are built, not only written about."""
        return self.workflow is Workflow.IMPLEMENTATION


@dataclass(frozen=True, slots=True)
class Preview:
    """A batch before it starts: nothing has been written yet."""

    home: Home
    key: str
    inbox: Inbox
    collected: Collected
    ledger: Ledger
    selection: Selection
    earlier: tuple[float, ...]
    """Seconds that complete items took."""
    order: Order = field(default_factory=Order)
    target: Repository | None = None
    """Where approved issues are to be filed."""


def look_ahead(options: Options, home: Home, environ: Mapping[str, str] = os.environ) -> Preview:
    """Read what there is to do; touches nothing."""
    home.check_private()
    if not options.repository.is_dir():
        raise UsageError(f"{options.repository}: no such folder; give the repository with --repo DIR")
    if options.builds:
        _check_buildable(options.repository)
    key = repository_key(options.repository)
    target = _find_target(options, environ)
    source, look_up = _open_inbox(options, environ)
    inbox = AnsweredInbox(source, options.repository, options.workflow)
    ledger = Ledger(home, options.repository, key, inbox)
    collected = inbox.collect()
    place = options.source or str(FOLDERS[options.workflow])
    is_unfiled = Place(home, key, options.repository).is_unfiled if target else None
    selection = select(collected, options.choice, ledger, place, is_unfiled)
    read = reader(options.repository, inbox, options.source.partition(":")[2])
    is_named = bool(options.choice.ids)
    selection, order = arrange(selection, collected, read, ledger, is_named=is_named, look_up=look_up)
    if options.builds:
        order = arrange_by_files(selection, order, collected.tasks, inbox)
        order = replace(order, warnings=(*order.warnings, *_mention_unready(collected, options.choice)))
    return Preview(home, key, inbox, collected, ledger, selection, tuple(ledger.seconds), order, target)


def _check_buildable(repository: Path) -> None:
    """Refuse a folder in which nothing can be built, before an item is begun."""
    from agentos.worktrees.repository import find_repository, resolve_commit

    try:
        resolve_commit(find_repository(repository).git())
    except BadInput as error:
        raise UsageError(str(error)) from error


def _mention_unready(collected: Collected, choice: Choice) -> list[str]:
    if not choice.everything or not collected.unready:
        return []
    names = [reject.task.label for reject in collected.unready]
    shown = ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")
    return [f"{count(len(names), 'design')} not approved, left alone: {shown}"]


def _open_inbox(options: Options, environ: Mapping[str, str]) -> tuple[Inbox, LookUp | None]:
    if not options.source:
        return open_folder(options.repository, options.workflow, options.brief), None
    from agentos.inbox.github import Wanted, open_inbox

    wanted = Wanted(options.labels, options.milestone, options.choice.ids)
    repository = read_repository(options.source, "--source")
    inbox = open_inbox(repository, wanted, options.repository, options.workflow, environ, _announce)
    return inbox, inbox.look_up


def open_folder(repository: Path, workflow: Workflow, file: Path | None = None) -> Inbox:
    """Return the inbox that a repository's own folder is for a workflow."""
    inbox = DirectoryInbox(repository, workflow, file)
    return DesignInbox(inbox) if workflow is Workflow.IMPLEMENTATION else inbox


def _find_target(options: Options, environ: Mapping[str, str]) -> Repository | None:
    if options.file is None:
        return None
    from agentos.filing.opening import find_target

    return find_target(options.file, options.source, options.repository, environ)


def _announce(text: str) -> None:
    # Nothing runs yet, and so there is no console.
    print_clean(f"[COORDINATOR] {text}\n", sys.stderr)
