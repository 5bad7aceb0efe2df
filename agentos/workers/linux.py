"""What only Linux offers a worker: to die with its parent."""

from __future__ import annotations

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1

# Loaded at import, that is before a fork: dlopen after it would cost every worker a millisecond.
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent ends, also if that has happened already."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def outlive_parent() -> None:
    """Take `die_with_parent` back."""
    _libc.prctl(_PR_SET_PDEATHSIG, 0, 0, 0, 0)


def count_threads() -> int:
    """Return how many threads this process has, those of C libraries included."""
    return len(os.listdir("/proc/self/task"))  # noqa: PTH208
