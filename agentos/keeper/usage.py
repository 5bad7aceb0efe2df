"""Measure how much is in folders that somebody is filling, files without a name included."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence

_BLOCK = 512


class Usage:
    """What lies in some folders."""

    __slots__ = ("files", "size")

    def __init__(self, size: int, files: int) -> None:
        self.size = size
        """In bytes on the disk, not in what a sparse file claims to be."""
        self.files = files


def measure_folders(folders: Sequence[str]) -> Usage:
    """Return what lies in folders; no link is followed, and what vanishes meanwhile is not counted."""
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
                        size += entry.stat(follow_symlinks=False).st_blocks * _BLOCK
        except OSError:
            continue
    return Usage(size, files)


def measure_nameless(proc: str, pids: Iterable[int]) -> int:
    """Return the size of the files that processes hold open after their names were removed."""
    sizes: dict[tuple[int, int], int] = {}
    for pid in pids:
        for path in _list_descriptors(f"{proc}/{pid}/fd"):
            try:
                found = os.stat(path)  # noqa: PTH116
            except OSError:
                continue
            if found.st_nlink == 0 and stat.S_ISREG(found.st_mode):
                sizes[found.st_dev, found.st_ino] = found.st_blocks * _BLOCK
    return sum(sizes.values())


def _list_descriptors(folder: str) -> list[str]:
    try:
        return [f"{folder}/{name}" for name in os.listdir(folder)]  # noqa: PTH208
    except OSError:
        return []


def open_places(root: str, places: Iterable[str]) -> list[int]:
    """Open folders below a root; a file system that was in memory lives on while one of its folders is open."""
    opened = []
    for place in places:
        try:
            opened.append(os.open(root + place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        except OSError:
            continue
    return opened


def measure_file_systems(descriptors: Iterable[int]) -> Usage:
    """Return what whole file systems hold."""
    found = [os.fstatvfs(descriptor) for descriptor in descriptors]
    return Usage(
        sum((system.f_blocks - system.f_bfree) * system.f_frsize for system in found),
        sum(system.f_files - system.f_ffree for system in found),
    )


def free_space(folders: Sequence[str]) -> int:
    """Return how much is free on the file system of the first of these folders."""
    try:
        found = os.statvfs(folders[0])
    except (OSError, IndexError):
        return 0
    return found.f_bavail * found.f_frsize
