"""Install a project for its tests: its metadata and commands beside the worktree, and
what a build adds to its source tree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from agentos.proving.environment.building import SCRIPTS, Builder, Built
from agentos.proving.environment.metadata import describe_project
from agentos.proving.environment.scripts import COMMANDS, copy_script, write_scripts
from agentos.state.files import list_names, remove_tree


async def install_project(
    builder: Builder,
    folder: Path,
    parts: Iterable[str],
    target: Path,
    python: Path,
    tag: str,
) -> tuple[Built, ...]:
    """Describe the project in `folder`, and those in its parts, below `target`; return
    what was built of them.
    """
    found = []
    for part in (".", *parts):
        project = folder / part
        describe_project(project, target, python, tag)
        name = hashlib.sha256(part.encode()).hexdigest()[:16]
        commands = target / COMMANDS / f"built-{name}"
        remove_tree(commands)
        built = await builder.build(project, tag)
        if built is None:
            continue
        found.append(built)
        write_scripts(built.commands, commands, python)
        for script in sorted(list_names(built.folder / SCRIPTS)):
            copy_script(built.folder / SCRIPTS / script, commands, python)
    return tuple(found)
