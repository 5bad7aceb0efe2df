"""Take a key from a person or a pipe without showing it."""

from __future__ import annotations

import sys

from agentos.errors import UsageError
from agentos.keys.entries import LONGEST_KEY


def read_secret(provider: str) -> str:
    """Ask for the key on a terminal, or read it from standard input; empty when there is none."""
    if sys.stdin is None:
        return ""
    if sys.stdin.isatty():
        return _ask_secret(f"Key for {provider} (it is not shown): ").strip()
    data = sys.stdin.buffer.read(2 * LONGEST_KEY)
    return data.decode("utf-8", "replace").strip()


def _ask_secret(prompt: str) -> str:
    import getpass
    import signal
    import warnings

    from agentos.shutdown import die_by

    # As an exception, so that the terminal shows again what is typed before the process ends.
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", getpass.GetPassWarning)
            return getpass.getpass(prompt)
    except KeyboardInterrupt:
        die_by(signal.SIGINT)
        raise
    except EOFError:
        return ""
    except getpass.GetPassWarning:
        raise UsageError("keys add: this terminal would show the key; send it to standard input instead") from None
    finally:
        signal.signal(signal.SIGINT, previous)
