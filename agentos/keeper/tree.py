"""Take a census of processes from /proc, of a whole pid namespace or of the descendants of one process."""

from __future__ import annotations

import os
from collections.abc import Iterable

_PAGE = os.sysconf("SC_PAGE_SIZE")


class Member:
    """One process of a tree."""

    __slots__ = ("memory", "parent", "pid", "threads")

    def __init__(self, pid: int, parent: int, threads: int, memory: int) -> None:
        self.pid = pid
        self.parent = parent
        self.threads = threads
        self.memory = memory
        """Resident, counting pages that it shares with others."""


def list_descendants(root: int) -> list[Member]:
    """Return what a process started, and what that started, parents first."""
    children: dict[int, list[Member]] = {}
    for member in _list_all("/proc"):
        children.setdefault(member.parent, []).append(member)
    found: list[Member] = []
    waiting = [root]
    while waiting:
        below = [member for parent in waiting for member in children.pop(parent, ())]
        found += below
        waiting = [member.pid for member in below]
    return found


def list_namespace(init: int) -> list[Member]:
    """Return all processes of the pid namespace whose first process is `init`, but for that one; in its own numbers."""
    return [member for member in _list_all(f"/proc/{init}/root/proc") if member.pid != 1]


def count_namespace(init: int) -> int:
    """Return how many processes a pid namespace has, but for its first: quicker than to list them, when it matters."""
    try:
        return sum(name.isdigit() for name in os.listdir(f"/proc/{init}/root/proc")) - 1  # noqa: PTH208
    except OSError:
        return 0


def measure_exactly(members: Iterable[Member], proc: str) -> int:
    """Return the memory of processes, with shared pages counted once."""
    return sum(_proportional_memory(member, proc) for member in members)


def count_tasks_of_user() -> int:
    """Return how many processes and threads this user has, which is what the kernel's own limit counts."""
    user = os.getuid()
    return sum(member.threads for member in _list_all("/proc") if _owner(member.pid) == user)


def _list_all(proc: str) -> list[Member]:
    try:
        names = os.listdir(proc)  # noqa: PTH208
    except OSError:
        return []
    members = (_read_member(proc, name) for name in names if name.isdigit())
    return [member for member in members if member]


def _read_member(proc: str, name: str) -> Member | None:
    try:
        with open(f"{proc}/{name}/stat", "rb") as file:
            # The name in parentheses is the process's own choice: only what follows the last one is to be trusted.
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return Member(int(name), int(fields[1]), int(fields[17]), int(fields[21]) * _PAGE) if len(fields) > 21 else None


def _proportional_memory(member: Member, proc: str) -> int:
    try:
        with open(f"{proc}/{member.pid}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return member.memory


def _owner(pid: int) -> int:
    try:
        return os.stat(f"/proc/{pid}").st_uid  # noqa: PTH116
    except OSError:
        return -1
