"""Run a command as an ordinary process of this user, with limits: for machines without bubblewrap."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from agentos.files import remove_tree
from agentos.sandbox import Finished, Scene
from agentos.sandbox.environment import build_environ
from agentos.sandbox.keeping import Wish, announced, keep

WEAKNESSES = (
    "generated code can use the network",
    "it can read every file that you can read",
    "it can write and delete outside its worktree, and change files that it should only read",
    "it can see, end or stop your other processes, and so also the one that holds it to its limits",
)


class Plain:
    """A sandbox that holds a command to its limits and keeps no wall around it."""

    name = "plain"
    weaknesses = WEAKNESSES

    async def run(self, command: Sequence[str], scene: Scene) -> Finished:
        """Run a command with a home and a folder for temporary files of its own."""
        private = Path(tempfile.mkdtemp(prefix="agentos-sandbox-"))
        try:
            home, temporary = private / "home", private / "tmp"
            home.mkdir(mode=0o700)
            temporary.mkdir(mode=0o700)
            watched = [scene.folder, private, *([scene.results] if scene.results else [])]
            wish = Wish(
                command=announced(command),
                environ=build_environ(scene.environ, str(home), str(temporary)),
                folder=str(scene.folder.resolve()),
                limits=scene.limits,
                watched=tuple(str(folder) for folder in watched),
                private=str(private),
            )
            return await keep(wish)
        finally:
            remove_tree(private)
