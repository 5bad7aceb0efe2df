"""Handle signals during a run, and restore the previous handlers afterwards."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any


@dataclass(slots=True)
class Signals:
    """Callbacks for each signal; they run in the main thread between two bytecodes."""

    stop: Callable[[], None]
    """First SIGINT, SIGTERM or SIGHUP."""
    stop_now: Callable[[], None]
    """Any further one."""
    suspend: Callable[[], None]
    resume: Callable[[], None]
    report: Callable[[], None]
    """SIGUSR1: print what is running."""
    received: list[int] = field(default_factory=list)

    @property
    def ending(self) -> int | None:
        """The signal that ended the run, if any."""
        return self.received[0] if self.received else None


@contextmanager
def handled(signals: Signals) -> Iterator[Signals]:
    """Handle the signals of a run; SIGHUP stays ignored if it was (nohup)."""

    def end(number: int, frame: FrameType | None) -> None:
        del frame
        is_first = not signals.received
        signals.received.append(number)
        if is_first:
            signals.stop()
        elif number != signal.SIGHUP:
            # A closing terminal may send it twice; only a person or a supervisor
            # repeats a signal to stop at once.
            signals.stop_now()

    def suspend(number: int, frame: FrameType | None) -> None:
        del number, frame
        signals.suspend()
        # SIGSTOP, so that this handler can stay in place for the next SIGTSTP.
        os.kill(os.getpid(), signal.SIGSTOP)
        signals.resume()

    def report(number: int, frame: FrameType | None) -> None:
        del number, frame
        signals.report()

    handlers: dict[int, Any] = {
        signal.SIGINT: end,
        signal.SIGTERM: end,
        signal.SIGTSTP: suspend,
        signal.SIGUSR1: report,
    }
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        handlers[signal.SIGHUP] = end
    previous = {
        number: signal.signal(number, handler) for number, handler in handlers.items()
    }
    try:
        yield signals
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def die_by(number: int) -> int:
    """End this process by a signal, so that a shell or make sees which one."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return 128 + number
