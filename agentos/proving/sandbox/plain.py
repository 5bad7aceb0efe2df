"""Run a command as an ordinary process of this user with limits, for machines without
bubblewrap.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from agentos.proving.sandbox import FinishedCommand, Mounts
from agentos.proving.sandbox.environment import build_environ
from agentos.proving.sandbox.supervising import SupervisorRequest, announced, supervise
from agentos.state.files import remove_tree

WEAKNESSES = (
    "generated code can use the network",
    "it can read every file that you can read",
    (
        "it can write and delete outside its worktree, and change files that it should"
        " only read"
    ),
    (
        "it can see, end or stop your other processes, and so also the one that holds"
        " it to its limits"
    ),
)


class Plain:
    """A sandbox that enforces limits but does not isolate the command."""

    name = "plain"
    weaknesses = WEAKNESSES

    async def run(self, command: Sequence[str], mounts: Mounts) -> FinishedCommand:
        """Run a command with its own home and folder for temporary files."""
        private = Path(tempfile.mkdtemp(prefix="agentos-sandbox-"))
        try:
            home, temporary = private / "home", private / "tmp"
            home.mkdir(mode=0o700)
            temporary.mkdir(mode=0o700)
            watched = [mounts.folder, private]
            if mounts.results:
                watched.append(mounts.results)
            request = SupervisorRequest(
                command=announced(command),
                environ=build_environ(mounts.environ, str(home), str(temporary)),
                folder=str(mounts.folder.resolve()),
                limits=mounts.limits,
                watched=tuple(map(str, watched)),
                private=str(private),
            )
            return await supervise(request)
        finally:
            remove_tree(private)
