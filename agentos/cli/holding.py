"""Hold an item while a command works on it, so that no run changes it half-way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from agentos import locks
from agentos.errors import UsageError
from agentos.home import Home
from agentos.task import Task


@contextmanager
def held(home: Home, key: str, task: Task, command: str) -> Iterator[None]:
    """Hold an item's lock, or say who has it."""
    try:
        lock = locks.acquire(home.item(key, task).lock, command)
    except OSError as error:
        raise UsageError(f"{task.label}: cannot be locked ({error.strerror})") from error
    if isinstance(lock, locks.Holder):
        raise UsageError(f"{task.label} is being run by pid {lock.pid} ({lock.command}); come back when that has ended")
    try:
        yield
    finally:
        lock.release()
