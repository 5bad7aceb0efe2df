"""Print commands so that they work when they are pasted into a shell."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from agentos.state.home import HOME_VARIABLE
from agentos.state.programs import find_program


def command_line(program: str, environ: Mapping[str, str]) -> str:
    """Return a command of AgentOS as the user can call it: with its folder if it is not
    on the PATH, and with AGENTOS_HOME if that is set.
    """
    command = program
    if find_program(program, environ) is None:
        beside = Path(sys.argv[0]).absolute().with_name(program)
        if beside.exists():
            command = shlex.quote(str(beside))
    home = environ.get(HOME_VARIABLE)
    if home:
        command = f"{HOME_VARIABLE}={shlex.quote(home)} {command}"
    return command
