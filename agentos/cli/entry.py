"""The first and the last moments of every command."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from types import TracebackType


def die_quietly_on_ctrl_c() -> None:
    """Let Ctrl+C end the process at once and without a traceback, and let no other traceback show a key."""
    # First of all, and with nothing imported before that is not in the interpreter: until then Ctrl+C can fall into
    # its own start, which may lose it.
    import _signal  # type: ignore[import-not-found]

    try:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    except ValueError:
        # Not in the main thread, so somebody else's process.
        pass
    _guard_tracebacks()


def end_by_broken_pipe() -> int:
    """End as a program does whose reader has gone, without Python's complaint about it."""
    import os
    import signal

    from agentos.shutdown import die_by

    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return die_by(signal.SIGPIPE)


def _guard_tracebacks() -> None:
    """Show errors that nobody caught without keys; hooks that somebody else has set stay."""
    import threading

    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _show
    if threading.excepthook is threading.__excepthook__:
        threading.excepthook = _show_of_thread
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = _show_unraisable


def _show(
    kind: type[BaseException], error: BaseException | None, trace: TracebackType | None, heading: str = ""
) -> None:
    import contextlib
    import traceback

    from agentos.untrusted import print_clean

    # Were this to fail, the interpreter would show the error as it is.
    with contextlib.suppress(Exception):
        print_clean(heading + "".join(traceback.format_exception(kind, error, trace)), sys.stderr)


def _show_of_thread(args: threading.ExceptHookArgs) -> None:
    if args.exc_type is not SystemExit:
        name = args.thread.name if args.thread is not None else "without a name"
        _show(args.exc_type, args.exc_value, args.exc_traceback, f"Exception in thread {name}:\n")


def _show_unraisable(args: sys.UnraisableHookArgs) -> None:
    _show(
        args.exc_type,
        args.exc_value,
        args.exc_traceback,
        f"{args.err_msg or 'Exception ignored in'}: {args.object!r}\n",
    )
