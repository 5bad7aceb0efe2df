"""Shell completion: the pending ids, and the code that a shell evaluates."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

SHELLS = ("bash", "zsh", "fish", "powershell")
COMMANDS = ("agentos", "lld-workflow", "issue-workflow")


def complete_ids(prefix: str, parsed_args: argparse.Namespace, parser: argparse.ArgumentParser, **_: Any) -> list[str]:
    """Return the ids that begin with what was typed: those in the inbox, or of another source those known here."""
    import os

    from agentos.errors import AgentOSError
    from agentos.home import Home, home_path
    from agentos.inbox.directory import DirectoryInbox
    from agentos.inbox.remembered import RememberedInbox
    from agentos.task import Workflow

    is_issue = getattr(parsed_args, "type", "") == "issue" or "issue" in parser.prog
    workflow = Workflow.ISSUE if is_issue else Workflow.LLD
    repository = (parsed_args.repo or Path.cwd()).absolute()
    try:
        if source := getattr(parsed_args, "source", None):
            inbox = RememberedInbox(Home(home_path(os.environ)), repository, workflow)
            tasks = tuple(task for task in inbox.collect().tasks if task.source.startswith(f"{source}#"))
        else:
            tasks = DirectoryInbox(repository, workflow).collect().tasks
    except (AgentOSError, OSError):
        return []
    return [task.item for task in tasks if task.item.startswith(prefix)]


def shell_code(shell: str) -> str:
    """Return what the shell has to evaluate."""
    from argcomplete.shell_integration import shellcode

    return shellcode(list(COMMANDS), shell=shell)
