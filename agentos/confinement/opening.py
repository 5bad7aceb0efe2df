"""Open a folder below another by its descriptor, following no link on the way."""

from __future__ import annotations

from functools import cache
from typing import Protocol


class Opener(Protocol):
    """A way to open folders that a link or a race cannot lead astray."""

    def open_folder(self, start: int, path: str) -> int:
        """Return a descriptor of the folder at a relative path; raise `OSError` at a link or anything but folders."""
        ...


@cache
def choose_opener() -> Opener:
    """Return the kernel's own way where it has one, else a walk from folder to folder."""
    from agentos.confinement.kernel import KernelOpener
    from agentos.confinement.steps import StepOpener

    return KernelOpener() if KernelOpener.is_available() else StepOpener()
