"""Measure the contents of folders while a command fills them, including unlinked
files.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence

_BLOCK = 512


class DiskUsage:
    """The size and the number of files in some folders."""

    __slots__ = ("files", "size")

    def __init__(self, size: int, files: int) -> None:
        self.size = size
        """In bytes on disk, which for a sparse file is less than its length."""
        self.files = files


def measure_folders(folders: Sequence[str]) -> DiskUsage:
    """Return the usage of folders without following links; files that vanish meanwhile
    are not counted.
    """
    size = files = 0
    waiting = list(folders)
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    files += 1
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        status = entry.stat(follow_symlinks=False)
                        size += status.st_blocks * _BLOCK
        except OSError:
            continue
    return DiskUsage(size, files)


def measure_nameless(proc: str, pids: Iterable[int]) -> int:
    """Return the size of unlinked files that processes hold open."""
    sizes: dict[tuple[int, int], int] = {}
    for pid in pids:
        folder = f"{proc}/{pid}/fd"
        for path in _list_descriptors(folder):
            try:
                found = os.stat(path)  # noqa: PTH116
            except OSError:
                continue
            if found.st_nlink != 0 or not stat.S_ISREG(found.st_mode):
                continue
            # Several processes may hold the same file open.
            identity = (found.st_dev, found.st_ino)
            sizes[identity] = found.st_blocks * _BLOCK
    return sum(sizes.values())


def _list_descriptors(folder: str) -> list[str]:
    try:
        names = os.listdir(folder)  # noqa: PTH208
    except OSError:
        return []
    return [f"{folder}/{name}" for name in names]


def open_places(root: str, places: Iterable[str]) -> list[int]:
    """Open folders below a root; a file system in memory exists as long as one of its
    folders is open.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    opened = []
    for place in places:
        try:
            folder = os.open(root + place, flags)
        except OSError:
            continue
        opened.append(folder)
    return opened


def measure_file_systems(descriptors: Iterable[int]) -> DiskUsage:
    """Return the usage of whole file systems."""
    used = DiskUsage(0, 0)
    for descriptor in descriptors:
        system = os.fstatvfs(descriptor)
        blocks = system.f_blocks - system.f_bfree
        used.size += blocks * system.f_frsize
        used.files += system.f_files - system.f_ffree
    return used


def free_space(folders: Sequence[str]) -> int:
    """Return the free space on the file system of the first of these folders."""
    try:
        found = os.statvfs(folders[0])
    except (OSError, IndexError):
        return 0
    return found.f_bavail * found.f_frsize
