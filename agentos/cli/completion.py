"""`agentos completion`: print what a shell evaluates to complete the commands."""

from __future__ import annotations

from agentos.cli.command import Arguments, Parser

SHELLS = ("bash", "zsh", "fish", "powershell")
PROGRAMS = ("agentos", "lld-workflow", "issue-workflow", "implement-workflow")


def add_arguments(parser: Parser) -> None:
    """Add the name of the shell."""
    parser.add_argument("shell", choices=SHELLS)


def run(arguments: Arguments) -> int:
    """Print the code for the shell."""
    from argcomplete.shell_integration import shellcode

    print(shellcode(list(PROGRAMS), shell=arguments.shell))
    return 0
