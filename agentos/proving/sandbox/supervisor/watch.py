"""Detect when a command exceeds a limit: time, processes, memory, disk."""

from __future__ import annotations

import os
import threading
import time

from agentos.proving.sandbox.supervisor.tree import (
    Member,
    count_namespace,
    list_descendants,
    list_namespace,
    measure_exactly,
)
from agentos.proving.sandbox.supervisor.usage import (
    DiskUsage,
    free_space,
    measure_file_systems,
    measure_folders,
    measure_nameless,
    open_places,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Table = dict[str, Any]
    Members = list[Member]

THREADS_PER_PROCESS = 8
_WALK_EVERY = 0.5
_EXACT_EVERY = 0.3
_EXACT_PATIENCE = 0.05
_SHORTEST_PAUSE = 0.03
_LONGEST_PAUSE = 0.1
_PAUSE_FACTOR = 10
"""A pause is this many times as long as a look took, so that watching takes less than a
tenth of a processor, unless the longest pause is shorter.
"""


class ExactMeasure:
    """An exact measurement of memory, in a thread: the kernel blocks it while a process
    forks, and meanwhile the watch has to count processes.
    """

    def __init__(self, members: Members, proc: str) -> None:
        self._used: int | None = None
        self._thread = threading.Thread(
            target=self._measure, args=(members, proc), daemon=True
        )
        self._thread.start()

    def wait(self, seconds: float) -> int | None:
        """Return the bytes, or None if they are not known yet."""
        self._thread.join(seconds)
        return self._used

    def _measure(self, members: Members, proc: str) -> None:
        self._used = measure_exactly(members, proc)


class Watch:
    """Compare what one command uses with its limits.

    Cheap values are read at every look. Counting the files of a large worktree is
    expensive: it is done at most twice a second, and at once if the free space shrinks
    by a good part of the limit. Memory is the sum over processes, with shared pages
    counted several times; only if that exceeds the limit, it is measured exactly.
    """

    def __init__(self, request: Table) -> None:
        self._limits: Table = request["limits"]
        self._folders: list[str] = request["watched"]
        self._places_in_memory: list[str] = request["memory_file_systems"]
        self._in_memory: list[int] = []
        self._has_namespace: bool = request["has_namespace"]
        self._before = measure_folders(self._folders)
        self._free = free_space(self._folders)
        self._free_at_start = self._free
        self._deadline = time.monotonic() + self._limits["seconds"]
        self._next_walk = 0.0
        self._next_exact = 0.0
        self._exact: ExactMeasure | None = None
        self.init = 0
        """The first process of the command's pid namespace, once it is known; if it
        dies, all others do.
        """
        self.pause = 0.0

    def look(self, child: int, is_started: bool) -> str:
        """Return the reason to end the command, or an empty string; set the pause
        before the next look.
        """
        began = time.monotonic()
        if began > self._deadline:
            return "timed-out"
        if self.init and count_namespace(self.init) > self._limits["processes"]:
            return "too-many-processes"
        members, proc = self._census(child, is_started)
        reason = (
            self._judge_processes(members)
            or self._judge_memory(members, proc)
            or self._judge_memory_file_systems()
            or self._judge_disk(members, proc)
        )
        cost = time.monotonic() - began
        pause = max(_SHORTEST_PAUSE, cost * _PAUSE_FACTOR)
        self.pause = min(pause, _LONGEST_PAUSE)
        return reason

    def judge_end(self) -> str:
        """Return the limit that a command exceeded although it ended by itself, or an
        empty string.
        """
        reason = self._judge_memory_file_systems()
        if reason:
            return reason
        return self._judge_usage(measure_folders(self._folders))

    def _census(self, child: int, is_started: bool) -> tuple[Members, str]:
        if self._has_namespace and is_started:
            if not self.init:
                self._find_init(child)
            members: Members = []
            if self.init:
                members = list_namespace(self.init)
            if members:
                return members, f"/proc/{self.init}/root/proc"
        return list_descendants(os.getpid()), "/proc"

    def _find_init(self, child: int) -> None:
        for member in list_descendants(child):
            if member.parent == child:
                self.init = member.pid
                root = f"/proc/{self.init}/root"
                self._in_memory = open_places(root, self._places_in_memory)
                return

    def _judge_processes(self, members: Members) -> str:
        limit: int = self._limits["processes"]
        if len(members) > limit:
            return "too-many-processes"
        threads = sum(member.threads for member in members)
        if threads > limit * THREADS_PER_PROCESS:
            return "too-many-processes"
        return ""

    def _judge_memory(self, members: Members, proc: str) -> str:
        limit: int = self._limits["memory"]
        if self._exact is None:
            if time.monotonic() < self._next_exact:
                return ""
            estimate = sum(member.memory for member in members)
            if estimate <= limit:
                return ""
            self._exact = ExactMeasure(members, proc)
        used = self._exact.wait(_EXACT_PATIENCE)
        if used is None:
            return ""
        self._exact = None
        self._next_exact = time.monotonic() + _EXACT_EVERY
        if used > limit:
            return "out-of-memory"
        return ""

    def _judge_memory_file_systems(self) -> str:
        used = measure_file_systems(self._in_memory)
        return self._judge_growth(used.size, used.files)

    def _judge_disk(self, members: Members, proc: str) -> str:
        free = free_space(self._folders)
        limit: int = self._limits["disk"]
        began = time.monotonic()
        lost = self._free - free
        if lost <= limit // 4 and began < self._next_walk:
            return ""
        self._free = free
        used = measure_folders(self._folders)
        if self._free_at_start - free > limit:
            pids = [member.pid for member in members]
            used.size += measure_nameless(proc, pids)
        now = time.monotonic()
        cost = now - began
        pause = max(_WALK_EVERY, cost * _PAUSE_FACTOR)
        self._next_walk = now + pause
        return self._judge_usage(used)

    def _judge_usage(self, used: DiskUsage) -> str:
        size = used.size - self._before.size
        files = used.files - self._before.files
        return self._judge_growth(size, files)

    def _judge_growth(self, size: int, files: int) -> str:
        if size > self._limits["disk"]:
            return "too-much-disk"
        if files > self._limits["files"]:
            return "too-much-disk"
        return ""
