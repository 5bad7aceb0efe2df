"""Locate the state folder of AgentOS and check that it is private."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agentos.errors import UsageError
from agentos.item import Item
from agentos.kinds import Kind
from agentos.state.files import list_names, make_private_directory
from agentos.state.wording import file_timestamp

JOURNAL_FILE = "journal.db"
STATE_FOLDERS = ("checkpoints", "items", "locks")

HOME_VARIABLE = "AGENTOS_HOME"


def home_path(environ: Mapping[str, str]) -> Path:
    """Return the state folder: AGENTOS_HOME, the XDG folder on request, or
    ~/.agentos.
    """
    explicit = environ.get(HOME_VARIABLE)
    if explicit:
        return Path(explicit).expanduser().absolute()
    user = Path(environ.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111
    if environ.get("AGENTOS_XDG") == "1":
        states = environ.get("XDG_STATE_HOME") or user / ".local/state"
        return Path(states) / "agentos"
    return user / ".agentos"


def repository_key(repository: Path) -> str:
    """Return a unique name for a repository: its folder name and a hash of its path."""
    path = repository.resolve()
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", path.name)[:32] or "repository"
    digest = hashlib.sha256(os.fsencode(path)).hexdigest()
    return f"{name}-{digest[:12]}"


@dataclass(frozen=True, slots=True)
class ItemPaths:
    """The files of one item in one repository."""

    checkpoint: Path
    record: Path
    lock: Path


@dataclass(frozen=True, slots=True)
class Home:
    """The state folder. Nothing is created until `prepare` is called."""

    root: Path

    @property
    def logs(self) -> Path:
        """The parent of the folders of all runs."""
        return self.root / "logs" / "parallel"

    @property
    def temporary(self) -> Path:
        """The folder for files that are moved elsewhere when they are complete."""
        return self.root / "tmp"

    @property
    def config(self) -> Path:
        """The user's own settings."""
        return self.root / "config.toml"

    def item(self, repository: str, item: Item) -> ItemPaths:
        """Return the paths of an item, given its repository's key."""
        name = f"{item.kind}_{item.id}"
        database = f"{item.kind}_workflow_{item.id}.db"
        root = self.root
        return ItemPaths(
            checkpoint=root.joinpath("checkpoints", repository, database),
            record=root.joinpath("items", repository, f"{name}.json"),
            lock=root.joinpath("locks", repository, f"{name}.lock"),
        )

    def worktree(self, repository: str, item: str) -> Path:
        """Return the worktree in which an item is built."""
        return self.root / "worktrees" / repository / item

    def prepare(self, repository: str) -> None:
        """Create the folders that a run in this repository needs, if the home is
        private.
        """
        self.check_private(repository)
        try:
            for folder in STATE_FOLDERS:
                make_private_directory(self.root / folder / repository)
            make_private_directory(self.logs)
            make_private_directory(self.temporary)
        except OSError as error:
            raise UsageError(
                f"{self.root}: cannot be written ({error.strerror}); set AGENTOS_HOME"
                " to a folder that can"
            ) from error
        self.check_private(repository)

    def make_run_folder(self) -> tuple[str, Path]:
        """Create the folder of a new run and return its name and path.

        Runs that start in the same second get a number.
        """
        moment = file_timestamp()
        name = moment
        number = 1
        while True:
            folder = self.logs / name
            try:
                folder.mkdir(mode=0o700)
            except FileExistsError:
                number += 1
                name = f"{moment}-{number}"
            else:
                return name, folder

    def check_private(self, repository: str = "") -> None:
        """Refuse a home that others own, may write to or may replace, or whose folders
        are links.
        """
        given = self.root.absolute().parents
        actual = self.root.resolve().parents
        for folder in dict.fromkeys((*given, *actual)):
            _check_above(folder)
        _check_folder(self.root, self.root.stat)
        for name in STATE_FOLDERS:
            folder = self.root / name
            _check_folder(folder, folder.lstat)
            if repository:
                folder /= repository
                _check_folder(folder, folder.lstat)
        for folder in (self.root / "logs", self.logs, self.temporary):
            _check_folder(folder, folder.lstat)

    def items_with_state(self, repository: str, *, ended: bool = False) -> list[Item]:
        """Return the items of a repository that have a checkpoint or a lock file, and
        with `ended` also those with only a record.
        """
        patterns = [("checkpoints", "workflow_", ".db"), ("locks", "", ".lock")]
        if ended:
            patterns.append(("items", "", ".json"))
        found = set()
        for folder, prefix, suffix in patterns:
            for name in list_names(self.root / folder / repository):
                kind, _, rest = name.partition("_")
                if rest.startswith(prefix) and rest.endswith(suffix):
                    id = rest.removeprefix(prefix).removesuffix(suffix)
                    found.add((kind, id))
        items = []
        for kind, id in found:
            # The package of a kind may have been uninstalled or broken since.
            with suppress(UsageError):
                items.append(Item(Kind(kind), id, ""))
        return sorted(items, key=lambda item: item.label)


def _check_above(folder: Path) -> None:
    """Refuse a folder in which every user may rename the files of others."""
    try:
        mode = folder.stat().st_mode
    except OSError:
        return
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        raise UsageError(
            f"{folder}: everybody may write to it and so replace your keys and state"
            f" below it; set AGENTOS_HOME elsewhere, or run: chmod o-w {folder}"
        )


def _check_folder(folder: Path, look: Callable[[], os.stat_result]) -> None:
    try:
        status = look()
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(
            f"{folder}: cannot be checked ({error.strerror}); set AGENTOS_HOME"
            " elsewhere"
        ) from error
    if not stat.S_ISDIR(status.st_mode):
        raise UsageError(
            f"{folder}: is not a folder of its own; remove it or set AGENTOS_HOME"
            " elsewhere"
        )
    if status.st_uid != os.geteuid():
        raise UsageError(
            f"{folder}: belongs to another user (uid {status.st_uid}); set AGENTOS_HOME"
            " to your own"
        )
    if status.st_mode & 0o022:
        raise UsageError(f"{folder}: others may write to it; run: chmod go-w {folder}")
