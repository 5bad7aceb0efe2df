"""The first and the last moments of every command."""

from __future__ import annotations

import threading


def die_quietly_on_ctrl_c() -> None:
    """Let Ctrl+C end the process at once and without a traceback, until a batch takes charge of it."""
    import signal

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def end_by_broken_pipe() -> int:
    """End as a program does whose reader has gone, without Python's complaint about it."""
    import os
    import signal

    from agentos.shutdown import die_by

    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return die_by(signal.SIGPIPE)
