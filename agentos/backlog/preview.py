"""The options of a run, and what it would do. Nothing here writes."""

from __future__ import annotations

import sys
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from agentos.backlog.dependencies import Order, arrange, reader
from agentos.backlog.inbox import Collected, Inbox, LookUp
from agentos.backlog.inbox.answered import AnsweredInbox
from agentos.backlog.inbox.designs import DesignInbox
from agentos.backlog.inbox.directory import DirectoryInbox
from agentos.backlog.overlap import arrange_by_files
from agentos.backlog.selection import Choice, ItemIndex, Selection, select
from agentos.errors import BadInput, UsageError
from agentos.gateway.providers import gives_recorded, is_rules
from agentos.item import Item
from agentos.kinds import Kind
from agentos.repository.forge import ForgeRepository, open_forge, read_repository
from agentos.repository.forge.filing.paths import FilingPaths
from agentos.settings import RunConfig
from agentos.state.home import Home, repository_key
from agentos.state.terminal_text import print_clean
from agentos.state.wording import count
from agentos.workflows.implementation.config import BuildConfig

MAX_NAMED = 10


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What a run does: the items it takes, how they are run, and what it is called."""

    workflow: Kind
    repository: Path
    choice: Choice
    config: RunConfig
    command: str
    """The command line, for the log and for other runs that find an item locked."""
    retry: tuple[str, ...]
    """The command that takes `--ids` to run items again."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Where each setting comes from: `flag`, `environment`, a file or `default`."""
    answer_with: str = "agentos answer"
    """The command that answers a reviewer's question."""
    brief: Path | None = None
    source: str = ""
    """The source of the items, as `github:owner/name`; empty for the folders of the
    repository.
    """
    labels: tuple[str, ...] = ()
    """Labels that an issue of the source must have."""
    milestone: str = ""
    any_author: bool = False
    """Whether issues of the source are taken whoever wrote them."""
    asks: bool = False
    """Whether questions are asked and answers taken where the issues are."""
    file: str | None = None
    """Where approved issues are filed: `github:owner/name`, empty for the repository of
    origin, None for nowhere.
    """
    file_labels: tuple[str, ...] = ()
    is_unsandboxed: bool = False
    """Whether generated code runs without isolation, as the user allowed."""

    @property
    def builds(self) -> bool:
        """Whether the run writes code, not documents."""
        return self.workflow.record.builds

    @property
    def models(self) -> dict[str, str]:
        """The models by role."""
        return self.config.models_of(self.workflow)


@dataclass(frozen=True, slots=True)
class Preview:
    """A run before it starts."""

    home: Home
    key: str
    inbox: Inbox
    collected: Collected
    index: ItemIndex
    selection: Selection
    earlier: tuple[float, ...]
    """The durations of complete items, in seconds."""
    order: Order = field(default_factory=Order)
    target: ForgeRepository | None = None
    """Where approved issues are filed."""


def preview_run(options: RunOptions, home: Home, environ: Mapping[str, str]) -> Preview:
    """Find out what a run would do, without changing anything."""
    home.check_private()
    if not options.repository.is_dir():
        raise UsageError(
            f"{options.repository}: no such folder; give the repository with --repo DIR"
        )
    if options.builds:
        _check_buildable(options.repository)
    key = repository_key(options.repository)
    target = _find_target(options, environ)
    source, look_up = _open_inbox(options, home, key, environ)
    inbox = AnsweredInbox(source, options.repository, options.workflow)
    index = ItemIndex(
        home,
        options.repository,
        key,
        inbox,
        redo_skeletons=not is_rules(options.config.drafter),
    )
    collected = inbox.collect()
    place = options.source or options.workflow.record.inputs
    is_unfiled = None
    if target is not None:
        is_unfiled = FilingPaths(home, key, options.repository).is_unfiled
    selection = select(collected, options.choice, index, place, is_unfiled)
    preview = Preview(
        home,
        key,
        inbox,
        collected,
        index,
        selection,
        tuple(index.seconds),
        target=target,
    )
    if options.config.strict and not options.builds:
        from agentos.backlog.triage.strictness import refuse_unready

        selection = refuse_unready(options, preview)
    read = reader(options.repository, inbox, options.source.partition(":")[2])
    is_named = bool(options.choice.ids)
    selection, order = arrange(
        selection, collected, read, index, is_named=is_named, look_up=look_up
    )
    remarks = list(filter(None, [collected.describe_left_out()]))
    if options.builds:
        order = arrange_by_files(selection, order, collected.items, inbox)
        remarks += _mention_unready(collected, options.choice)
    order = replace(order, warnings=(*order.warnings, *remarks))
    return replace(preview, selection=selection, order=order)


def build_config(
    options: RunOptions, preview: Preview, item: Item
) -> BuildConfig | None:
    """Return where an item is built; None for kinds that write documents."""
    if not options.builds:
        return None
    return BuildConfig(
        worktree=str(preview.home.worktree(preview.key, item.id)),
        environments=str(preview.home.root / "environments"),
        builds_on=preview.order.builds_on.get(item.id, ()),
    )


def _check_buildable(repository: Path) -> None:
    """Raise `UsageError` if the folder is no git repository with a commit."""
    from agentos.repository.git.repository import find_repository, resolve_commit

    try:
        resolve_commit(find_repository(repository).git())
    except BadInput as error:
        raise UsageError(str(error)) from error


def _mention_unready(collected: Collected, choice: Choice) -> list[str]:
    if not choice.everything or not collected.unready:
        return []
    names = [reject.item.label for reject in collected.unready]
    shown = ", ".join(names[:MAX_NAMED])
    more = len(names) - MAX_NAMED
    if more > 0:
        shown += f" and {more} more"
    return [f"{count(len(names), 'design')} not approved, left alone: {shown}"]


def _open_inbox(
    options: RunOptions, home: Home, key: str, environ: Mapping[str, str]
) -> tuple[Inbox, LookUp | None]:
    if not options.source:
        inbox = open_folder(
            options.repository,
            options.workflow,
            options.brief,
            takes_recorded=gives_recorded(options.config.drafter),
        )
        return inbox, None
    from agentos.backlog.inbox.forge import ForgeInbox, Wanted
    from agentos.repository.forge.asking.record import asked_path, read_taken

    wanted = Wanted(
        options.labels, options.milestone, options.choice.ids, options.any_author
    )
    source = read_repository(options.source, "--source")
    forge = open_forge(source, environ, _announce)

    def taken(item: Item) -> Container[int]:
        return read_taken(asked_path(home.root, key, item))

    place = options.repository
    issues = ForgeInbox(forge, wanted, place, options.workflow, taken)
    return issues, issues.look_up


def open_folder(
    repository: Path,
    workflow: Kind,
    file: Path | None = None,
    *,
    takes_recorded: bool = False,
) -> Inbox:
    """Return the inbox of a folder of the repository."""
    inbox = DirectoryInbox(repository, workflow, file)
    if workflow.record.builds:
        return DesignInbox(inbox, takes_recorded=takes_recorded)
    return inbox


def _find_target(
    options: RunOptions, environ: Mapping[str, str]
) -> ForgeRepository | None:
    if options.file is None:
        return None
    from agentos.repository.forge.filing.target import find_target

    return find_target(options.file, options.source, options.repository, environ)


def _announce(text: str) -> None:
    # There is no console before a run.
    print_clean(f"[COORDINATOR] {text}\n", sys.stderr)
