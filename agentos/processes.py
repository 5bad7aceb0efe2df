"""Tell processes apart: a number is given again, a number and a time of birth are not."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path


def process_birth(pid: int) -> str:
    """Return the kernel's start time of a process, empty when there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in (b"Z", b"X") else fields[19].decode()


def own_birth() -> str:
    """Return the start time of this process."""
    return _birth_while_alive(os.getpid())


@cache
def _birth_while_alive(pid: int) -> str:
    return process_birth(pid)
