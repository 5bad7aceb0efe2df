"""Shell completion: the pending ids, and the code that a shell evaluates."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

SHELLS = ("bash", "zsh", "fish", "powershell")
COMMANDS = ("agentos", "lld-workflow", "issue-workflow")


def complete_ids(prefix: str, parsed_args: argparse.Namespace, parser: argparse.ArgumentParser, **_: Any) -> list[str]:
    """Return the ids in the inbox that begin with what was typed."""
    from agentos.errors import AgentOSError
    from agentos.inbox.directory import DirectoryInbox
    from agentos.task import Workflow

    is_issue = getattr(parsed_args, "type", "") == "issue" or "issue" in parser.prog
    repository = (parsed_args.repo or Path.cwd()).absolute()
    try:
        tasks = DirectoryInbox(repository, Workflow.ISSUE if is_issue else Workflow.LLD).collect().tasks
    except (AgentOSError, OSError):
        return []
    return [task.item for task in tasks if task.item.startswith(prefix)]


def shell_code(shell: str) -> str:
    """Return what the shell has to evaluate."""
    from argcomplete.shell_integration import shellcode

    return shellcode(list(COMMANDS), shell=shell)
