"""What signals mean while a batch runs; held only for that time and given back after it."""

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
    """Callbacks for each meaning; they run on the main thread, between two of its steps."""

    stop: Callable[[], None]
    """First SIGINT, SIGTERM or SIGHUP."""
    stop_now: Callable[[], None]
    """Any further one."""
    suspend: Callable[[], None]
    resume: Callable[[], None]
    report: Callable[[], None]
    """SIGUSR1: say what is running."""
    received: list[int] = field(default_factory=list)

    @property
    def ending(self) -> int | None:
        """The signal that ended the run, None when none did."""
        return self.received[0] if self.received else None


@contextmanager
def handled(signals: Signals) -> Iterator[Signals]:
    """Hold the signals of a batch; SIGHUP stays ignored when it was (nohup)."""

    def end(number: int, frame: FrameType | None) -> None:
        del frame
        is_first = not signals.received
        signals.received.append(number)
        if is_first:
            signals.stop()
        elif number != signal.SIGHUP:
            # A closing terminal may say so twice; only a person or a supervisor who insists means "now".
            signals.stop_now()

    def suspend(number: int, frame: FrameType | None) -> None:
        del number, frame
        signals.suspend()
        # SIGSTOP instead of the default action of SIGTSTP: the handler stays in place for the next time.
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
    previous = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield signals
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def die_by(number: int) -> int:
    """End this process by the signal itself, so that a shell or make sees that it was one."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return 128 + number
