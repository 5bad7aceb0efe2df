"""Identify processes by pid and start time, because the kernel reuses pids."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path


def process_birth(pid: int) -> str:
    """Return the kernel's start time of a process, or an empty string if it is not
    running.
    """
    try:
        line = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return ""
    fields = line.rpartition(b")")[2].split()
    if fields[0] in (b"Z", b"X"):
        return ""
    return fields[19].decode()


def own_birth() -> str:
    """Return the start time of this process."""
    return _birth_while_alive(os.getpid())


@cache
def _birth_while_alive(pid: int) -> str:
    return process_birth(pid)
