"""Write the commands that a project declares, as an installation would.

The project itself stays where it is: its code is imported from the worktree, and
PYTHONPATH tells the processes that its tests start where that is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

COMMANDS = "bin"
"""Below the metadata, one folder for each project: its commands."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_DOTTED = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
_TARGET = re.compile(rf"({_DOTTED})\s*:\s*({_DOTTED})\s*(?:\[[^\]]*\])?")
_MAX_SHEBANG = 120
_SCRIPT = """\
{start}
import sys
from {module} import {name}

sys.argv[0] = sys.argv[0].removesuffix(".exe")
sys.exit({call}())
"""
_LONG_START = """\
#!/bin/sh
'''exec' "{python}" "$0" "$@"
' '''"""


def write_scripts(points: Mapping[str, str], target: Path, python: Path) -> None:
    """Write a script for each console entry point into `target`.

    Entry points that are no Python names are left out, as no installer takes them.
    """
    for name, value in points.items():
        found = _TARGET.fullmatch(value.strip())
        if not _NAME.fullmatch(name) or found is None:
            continue
        module, call = found[1], found[2]
        text = _SCRIPT.format(
            start=_start(python),
            module=module,
            name=call.partition(".")[0],
            call=call,
        )
        target.mkdir(parents=True, exist_ok=True)
        script = target / name
        script.write_text(text, "utf-8")
        script.chmod(0o755)


def copy_script(script: Path, target: Path, python: Path) -> None:
    """Copy a script of a wheel into `target`; one for Python runs with `python`."""
    if not _NAME.fullmatch(script.name):
        return
    data = script.read_bytes()
    first, _, rest = data.partition(b"\n")
    if first.startswith(b"#!python"):
        data = _start(python).encode() + b"\n" + rest
    target.mkdir(parents=True, exist_ok=True)
    copy = target / script.name
    copy.write_bytes(data)
    copy.chmod(0o755)


def _start(python: Path) -> str:
    """Return the lines that start an interpreter, also one with a long path or blanks
    in it, which the kernel does not take.
    """
    if len(str(python)) <= _MAX_SHEBANG and " " not in str(python):
        return f"#!{python}"
    return _LONG_START.format(python=python)
