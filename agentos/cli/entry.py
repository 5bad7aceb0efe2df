"""The first moments of every command."""

from __future__ import annotations


def die_quietly_on_ctrl_c() -> None:
    """Let Ctrl+C end the process at once and without a traceback, until a batch takes charge of it."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)
