"""What the tests of sandboxes share: a worktree, a Python that runs in it, and an eye
on what is left afterwards.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from agentos.errors import UsageError
from agentos.proving.sandbox import (
    FinishedCommand,
    Mounts,
    Sandbox,
    SandboxLimits,
    find_sandbox,
)
from agentos.proving.sandbox.visible_folders import environment_folders, private_places

PYTHON = str(Path(sys.prefix) / "bin" / "python")
PATIENCE = 60.0


def open_sandbox(name: str) -> Sandbox:
    """Return a sandbox by its name; skip where the machine has none."""
    try:
        return find_sandbox(
            {"AGENTOS_SANDBOX": name, "PATH": os.environ.get("PATH", os.defpath)}
        )
    except UsageError as error:
        pytest.skip(str(error))


def wait_until(holds: Callable[[], bool], what: str) -> None:
    """Wait for something that must come to hold."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.01)


@dataclass(frozen=True)
class Stage:
    """A sandbox with a worktree, and a mark by which everything started there is
    known.
    """

    sandbox: Sandbox
    folder: Path
    limits: SandboxLimits = field(
        default_factory=lambda: SandboxLimits(seconds=PATIENCE)
    )
    mark: str = field(default_factory=lambda: f"marked-{uuid4().hex}")

    def __post_init__(self) -> None:
        for path in (self.worktree, self.results):
            path.mkdir(parents=True, exist_ok=True)

    @property
    def worktree(self) -> Path:
        """Where the command may write."""
        return self.folder / "worktree"

    @property
    def results(self) -> Path:
        """Where the command leaves what is read afterwards."""
        return self.folder / "results"

    def scene(self, **limits: float) -> Mounts:
        """Return the scene, with some limits of its own."""
        return Mounts(
            folder=self.worktree,
            readable=environment_folders(
                Path(sys.prefix), Path(sys.base_prefix), private_places(os.environ)
            ),
            results=self.results,
            limits=replace(self.limits, **limits),  # type: ignore[arg-type]
        )

    def command(self, program: str) -> list[str]:
        """Return a command that runs a Python program with the results folder and the
        mark as its arguments.
        """
        return [PYTHON, "-c", program, str(self.results), self.mark]

    async def run(
        self, program: str, scene: Mounts | None = None, **limits: float
    ) -> FinishedCommand:
        """Run a Python program."""
        return await self.sandbox.run(
            self.command(program), scene or self.scene(**limits)
        )

    def survivors(self) -> list[int]:
        """Return the processes that carry the mark."""
        found = []
        for process in psutil.process_iter():
            try:
                if (
                    self.mark in process.cmdline()
                    and process.status() != psutil.STATUS_ZOMBIE
                ):
                    found.append(process.pid)
            except psutil.Error:
                continue
        return found
