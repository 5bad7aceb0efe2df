"""Shell completion: the pending ids, and the code that a shell evaluates."""

from __future__ import annotations

import argparse
from typing import Any

from agentos.task import Workflow

SHELLS = ("bash", "zsh", "fish", "powershell")
COMMANDS = ("agentos", "lld-workflow", "issue-workflow", "implement-workflow")

WORDS = {Workflow.ISSUE: "issue", Workflow.IMPLEMENTATION: "implement"}


def complete_ids(prefix: str, parsed_args: argparse.Namespace, parser: argparse.ArgumentParser, **_: Any) -> list[str]:
    """Return the ids that begin with what was typed: those in the inbox, or of another source those known here."""
    import os

    from agentos.cli.repository import repository_of
    from agentos.errors import AgentOSError
    from agentos.home import Home, home_path
    from agentos.inbox.remembered import RememberedInbox
    from agentos.plan.preview import open_folder

    named = f"{getattr(parsed_args, 'type', '')} {parser.prog}"
    workflow = next((w for w, word in WORDS.items() if word in named), Workflow.LLD)
    try:
        repository = repository_of(parsed_args)
        if source := getattr(parsed_args, "source", None):
            inbox = RememberedInbox(Home(home_path(os.environ)), repository, workflow)
            tasks = tuple(task for task in inbox.collect().tasks if task.source.startswith(f"{source}#"))
        else:
            tasks = open_folder(repository, workflow).collect().tasks
    except (AgentOSError, OSError):
        return []
    return [task.item for task in tasks if task.item.startswith(prefix)]


def shell_code(shell: str) -> str:
    """Return what the shell has to evaluate."""
    from argcomplete.shell_integration import shellcode

    return shellcode(list(COMMANDS), shell=shell)
