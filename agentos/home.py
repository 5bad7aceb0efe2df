"""Where AgentOS keeps its state, and that it is private."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from agentos.errors import UsageError
from agentos.files import list_names, make_private_directory
from agentos.task import Task, Workflow
from agentos.wording import file_stamp

JOURNAL_FILE = "journal.db"
STATE_FOLDERS = ("checkpoints", "items", "locks")


def home_path(environ: Mapping[str, str]) -> Path:
    """Return the folder that the environment asks for: AGENTOS_HOME, XDG on request, or ~/.agentos."""
    if explicit := environ.get("AGENTOS_HOME"):
        return Path(explicit).expanduser().absolute()
    user = Path(environ.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111
    if environ.get("AGENTOS_XDG") == "1":
        return Path(environ.get("XDG_STATE_HOME") or user / ".local/state") / "agentos"
    return user / ".agentos"


def repository_key(repository: Path) -> str:
    """Name a repository so that two of them never share state: its name and a hash of its path."""
    resolved = str(repository.resolve())
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(resolved).name)[:32] or "repository"
    return f"{name}-{hashlib.sha256(os.fsencode(resolved)).hexdigest()[:12]}"


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
        """Where each run has its folder."""
        return self.root / "logs" / "parallel"

    @property
    def temporary(self) -> Path:
        """Where files are written before they are moved to their places."""
        return self.root / "tmp"

    @property
    def config(self) -> Path:
        """The user's own settings."""
        return self.root / "config.toml"

    def item(self, repository: str, task: Task) -> ItemPaths:
        """Return the paths of an item, given its repository's key."""
        name = f"{task.workflow}_{task.item}"
        return ItemPaths(
            checkpoint=self.root / "checkpoints" / repository / f"{task.workflow}_workflow_{task.item}.db",
            record=self.root / "items" / repository / f"{name}.json",
            lock=self.root / "locks" / repository / f"{name}.lock",
        )

    def worktree(self, repository: str, item: str) -> Path:
        """Return the folder in which an item is built."""
        return self.root / "worktrees" / repository / item

    def prepare(self, repository: str) -> None:
        """Create the folders that a run in this repository needs, after a check that the home is ours alone."""
        self.check_private(repository)
        try:
            for folder in STATE_FOLDERS:
                make_private_directory(self.root / folder / repository)
            make_private_directory(self.logs)
            make_private_directory(self.temporary)
        except OSError as error:
            raise UsageError(
                f"{self.root}: cannot be written ({error.strerror}); set AGENTOS_HOME to a folder that can"
            ) from error
        self.check_private(repository)

    def make_run_folder(self) -> tuple[str, Path]:
        """Create a folder of its own for a run, also when two runs start in the same second; return its name too."""
        stamp, number = file_stamp(), 1
        while True:
            name = stamp if number == 1 else f"{stamp}-{number}"
            try:
                (self.logs / name).mkdir(mode=0o700)
            except FileExistsError:
                number += 1
                continue
            return name, self.logs / name

    def check_private(self, repository: str = "") -> None:
        """Refuse a home that others own, may write to or may replace, or whose folders are links to elsewhere."""
        for folder in dict.fromkeys((*self.root.absolute().parents, *self.root.resolve().parents)):
            _check_above(folder)
        _check_folder(self.root, self.root.stat)
        for name in STATE_FOLDERS:
            _check_folder(self.root / name, (self.root / name).lstat)
            if repository:
                _check_folder(self.root / name / repository, (self.root / name / repository).lstat)
        for folder in (self.root / "logs", self.logs, self.temporary):
            _check_folder(folder, folder.lstat)

    def tasks_with_state(self, repository: str, *, ended: bool = False) -> list[Task]:
        """Return the items of a repository with a checkpoint or a lock file, and if wished those with a record only."""
        found = set()
        for workflow in Workflow:
            for folder, head, tail in (
                ("checkpoints", f"{workflow}_workflow_", ".db"),
                ("locks", f"{workflow}_", ".lock"),
                *([("items", f"{workflow}_", ".json")] if ended else []),
            ):
                for name in list_names(self.root / folder / repository):
                    if name.startswith(head) and name.endswith(tail):
                        found.add(Task(workflow, name[len(head) : len(name) - len(tail)], ""))
        return sorted(found, key=lambda task: task.label)


def _check_above(folder: Path) -> None:
    """Refuse a folder in which everybody may rename what is not theirs."""
    try:
        mode = folder.stat().st_mode
    except OSError:
        return
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        raise UsageError(
            f"{folder}: everybody may write to it and so replace your keys and state below it; "
            f"set AGENTOS_HOME elsewhere, or run: chmod o-w {folder}"
        )


def _check_folder(folder: Path, look: Callable[[], os.stat_result]) -> None:
    try:
        status = look()
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"{folder}: cannot be looked at ({error.strerror}); set AGENTOS_HOME elsewhere") from error
    if not stat.S_ISDIR(status.st_mode):
        raise UsageError(f"{folder}: is not a folder of its own; remove it or set AGENTOS_HOME elsewhere")
    if status.st_uid != os.geteuid():
        raise UsageError(f"{folder}: belongs to another user (uid {status.st_uid}); set AGENTOS_HOME to your own")
    if status.st_mode & 0o022:
        raise UsageError(f"{folder}: others may write to it; run: chmod go-w {folder}")
