"""Build the variables of a command in a sandbox."""

from __future__ import annotations

from collections.abc import Mapping

from agentos.errors import BadInput

PATH = "/usr/local/bin:/usr/bin:/bin"


def build_environ(
    extra: Mapping[str, str], home: str, temporary: str
) -> dict[str, str]:
    """Return the variables of a command, none of them inherited from this process."""
    environ = {
        "PATH": PATH,
        "HOME": home,
        "TMPDIR": temporary,
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        **extra,
    }
    for name, value in environ.items():
        if "\0" in name + value or "=" in name or not name:
            raise BadInput(
                f"{name!r}: cannot be the name of a variable, or its value has a NUL"
                " byte"
            )
    return environ
