"""Let one process at a time work on an item; a lock ends with its last holder."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import time
from dataclasses import dataclass
from pathlib import Path

from agentos.errors import BadInput
from agentos.state.files import read_regular
from agentos.state.processes import own_birth, process_birth
from agentos.state.redaction import redact
from agentos.state.wording import utc_now

HOLDER_LIMIT = 65_536
DYING_WORKER_PATIENCE = 3.0


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that holds a lock, as it described itself."""

    pid: int
    since: str
    command: str
    birth: str
    """The kernel's start time of the process, which tells it from a reused pid."""

    @property
    def is_alive(self) -> bool:
        """Whether that process, and not another with its pid, still runs."""
        return process_birth(self.pid) == self.birth


class ItemLock:
    """An exclusive lock on one item.

    It is an flock on a file, tied to the open file and not to the process. A worker of
    this machine inherits the descriptor, so after a kill -9 of the coordinator the item
    stays locked until that worker has exited too, and two processes never write to one
    checkpoint. The file is removed on release; a process that has locked a file that no
    longer has a name tries again.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self.descriptor = descriptor

    def release(self) -> None:
        """Remove the lock file and unlock the item."""
        # In this order: after the unlock, another process may own the path.
        self._path.unlink(missing_ok=True)
        os.close(self.descriptor)


def acquire(path: Path, command: str) -> ItemLock | Holder:
    """Lock the item or return its holder; wait a moment for the worker of a killed
    coordinator to exit.
    """
    deadline = time.monotonic() + DYING_WORKER_PATIENCE
    while True:
        lock = _try_lock(path)
        if lock is not None:
            _write_holder(lock.descriptor, command)
            return lock
        holder = read_holder(path)
        if holder is not None and (holder.is_alive or time.monotonic() > deadline):
            return holder
        if time.monotonic() > deadline:
            return Holder(0, "an unknown time", "an unknown command", "")
        time.sleep(0.02)


def try_acquire(path: Path) -> ItemLock | None:
    """Lock the item for a moment, without recording a holder, or return None."""
    return _try_lock(path)


def read_holder(path: Path) -> Holder | None:
    """Return the holder that the lock file names, without touching the lock."""
    try:
        return Holder(**json.loads(read_regular(path, HOLDER_LIMIT)))
    except (BadInput, ValueError, TypeError):
        return None


def _try_lock(path: Path) -> ItemLock | None:
    """Lock the file, or return None if it is locked.

    A holder removes the file before it unlocks it, so the file that is opened here may
    have lost its name. A lock on it is worthless, because the next process creates a
    new file: it counts only if the path still leads to the locked file.
    """
    descriptor = os.open(
        path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
    )
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "is not an ordinary file", str(path))
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_ino == path.stat().st_ino:
            return ItemLock(path, descriptor)
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(descriptor)
    return None


def _write_holder(descriptor: int, command: str) -> None:
    holder = {
        "pid": os.getpid(),
        "since": utc_now(),
        "command": redact(command),
        "birth": own_birth(),
    }
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(holder).encode(), 0)
