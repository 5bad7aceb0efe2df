"""Walk from folder to folder by descriptor, for kernels without `openat2`."""

from __future__ import annotations

import os

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class StepOpener:
    """Open one name at a time, each in the folder opened before, and refuse links."""

    def open_folder(self, start: int, path: str) -> int:
        """Return a descriptor of the folder at a relative path."""
        here = os.dup(start)
        for name in path.split("/"):
            try:
                if name in ("", "..") or "\0" in name:
                    raise NotADirectoryError(f"{name!r} is not a name")
                below = os.open(name, _FOLDER, dir_fd=here)
            finally:
                os.close(here)
            here = below
        return here
