"""Tell when a command has gone too far: time, processes, memory, disk."""

from __future__ import annotations

import os
import threading
import time

from agentos.keeper.tree import Member, count_namespace, list_descendants, list_namespace, measure_exactly
from agentos.keeper.usage import (
    Usage,
    free_space,
    measure_file_systems,
    measure_folders,
    measure_nameless,
    open_places,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

THREADS_PER_PROCESS = 8
_WALK_EVERY = 0.5
_EXACT_EVERY = 0.3
_EXACT_PATIENCE = 0.05
_SHORTEST_PAUSE = 0.03
_LONGEST_PAUSE = 0.1
_SHARE_OF_TIME = 10
"""One part in so many of a processor is spent on watching, if that does not make the pauses too long."""


class ExactMeasure:
    """Measure memory exactly, in a thread: the kernel lets us wait for a process that is forking, for as long as it
    forks, and meanwhile somebody has to see that there are ever more of them."""

    def __init__(self, members: list[Member], proc: str) -> None:
        self._used: int | None = None
        self._thread = threading.Thread(target=self._measure, args=(members, proc), daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> int | None:
        """Return the bytes once they are known; None when they are not yet."""
        self._thread.join(seconds)
        return self._used

    def _measure(self, members: list[Member], proc: str) -> None:
        self._used = measure_exactly(members, proc)


class Watch:
    """The meters of one command.

    Everything cheap is read at every look. Counting the files of a large worktree is not cheap: that is done twice a
    second at most, and at once when the disk has lost a good part of what the command may use. Memory is summed with
    shared pages counted for everybody; only when that is too much it is measured exactly.
    """

    def __init__(self, wish: dict[str, Any]) -> None:
        self._limits: dict[str, Any] = wish["limits"]
        self._folders: list[str] = wish["watched"]
        self._places_in_memory: list[str] = wish["memory_file_systems"]
        self._in_memory: list[int] = []
        self._has_namespace: bool = wish["has_namespace"]
        self._before = measure_folders(self._folders)
        self._free = free_space(self._folders)
        self._free_at_start = self._free
        self._deadline = time.monotonic() + self._limits["seconds"]
        self._next_walk = self._next_exact = 0.0
        self._exact: ExactMeasure | None = None
        self.init = 0
        """The first process of the command's pid namespace, once it is known: with it all others die."""
        self.pause = 0.0

    def look(self, child: int, is_started: bool) -> str:
        """Return the reason to end the command, empty for none; set after how long to look again."""
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
        self.pause = min(max(_SHORTEST_PAUSE, cost * _SHARE_OF_TIME), _LONGEST_PAUSE)
        return reason

    def judge_end(self) -> str:
        """Return the reason to call a command that ended by itself one that went too far."""
        return self._judge_memory_file_systems() or self._judge_usage(measure_folders(self._folders))

    def _census(self, child: int, is_started: bool) -> tuple[list[Member], str]:
        if self._has_namespace and is_started:
            if not self.init:
                self.init = next((member.pid for member in list_descendants(child) if member.parent == child), 0)
                self._in_memory = open_places(f"/proc/{self.init}/root", self._places_in_memory if self.init else ())
            members = list_namespace(self.init) if self.init else []
            if members:
                return members, f"/proc/{self.init}/root/proc"
        return list_descendants(os.getpid()), "/proc"

    def _judge_processes(self, members: list[Member]) -> str:
        limit: int = self._limits["processes"]
        threads = sum(member.threads for member in members)
        return "too-many-processes" if len(members) > limit or threads > limit * THREADS_PER_PROCESS else ""

    def _judge_memory(self, members: list[Member], proc: str) -> str:
        limit: int = self._limits["memory"]
        if self._exact is None:
            if sum(member.memory for member in members) <= limit or time.monotonic() < self._next_exact:
                return ""
            self._exact = ExactMeasure(members, proc)
        used = self._exact.wait(_EXACT_PATIENCE)
        if used is None:
            return ""
        self._exact = None
        self._next_exact = time.monotonic() + _EXACT_EVERY
        return "out-of-memory" if used > limit else ""

    def _judge_memory_file_systems(self) -> str:
        used = measure_file_systems(self._in_memory)
        return "too-much-disk" if used.size > self._limits["disk"] or used.files > self._limits["files"] else ""

    def _judge_disk(self, members: list[Member], proc: str) -> str:
        free = free_space(self._folders)
        limit: int = self._limits["disk"]
        began = time.monotonic()
        is_shrinking = self._free - free > limit // 4
        if not is_shrinking and began < self._next_walk:
            return ""
        self._free = free
        used = measure_folders(self._folders)
        if self._free_at_start - free > limit:
            used.size += measure_nameless(proc, [member.pid for member in members])
        self._next_walk = time.monotonic() + max(_WALK_EVERY, (time.monotonic() - began) * _SHARE_OF_TIME)
        return self._judge_usage(used)

    def _judge_usage(self, used: Usage) -> str:
        is_too_much = (
            used.size - self._before.size > self._limits["disk"]
            or used.files - self._before.files > self._limits["files"]
        )
        return "too-much-disk" if is_too_much else ""
