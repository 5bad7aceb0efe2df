"""List processes from /proc, those of a pid namespace or the descendants of one
process.
"""

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
        """Resident memory, including shared pages."""


def list_descendants(root: int) -> list[Member]:
    """Return the descendants of a process, parents first."""
    children: dict[int, list[Member]] = {}
    for member in _list_all("/proc"):
        siblings = children.setdefault(member.parent, [])
        siblings.append(member)
    found = children.pop(root, [])
    # The list grows while it is read, until the last process has no children.
    for member in found:
        found += children.pop(member.pid, ())
    return found


def list_namespace(init: int) -> list[Member]:
    """Return the processes of the pid namespace whose first process is `init`, except
    that one, with their pids in the namespace.
    """
    members = _list_all(f"/proc/{init}/root/proc")
    return [member for member in members if member.pid != 1]


def count_namespace(init: int) -> int:
    """Return the number of processes of a pid namespace without its first: faster than
    listing them.
    """
    try:
        names = os.listdir(f"/proc/{init}/root/proc")  # noqa: PTH208
    except OSError:
        return 0
    pids = filter(str.isdigit, names)
    return len(list(pids)) - 1


def measure_exactly(members: Iterable[Member], proc: str) -> int:
    """Return the memory of processes, with shared pages counted once."""
    return sum(_proportional_memory(member, proc) for member in members)


def count_tasks_of_user() -> int:
    """Return the number of processes and threads of this user, as the kernel's limit
    counts them.
    """
    user = os.getuid()
    count = 0
    for member in _list_all("/proc"):
        if _owner(member.pid) == user:
            count += member.threads
    return count


def _list_all(proc: str) -> list[Member]:
    try:
        names = os.listdir(proc)  # noqa: PTH208
    except OSError:
        return []
    members = []
    for name in filter(str.isdigit, names):
        member = _read_member(proc, name)
        if member:
            members.append(member)
    return members


def _read_member(proc: str, name: str) -> Member | None:
    try:
        with open(f"{proc}/{name}/stat", "rb") as file:
            line = file.read()
    except OSError:
        return None
    # A process chooses the name in parentheses itself, so only what follows the last
    # parenthesis can be trusted.
    fields = line.rpartition(b")")[2].split()
    if len(fields) <= 21:
        return None
    return Member(
        pid=int(name),
        parent=int(fields[1]),
        threads=int(fields[17]),
        memory=int(fields[21]) * _PAGE,
    )


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
