"""Open a folder below another by its descriptor, following no link on the way."""

from __future__ import annotations

from functools import cache
from typing import Protocol


class Opener(Protocol):
    """A way to open folders that is safe from links and races."""

    def open_folder(self, start: int, path: str) -> int:
        """Return a descriptor of the folder at a relative path; raise `OSError` at
        anything but a folder, such as a link.
        """
        ...


@cache
def choose_opener() -> Opener:
    """Return the kernel's opener if it has one, else a walk from folder to folder."""
    from agentos.state.confinement.kernel import KernelOpener
    from agentos.state.confinement.steps import StepOpener

    if KernelOpener.is_available():
        return KernelOpener()
    return StepOpener()
