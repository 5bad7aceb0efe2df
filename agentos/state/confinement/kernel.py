"""Let the kernel resolve a path below a folder in one call (Linux 5.6 and later)."""

from __future__ import annotations

import errno
import os
import sys
from functools import cache
from typing import Any

_OPENAT2 = 437
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_TRIES = 100


class KernelOpener:
    """Open with `openat2`, which follows no link and never leaves its starting
    folder.
    """

    @staticmethod
    def is_available() -> bool:
        """Return whether the kernel has the call and lets this process use it."""
        if not sys.platform.startswith("linux"):
            return False
        here = os.open(".", _FOLDER)
        try:
            os.close(_openat2(here, b"."))
        except OSError:
            return False
        finally:
            os.close(here)
        return True

    def open_folder(self, start: int, path: str) -> int:
        """Return a descriptor of the folder at a relative path."""
        for _ in range(_MOST_TRIES):
            try:
                return _openat2(start, os.fsencode(path))
            except OSError as error:
                # The kernel asks for another try when a folder was renamed meanwhile.
                if error.errno not in (errno.EAGAIN, errno.EINTR):
                    raise
        raise OSError(errno.EAGAIN, "is being renamed continuously", path)


def _openat2(start: int, path: bytes) -> int:
    import ctypes

    if b"\0" in path:
        raise ValueError("embedded null byte")
    how = (ctypes.c_uint64 * 3)(
        _FOLDER, 0, _RESOLVE_BENEATH | _RESOLVE_NO_SYMLINKS | _RESOLVE_NO_MAGICLINKS
    )
    size = ctypes.c_size_t(ctypes.sizeof(how))
    descriptor = _system_call()(
        ctypes.c_long(_OPENAT2), ctypes.c_int(start), path, ctypes.byref(how), size
    )
    if descriptor < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), os.fsdecode(path))
    return int(descriptor)


@cache
def _system_call() -> Any:
    import ctypes

    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    return call
