"""The limits of a quota group: a sliding window of requests and of tokens, a day,
money, and calls at once.

A request counts for `window` seconds from its arrival, and so do its input tokens; the
tokens of its answer count from the moment that the answer is done. A call is admitted
when the window holds it together with all that is in there.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from tests.scenario.formats import Refusal, Standing
from tests.scenario.script import Group, Kind, Script


@dataclass
class _Window:
    """What happened in the last `length` seconds."""

    entries: deque[tuple[float, int]] = field(default_factory=deque)
    total: int = 0

    def add(self, now: float, amount: int) -> None:
        self.entries.append((now, amount))
        self.total += amount

    def forget(self, now: float, length: float) -> None:
        while self.entries and self.entries[0][0] + length <= now:
            self.total -= self.entries.popleft()[1]

    def wait_for(self, amount: int, limit: int, now: float, length: float) -> float:
        """Return the seconds until `amount` more fit, 0 if they fit now; the whole
        window if they never will.
        """
        excess = self.total + amount - limit
        if excess <= 0:
            return 0.0
        for at, share in self.entries:
            excess -= share
            if excess <= 0:
                return max(at + length - now, 0.0)
        return length

    def wait_for_all(self, now: float, length: float) -> float:
        return max(self.entries[-1][0] + length - now, 0.0) if self.entries else 0.0


class GroupLimits:
    """Keeps one group's account."""

    def __init__(self, started: float) -> None:
        self._started = started
        self._requests = _Window()
        self._tokens = _Window()
        self._day = 0
        self._today = 0
        self.running = 0
        self.spent = 0.0

    def admit(
        self, group: Group, script: Script, input_tokens: int, now: float
    ) -> Refusal | None:
        """Count a call in, or return why it is refused and for how long that will be
        so.
        """
        self._turn(script, now)
        refusal = self._refuse(group, script, input_tokens, now)
        if refusal is None:
            self._requests.add(now, 1)
            self._tokens.add(now, input_tokens)
            self._today += 1
            self.running += 1
        return refusal

    def settle(self, output_tokens: int, cost: float, now: float) -> None:
        """Count what the answer came to."""
        self.running -= 1
        self.spent += cost
        self._tokens.add(now, output_tokens)

    def standing(self, group: Group, script: Script, now: float) -> Standing:
        """Return what is left of the limits."""
        self._turn(script, now)
        return Standing(
            requests_limit=group.requests_per_window,
            requests_left=max(group.requests_per_window - self._requests.total, 0),
            requests_reset=self._requests.wait_for_all(now, script.window),
            tokens_limit=group.tokens_per_window,
            tokens_left=max(group.tokens_per_window - self._tokens.total, 0),
            tokens_reset=self._tokens.wait_for_all(now, script.window),
            is_scaled=script.window < 60,
        )

    def _turn(self, script: Script, now: float) -> None:
        self._requests.forget(now, script.window)
        self._tokens.forget(now, script.window)
        day = int((now - self._started) // script.day)
        if day != self._day:
            self._day, self._today = day, 0

    def _refuse(
        self, group: Group, script: Script, input_tokens: int, now: float
    ) -> Refusal | None:
        if group.spend_cap and self.spent >= group.spend_cap:
            return Refusal(Kind.SPEND_LIMIT, limit_name="spend")
        if group.requests_per_day and self._today >= group.requests_per_day:
            left = self._started + (self._day + 1) * script.day - now
            return Refusal(
                Kind.DAILY_QUOTA, left, "day", group.requests_per_day, self._today, 1
            )
        if group.max_parallel and self.running >= group.max_parallel:
            delay = script.window / 60
            return Refusal(
                Kind.RATE_LIMIT, delay, "parallel", group.max_parallel, self.running, 1
            )
        waits = [
            (
                self._requests.wait_for(1, limit, now, script.window),
                "requests",
                limit,
                self._requests.total,
                1,
            )
            for limit in (group.requests_per_window,)
            if limit
        ]
        if limit := group.tokens_per_window:
            wait = self._tokens.wait_for(input_tokens, limit, now, script.window)
            waits.append((wait, "tokens", limit, self._tokens.total, input_tokens))
        longest = max(waits, default=(0.0, "", 0, 0, 0))
        return Refusal(Kind.RATE_LIMIT, *longest) if longest[0] > 0 else None
